//! The noise that is known before the runs.

use serde::Serialize;

/// Runs of each side before which nothing is decided by the runs alone: five runs of two equal groups all fall into the
/// lower one in 3 % of cases, four in 6 %.
pub const LEAST_TO_DECIDE: usize = 5;

/// The source of the least spread.
///
/// Runs of one server can fall into groups, and few runs can all fall into one: three of two equal groups do so in a
/// quarter of cases, three of shares 0.7 and 0.3 in 37 %.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Known {
    /// From the runs alone.
    #[default]
    Seen,
    /// From calibrations of both sides, which have runs enough to show groups.
    Calibrated,
    /// From calibrations that are, for one side at least, of another version of its server.
    OtherVersion,
}

impl Known {
    /// Runs of each side before which nothing is decided.
    pub fn least_to_decide(self) -> usize {
        match self {
            Known::Seen => LEAST_TO_DECIDE,
            Known::Calibrated | Known::OtherVersion => 2,
        }
    }
}

/// The largest share of all runs that a group can have and yet be in none of `runs` runs once in twenty times.
pub fn largest_missed_share(runs: usize) -> f64 {
    1.0 - 0.05_f64.powf(1.0 / runs as f64)
}
