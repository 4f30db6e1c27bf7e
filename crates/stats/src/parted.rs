//! The error that two groups of runs can add to a mean: a share of the runs, times the distance between the groups.

use statrs::distribution::{Beta, ContinuousCDF};

use super::arm::Arm;

/// The runs of one side, parted at the widest gap between neighbours (of logs, in order).
///
/// They are parted whether or not they form groups: runs of one group have no wide gap, so that little follows from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Parted {
    runs: usize,
    /// Runs above the gap.
    upper: usize,
    /// Between the means of both parts, on the log scale.
    distance: f64,
}

impl Parted {
    pub fn new(arm: &Arm) -> Parted {
        let mut logs = arm.logs().to_vec();
        logs.sort_by(f64::total_cmp);
        let mut border = 1;
        for place in 2..logs.len() {
            if logs[place] - logs[place - 1] > logs[border] - logs[border - 1] {
                border = place;
            }
        }
        let (low, high) = logs.split_at(border);
        Parted {
            runs: logs.len(),
            upper: high.len(),
            distance: mean(high) - mean(low),
        }
    }

    pub fn distance(&self) -> f64 {
        self.distance
    }

    /// The distance by which the true mean can be above the mean of the runs, at level `alpha`: the largest share of runs in
    /// the upper part, less the share seen.
    pub fn excess_above(&self, alpha: f64) -> f64 {
        self.excess(self.upper, alpha)
    }

    /// The distance by which the true mean can be below the mean of the runs, at level `alpha`: the largest share of runs in
    /// the lower part, less the share seen.
    pub fn excess_below(&self, alpha: f64) -> f64 {
        self.excess(self.runs - self.upper, alpha)
    }

    /// The distance by which the mean can be off if the runs miss a group that is `distance` away.
    pub fn excess_of_missed_group(&self, distance: f64, alpha: f64) -> f64 {
        largest_share(0, self.runs, alpha) * distance
    }

    fn excess(&self, seen: usize, alpha: f64) -> f64 {
        (largest_share(seen, self.runs, alpha) - seen as f64 / self.runs as f64) * self.distance
    }
}

fn mean(logs: &[f64]) -> f64 {
    logs.iter().sum::<f64>() / logs.len() as f64
}

/// The upper bound of a share of which `seen` of `runs` were seen, at level `alpha` (Clopper and Pearson, *The Use of
/// Confidence or Fiducial Limits Illustrated in the Case of the Binomial*, Biometrika 26, 1934). 1 for an impossible
/// `alpha`.
fn largest_share(seen: usize, runs: usize, alpha: f64) -> f64 {
    let is_level = alpha > 0.0 && alpha < 1.0;
    if seen >= runs || !is_level {
        return 1.0;
    }
    Beta::new(seen as f64 + 1.0, (runs - seen) as f64).map_or(1.0, |beta| beta.inverse_cdf(1.0 - alpha))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_share_is_that_of_clopper_and_pearson() {
        // 1 − α^(1/n) for none.
        assert!((largest_share(0, 5, 0.0125) - (1.0 - 0.0125_f64.powf(0.2))).abs() < 1e-9);
        // R: binom.test(1, 8, conf.level = 0.95, alternative = "less").
        assert!((largest_share(1, 8, 0.05) - 0.470_680).abs() < 1e-5);
        assert!((largest_share(3, 12, 0.05) - 0.527_327).abs() < 1e-5);
        assert_eq!(largest_share(4, 4, 0.05), 1.0);
        for alpha in [0.0, 1.0, f64::NAN] {
            assert_eq!(largest_share(1, 4, alpha), 1.0);
        }
    }

    #[test]
    fn runs_are_parted_at_the_widest_gap() {
        let arm = Arm::new(&[1.2, 1.0, 1.01, 1.0]).unwrap();
        let parted = Parted::new(&arm);
        assert_eq!((parted.runs, parted.upper), (4, 1));
        assert!((parted.distance - (1.2_f64.ln() - 1.01_f64.ln() / 3.0)).abs() < 1e-12);
        assert!(
            parted.excess_above(0.05) > parted.excess_below(0.05),
            "a lone high run hides more above"
        );
    }
}
