//! The noise that is known before the runs.

use schemars::JsonSchema;
use serde::Serialize;

use crate::band::NoiseFloor;

/// The assumed spread without a calibration: 5 %, that of the noisiest calibrated server (METHOD.md, "Gates").
pub const ASSUMED_VARIATION: f64 = 0.05;

/// Runs of each side without which nothing passes by an assumed spread: five runs of two equal groups all fall into one
/// of them in 3 % of cases, four in 6 %.
pub const LEAST_TO_PASS: usize = 5;

/// The source of the least spread.
///
/// Runs of one server can fall into groups, and few runs can all fall into one: three of two equal groups do so in a
/// quarter of cases, three of shares 0.7 and 0.3 in 37 %. These runs show no spread, so a test on them alone exceeds
/// its α if the other side has another shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Known {
    /// From the runs alone: the figure has no relevant groups.
    #[default]
    Seen,
    Calibrated,
    /// From nowhere: at least [`ASSUMED_VARIATION`] for memory. With it errors keep under 5 % for two groups up to 20 %
    /// apart, whatever their shares, also where the other side has none; 15 % for a budget, which has no other side.
    Assumed,
}

/// No test by an assumed spread is at a higher level: with seven of eight runs in one group, or eleven of twelve, the
/// spread that is seen is too small, and bounds at 5 % would err in 8 %.
const MOST_LEVEL: f64 = 0.025;

impl Known {
    /// The level of a look that may spend `alpha`.
    pub(super) fn level(self, alpha: f64) -> f64 {
        match self {
            Known::Assumed if alpha > MOST_LEVEL => MOST_LEVEL,
            Known::Assumed | Known::Seen | Known::Calibrated => alpha,
        }
    }

    /// Runs of each side without which nothing passes.
    pub fn least_to_pass(self) -> usize {
        match self {
            Known::Assumed => LEAST_TO_PASS,
            Known::Seen | Known::Calibrated => 2,
        }
    }
}

/// The largest share of all runs that a group can have and yet be in none of `runs` runs once in twenty times.
pub fn unseen(runs: usize) -> f64 {
    1.0 - 0.05_f64.powf(1.0 / runs as f64)
}

impl NoiseFloor {
    /// This floor, and no less than a coefficient of variation.
    pub fn at_least(self, variation: f64) -> NoiseFloor {
        NoiseFloor {
            relative: self.relative.max(variation.powi(2).ln_1p().sqrt()),
            ..self
        }
    }
}
