//! The next step that would decide an open gate, or make a decided one surer.

use analysis::gate::{Judgement, Kept, Leaking};
use stats::Schedule;
use stats::{Answer, Bounded, Known, LEAST_RUNS, LEAST_TO_DECIDE, Open};

/// Runs of a budget that is open, in multiples of those that it has: more is no advice.
const MOST: f64 = 20.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cure {
    /// The session ended before its last interim analysis; the next one is after so many runs of each server.
    Continue(usize),
    /// So many runs of each server, judged at once.
    Runs(usize),
    /// Calibrations, with which later gates need fewer runs and miss fewer groups.
    Calibrate,
}

/// The step that helps this gate; `None` if none does, or none is needed.
pub fn cure(judgement: &Judgement, looks: &Schedule) -> Option<Cure> {
    let has_unknown = judgement.missing.iter().any(|missing| !missing.is_too_few());
    if judgement.is_refused() || has_unknown {
        return None;
    }
    if judgement.answer != Answer::Inconclusive {
        return if is_blind(judgement) {
            Some(Cure::Calibrate)
        } else {
            None
        };
    }
    let open = open_rules(judgement);
    let fewest = open.iter().map(|rule| rule.runs).min()?;
    if let Some(next) = looks.next_after(fewest) {
        return Some(Cure::Continue(next));
    }
    let needed: Option<Vec<usize>> = open.iter().map(|rule| rule.needed).collect();
    needed?.into_iter().max().map(Cure::Runs)
}

/// A rule without an answer.
struct OpenRule {
    runs: usize,
    /// Runs that would probably decide it.
    needed: Option<usize>,
}

fn open_rules(judgement: &Judgement) -> Vec<OpenRule> {
    let mut open = Vec::new();
    let judged = judgement.against.iter().flat_map(|against| &against.primaries);
    for judged in judged.filter(|judged| judged.verdict.answer == Answer::Inconclusive) {
        let least = judged.endpoint.known.least_to_decide();
        let is_early = judged.basis.runs < least;
        open.push(OpenRule {
            runs: judged.basis.runs,
            needed: judged.needed.or(if is_early { Some(least) } else { None }),
        });
    }
    for kept in &judgement.budgets {
        if kept.verdict.answer == Answer::Inconclusive {
            open.push(OpenRule {
                runs: kept.basis.runs,
                needed: runs_for_budget(kept),
            });
        }
    }
    for leak in &judgement.leaks {
        if leak.verdict.answer == Answer::Inconclusive {
            open.push(OpenRule {
                runs: leak.basis.runs,
                needed: runs_for_growth(leak),
            });
        }
    }
    open
}

/// Runs that would probably decide a budget: intervals shrink with the square root of the runs.
pub(super) fn runs_for_budget(kept: &Kept) -> Option<usize> {
    let Bounded { value, low, high } = kept.verdict.interval.ok()?;
    let runs = kept.basis.look.unwrap_or(kept.basis.runs);
    let distance = (kept.limit.limit / value).ln();
    let half = if distance > 0.0 {
        (high / value).ln()
    } else {
        (value / low).ln()
    };
    let times = (half / distance).powi(2);
    if !times.is_finite() || times > MOST {
        return None;
    }
    let needed = (runs as f64 * times).ceil() as usize;
    Some(needed.max(runs + 1).max(kept.known.least_to_decide()))
}

/// Runs alone decide growth only where there were too few.
fn runs_for_growth(leak: &Leaking) -> Option<usize> {
    match leak.verdict.open {
        Some(Open::Runs) => Some(LEAST_RUNS.max(leak.basis.runs + 1)),
        _ => None,
    }
}

/// True if a deciding comparison has an answer without calibrations. Most budgets are far enough from their limits.
fn is_blind(judgement: &Judgement) -> bool {
    let mut rules = judgement.against.iter().flat_map(|against| &against.primaries);
    rules.any(|judged| judged.endpoint.known == Known::Seen)
}

impl Cure {
    /// The step in words, to stand before its command.
    pub fn sentence(self) -> String {
        match self {
            Cure::Continue(_) => "play on to the next interim analysis".to_owned(),
            Cure::Runs(LEAST_TO_DECIDE) => {
                format!("play on to {LEAST_TO_DECIDE} runs of each server, the fewest that decide without calibrations")
            }
            Cure::Runs(runs) => format!("play on to {runs} runs of each server, which will probably decide"),
            Cure::Calibrate => {
                "calibrate, so that later gates decide after 3 runs of each server and miss fewer groups of runs"
                    .to_owned()
            }
        }
    }
}
