//! A gate as a person reads it in a terminal: what decided, in numbers, and what it comes to.

use crate::analyse::gate::{Against, Judged, Judgement, Role};
use crate::analyse::stats::{Answer, Evidence};
use crate::lens::Lens;
use crate::report::comparison::amount;
use crate::report::lens;
use crate::report::terminal::Look;
use crate::text::table;
use crate::text::table::{Cell, Column};
use crate::text::{Paint, Tone, line_of, paragraph};
use crate::units;

use super::findings::{doubts, findings};
use super::words::{change, limit, outcome, who, word};

/// Marks a rule that decides nothing.
const ADVISES: &str = " *";

/// The verdict, after what is known of the sides; `notes` are said first.
pub fn render(judgement: &Judgement, notes: &[String], look: Look) -> String {
    let columns = look.columns.clamp(40, table::WIDEST);
    let paint = Paint(look.color);
    let mut out = String::new();
    head(&mut out, judgement, paint, columns);
    for note in notes {
        paragraph(&mut out, paint, Tone::Warning, "  note       ", note, columns);
    }
    for against in judgement.against.iter().filter(|_| !judgement.is_refused()) {
        rules(&mut out, against, paint, columns);
    }
    out.push('\n');
    for found in findings(judgement) {
        let first = format!("{:14}", word(found.answer));
        paragraph(&mut out, paint, tone(found.answer), &first, &found.text, columns);
    }
    out.push('\n');
    let verdict = format!("{}: {}", judgement.scenario, outcome(judgement));
    let tone = match judgement.is_refused() {
        true => Tone::Bad,
        false => tone(judgement.answer),
    };
    line_of(&mut out, paint.paint(tone, &verdict));
    look.finish(&out)
}

fn head(out: &mut String, judgement: &Judgement, paint: Paint, columns: usize) {
    let title = format!("gate {}", judgement.scenario);
    line_of(out, paint.paint(Tone::Strong, &title));
    out.push('\n');
    for party in &judgement.parties {
        let label = format!("  {:11}", party.role.name());
        paragraph(out, paint, Tone::Plain, &label, &who(party), columns);
    }
    let candidate = judgement.parties.iter().find(|party| party.role == Role::Candidate);
    for facts in candidate.iter().flat_map(|party| &party.lenses) {
        if let Some(words) = lens::words(facts) {
            paragraph(out, paint, Tone::Quiet, "  lens       ", &words, columns);
        }
    }
    let decides = match judgement.lens {
        Lens::Purged => "the purged lens; what is as shipped advises, unless a rule says otherwise",
        Lens::AsShipped => "the as-shipped lens, with its noise: there is no purged one",
    };
    paragraph(out, paint, Tone::Quiet, "  decides    ", decides, columns);
    for doubt in doubts(judgement) {
        paragraph(out, paint, Tone::Warning, "  note       ", &doubt, columns);
    }
}

/// The bounds of every rule against what they are held to.
fn rules(out: &mut String, against: &Against, paint: Paint, columns: usize) {
    out.push('\n');
    let title = format!("against the {}", against.role.name());
    line_of(out, paint.paint(Tone::Strong, &title));
    out.push('\n');
    table::draw(out, paint, table_of(against), columns, "`--format json`");
    if !against.advisory.is_empty() {
        let legend = format!(" {ADVISES} advises, and decides nothing");
        line_of(out, paint.paint(Tone::Quiet, &legend));
    }
}

/// A row for each rule, those that decide first.
fn table_of(against: &Against) -> Vec<Column> {
    let rows: Vec<(&Judged, bool)> = against
        .primaries
        .iter()
        .map(|judged| (judged, true))
        .chain(against.advisory.iter().map(|judged| (judged, false)))
        .collect();
    let cells = |cell: &dyn Fn(&Judged, bool) -> Cell| {
        rows.iter()
            .map(|(judged, decides)| cell(judged, *decides))
            .collect::<Vec<Cell>>()
    };
    let number = |text: &dyn Fn(&Judged, &Evidence) -> String| {
        cells(&|judged, _| {
            let evidence = judged.verdict.evidence.as_ref();
            Cell::plain(evidence.map_or_else(|_| units::UNKNOWN.to_owned(), |evidence| text(judged, evidence)))
        })
    };
    let amounts = |judged: &Judged, value: f64| amount(value, judged.rule.what.figure.unit());
    vec![
        Column::text(
            "rule",
            0,
            cells(&|judged, decides| {
                let aside = if decides { "" } else { ADVISES };
                Cell::plain(judged.rule.what.to_string()).ending(aside)
            }),
        ),
        Column::text(
            "",
            0,
            cells(&|judged, _| Cell::toned(tone(judged.verdict.answer), word(judged.verdict.answer).to_owned())),
        ),
        Column::number(
            against.role.name(),
            2,
            number(&|judged, evidence| amounts(judged, evidence.means.0)),
        ),
        Column::number(
            "candidate",
            1,
            number(&|judged, evidence| amounts(judged, evidence.means.1)),
        ),
        Column::number("at least", 0, number(&|_, evidence| change(evidence.lower))),
        // The sentences below have the limits too, but not the sizes: these leave last.
        Column::number("fail above", 5, number(&|_, evidence| limit(evidence.fail_above))),
        Column::number("at most", 0, number(&|_, evidence| change(evidence.upper))),
        Column::number("pass below", 5, number(&|_, evidence| limit(evidence.pass_below))),
        Column::number(
            "runs",
            3,
            cells(&|judged, _| Cell::plain(units::or_unknown(judged.basis.look, |look| format!("{look}")))),
        ),
    ]
}

fn tone(answer: Answer) -> Tone {
    match answer {
        Answer::Pass => Tone::Good,
        Answer::Fail => Tone::Bad,
        Answer::Inconclusive => Tone::Warning,
    }
}
