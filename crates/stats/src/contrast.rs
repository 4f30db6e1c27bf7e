//! The difference of two arms with its error: Welch's t on log values.

use base::band::NoiseFloor;

use super::arm::Arm;
use super::student::{upper_quantile, upper_tail};

/// A difference of log means with its standard error and degrees of freedom.
///
/// With `sᵢ = max(SDᵢ, floor)` per arm: `SE² = s₁²/n₁ + s₂²/n₂`, and by Welch and Satterthwaite
/// `df = SE⁴ / ((s₁²/n₁)²/(n₁−1) + (s₂²/n₂)²/(n₂−1))` (Welch, *The generalization of "Student's" problem when
/// several different population variances are involved*, Biometrika 34, 1947). Unpaired: blocks guard against
/// drift, but memory drifts with nothing that a block shares, and pairing would halve the degrees of freedom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contrast {
    difference: f64,
    error: f64,
    freedom: f64,
}

impl Contrast {
    pub fn welch(baseline: &Arm, candidate: &Arm, floor: NoiseFloor) -> Contrast {
        let [first, second] = [baseline, candidate].map(|arm| arm.spread(floor).powi(2) / arm.len() as f64);
        let variance = first + second;
        let first_share = (first / variance).powi(2) / (baseline.len() - 1) as f64;
        let second_share = (second / variance).powi(2) / (candidate.len() - 1) as f64;
        Contrast {
            difference: candidate.mean_log() - baseline.mean_log(),
            error: variance.sqrt(),
            freedom: 1.0 / (first_share + second_share),
        }
    }

    /// The mean of independent contrasts by weights that add up to 1: `d = Σ wᵢdᵢ`, `SE² = Σ wᵢ²SEᵢ²`, and by
    /// Satterthwaite (*An Approximate Distribution of Estimates of Variance Components*, Biometrics Bulletin 2, 1946)
    /// `df = SE⁴ / Σ(wᵢ⁴SEᵢ⁴/dfᵢ)`. For the same difference seen on several machines. `None` of none.
    pub(super) fn mean(parts: &[(f64, Contrast)]) -> Option<Contrast> {
        let [(_, first), ..] = parts else { return None };
        let variance: f64 = parts.iter().map(|(weight, part)| (weight * part.error).powi(2)).sum();
        let shares = parts
            .iter()
            .map(|(weight, part)| (weight * part.error).powi(4) / part.freedom);
        // Around the first, so that one contrast is exactly itself.
        let from_first = parts
            .iter()
            .map(|(weight, part)| weight * (part.difference - first.difference));
        Some(Contrast {
            difference: first.difference + from_first.sum::<f64>(),
            error: variance.sqrt(),
            freedom: variance.powi(2) / shares.sum::<f64>(),
        })
    }

    /// The ratio of one arm to a fixed value: Student's one-sample t on log values, with the floor of Welch's test.
    pub fn one_sample(arm: &Arm, value: f64, floor: NoiseFloor) -> Contrast {
        Contrast {
            difference: arm.mean_log() - value.ln(),
            error: arm.standard_error(floor),
            freedom: (arm.len() - 1) as f64,
        }
    }

    /// The ratio of geometric means, candidate over baseline.
    pub fn ratio(&self) -> f64 {
        self.difference.exp()
    }

    /// Student's quantile that is exceeded with probability `alpha`, by the degrees of freedom.
    pub(super) fn quantile(&self, alpha: f64) -> f64 {
        upper_quantile(alpha, self.freedom)
    }

    /// The ratio at this distance from the difference of log means; `None` when it is not a number.
    pub(super) fn ratio_at_distance(&self, distance: f64) -> Option<f64> {
        let ratio = (self.difference + distance).exp();
        if ratio.is_nan() { None } else { Some(ratio) }
    }

    pub fn freedom(&self) -> f64 {
        self.freedom
    }

    /// The one-sided lower bound of the ratio: below it with probability at most `alpha`. 0 when nothing is known.
    pub fn lower(&self, alpha: f64) -> f64 {
        let bound = (self.difference - upper_quantile(alpha, self.freedom) * self.error).exp();
        if bound.is_nan() { 0.0 } else { bound }
    }

    /// The one-sided upper bound of the ratio: above it with probability at most `alpha`. Infinite when nothing is
    /// known.
    pub fn upper(&self, alpha: f64) -> f64 {
        let bound = (self.difference + upper_quantile(alpha, self.freedom) * self.error).exp();
        if bound.is_nan() { f64::INFINITY } else { bound }
    }

    /// The two-sided interval of the ratio at a confidence such as 0.95.
    pub fn interval(&self, confidence: f64) -> (f64, f64) {
        let alpha = (1.0 - confidence) / 2.0;
        (self.lower(alpha), self.upper(alpha))
    }

    /// The one-sided p of "the ratio is at most `ratio`": small when it is larger.
    pub fn p_above(&self, ratio: f64) -> f64 {
        upper_tail((self.difference - ratio.ln()) / self.error, self.freedom)
    }

    /// The two-sided p of "the ratio is 1".
    pub fn p(&self) -> f64 {
        (2.0 * upper_tail((self.difference / self.error).abs(), self.freedom)).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: NoiseFloor = NoiseFloor {
        relative: 0.0,
        absolute: 0.0,
    };

    fn arm(values: &[f64]) -> Arm {
        Arm::new(values).unwrap()
    }

    #[test]
    fn equal_values_give_a_finite_interval_of_the_floor_s_width() {
        let contrast = Contrast::welch(&arm(&[2e8; 3]), &arm(&[2e8; 3]), NoiseFloor::MEMORY);
        assert_eq!(contrast.ratio(), 1.0);
        assert!((contrast.freedom() - 4.0).abs() < 1e-9);
        let (low, high) = contrast.interval(0.95);
        assert!(low > 0.997 && low < 0.999, "{low}");
        assert!(high > 1.001 && high < 1.003, "{high}");
        assert_eq!(contrast.p(), 1.0);
    }

    #[test]
    fn the_mean_of_one_contrast_is_itself_and_of_two_is_surer() {
        let one = Contrast::welch(
            &arm(&[2e8, 2.1e8, 2.2e8]),
            &arm(&[3e8, 3.1e8, 3.3e8]),
            NoiseFloor::MEMORY,
        );
        let same = Contrast::mean(&[(1.0, one)]).unwrap();
        assert!((same.freedom() - one.freedom()).abs() < 1e-9);
        assert!((same.lower(0.05) - one.lower(0.05)).abs() < 1e-12);
        let two = Contrast::mean(&[(0.5, one), (0.5, one)]).unwrap();
        assert!((two.ratio() - one.ratio()).abs() < 1e-12);
        assert!((two.freedom() - 2.0 * one.freedom()).abs() < 1e-9);
        assert!(two.lower(0.05) > one.lower(0.05));
        assert_eq!(Contrast::mean(&[]), None);
    }

    #[test]
    fn without_a_floor_and_without_spread_nothing_is_known() {
        let contrast = Contrast::welch(&arm(&[2e8; 3]), &arm(&[3e8; 3]), NONE);
        assert_eq!(contrast.interval(0.95), (0.0, f64::INFINITY));
    }

    #[test]
    fn one_page_of_difference_is_not_significant_however_well_the_runs_agree() {
        let contrast = Contrast::welch(&arm(&[2e8; 8]), &arm(&[2e8 + 4096.0; 8]), NoiseFloor::MEMORY);
        assert!(contrast.p() > 0.5, "{}", contrast.p());
    }
}
