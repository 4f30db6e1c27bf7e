//! Absolute limits: a budget that ten small steps cannot walk past.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::schedule::Schedule;
use base::band::NoiseFloor;
use base::shown;

use super::arm::{Arm, Seen, Unusable};
use super::bounds::{Bounded, Bounds, SidePart};
use super::contrast::Contrast;
use super::endpoint::Answer;
use super::known::Known;
use super::parted::Parted;

/// A limit that one server's values must keep.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// The figure's name in reports.
    pub name: String,
    /// In the unit of the values.
    pub limit: f64,
    /// The least noise that is believed of this metric.
    pub noise: NoiseFloor,
    pub known: Known,
    pub values: Vec<Seen>,
}

impl Budget {
    /// Runs of machines that have two.
    pub fn deciding_runs(&self) -> usize {
        let mut machines: BTreeMap<usize, usize> = BTreeMap::new();
        for seen in &self.values {
            *machines.entry(seen.machine).or_default() += 1;
        }
        machines.into_values().filter(|runs| *runs >= 2).sum()
    }

    /// The least number of first runs of which `runs` decide; `None` where all do not suffice.
    pub fn runs_until_deciding(&self, runs: usize) -> Option<usize> {
        (runs..=self.values.len()).find(|count| self.first_runs(*count).deciding_runs() >= runs)
    }

    /// This budget with the first runs only.
    fn first_runs(&self, count: usize) -> Budget {
        Budget {
            values: self.values[..count].to_vec(),
            ..self.clone()
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BudgetVerdict {
    /// FAIL if the whole interval is over the limit on any machine, PASS if it is under it on every one.
    pub answer: Answer,
    /// The geometric mean with its one-sided bounds, lower and upper, on the machine that decides: the one with the
    /// highest; or why there is none.
    #[serde(flatten, serialize_with = "shown::<Interval, _, _>")]
    #[cfg_attr(feature = "schema", schemars(with = "Interval"))]
    pub interval: Result<Bounded, Unusable>,
    /// Machines that it was held on.
    pub machines: usize,
    /// Runs at the look that it is of, counted as [`Budget::deciding_runs`]; `None` where it was not judged by looks, or before
    /// the first.
    #[serde(skip)]
    pub look: Option<usize>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Interval {
    /// Geometric mean of the candidate, on the machine that has most.
    value: Option<f64>,
    /// Lower bound of it.
    low: Option<f64>,
    /// Upper bound of it.
    high: Option<f64>,
    /// Why there are no usable data.
    unusable: Option<String>,
}

impl From<&Result<Bounded, Unusable>> for Interval {
    fn from(interval: &Result<Bounded, Unusable>) -> Interval {
        let known = interval.ok();
        Interval {
            value: known.map(|mean| mean.value),
            low: known.map(|mean| mean.low),
            high: known.map(|mean| mean.high),
            unusable: interval.err().map(|why| why.to_string()),
        }
    }
}

impl BudgetVerdict {
    /// True if more runs would change nothing.
    pub fn is_settled(&self) -> bool {
        self.answer != Answer::Inconclusive || self.look.is_some() && self.interval.is_err_and(Unusable::is_final)
    }
}

/// Holds the geometric mean's one-sided bounds against the limit, the upper one at level `alpha`.
///
/// A limit is kept if it is kept on every machine, which needs no correction; that any of m exceeds it is held against
/// α/m (Bonferroni). A mean over machines would be of none of them.
pub fn judge_budget(budget: &Budget, alpha: f64) -> BudgetVerdict {
    let mut machines: BTreeMap<usize, Vec<Option<f64>>> = BTreeMap::new();
    for seen in &budget.values {
        machines.entry(seen.machine).or_default().push(seen.value);
    }
    let count = machines.len();
    let results = machines
        .values()
        .map(|values| judge_machine(budget, values, alpha, count));
    let no_machine = MachineResult {
        answer: Answer::Inconclusive,
        interval: Err(Unusable::TooFew { have: 0 }),
    };
    let joint = results.reduce(joint_result).unwrap_or(no_machine);
    BudgetVerdict {
        answer: joint.answer,
        interval: joint.interval,
        machines: count,
        look: None,
    }
}

/// The answer of one machine with its evidence.
#[derive(Clone, Copy)]
struct MachineResult {
    answer: Answer,
    /// The geometric mean with its lower and upper bound.
    interval: Result<Bounded, Unusable>,
}

impl MachineResult {
    fn upper(&self) -> f64 {
        self.interval.map_or(f64::INFINITY, |mean| mean.high)
    }
}

fn judge_machine(budget: &Budget, values: &[Option<f64>], alpha: f64, machines: usize) -> MachineResult {
    let is_enough = values.len() >= budget.known.least_to_decide();
    let interval = Arm::of_runs(values).map(|arm| {
        let bounds = bounds(&arm, budget.noise);
        Bounded {
            value: bounds.contrast().ratio(),
            low: bounds.lower(alpha / machines as f64),
            high: bounds.upper(alpha),
        }
    });
    let answer = match interval {
        Ok(mean) if is_enough && mean.low > budget.limit => Answer::Fail,
        Ok(mean) if is_enough && mean.high <= budget.limit => Answer::Pass,
        Ok(_) | Err(_) => Answer::Inconclusive,
    };
    MachineResult { answer, interval }
}

/// The bounds of a geometric mean. There is no other side that could show a group which its runs miss.
fn bounds(arm: &Arm, noise: NoiseFloor) -> Bounds {
    let part = SidePart {
        weight: 1.0,
        error: arm.standard_error(noise),
        parted: Parted::new(arm),
        other_distance: 0.0,
    };
    Bounds::new(Contrast::one_sample(arm, 1.0, noise), vec![part])
}

/// The result of the machine that decides for both; of equal answers the one with the higher bound.
fn joint_result(first: MachineResult, second: MachineResult) -> MachineResult {
    let is_second = if first.answer == second.answer {
        second.upper() > first.upper()
    } else {
        second.answer == first.answer.and(second.answer)
    };
    if is_second { second } else { first }
}

/// Holds the budget at each look that the runs reach, to the runs up to it, and stops at the first answer.
pub fn judge_budget_by_looks(budget: &Budget, looks: &Schedule) -> BudgetVerdict {
    let alpha = looks.alpha_each();
    let mut verdict = BudgetVerdict {
        answer: Answer::Inconclusive,
        ..judge_budget(budget, alpha)
    };
    for runs in looks.runs() {
        let Some(count) = budget.runs_until_deciding(*runs) else {
            break;
        };
        let budget = budget.first_runs(count);
        verdict = BudgetVerdict {
            look: Some(budget.deciding_runs()),
            ..judge_budget(&budget, alpha)
        };
        if verdict.is_settled() {
            break;
        }
    }
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(values: &[f64], limit: f64) -> Answer {
        let seen = values.iter().map(|value| Seen::on_only_machine(Some(*value)));
        judged(seen.collect(), limit, Known::Calibrated).answer
    }

    fn judged(values: Vec<Seen>, limit: f64, known: Known) -> BudgetVerdict {
        let budget = Budget {
            name: "peak".into(),
            limit,
            noise: NoiseFloor::MEMORY,
            known,
            values,
        };
        judge_budget(&budget, 0.05)
    }

    /// The verdict on runs of several machines, for a limit of 600 MB.
    fn judged_on_machines(runs: &[(usize, f64)]) -> BudgetVerdict {
        let mut values = Vec::new();
        for (machine, value) in runs {
            values.push(Seen {
                machine: *machine,
                value: Some(*value),
            });
        }
        judged(values, 6e8, Known::Calibrated)
    }

    #[test]
    fn a_budget_is_kept_broken_or_not_known() {
        let runs = [5.0e8, 5.02e8, 5.01e8];
        assert_eq!(answer(&runs, 5.2e8), Answer::Pass);
        assert_eq!(answer(&runs, 4.8e8), Answer::Fail);
        assert_eq!(answer(&runs, 5.01e8), Answer::Inconclusive);
    }

    #[test]
    fn a_budget_is_kept_on_every_machine_or_not_at_all() {
        let (low, high, over) = ([(0, 4e8); 3], [(1, 5.9e8); 3], [(2, 6.5e8); 3]);
        let kept = judged_on_machines(&[low, high].concat());
        assert_eq!((kept.answer, kept.machines), (Answer::Pass, 2));
        let middle = kept.interval.unwrap().value;
        assert!(
            (middle / 5.9e8 - 1.0).abs() < 1e-9,
            "the machine with more is told: {middle}"
        );
        let broken = judged_on_machines(&[low, over, high].concat());
        assert_eq!(broken.answer, Answer::Fail);
        assert!(broken.interval.unwrap().value > 6e8);
        let one_run = judged_on_machines(&[&low[..], &high[..1]].concat());
        assert_eq!(
            (one_run.answer, one_run.interval),
            (Answer::Inconclusive, Err(Unusable::TooFew { have: 1 }))
        );
    }

    #[test]
    fn without_calibrations_five_runs_keep_or_break_a_budget() {
        for (limit, answer) in [(6e8, Answer::Pass), (4e8, Answer::Fail)] {
            let four = vec![Seen::on_only_machine(Some(5e8)); 4];
            assert_eq!(judged(four, limit, Known::Seen).answer, Answer::Inconclusive);
            let five = vec![Seen::on_only_machine(Some(5e8)); 5];
            assert_eq!(judged(five, limit, Known::Seen).answer, answer);
        }
    }

    #[test]
    fn no_data_keep_no_budget() {
        for values in [&[][..], &[5e8], &[5e8, f64::NAN, 5e8], &[5e8, f64::INFINITY], &[0.0; 8]] {
            assert_eq!(answer(values, 6e8), Answer::Inconclusive, "{values:?}");
        }
        assert_eq!(answer(&[5e8; 3], f64::NAN), Answer::Inconclusive);
    }
}
