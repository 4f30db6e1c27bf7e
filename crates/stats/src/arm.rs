//! One arm of a comparison: the values of one server, one per run, on the log scale.

use serde::Serialize;

use base::band::NoiseFloor;

/// The values of one arm, one per run in order: at least two, all finite and above zero.
///
/// Everything is done on natural logs, because memory differs by factors: a ratio of 1.05 means the same at
/// 50 MiB and at 5 GiB, and the spread is in proportion to the size.
#[derive(Clone, Debug, PartialEq)]
pub struct Arm {
    values: Vec<f64>,
    logs: Vec<f64>,
}

/// A reason why values form no arm. Data with this error never pass a gate.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum Unusable {
    /// A spread needs two runs.
    #[error("{have} of at least 2 runs")]
    TooFew { have: usize },
    /// A run without the value.
    #[error("run {} has no value", run + 1)]
    Missing {
        /// Which run, from 0.
        run: usize,
    },
    #[error("run {} has no finite value", run + 1)]
    NotFinite {
        /// Which run, from 0.
        run: usize,
    },
    /// Zero or negative, which has no logarithm and which no server's memory is.
    #[error("run {} has no value above zero", run + 1)]
    NotPositive {
        /// Which run, from 0.
        run: usize,
    },
    /// Runs of both sides, but never two of each on one machine, and machines are never compared.
    #[error("no machine has 2 runs of both")]
    Apart,
}

impl Unusable {
    /// True if more runs cannot repair it, since the faulty run stays in.
    pub fn is_final(self) -> bool {
        match self {
            Unusable::Missing { .. } | Unusable::NotFinite { .. } | Unusable::NotPositive { .. } => true,
            Unusable::TooFew { .. } | Unusable::Apart => false,
        }
    }
}

/// A figure of one run, and its machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Seen {
    /// Which machine: equal numbers are equal machines.
    pub machine: usize,
    /// The figure; `None` where the run does not have it.
    pub value: Option<f64>,
}

impl Seen {
    /// A figure of a run on the only machine that there is.
    pub fn on_only_machine(value: Option<f64>) -> Seen {
        Seen { machine: 0, value }
    }

    pub(super) fn values(runs: &[Seen]) -> Vec<Option<f64>> {
        runs.iter().map(|seen| seen.value).collect()
    }
}

impl Arm {
    /// The arm of runs of which some may lack the value: a missing one is an error, not skipped.
    pub fn of_runs(runs: &[Option<f64>]) -> Result<Arm, Unusable> {
        let mut values = Vec::new();
        for (run, value) in runs.iter().enumerate() {
            values.push(value.ok_or(Unusable::Missing { run })?);
        }
        Arm::new(&values)
    }

    pub fn new(values: &[f64]) -> Result<Arm, Unusable> {
        for (run, value) in values.iter().enumerate() {
            if !value.is_finite() {
                return Err(Unusable::NotFinite { run });
            }
            if *value <= 0.0 {
                return Err(Unusable::NotPositive { run });
            }
        }
        if values.len() < 2 {
            return Err(Unusable::TooFew { have: values.len() });
        }
        Ok(Arm {
            values: values.to_vec(),
            logs: values.iter().map(|value| value.ln()).collect(),
        })
    }

    #[expect(clippy::len_without_is_empty, reason = "an arm is never empty")]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// The values in the order of runs.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The geometric mean, `exp(mean(ln x))`: the centre that ratios of logs compare.
    pub fn geometric_mean(&self) -> f64 {
        self.mean_log().exp()
    }

    /// The coefficient of variation that the spread of the logs amounts to, `√(exp(s²) − 1)`, as for a
    /// log-normal distribution (Limpert, Stahel and Abbt, *Log-normal Distributions across the Sciences*,
    /// BioScience 51, 2001). [`power`](super::power) and [`detectable`](super::detectable) take it.
    pub fn variation(&self) -> f64 {
        self.sd_log().powi(2).exp_m1().sqrt()
    }

    pub(super) fn logs(&self) -> &[f64] {
        &self.logs
    }

    pub(super) fn mean_log(&self) -> f64 {
        // Around the first value: equal values give exactly their own logarithm.
        let first = self.logs[0];
        first + self.logs.iter().map(|log| log - first).sum::<f64>() / self.logs.len() as f64
    }

    /// The standard deviation of the logs, with n − 1.
    pub(super) fn sd_log(&self) -> f64 {
        let mean = self.mean_log();
        let squares: f64 = self.logs.iter().map(|log| (log - mean).powi(2)).sum();
        (squares / (self.logs.len() - 1) as f64).sqrt()
    }

    /// The floor on the log scale at the arm's size: to first order, `d(ln x) = dx / x`.
    pub(super) fn log_floor(&self, floor: NoiseFloor) -> f64 {
        floor.relative.max(floor.absolute / self.geometric_mean())
    }

    /// The standard deviation of the logs, no less than the floor.
    pub(super) fn spread(&self, floor: NoiseFloor) -> f64 {
        self.sd_log().max(self.log_floor(floor))
    }

    /// The standard error of the mean of the logs, from [`Arm::spread`].
    pub(super) fn standard_error(&self, floor: NoiseFloor) -> f64 {
        self.spread(floor) / (self.len() as f64).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_are_missing_or_not_positive_make_no_arm() {
        assert_eq!(Arm::new(&[]), Err(Unusable::TooFew { have: 0 }));
        assert_eq!(Arm::new(&[7.0]), Err(Unusable::TooFew { have: 1 }));
        assert_eq!(Arm::new(&[7.0, f64::NAN]), Err(Unusable::NotFinite { run: 1 }));
        assert_eq!(Arm::new(&[f64::INFINITY, 7.0]), Err(Unusable::NotFinite { run: 0 }));
        assert_eq!(Arm::new(&[7.0, 0.0, 7.0]), Err(Unusable::NotPositive { run: 1 }));
        assert_eq!(Arm::new(&[-1.0, 7.0]), Err(Unusable::NotPositive { run: 0 }));
        assert_eq!(
            Arm::of_runs(&[Some(7.0), None, Some(7.0)]),
            Err(Unusable::Missing { run: 1 })
        );
        assert_eq!(Arm::of_runs(&[Some(7.0), Some(8.0)]), Arm::new(&[7.0, 8.0]));
    }

    #[test]
    fn equal_values_have_the_spread_of_the_floor() {
        let arm = Arm::new(&[3e8; 5]).unwrap();
        assert_eq!(arm.sd_log(), 0.0);
        assert_eq!(arm.spread(NoiseFloor::MEMORY), 0.001);
    }

    #[test]
    fn under_64_mib_the_64_kib_are_the_larger_floor() {
        let arm = Arm::new(&[65_536.0 * 100.0; 3]).unwrap();
        assert!((arm.spread(NoiseFloor::MEMORY) - 0.01).abs() < 1e-12);
        assert_eq!(arm.spread(NoiseFloor::RELATIVE), 0.001);
    }
}
