//! Interim results of a session in one line: decided rules, and how many runs open rules need.

use crate::comparison::growth::unasked_steps;
use crate::comparison::{amount, as_set};
use analysis::gate::{Judged, Judgement, Kept, Leaking};
use base::lens::Lens;
use base::units;
use stats::Schedule;
use stats::{Answer, EndpointVerdict, Open};

use super::findings::{budget_name, growth_name};
use super::words::{answer_word, bounds};

/// State of a rule whose figure is missing in some run.
const NO_DATA: &str = "no data";

/// Rules that compare take runs of both sides.
const OF_EACH: &str = " of each";

/// State of a rule whose figure is a lower bound, because memory still grew.
const STILL_GROWING: &str = "does not pass, memory still grows";

/// Each rule that decides, with its bounds, and its answer or how many more runs it takes; `None` without rules.
pub fn standing(judgement: &Judgement, looks: &Schedule) -> Option<String> {
    let mut rules = Vec::new();
    let has_anchor = judgement.against.len() > 1;
    for against in &judgement.against {
        for judged in &against.primaries {
            let subject = if has_anchor {
                format!("{} against the {}", judged.rule.subject, against.role.name())
            } else {
                judged.rule.subject.to_string()
            };
            rules.push(comparison_line(&subject, judged, looks));
        }
    }
    rules.extend(judgement.budgets.iter().map(|kept| budget_line(kept, looks)));
    rules.extend(
        judgement
            .leaks
            .iter()
            .map(|leak| growth_line(leak, judgement.lens, looks)),
    );
    if rules.is_empty() {
        return None;
    }
    Some(rules.join("; "))
}

/// Interim result of a comparison of two servers in which a regression is looked for.
pub fn regression(subject: &str, verdict: &EndpointVerdict, runs: usize, looks: &Schedule) -> String {
    let open = runs_needed(runs, None, looks, OF_EACH);
    let state = match verdict.answer {
        Answer::Pass => "no regression".to_owned(),
        Answer::Fail => "a regression".to_owned(),
        Answer::Inconclusive => open_endpoint(verdict, open),
    };
    line(subject, verdict.evidence.as_ref().ok().map(bounds), &state)
}

fn comparison_line(subject: &str, judged: &Judged, looks: &Schedule) -> String {
    let endpoint = &judged.endpoint;
    let runs_of_each = endpoint.baseline.len().min(endpoint.candidate.len());
    let runs = judged.basis.runs.max(runs_of_each);
    let verdict = &judged.verdict;
    let open = match &judged.still_growing {
        Some(_) => STILL_GROWING.to_owned(),
        None => runs_needed(runs, judged.needed, looks, OF_EACH),
    };
    let state = match verdict.answer {
        Answer::Inconclusive => open_endpoint(verdict, open),
        decided => answer_word(decided).to_owned(),
    };
    line(subject, verdict.evidence.as_ref().ok().map(bounds), &state)
}

/// State of an open comparison: `open`, unless more runs cannot give it data.
fn open_endpoint(verdict: &EndpointVerdict, open: String) -> String {
    match &verdict.evidence {
        Err((_, why)) if why.is_final() => NO_DATA.to_owned(),
        _ => open,
    }
}

fn budget_line(kept: &Kept, looks: &Schedule) -> String {
    let unit = as_set(kept.limit.subject.figure.unit());
    let interval = match &kept.verdict.interval {
        Ok(mean) => Some(format!("{} to {}", amount(mean.low, unit), amount(mean.high, unit))),
        Err(_) => None,
    };
    let state = match (kept.verdict.answer, &kept.verdict.interval) {
        (Answer::Inconclusive, Err(why)) if why.is_final() => NO_DATA.to_owned(),
        (Answer::Inconclusive, _) if kept.still_growing.is_some() => STILL_GROWING.to_owned(),
        (Answer::Inconclusive, _) => runs_needed(kept.basis.runs, None, looks, ""),
        (decided, _) => answer_word(decided).to_owned(),
    };
    line(&budget_name(kept), interval, &state)
}

fn growth_line(leak: &Leaking, lens: Lens, looks: &Schedule) -> String {
    let late = leak.verdict.late;
    let interval = late.map(|slope| format!("{} per round", units::slope_range(slope.low, slope.high)));
    let state = match (leak.verdict.answer, leak.verdict.open) {
        (Answer::Inconclusive, Some(Open::Unasked)) => unasked_steps(&leak.unasked),
        (Answer::Inconclusive, _) if leak.still_growing.is_some() => STILL_GROWING.to_owned(),
        (Answer::Inconclusive, _) => runs_needed(leak.basis.runs, None, looks, ""),
        (decided, _) => answer_word(decided).to_owned(),
    };
    line(&growth_name(leak, lens), interval, &state)
}

/// The number of runs that an open rule still takes, of those that the looks allow. `needed` would probably decide it. `of_each` is
/// empty for a rule that takes runs of the candidate only.
fn runs_needed(runs: usize, needed: Option<usize>, looks: &Schedule, of_each: &str) -> String {
    let Some(next) = looks.next_after(runs) else {
        return "still open".to_owned();
    };
    let last = looks.runs().last().copied().unwrap_or(runs);
    match needed.unwrap_or(next).max(next) {
        needed if needed > last => format!("{last} runs{of_each} may not decide it"),
        needed => {
            let more = needed - runs;
            let noun = if more == 1 { "run" } else { "runs" };
            format!("needs {more} more {noun}{of_each}")
        }
    }
}

fn line(subject: &str, interval: Option<String>, state: &str) -> String {
    match interval {
        Some(interval) => format!("{subject}: {interval}, {state}"),
        None => format!("{subject}: {state}"),
    }
}
