//! How much of a difference between two servers is in huge pages, which hold more than was ever touched.

use crate::summary::{PhaseSummary, Summary};
use base::band::Tolerance;
use base::units::middle;

/// The least share of the difference that is reported: with huge pages, two servers of equal live memory differed by a
/// quarter.
const SHARE: f64 = 0.2;

/// Smaller differences in private memory lead to no conclusion: a gate tolerates them, and equal runs differ by one
/// huge page.
const LEAST: f64 = Tolerance::PURGED.floor();

/// The difference of a side from the baseline at the end, in medians over the runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HugePages {
    /// In huge pages, in bytes; negative when the side has fewer.
    pub huge: f64,
    /// In private memory, in bytes.
    pub private: f64,
}

/// What huge pages do to the difference; `None` where that is little, or not known.
pub fn huge_pages(baseline: &[&Summary], side: &[&Summary]) -> Option<HugePages> {
    let difference = |value: fn(&PhaseSummary) -> Option<u64>| Some(last(side, value)? - last(baseline, value)?);
    let counts = HugePages {
        huge: difference(|phase| phase.checkpoint.as_ref()?.huge_pages)?,
        private: difference(|phase| phase.private)?,
    };
    (counts.private.abs() >= LEAST && counts.huge.abs() > SHARE * counts.private.abs()).then_some(counts)
}

/// The median of a figure at the end of the last phase; `None` unless every run has it.
fn last(runs: &[&Summary], value: fn(&PhaseSummary) -> Option<u64>) -> Option<f64> {
    let values: Option<Vec<f64>> = runs
        .iter()
        .map(|run| value(run.phases.last()?).map(|value| value as f64))
        .collect();
    values.filter(|values| !values.is_empty()).map(middle)
}
