//! Runs that stand far from the others of their arm. They are flagged and stay in every figure.

use serde::Serialize;

use base::band::NoiseFloor;
use base::units::median_of;

use super::arm::Arm;
use super::calibrated;

/// A run far from the others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Outlier {
    /// Which run, from 0.
    pub run: usize,
    /// The value.
    pub value: f64,
    /// Its distance from the median in robust standard deviations of the logs, negative below.
    pub distance: f64,
}

/// The runs whose logs lie farther from their median than the farthest of n bell-shaped values does once in twenty times,
/// in units of `max(1.4826 × MAD, noise floor)`.
///
/// The usual limit of 3.5 (Iglewicz and Hoaglin, *How to Detect and Handle Outliers*, 1993) is meant for large samples: at
/// n = 3 it flags 29 % of clean arms, at n = 8 still 14 %. The limits here are simulated for each n: 22 at n = 3, 4.9 at
/// n = 8, 4.4 at n = 12. The floor keeps a MAD of 0 from making an outlier of every other value.
pub fn outliers(arm: &Arm, floor: NoiseFloor) -> Vec<Outlier> {
    let Some(limit) = calibrated::distance(arm.len()) else {
        return Vec::new();
    };
    let centre = median_of(arm.logs().to_vec());
    let deviations: Vec<f64> = arm.logs().iter().map(|log| log - centre).collect();
    let absolute: Vec<f64> = deviations.iter().map(|deviation| deviation.abs()).collect();
    // 1.4826 makes the MAD of bell-shaped values their standard deviation.
    let scale = (1.4826 * median_of(absolute)).max(arm.log_floor(floor));
    let mut outliers = Vec::new();
    for (run, deviation) in deviations.into_iter().enumerate() {
        let distance = deviation / scale;
        if distance.abs() > limit {
            outliers.push(Outlier {
                run,
                value: arm.values()[run],
                distance,
            });
        }
    }
    outliers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flagged(values: &[f64]) -> Vec<usize> {
        let found = outliers(&Arm::new(values).unwrap(), NoiseFloor::MEMORY);
        found.into_iter().map(|outlier| outlier.run).collect()
    }

    #[test]
    fn a_run_far_above_the_others_is_flagged() {
        assert_eq!(flagged(&[2.00e8, 2.01e8, 3.2e8, 2.02e8, 1.99e8]), [2]);
        assert_eq!(flagged(&[2.00e8, 2.01e8, 1.1e8, 2.02e8, 1.99e8]), [2]);
    }

    #[test]
    fn a_page_more_than_equal_values_is_no_outlier() {
        assert_eq!(flagged(&[2e8, 2e8, 2e8, 2e8, 2e8 + 4096.0]), [0; 0]);
        assert_eq!(flagged(&[2e8; 6]), [0; 0]);
    }

    #[test]
    fn of_two_runs_neither_is_far_from_the_others() {
        assert_eq!(flagged(&[1e8, 9e8]), [0; 0]);
    }
}
