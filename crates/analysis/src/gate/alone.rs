//! Judges the candidate alone: budgets and growth.

use crate::compare::Played;
use crate::figures::rules::{Limit, Rules};
use stats::Schedule;
use stats::{Answer, Budget, judge_budget_by_looks};

use super::judgement::{Calibrations, Kept};
use super::leaking::{Basis, Leaking, leaks};
use super::machines::Machines;
use super::role::Role;
use super::sides::{First, known, seen, through};
use super::still_growing::{self, StillGrowing};

/// What the candidate's runs say to rules that compare nothing.
pub(super) struct Alone {
    pub budgets: Vec<Kept>,
    /// `None` where growth is not looked at.
    pub leaks: Option<Vec<Leaking>>,
    /// Runs that growth is judged by.
    grown: usize,
    /// The runs by which each rule is decided.
    pub deciding: Vec<First>,
    /// Whether more runs would change nothing.
    pub settled: bool,
}

impl Alone {
    pub fn of(candidate: &[Played], rules: &Rules, looks: &Schedule, calibrations: &Calibrations) -> Alone {
        let budgets = rules.budgets.iter();
        let (budgets, mut deciding): (Vec<Kept>, Vec<First>) = budgets
            .map(|limit| keep(limit, candidate, rules, looks, calibrations))
            .unzip();
        let runs = through(candidate, Some(rules.lens));
        let leaks = rules.leak.as_ref().map(|rule| leaks(rule, &runs, looks));
        deciding.extend(leaks.iter().flatten().map(|leak| First {
            lens: rules.lens,
            runs: leak.basis.look.unwrap_or(usize::MAX),
            in_pairs: false,
        }));
        let growth_settled = match leaks.as_deref() {
            None => true,
            // What no run repeats, no run will.
            Some([]) => runs.len() >= looks.first(),
            Some(leaks) => leaks.iter().all(|leak| leak.settled),
        };
        Alone {
            settled: growth_settled && budgets.iter().all(is_settled),
            grown: runs.len(),
            budgets,
            leaks,
            deciding,
        }
    }

    pub fn answers(&self) -> impl Iterator<Item = Answer> {
        let budgets = self.budgets.iter().map(|kept| kept.verdict.answer);
        let growth = self.leaks.iter();
        budgets.chain(growth.map(|leaks| Answer::all(leaks.iter().map(|leak| leak.verdict.answer))))
    }

    /// The rules that were not judged, each with how many runs there are to judge it by.
    pub fn missing(&self) -> impl Iterator<Item = (String, usize)> {
        let budgets = self.budgets.iter();
        let budgets = budgets
            .filter(|kept| kept.basis.look.is_none() || kept.verdict.interval.is_err())
            .map(|kept| (kept.limit.subject.to_string(), kept.basis.runs));
        let unseen = |leak: &Leaking| leak.basis.look.is_none() || leak.verdict.late.is_none();
        let growth = self.leaks.iter();
        let growth = growth
            .filter(move |leaks| leaks.is_empty() || leaks.iter().any(unseen))
            .map(|_| ("growth".to_owned(), self.grown));
        budgets.chain(growth)
    }
}

/// Whether more runs would change nothing: where memory still grows, they would only repeat a lower bound.
fn is_settled(kept: &Kept) -> bool {
    kept.verdict.is_settled() || (kept.basis.look.is_some() && kept.still_growing.is_some())
}

/// What the runs say to a budget, and which of them.
fn keep(
    limit: &Limit,
    candidate: &[Played],
    rules: &Rules,
    looks: &Schedule,
    calibrations: &Calibrations,
) -> (Kept, First) {
    let lens = limit.subject.lens.unwrap_or(rules.lens);
    let runs = through(candidate, Some(lens));
    let own = calibrations.of(Role::Candidate);
    let (noise, known) = known(&limit.subject, &runs, lens, [own, own]);
    let values = seen(&limit.subject, &runs, &Machines::of(&runs, &runs));
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
    let first = First {
        lens,
        runs: verdict.look.and_then(|look| budget.reach(look)).unwrap_or(usize::MAX),
        in_pairs: false,
    };
    let kept = Kept {
        limit: limit.clone(),
        known,
        basis: Basis {
            look: verdict.look,
            runs: budget.deciding(),
        },
        verdict,
        still_growing,
    };
    (kept, first)
}
