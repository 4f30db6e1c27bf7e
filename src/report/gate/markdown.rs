//! A gate to be pasted into a pull request: the verdict in a sentence, what decided, everything else folded.

use crate::analyse::gate::{Against, Judged, Judgement, Role};
use crate::analyse::stats::{Answer, Evidence, Seen};
use crate::report::comparison::amount;
use crate::report::lens;
use crate::report::markdown::{escape, folded, heads_of, line, prose};
use crate::text::{clean_lines, line_of};
use crate::units;

use super::findings::{About, Finding, doubts, findings};
use super::words::{change, limit, name, outcome, who, word};

/// A rule, what it is held against, and how it came out.
type Row<'j> = (&'j Against, &'j Judged);

/// More rules than this are only counted in the heading.
const MOST_SAID: usize = 2;

/// The verdict, after which `notes` are told.
pub fn render(judgement: &Judgement, notes: &[String]) -> String {
    let mut out = String::new();
    let found = findings(judgement);
    line_of(&mut out, format!("### {}", shown(&headline(judgement, &found))));
    out.push('\n');
    let rows = |pick: fn(&Against) -> &[Judged]| -> Vec<Row<'_>> {
        let rows = judgement.against.iter().filter(|_| !judgement.is_refused());
        rows.flat_map(|against| pick(against).iter().map(move |judged| (against, judged)))
            .collect()
    };
    let decisive = rows(|against| &against.primaries);
    table(&mut out, judgement, &decisive);
    remarks(&mut out, judgement, &found, notes);
    let advisory = rows(|against| &against.advisory);
    if !advisory.is_empty() {
        folded(&mut out, "What advises, and decides nothing", |out| {
            table(out, judgement, &advisory);
        });
    }
    let all = [decisive, advisory].concat();
    if !all.is_empty() {
        folded(&mut out, "Every run", |out| every_run(out, &all));
    }
    folded(&mut out, "What was run", |out| what_was_run(out, judgement));
    line_of(&mut out, format!("\n<sub>{}</sub>", footnote(judgement)));
    clean_lines(&out)
}

/// The verdict in one sentence: what decided it, with its bounds.
pub(in crate::report) fn headline(judgement: &Judgement, found: &[Finding]) -> String {
    let answer = match judgement.is_refused() {
        true => Answer::Fail,
        false => judgement.answer,
    };
    let mut said: Vec<&str> = Vec::new();
    for one in found.iter().filter(|one| one.decides && one.answer == answer) {
        if !said.contains(&one.short.as_str()) {
            said.push(&one.short);
        }
    }
    let more = match said.len().saturating_sub(MOST_SAID) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    said.truncate(MOST_SAID);
    format!(
        "{}: {}, {} against {}: {}{more}",
        judgement.scenario,
        outcome(judgement),
        name(judgement, Role::Candidate),
        name(judgement, Role::Baseline),
        said.join(", ")
    )
}

/// The bounds of the rules against what they are held to.
fn table(out: &mut String, judgement: &Judgement, rows: &[Row<'_>]) {
    if rows.is_empty() {
        return;
    }
    let anchored = judgement.against.len() > 1;
    let other = if anchored { "other" } else { Role::Baseline.name() };
    let heads = [
        other,
        Role::Candidate.name(),
        "difference",
        "tolerated",
        "passes below",
        "runs",
        "",
    ];
    heads_of(out, "", heads.into_iter().map(str::to_owned));
    for (against, judged) in rows {
        let what = escape(&judged.rule.what.to_string());
        let what = match anchored {
            true => format!("{what} against the {}", against.role.name()),
            false => what,
        };
        line(out, &what, cells(judged).into_iter());
    }
}

fn cells(judged: &Judged) -> Vec<String> {
    let unit = judged.rule.what.figure.unit();
    let of = |evidence: &Evidence| {
        vec![
            amount(evidence.means.0, unit),
            amount(evidence.means.1, unit),
            difference(evidence),
            limit(evidence.fail_above),
            limit(evidence.pass_below),
            runs(evidence),
        ]
    };
    let mut cells = match &judged.verdict.evidence {
        Ok(evidence) => of(evidence),
        Err(_) => vec![units::UNKNOWN.to_owned(); 6],
    };
    cells.push(format!("**{}**", word(judged.verdict.answer)));
    cells
}

/// `+3.00 % (+2.79 to +3.21 %)`.
fn difference(evidence: &Evidence) -> String {
    let bare = |ratio: f64| change(ratio).replace(" %", "");
    format!(
        "{} ({} to {})",
        change(evidence.contrast.ratio()),
        bare(evidence.lower),
        change(evidence.upper)
    )
}

/// `3 + 3`, of which the first are not the candidate's.
fn runs(evidence: &Evidence) -> String {
    let runs = format!("{} + {}", evidence.runs.0, evidence.runs.1);
    match evidence.machines {
        0 | 1 => runs,
        several => format!("{runs} on {several} machines"),
    }
}

/// What the table does not say: refusals, budgets, growth, and why something is not decided; then what to know.
fn remarks(out: &mut String, judgement: &Judgement, found: &[Finding], notes: &[String]) {
    let told = |one: &&Finding| match one.about {
        About::Endpoint(..) => one.decides && one.answer == Answer::Inconclusive,
        About::Run(_) | About::Work(_) | About::Budget(_) | About::Growth(_) => true,
    };
    let mut remarks: Vec<String> = found
        .iter()
        .filter(told)
        .map(|one| match judgement.is_refused() {
            true => format!("**{}**", shown(&one.text)),
            false => format!("**{}** {}", word(one.answer), shown(&one.text)),
        })
        .collect();
    let known = doubts(judgement);
    remarks.extend(known.iter().chain(notes).map(|note| escape(note)));
    if !judgement.is_refused() && !remarks.is_empty() {
        out.push('\n');
    }
    for remark in remarks {
        line_of(out, format!("- {remark}"));
    }
}

/// The figure in each run, machines apart.
fn every_run(out: &mut String, rows: &[Row<'_>]) {
    heads_of(out, "", ["against", "candidate"].into_iter().map(str::to_owned));
    for (against, judged) in rows {
        let unit = judged.rule.what.figure.unit();
        let values = |seen: &[Seen]| -> String {
            let machines = seen.chunk_by(|a, b| a.machine == b.machine);
            let of_machine = |runs: &[Seen]| -> String {
                let values = runs
                    .iter()
                    .map(|run| units::or_unknown(run.value, |value| amount(value, unit)));
                values.collect::<Vec<String>>().join(", ")
            };
            machines.map(of_machine).collect::<Vec<String>>().join("; ")
        };
        let cells = [
            format!("{}: {}", against.role.name(), values(&judged.endpoint.baseline)),
            values(&judged.endpoint.candidate),
        ];
        line(out, &escape(&judged.rule.what.to_string()), cells.into_iter());
    }
}

fn what_was_run(out: &mut String, judgement: &Judgement) {
    for party in &judgement.parties {
        line_of(out, format!("- {}: {}", party.role.name(), escape(&who(party))));
    }
    let candidate = judgement.parties.iter().find(|party| party.role == Role::Candidate);
    for facts in candidate.iter().flat_map(|party| &party.lenses) {
        if let Some(words) = lens::words(facts) {
            line_of(out, format!("- {}", escape(&words)));
        }
    }
}

/// What the numbers are; nothing of them where there are none.
fn footnote(judgement: &Judgement) -> String {
    const MADE: &str = "Made by lsp-soak.";
    if judgement.is_refused() {
        return MADE.to_owned();
    }
    format!(
        "Geometric means, and one-sided bounds of their ratio at α = 0.05 over all looks of a comparison. A rule fails when \
         the lower one is above what is tolerated, and passes when the upper one is below what must be ruled out. {MADE}"
    )
}

/// The text as Markdown, with the sign that needs no escape.
fn shown(text: &str) -> String {
    prose(&text.replace("<=", "≤"))
}
