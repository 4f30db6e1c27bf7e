//! Judges the candidate alone: budgets and growth.

use crate::compare::Played;
use crate::figures::rules::{Limit, Rules};
use stats::Schedule;
use stats::{Answer, Budget, judge_budget_by_looks};

use super::judgement::{Calibrations, Kept};
use super::leaking::{Basis, Leaking, leaks};
use super::machines::Machines;
use super::role::Role;
use super::sides::{DecidingRuns, known_noise, runs_through, seen_values};
use super::still_growing::{self, StillGrowing};

/// The rules that compare nothing, judged by the candidate's runs.
pub(super) struct AbsoluteRules {
    pub budgets: Vec<Kept>,
    /// `None` where growth is not looked at.
    pub leaks: Option<Vec<Leaking>>,
    /// Runs that growth is judged by.
    grown: usize,
    /// The runs by which each rule is decided.
    pub deciding: Vec<DecidingRuns>,
    /// True if more runs would change nothing.
    pub settled: bool,
}

impl AbsoluteRules {
    pub fn judge(candidate: &[Played], rules: &Rules, looks: &Schedule, calibrations: &Calibrations) -> AbsoluteRules {
        let mut budgets = Vec::new();
        let mut deciding = Vec::new();
        for limit in &rules.budgets {
            let (kept, runs) = judge_budget(limit, candidate, rules, looks, calibrations);
            budgets.push(kept);
            deciding.push(runs);
        }
        let runs = runs_through(candidate, rules.lens);
        let leaks = rules.leak.as_ref().map(|rule| leaks(rule, &runs, looks));
        for leak in leaks.iter().flatten() {
            deciding.push(DecidingRuns {
                lens: rules.lens,
                count: leak.basis.look.unwrap_or(usize::MAX),
                in_pairs: false,
            });
        }
        let growth_settled = match leaks.as_deref() {
            None => true,
            // What no run repeats, no run will.
            Some([]) => runs.len() >= looks.first(),
            Some(leaks) => leaks.iter().all(|leak| leak.settled),
        };
        AbsoluteRules {
            settled: growth_settled && budgets.iter().all(is_settled),
            grown: runs.len(),
            budgets,
            leaks,
            deciding,
        }
    }

    pub fn answers(&self) -> Vec<Answer> {
        let mut answers: Vec<Answer> = self.budgets.iter().map(|kept| kept.verdict.answer).collect();
        if let Some(leaks) = &self.leaks {
            answers.push(Answer::all(leaks.iter().map(|leak| leak.verdict.answer)));
        }
        answers
    }

    /// The rules that were not judged, each with how many runs there are to judge it by.
    pub fn unjudged_rules(&self) -> Vec<(String, usize)> {
        let mut missing = Vec::new();
        for kept in &self.budgets {
            if kept.basis.look.is_none() || kept.verdict.interval.is_err() {
                missing.push((kept.limit.subject.to_string(), kept.basis.runs));
            }
        }
        if let Some(leaks) = &self.leaks {
            let is_unseen = leaks
                .iter()
                .any(|leak| leak.basis.look.is_none() || leak.verdict.late.is_none());
            if leaks.is_empty() || is_unseen {
                missing.push(("growth".to_owned(), self.grown));
            }
        }
        missing
    }
}

/// True if more runs would change nothing: where memory still grows, they would only repeat a lower bound.
fn is_settled(kept: &Kept) -> bool {
    kept.verdict.is_settled() || (kept.basis.look.is_some() && kept.still_growing.is_some())
}

/// A budget judged by the candidate's runs, and the runs that decided it.
fn judge_budget(
    limit: &Limit,
    candidate: &[Played],
    rules: &Rules,
    looks: &Schedule,
    calibrations: &Calibrations,
) -> (Kept, DecidingRuns) {
    let lens = limit.subject.lens.unwrap_or(rules.lens);
    let runs = runs_through(candidate, lens);
    let calibration = calibrations.of_role(Role::Candidate);
    let (noise, known) = known_noise(&limit.subject, &runs, lens, [calibration, calibration]);
    let values = seen_values(&limit.subject, &runs, &Machines::new(&runs, &runs));
    let budget = Budget {
        name: limit.subject.to_string(),
        limit: limit.limit,
        noise,
        known,
        values,
    };
    let mut verdict = judge_budget_by_looks(&budget, looks);
    let still_growing = still_growing::below_figure(&limit.subject, &runs);
    StillGrowing::deny_pass(still_growing.as_ref(), &mut verdict.answer);
    let deciding = DecidingRuns {
        lens,
        count: verdict
            .look
            .and_then(|look| budget.runs_until_deciding(look))
            .unwrap_or(usize::MAX),
        in_pairs: false,
    };
    let kept = Kept {
        limit: limit.clone(),
        known,
        basis: Basis {
            look: verdict.look,
            runs: budget.deciding_runs(),
        },
        verdict,
        still_growing,
    };
    (kept, deciding)
}
