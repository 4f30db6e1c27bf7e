//! Power: the effects that a number of runs can show, computed before they are made.

use statrs::distribution::{ChiSquared, ContinuousCDF};

use base::band::NoiseFloor;

use super::student::{normal, upper_quantile};

/// The largest number of runs that is considered.
const MOST_RUNS: usize = 10_000;

/// The chance that `runs` per side show an effect of `effect` (0.05 is 5 %) at the one-sided level `alpha`, when both
/// sides have the coefficient of variation `cv`, and a spread of less than `least` is not believed.
///
/// The power is that of Welch's test on logs, which takes its degrees of freedom from the spreads that it sees. With few
/// runs these differ so much that Student's `2n − 2` would promise 80 % where the power is 65 % (three runs, α = 0.0125).
/// `σ² = ln(1 + cv²)`, no less than the noise floor. `effect` counts from the tolerance: to FAIL a candidate at +x with
/// tolerance t it is `(1 + x)/(1 + t) − 1`; to PASS an unchanged one it is what must be ruled out. `None` when there is no
/// such test: fewer than two runs, or an argument out of range.
pub fn power(effect: f64, cv: f64, runs: usize, alpha: f64, least: f64) -> Option<f64> {
    if effect <= -1.0 || !effect.is_finite() {
        return None;
    }
    Some(Welch::new(cv, runs, alpha, least)?.power(effect))
}

/// The excess over the tolerance that is needed, for each pair of spreads that the sides may show.
struct Welch {
    /// The margins, each as often as the others.
    margins: Vec<f64>,
    /// The standard error of the difference of means.
    error: f64,
}

impl Welch {
    /// Spreads of each side, at the midpoints of equally likely parts of their distribution.
    const SPREADS: usize = 32;

    fn new(cv: f64, runs: usize, alpha: f64, least: f64) -> Option<Welch> {
        let is_usable = cv >= 0.0 && cv.is_finite() && alpha > 0.0 && alpha < 1.0;
        if runs < 2 || !is_usable {
            return None;
        }
        let spread = (cv * cv).ln_1p().sqrt().max(NoiseFloor::RELATIVE.relative);
        let n = runs as f64;
        let freedom = (runs - 1) as f64;
        let chi = ChiSquared::new(freedom).ok()?;
        // The squared standard errors of a mean.
        let mut variances: Vec<f64> = Vec::new();
        for part in 0..Welch::SPREADS {
            let chance = (part as f64 + 0.5) / Welch::SPREADS as f64;
            let seen_spread = spread * (chi.inverse_cdf(chance) / freedom).sqrt();
            variances.push(seen_spread.max(least).powi(2) / n);
        }
        let quantiles = Quantiles::new(alpha, freedom);
        let mut margins: Vec<f64> = Vec::new();
        for first in &variances {
            for second in &variances {
                let sum = first + second;
                let inverse_freedom = (first.powi(2) + second.powi(2)) / sum.powi(2) / freedom;
                margins.push(quantiles.interpolated(inverse_freedom) * sum.sqrt());
            }
        }
        Some(Welch {
            margins,
            error: spread * (2.0 / n).sqrt(),
        })
    }

    fn power(&self, effect: f64) -> f64 {
        let chances = self
            .margins
            .iter()
            .map(|margin| normal((effect.ln_1p() - margin) / self.error));
        chances.sum::<f64>() / self.margins.len() as f64
    }

    fn shows(&self, effect: f64, wanted: f64) -> bool {
        self.power(effect) >= wanted
    }
}

/// Student's quantile from `n − 1` to `2n − 2` degrees of freedom, which is all that Welch's test can have.
struct Quantiles {
    /// At equal steps of one over the degrees of freedom.
    values: Vec<f64>,
    low: f64,
    step: f64,
}

impl Quantiles {
    const STEPS: usize = 24;

    fn new(alpha: f64, freedom: f64) -> Quantiles {
        let low = 0.5 / freedom;
        let step = 0.5 / freedom / Quantiles::STEPS as f64;
        Quantiles {
            values: (0..=Quantiles::STEPS)
                .map(|place| upper_quantile(alpha, 1.0 / (low + step * place as f64)))
                .collect(),
            low,
            step,
        }
    }

    /// The quantile for one over the degrees of freedom, in which quantiles are nearly straight.
    fn interpolated(&self, inverse_freedom: f64) -> f64 {
        let place = ((inverse_freedom - self.low) / self.step).clamp(0.0, Quantiles::STEPS as f64);
        let before = (place as usize).min(Quantiles::STEPS - 1);
        let part = place - before as f64;
        self.values[before] * (1.0 - part) + self.values[before + 1] * part
    }
}

/// The least effect that `runs` per side show with the power `wanted` (0.8 is usual), by [`power`]. `None` without a
/// test, or if not even a hundredfold would show.
pub fn detectable(cv: f64, runs: usize, alpha: f64, wanted: f64, least: f64) -> Option<f64> {
    let welch = Welch::new(cv, runs, alpha, least)?;
    let (mut low, mut high) = (0.0, 100.0);
    // A test without any effect has a power of α, and no test has a power of 1.
    let is_sensible = wanted > alpha && wanted < 1.0;
    if !is_sensible || !welch.shows(high, wanted) {
        return None;
    }
    while high - low > 1e-6 * high {
        let middle = 0.5 * (low + high);
        if welch.shows(middle, wanted) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}

/// The number of runs per side that show `effect` with a chance of `wanted`; `None` when ten thousand do not.
pub fn runs_needed(cv: f64, effect: f64, alpha: f64, wanted: f64, least: f64) -> Option<usize> {
    let is_reachable = power(effect, cv, MOST_RUNS, alpha, least)? >= wanted;
    if !is_reachable {
        return None;
    }
    let (mut low, mut high) = (1, MOST_RUNS);
    while high - low > 1 {
        let middle = low.midpoint(high);
        if power(effect, cv, middle, alpha, least)? >= wanted {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: f64 = NoiseFloor::RELATIVE.relative;

    #[test]
    fn no_effect_is_seen_no_more_often_than_alpha_says() {
        for (runs, alpha, least) in [(2, 0.05, 0.02), (3, 0.05, 0.03), (12, 0.05, 0.045), (200, 0.05, 0.0495)] {
            let seen = power(0.0, 0.05, runs, alpha, LEAST).unwrap();
            assert!(seen <= alpha + 1e-3 && seen > least, "{runs}: {seen}");
        }
    }

    #[test]
    fn a_spread_that_is_not_believed_makes_effects_harder_to_see() {
        let [believed, disbelieved] = [LEAST, 0.05].map(|least| detectable(0.003, 5, 0.0125, 0.8, least).unwrap());
        assert!(disbelieved > 10.0 * believed && disbelieved < 0.1, "{disbelieved}");
    }

    #[test]
    fn what_is_detectable_needs_the_runs_it_was_asked_for() {
        for runs in [3, 5, 8, 12] {
            let effect = detectable(0.052, runs, 0.05, 0.8, LEAST).unwrap();
            assert_eq!(runs_needed(0.052, effect, 0.05, 0.8, LEAST), Some(runs));
        }
    }

    #[test]
    fn what_is_detectable_is_seen_with_the_chance_that_was_asked_for() {
        for cv in [0.0, 0.002, 0.05, 0.5] {
            let effect = detectable(cv, 12, 0.05, 0.8, LEAST).unwrap();
            let seen = power(effect, cv, 12, 0.05, LEAST).unwrap();
            assert!((seen - 0.8).abs() < 1e-4, "{cv}: {seen}");
        }
    }

    #[test]
    fn quantiles_reach_from_one_side_s_freedom_to_that_of_both() {
        for (least, freedom) in [(2.0, 2.0), (2.0, 4.0), (11.0, 11.0), (11.0, 22.0)] {
            let off = Quantiles::new(0.05, least).interpolated(1.0 / freedom) - upper_quantile(0.05, freedom);
            assert!(off.abs() < 1e-9, "{freedom}: {off}");
        }
    }

    #[test]
    fn a_test_that_cannot_be_has_no_power() {
        assert_eq!(power(0.05, 0.05, 1, 0.05, LEAST), None);
        assert_eq!(power(0.05, f64::NAN, 5, 0.05, LEAST), None);
        assert_eq!(power(-1.0, 0.05, 5, 0.05, LEAST), None);
        assert_eq!(power(0.05, 0.05, 5, 0.0, LEAST), None);
        assert_eq!(detectable(0.05, 5, 0.05, 1.0, LEAST), None);
        assert_eq!(detectable(0.05, 0, 0.05, 0.8, LEAST), None);
        assert_eq!(runs_needed(0.05, 0.0, 0.05, 0.8, LEAST), None);
        assert_eq!(runs_needed(0.05, -0.1, 0.05, 0.8, LEAST), None);
    }

    #[test]
    fn runs_that_agree_exactly_still_have_the_floor_s_noise() {
        let effect = detectable(0.0, 3, 0.05, 0.8, LEAST).unwrap();
        assert!(effect > 0.002 && effect < 0.004, "{effect}");
    }
}
