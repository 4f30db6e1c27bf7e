//! What a session has decided so far, and what is still open, in one line.

use crate::comparison::growth::unasked_steps;
use crate::comparison::{amount, as_set};
use analysis::gate::{Judged, Judgement, Kept, Leaking, Role};
use base::lens::Lens;
use base::units;
use stats::Schedule;
use stats::{Answer, EndpointVerdict, Open};

use super::findings::{budget_name, growth_name};
use super::words::{bounds, word};

/// What is said of a figure that some run lacks.
const NO_DATA: &str = "no data";

/// Rules that compare take runs of both sides.
const OF_EACH: &str = " of each";

/// What is said of a figure that is a lower bound, since memory still grew.
const STILL_GROWING: &str = "does not pass, memory still grows";

/// Every rule that decides, with its bounds, and its answer or how many more runs it takes; `None` without any.
pub fn standing(judgement: &Judgement, looks: &Schedule) -> Option<String> {
    let several = judgement.against.len() > 1;
    let rules = judgement.against.iter().flat_map(|against| {
        let role = several.then_some(against.role);
        against
            .primaries
            .iter()
            .map(move |judged| compared(judged, role, looks))
    });
    let budgets = judgement.budgets.iter().map(|kept| budget(kept, looks));
    let leaks = judgement.leaks.iter().map(|leak| growth(leak, judgement.lens, looks));
    let all: Vec<String> = rules.chain(budgets).chain(leaks).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// What the runs say so far to a figure of two servers that are compared, where a regression is looked for.
pub fn regression(subject: &str, verdict: &EndpointVerdict, runs: usize, looks: &Schedule) -> String {
    let answer = |answer| match answer {
        Answer::Pass => "no regression",
        Answer::Fail => "a regression",
        Answer::Inconclusive => word(answer),
    };
    endpoint(subject, verdict, answer, || open(runs, None, looks, OF_EACH))
}

fn compared(judged: &Judged, role: Option<Role>, looks: &Schedule) -> String {
    let subject = match role {
        Some(role) => format!("{} against the {}", judged.rule.subject, role.name()),
        None => judged.rule.subject.to_string(),
    };
    let sides = [&judged.endpoint.baseline, &judged.endpoint.candidate].map(Vec::len);
    let runs = judged.basis.runs.max(sides[0].min(sides[1]));
    endpoint(&subject, &judged.verdict, word, || match &judged.still_growing {
        Some(_) => STILL_GROWING.to_owned(),
        None => open(runs, judged.needed, looks, OF_EACH),
    })
}

fn endpoint(
    subject: &str,
    verdict: &EndpointVerdict,
    answer: impl Fn(Answer) -> &'static str,
    open: impl Fn() -> String,
) -> String {
    let state = match (verdict.answer, &verdict.evidence) {
        (Answer::Inconclusive, Err((_, why))) if why.is_final() => NO_DATA.to_owned(),
        (Answer::Inconclusive, _) => open(),
        (decided, _) => answer(decided).to_owned(),
    };
    line(subject, verdict.evidence.as_ref().ok().map(bounds), state)
}

fn budget(kept: &Kept, looks: &Schedule) -> String {
    let unit = kept.limit.subject.figure.unit();
    let known = kept.verdict.interval.as_ref().ok();
    let known =
        known.map(|(_, low, high)| format!("{} to {}", amount(*low, as_set(unit)), amount(*high, as_set(unit))));
    let state = state(kept.verdict.answer, || match kept.verdict.interval {
        Err(why) if why.is_final() => NO_DATA.to_owned(),
        _ if kept.still_growing.is_some() => STILL_GROWING.to_owned(),
        _ => open(kept.basis.runs, None, looks, ""),
    });
    line(&budget_name(kept), known, state)
}

fn growth(leak: &Leaking, lens: Lens, looks: &Schedule) -> String {
    let late = leak.verdict.late;
    let known = late.map(|(_, low, high)| format!("{} per round", units::slope_range(low, high)));
    let state = state(leak.verdict.answer, || match leak.verdict.open {
        Some(Open::Unasked) => unasked_steps(&leak.unasked),
        _ if leak.still_growing.is_some() => STILL_GROWING.to_owned(),
        _ => open(leak.basis.runs, None, looks, ""),
    });
    line(&growth_name(leak, lens), known, state)
}

fn state(answer: Answer, open: impl Fn() -> String) -> String {
    match answer {
        Answer::Inconclusive => open(),
        answer => word(answer).to_owned(),
    }
}

/// How many runs an open rule still takes, of those that the looks allow. `needed` would probably decide it, and `of` names
/// the sides that have to have them.
fn open(runs: usize, needed: Option<usize>, looks: &Schedule, of: &str) -> String {
    let Some(next) = looks.after(runs) else {
        return "still open".to_owned();
    };
    let last = looks.runs().last().copied().unwrap_or(runs);
    match needed.unwrap_or(next).max(next) {
        needed if needed > last => format!("{last} runs{of} may not decide it"),
        needed => {
            let more = needed - runs;
            let noun = if more == 1 { "run" } else { "runs" };
            format!("needs {more} more {noun}{of}")
        }
    }
}

fn line(subject: &str, known: Option<String>, state: String) -> String {
    let words: Vec<String> = known.into_iter().chain([state]).collect();
    format!("{subject}: {}", words.join(", "))
}
