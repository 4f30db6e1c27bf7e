//! A gate as a person reads it in a terminal: what decided, in numbers, and what it comes to.

use std::time::Duration;

use crate::analyse::compare::Unit;
use crate::analyse::gate::{Against, Judged, Judgement, Kept, Leaking, Party, Role, What};
use crate::analyse::stats::{Answer, Bound, Evidence, Side};
use crate::lens::Lens;
use crate::units;

use super::ascii::ascii;
use super::comparison::unequal;
use super::lens;
use super::table::{self, Cell, Column};
use super::terminal::Look;
use super::text::{Paint, Tone, line_of, paragraph};

/// The verdict, after what is known of the sides; `notes` are said first.
pub fn terminal(judgement: &Judgement, notes: &[String], look: Look) -> String {
    let columns = look.columns.clamp(40, 160);
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
    for (answer, sentence) in sentences(judgement) {
        paragraph(
            &mut out,
            paint,
            tone(answer),
            &format!("{:14}", word(answer)),
            &sentence,
            columns,
        );
    }
    out.push('\n');
    line_of(&mut out, paint.paint(tone(judgement.answer), &outcome(judgement)));
    if look.ascii { ascii(&out) } else { out }
}

/// PASS, FAIL or INCONCLUSIVE, and nothing of these where a side failed.
fn outcome(judgement: &Judgement) -> String {
    match judgement.is_refused() {
        true => format!("{}: REFUSED", judgement.scenario),
        false => format!("{}: {}", judgement.scenario, word(judgement.answer)),
    }
}

/// Everything that was decided, in sentences with their numbers: what decides first, then what advises.
pub fn sentences(judgement: &Judgement) -> Vec<(Answer, String)> {
    let mut said = Vec::new();
    for broken in &judgement.broken {
        let text = format!(
            "the {} failed the scenario: see `{}`",
            broken.role.name(),
            broken.record
        );
        said.push((Answer::Fail, text));
    }
    for (role, work) in judgement.less_work() {
        let text = format!(
            "{}; memory is only compared for equal work",
            unequal("candidate", role.name(), work)
        );
        said.push((Answer::Fail, text));
    }
    if judgement.is_refused() {
        return said;
    }
    for against in &judgement.against {
        said.extend(
            against
                .primaries
                .iter()
                .map(|judged| sentence(against.role, judged, "")),
        );
    }
    said.extend(judgement.budgets.iter().map(budget));
    said.extend(judgement.leaks.iter().map(|leak| growth(leak, judgement.lens)));
    for against in &judgement.against {
        let advice = against.advisory.iter();
        said.extend(advice.map(|judged| sentence(against.role, judged, ", which decides nothing")));
    }
    said
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
    for difference in &judgement.differences {
        let text = format!(
            "the runs differ in {}: {}",
            difference.what,
            difference.values.join(", ")
        );
        paragraph(out, paint, Tone::Warning, "  note       ", &text, columns);
    }
    for against in &judgement.against {
        for work in against.work.iter().filter(|work| !work.is_less()) {
            let text = unequal("candidate", against.role.name(), work);
            paragraph(out, paint, Tone::Warning, "  note       ", &text, columns);
        }
    }
}

fn who(party: &Party) -> String {
    let runs = units::counted(party.runs as u64, "run");
    let mut text = format!("{}, {runs}", party.label);
    if party.left > 0 {
        text.push_str(&format!(" + {} not counted", units::count(party.left as u64)));
    }
    if let Some(version) = &party.version {
        text.push_str(&format!(", {version}"));
    }
    text
}

/// The bounds of every rule against what they are held to.
fn rules(out: &mut String, against: &Against, paint: Paint, columns: usize) {
    out.push('\n');
    let looked = match against.look {
        Some(runs) => format!("after {} runs of each", units::count(runs as u64)),
        None => "before the first look".to_owned(),
    };
    let title = format!("against the {}", against.role.name());
    line_of(
        out,
        format!(
            "{}  {}",
            paint.paint(Tone::Strong, &title),
            paint.paint(Tone::Quiet, &looked)
        ),
    );
    out.push('\n');
    table::draw(out, paint, table_of(against), columns);
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
            "",
            0,
            cells(&|judged, _| Cell::toned(tone(judged.verdict.answer), word(judged.verdict.answer).to_owned())),
        ),
        Column::text(
            "rule",
            0,
            cells(&|judged, decides| {
                let aside = if decides { "" } else { " (advises)" };
                Cell::plain(format!("{}{aside}", judged.rule.what))
            }),
        ),
        Column::number(
            against.role.name(),
            1,
            number(&|judged, evidence| amounts(judged, evidence.means.0)),
        ),
        Column::number(
            "candidate",
            1,
            number(&|judged, evidence| amounts(judged, evidence.means.1)),
        ),
        Column::number("at least", 0, number(&|_, evidence| change(evidence.lower))),
        Column::number("fails over", 0, number(&|_, evidence| limit(evidence.fail_above))),
        Column::number("at most", 0, number(&|_, evidence| change(evidence.upper))),
        Column::number("passes under", 0, number(&|_, evidence| limit(evidence.pass_below))),
    ]
}

/// One rule in a sentence.
fn sentence(role: Role, judged: &Judged, aside: &str) -> (Answer, String) {
    let what = &judged.rule.what;
    let other = role.name();
    let answer = judged.verdict.answer;
    let text = match &judged.verdict.evidence {
        Err((side, why)) => {
            let side = match side {
                Side::Baseline => other,
                Side::Candidate => "candidate",
            };
            format!("{what}: no usable data of the {side}: {why}")
        }
        Ok(evidence) => match answer {
            Answer::Fail => format!(
                "{what}: at least {} against the {other}, {} is tolerated",
                change(evidence.lower),
                limit(evidence.fail_above)
            ),
            Answer::Pass => format!(
                "{what}: at most {} against the {other}, under {} passes",
                change(evidence.upper),
                limit(evidence.pass_below)
            ),
            Answer::Inconclusive => format!(
                "{what}: between {} and {} against the {other}; it fails from over {} and passes up to under {}{}",
                change(evidence.lower),
                change(evidence.upper),
                limit(evidence.fail_above),
                limit(evidence.pass_below),
                more(judged.needed)
            ),
        },
    };
    (answer, format!("{text}{aside}"))
}

fn more(needed: Option<usize>) -> String {
    match needed {
        Some(runs) => format!("; {} runs of each would probably decide", units::count(runs as u64)),
        None => "; no sensible number of runs would decide".to_owned(),
    }
}

fn budget(kept: &Kept) -> (Answer, String) {
    let What { figure, .. } = kept.limit.what;
    let amount = |value: f64| amount(value, figure.unit());
    let text = match &kept.verdict.interval {
        Err(why) => format!("no usable data of the candidate: {why}"),
        Ok((middle, low, high)) => format!("{}, between {} and {}", amount(*middle), amount(*low), amount(*high)),
    };
    let answer = kept.verdict.answer;
    (
        answer,
        format!("{} <= {}: {text}", kept.limit.what, amount(kept.limit.limit)),
    )
}

/// What is said of growth; as shipped it is what the allocator keeps, and no leak.
fn growth(leak: &Leaking, lens: Lens) -> (Answer, String) {
    let thing = match lens {
        Lens::Purged => "growth",
        Lens::AsShipped => "retention growth",
    };
    let slope = match leak.verdict.slope {
        None => "too few rounds or runs to tell".to_owned(),
        Some((middle, low, high)) => {
            let per = |value: f64| format!("{:+.1}", value / 1024.0);
            format!("{} KiB per round, between {} and {}", per(middle), per(low), per(high))
        }
    };
    (leak.verdict.answer, format!("{thing} over {}: {slope}", leak.name))
}

fn word(answer: Answer) -> &'static str {
    match answer {
        Answer::Pass => "PASS",
        Answer::Fail => "FAIL",
        Answer::Inconclusive => "INCONCLUSIVE",
    }
}

fn tone(answer: Answer) -> Tone {
    match answer {
        Answer::Pass => Tone::Good,
        Answer::Fail => Tone::Bad,
        Answer::Inconclusive => Tone::Warning,
    }
}

fn amount(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Bytes => units::bytes(value.round() as u64),
        Unit::Nanos => units::duration(Duration::from_nanos(value.round() as u64)),
        Unit::Count => units::count(value.round() as u64),
    }
}

/// A ratio as what is more or less: `+2.8 %`.
fn change(ratio: f64) -> String {
    match ratio {
        ratio if !ratio.is_finite() || ratio <= 0.0 => units::UNKNOWN.to_owned(),
        ratio => format!("{:+.2} %", (ratio - 1.0) * 100.0),
    }
}

fn limit(bound: Bound) -> String {
    let floor = if bound.by_floor { " (floor)" } else { "" };
    format!("{}{floor}", change(bound.ratio))
}
