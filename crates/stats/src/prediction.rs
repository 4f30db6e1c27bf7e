//! The interval in which one more run will probably lie.

use base::band::NoiseFloor;

use super::arm::Arm;
use super::student::upper_quantile;

/// The two-sided prediction interval of one more value, at a confidence such as 0.95: on logs `mean ± t(n−1) · s · √(1
/// + 1/n)` (Hahn and Meeker, *Statistical Intervals*, 1991), with `s` at least the given spread. It is wider than the
/// interval of the mean, however many runs there are. `None` for fewer than two values.
pub fn prediction(values: &[f64], confidence: f64, floor: NoiseFloor) -> Option<(f64, f64)> {
    let arm = Arm::new(values).ok()?;
    let n = arm.len() as f64;
    let t = upper_quantile((1.0 - confidence) / 2.0, n - 1.0);
    let half = t * arm.spread(floor) * (1.0 + 1.0 / n).sqrt();
    let low = (arm.mean_log() - half).exp();
    let high = (arm.mean_log() + half).exp();
    if low.is_finite() && high.is_finite() {
        Some((low, high))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::sum_of_uniforms;
    use base::random::Random;

    #[test]
    fn one_more_run_lies_within_as_often_as_promised() {
        let mut random = Random::for_use(3, "prediction");
        let rounds = 2_000;
        for runs in [3, 8] {
            let mut kept = 0;
            for _ in 0..rounds {
                let values: Vec<f64> = (0..runs).map(|_| run(&mut random)).collect();
                let next = run(&mut random);
                let (low, high) = prediction(&values, 0.95, NoiseFloor::MEMORY).unwrap();
                kept += u32::from(low <= next && next <= high);
            }
            let share = f64::from(kept) / f64::from(rounds);
            // Three standard errors of 2,000 rounds.
            assert!((share - 0.95).abs() < 0.016, "{runs} runs: {share}");
        }
    }

    /// A run of 100 MB that varies by 3 %.
    fn run(random: &mut Random) -> f64 {
        (0.03 * sum_of_uniforms(random)).exp() * 1e8
    }

    #[test]
    fn of_one_run_nothing_can_be_promised() {
        assert_eq!(prediction(&[1e8], 0.95, NoiseFloor::MEMORY), None);
        let (low, high) = prediction(&[1e8, 1e8], 0.95, NoiseFloor::MEMORY).unwrap();
        assert!(low < 1e8 && high > 1e8, "equal values are not exact: {low} {high}");
    }
}
