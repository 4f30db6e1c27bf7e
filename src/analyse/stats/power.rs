//! What so many runs can see: said before they are made.

use super::arm::NoiseFloor;
use super::student::{normal, upper_quantile};

/// More runs than anybody makes; what needs more is not seen.
const MOST_RUNS: usize = 10_000;

/// The chance that `runs` per side show an effect of `effect` (0.05 is 5 %) at the one-sided level `alpha`, when both
/// sides have the coefficient of variation `cv`.
///
/// The power of Student's test on logs, by the noncentral t with `δ = ln(1 + effect) / (σ √(2/n))`, `2n − 2` degrees
/// of freedom and `σ² = ln(1 + cv²)`, σ no less than the noise floor. `effect` is beyond what is tolerated: to FAIL a
/// candidate at +x with tolerance t it is `(1 + x)/(1 + t) − 1`; to PASS an unchanged one it is what must be ruled out.
/// `None` when there is no such test: fewer than two runs, or a share that is none.
pub fn power(effect: f64, cv: f64, runs: usize, alpha: f64) -> Option<f64> {
    let usable = effect > -1.0 && effect.is_finite() && cv >= 0.0 && cv.is_finite() && alpha > 0.0 && alpha < 1.0;
    if runs < 2 || !usable {
        return None;
    }
    let spread = (cv * cv).ln_1p().sqrt().max(NoiseFloor::RELATIVE.relative);
    let shift = effect.ln_1p() / (spread * (2.0 / runs as f64).sqrt());
    let freedom = (2 * runs - 2) as f64;
    Some(noncentral_tail(upper_quantile(alpha, freedom), freedom, shift))
}

/// The least effect that `runs` per side show with a chance of `wanted` (0.8 is usual): where [`power`] reaches it.
/// `None` when there is no such test, or when not even a hundredfold would be seen.
pub fn detectable(cv: f64, runs: usize, alpha: f64, wanted: f64) -> Option<f64> {
    let seen = |effect: f64| power(effect, cv, runs, alpha).map(|power| power >= wanted);
    let (mut low, mut high) = (0.0, 100.0);
    // Below α a chance is had for nothing, and 1 is never had.
    let sensible = wanted > alpha && wanted < 1.0;
    if !(sensible && seen(high)?) {
        return None;
    }
    while high - low > 1e-6 * high {
        let middle = 0.5 * (low + high);
        if seen(middle)? {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}

/// How many runs per side show `effect` with a chance of `wanted`; `None` when ten thousand do not.
pub fn runs_needed(cv: f64, effect: f64, alpha: f64, wanted: f64) -> Option<usize> {
    let seen = |runs: usize| power(effect, cv, runs, alpha).map(|power| power >= wanted);
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

/// P(T > t) of the noncentral t, `T = (Z + δ)/U` with `U = √(χ²/df)`: the integral of `Φ(δ − t·u)` over the density of U,
/// by Simpson's rule. The density is taken relative to its peak at `u² = (df − 1)/df`, and divided by its own sum.
fn noncentral_tail(t: f64, freedom: f64, shift: f64) -> f64 {
    const STEPS: usize = 400;
    // U has a standard deviation of about 1/√(2 df); nine of them hold all that a double can tell.
    let reach = 9.0 / (2.0 * freedom).sqrt();
    let peak = ((freedom - 1.0) / freedom).sqrt();
    let (from, to) = ((peak - reach).max(0.0), peak + reach);
    let log_density = |u: f64| (freedom - 1.0) * u.ln() - 0.5 * freedom * u * u;
    let top = log_density(peak);
    let (mut tail, mut whole) = (0.0, 0.0);
    for step in 0..=STEPS {
        let u = from + (to - from) * step as f64 / STEPS as f64;
        // At u = 0 the density is 0: df − 1 is at least 1.
        let density = if u > 0.0 { (log_density(u) - top).exp() } else { 0.0 };
        let weight = match step {
            0 | STEPS => 1.0,
            step if step % 2 == 1 => 4.0,
            _ => 2.0,
        };
        whole += weight * density;
        tail += weight * density * normal(shift - t * u);
    }
    tail / whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_effect_is_seen_as_often_as_alpha_says() {
        for runs in [2, 3, 12, 200] {
            let seen = power(0.0, 0.05, runs, 0.05).unwrap();
            assert!((seen - 0.05).abs() < 1e-6, "{runs}: {seen}");
        }
    }

    #[test]
    fn what_is_detectable_needs_the_runs_it_was_asked_for() {
        for runs in [3, 5, 8, 12] {
            let effect = detectable(0.052, runs, 0.05, 0.8).unwrap();
            assert_eq!(runs_needed(0.052, effect, 0.05, 0.8), Some(runs));
        }
    }

    #[test]
    fn a_test_that_cannot_be_has_no_power() {
        assert_eq!(power(0.05, 0.05, 1, 0.05), None);
        assert_eq!(power(0.05, f64::NAN, 5, 0.05), None);
        assert_eq!(power(-1.0, 0.05, 5, 0.05), None);
        assert_eq!(power(0.05, 0.05, 5, 0.0), None);
        assert_eq!(detectable(0.05, 5, 0.05, 1.0), None);
        assert_eq!(detectable(0.05, 0, 0.05, 0.8), None);
        assert_eq!(runs_needed(0.05, 0.0, 0.05, 0.8), None);
        assert_eq!(runs_needed(0.05, -0.1, 0.05, 0.8), None);
    }

    #[test]
    fn runs_that_agree_exactly_still_have_the_floor_s_noise() {
        let effect = detectable(0.0, 3, 0.05, 0.8).unwrap();
        assert!(effect > 0.002 && effect < 0.004, "{effect}");
    }
}
