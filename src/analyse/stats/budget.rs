//! Absolute limits: a budget that ten small steps cannot walk past.

use super::arm::{Arm, NoiseFloor, Unusable};
use super::contrast::Contrast;
use super::decide::Answer;
use super::looks::Looks;

/// A limit that one server's values must keep.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// What is measured, as reports call it.
    pub name: String,
    /// In the unit of the values.
    pub limit: f64,
    /// The least noise that is believed of this metric.
    pub noise: NoiseFloor,
    /// One value per run.
    pub values: Vec<Option<f64>>,
}

/// Whether a budget is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct BudgetVerdict {
    /// FAIL if the whole interval is over the limit, PASS if the whole interval is under it.
    pub answer: Answer,
    /// The geometric mean with its one-sided bounds at α, lower and upper; or why there is none.
    pub interval: Result<(f64, f64, f64), Unusable>,
}

/// Holds the geometric mean's one-sided bounds (Student's t on logs) against the limit, at level `alpha` each.
pub fn judge_budget(budget: &Budget, alpha: f64) -> BudgetVerdict {
    let interval = Arm::of_runs(&budget.values).map(|arm| {
        let contrast = Contrast::against(&arm, 1.0, budget.noise);
        (contrast.ratio(), contrast.lower(alpha), contrast.upper(alpha))
    });
    let answer = match interval {
        Ok((_, lower, _)) if lower > budget.limit => Answer::Fail,
        Ok((_, _, upper)) if upper <= budget.limit => Answer::Pass,
        Ok(_) | Err(_) => Answer::Inconclusive,
    };
    BudgetVerdict { answer, interval }
}

/// Holds the budget at each look that the runs reach, to the runs up to it, and stops at the first answer.
pub fn judge_budget_by_looks(budget: &Budget, looks: &Looks) -> BudgetVerdict {
    let alpha = looks.alpha_each();
    let mut verdict = BudgetVerdict {
        answer: Answer::Inconclusive,
        ..judge_budget(budget, alpha)
    };
    for runs in looks.runs().iter().filter(|runs| **runs <= budget.values.len()) {
        let until = Budget {
            values: budget.values[..*runs].to_vec(),
            ..budget.clone()
        };
        verdict = judge_budget(&until, alpha);
        if verdict.answer != Answer::Inconclusive {
            break;
        }
    }
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(values: &[f64], limit: f64) -> Answer {
        let budget = Budget {
            name: "peak".into(),
            limit,
            noise: NoiseFloor::MEMORY,
            values: values.iter().copied().map(Some).collect(),
        };
        judge_budget(&budget, 0.05).answer
    }

    #[test]
    fn a_budget_is_kept_broken_or_not_known() {
        let runs = [5.0e8, 5.02e8, 5.01e8];
        assert_eq!(answer(&runs, 5.2e8), Answer::Pass);
        assert_eq!(answer(&runs, 4.8e8), Answer::Fail);
        assert_eq!(answer(&runs, 5.01e8), Answer::Inconclusive);
    }

    #[test]
    fn no_data_keep_no_budget() {
        for values in [&[][..], &[5e8], &[5e8, f64::NAN, 5e8], &[5e8, f64::INFINITY], &[0.0; 8]] {
            assert_eq!(answer(values, 6e8), Answer::Inconclusive, "{values:?}");
        }
        assert_eq!(answer(&[5e8; 3], f64::NAN), Answer::Inconclusive);
    }
}
