//! The spread that several servers have in common, where each has too few runs to show its own.

use base::band::NoiseFloor;

use super::arm::Arm;
use super::student::upper_quantile;

/// A spread on the log scale, and how many degrees of freedom it is known with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pooled {
    spread: f64,
    freedom: f64,
}

impl Pooled {
    /// The spread within arms: the squares of all around their own means, over `Σ(nᵢ − 1)`, no less than the floor of any.
    /// `None` where no arm has two runs. Arms that are not comparable (a value that is not positive) have no part in it.
    pub fn from_arms(arms: &[&[f64]], floor: NoiseFloor) -> Option<Pooled> {
        let arms: Vec<Arm> = arms.iter().filter_map(|values| Arm::new(values).ok()).collect();
        let freedom: f64 = arms.iter().map(|arm| (arm.len() - 1) as f64).sum();
        let squares = arms.iter().map(|arm| (arm.len() - 1) as f64 * arm.sd_log().powi(2));
        let least = arms.iter().map(|arm| arm.log_floor(floor)).reduce(f64::max)?;
        Some(Pooled {
            spread: (squares.sum::<f64>() / freedom).sqrt().max(least),
            freedom,
        })
    }

    /// A spread that is not measured but assumed, as a coefficient of variation.
    pub fn assumed(variation: f64) -> Pooled {
        Pooled {
            spread: variation.powi(2).ln_1p().sqrt(),
            freedom: f64::INFINITY,
        }
    }

    /// The one-sided lower bound of the ratio of two geometric means, above the true one with probability at most `alpha`.
    /// `None` where one of them has no run, or none that has a logarithm.
    pub fn lower_ratio(&self, baseline: &[f64], candidate: &[f64], alpha: f64) -> Option<f64> {
        let (baseline, candidate) = (self.mean(baseline)?, self.mean(candidate)?);
        let error = (baseline.variance + candidate.variance).sqrt();
        Some((candidate.mean - baseline.mean - upper_quantile(alpha, self.freedom) * error).exp())
    }

    /// The one-sided bounds of a geometric mean, each left out with probability at most `alpha`.
    pub fn bounds(&self, values: &[f64], alpha: f64) -> Option<(f64, f64)> {
        let logs = self.mean(values)?;
        let half = upper_quantile(alpha, self.freedom) * logs.variance.sqrt();
        Some(((logs.mean - half).exp(), (logs.mean + half).exp()))
    }

    /// The mean of logs with its squared error. A cell with a larger spread than the pooled one keeps its own.
    fn mean(&self, values: &[f64]) -> Option<LogMean> {
        let own = Arm::new(values).map_or(0.0, |arm| arm.sd_log());
        let n = values.len() as f64;
        let mean = values.iter().map(|value| value.ln()).sum::<f64>() / n;
        if !mean.is_finite() {
            return None;
        }
        Some(LogMean {
            mean,
            variance: own.max(self.spread).powi(2) / n,
        })
    }
}

/// A mean of logs with its squared standard error.
struct LogMean {
    mean: f64,
    variance: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_of_several_is_that_around_their_own_means() {
        let [first, second] = [[1.0, 1.2], [5.0, 5.4]].map(|logs: [f64; 2]| logs.map(f64::exp));
        let floor = NoiseFloor::RELATIVE;
        let pooled = Pooled::from_arms(&[&first, &second, &[7.0]], floor).unwrap();
        // (0.02 + 0.08) / 2.
        assert!((pooled.spread - 0.05_f64.sqrt()).abs() < 1e-12 && pooled.freedom == 2.0);
        assert_eq!(Pooled::from_arms(&[&[7.0], &[0.0, 1.0]], floor), None);
        let equal = Pooled::from_arms(&[&[7.0, 7.0]], floor).unwrap();
        assert_eq!(equal.spread, 0.001, "equal values are not exact");
    }

    #[test]
    fn an_assumed_spread_has_the_quantiles_of_the_normal_distribution() {
        let pooled = Pooled::assumed(0.1);
        let spread = 1.01_f64.ln().sqrt();
        let low = pooled.lower_ratio(&[1.0], &[1.0], 0.025).unwrap();
        assert!((low.ln() + 1.959_964 * spread * 2.0_f64.sqrt()).abs() < 1e-6, "{low}");
        let (low, high) = pooled.bounds(&[2.0, 2.0], 0.000_01).unwrap();
        let half = 4.264_891 * spread / 2.0_f64.sqrt();
        assert!((low.ln() - 2.0_f64.ln() + half).abs() < 1e-6 && (high.ln() - 2.0_f64.ln() - half).abs() < 1e-6);
        assert_eq!(pooled.bounds(&[], 0.05), None);
        assert_eq!(pooled.lower_ratio(&[0.0], &[1.0], 0.05), None);
    }
}
