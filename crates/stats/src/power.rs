//! Power: the effects that a number of runs can show, computed before they are made.

use statrs::distribution::{ChiSquared, ContinuousCDF};

use base::band::NoiseFloor;

use super::student::{normal, upper_quantile};

/// The largest number of runs that is considered.
const MOST_RUNS: usize = 10_000;

/// The chance that `runs` per side show an effect of `effect` (0.05 is 5 %) at the one-sided level `alpha`, when both
/// sides have the coefficient of variation `cv`, and a spread of less than `least` is not believed.
///
/// That of Welch's test on logs: it takes its degrees of freedom from the spreads that it sees, and with few runs these
/// differ so much that Student's `2n − 2` would promise 80 % where 65 % are had (three runs, α = 0.0125). `σ² = ln(1 + cv²)`,
/// no less than the noise floor. `effect` is beyond what is tolerated: to FAIL a candidate at +x with tolerance t it is
/// `(1 + x)/(1 + t) − 1`; to PASS an unchanged one it is what must be ruled out. `None` when there is no such test: fewer
/// than two runs, or a share that is none.
pub fn power(effect: f64, cv: f64, runs: usize, alpha: f64, least: f64) -> Option<f64> {
    (effect > -1.0 && effect.is_finite()).then_some(())?;
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
        let usable = cv >= 0.0 && cv.is_finite() && alpha > 0.0 && alpha < 1.0;
        if runs < 2 || !usable {
            return None;
        }
        let spread = (cv * cv).ln_1p().sqrt().max(NoiseFloor::RELATIVE.relative);
        let (n, freedom) = (runs as f64, (runs - 1) as f64);
        let chi = ChiSquared::new(freedom).ok()?;
        let variance = |part: usize| {
            let chance = (part as f64 + 0.5) / Welch::SPREADS as f64;
            (spread * (chi.inverse_cdf(chance) / freedom).sqrt()).max(least).powi(2) / n
        };
        let variances: Vec<f64> = (0..Welch::SPREADS).map(variance).collect();
        let quantiles = Quantiles::new(alpha, freedom);
        let margin = |one: f64, other: f64| {
            let share = one.powi(2) + other.powi(2);
            quantiles.at(share / (one + other).powi(2) / freedom) * (one + other).sqrt()
        };
        let pairs = variances
            .iter()
            .flat_map(|one| variances.iter().map(|other| margin(*one, *other)));
        Some(Welch {
            margins: pairs.collect(),
            error: spread * (2.0 / n).sqrt(),
        })
    }

    fn power(&self, effect: f64) -> f64 {
        let shown = |margin: &f64| normal((effect.ln_1p() - margin) / self.error);
        self.margins.iter().map(shown).sum::<f64>() / self.margins.len() as f64
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
        let (low, step) = (0.5 / freedom, 0.5 / freedom / Quantiles::STEPS as f64);
        let at = |place: usize| upper_quantile(alpha, 1.0 / (low + step * place as f64));
        Quantiles {
            values: (0..=Quantiles::STEPS).map(at).collect(),
            low,
            step,
        }
    }

    /// Between two that are known, linearly: one over the degrees of freedom makes them nearly straight.
    fn at(&self, inverse: f64) -> f64 {
        let place = ((inverse - self.low) / self.step).clamp(0.0, Quantiles::STEPS as f64);
        let before = (place as usize).min(Quantiles::STEPS - 1);
        let part = place - before as f64;
        self.values[before] * (1.0 - part) + self.values[before + 1] * part
    }
}

/// The least effect that `runs` per side show with the power `wanted` (0.8 is usual), by [`power`]. `None` without a
/// test, or if not even a hundredfold would show.
pub fn detectable(cv: f64, runs: usize, alpha: f64, wanted: f64, least: f64) -> Option<f64> {
    let welch = Welch::new(cv, runs, alpha, least)?;
    let seen = |effect: f64| welch.power(effect) >= wanted;
    let (mut low, mut high) = (0.0, 100.0);
    // Below α a chance is had for nothing, and 1 is never had.
    let sensible = wanted > alpha && wanted < 1.0;
    if !(sensible && seen(high)) {
        return None;
    }
    while high - low > 1e-6 * high {
        let middle = 0.5 * (low + high);
        if seen(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}

/// How many runs per side show `effect` with a chance of `wanted`; `None` when ten thousand do not.
pub fn runs_needed(cv: f64, effect: f64, alpha: f64, wanted: f64, least: f64) -> Option<usize> {
    let seen = |runs: usize| power(effect, cv, runs, alpha, least).map(|power| power >= wanted);
    if !seen(MOST_RUNS)? {
        return None;
    }
    let (mut low, mut high) = (1, MOST_RUNS);
    while high - low > 1 {
        let middle = low.midpoint(high);
        if seen(middle)? {
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
        let seen = |least| detectable(0.003, 5, 0.0125, 0.8, least).unwrap();
        assert!(seen(0.05) > 10.0 * seen(LEAST) && seen(0.05) < 0.1, "{}", seen(0.05));
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
            let off = Quantiles::new(0.05, least).at(1.0 / freedom) - upper_quantile(0.05, freedom);
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
