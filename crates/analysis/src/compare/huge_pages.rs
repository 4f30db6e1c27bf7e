//! How much of a difference between two servers is in huge pages, which hold more than was ever touched.

use crate::summary::{PhaseSummary, Summary};
use base::band::Tolerance;
use base::units::median_of;

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

/// The difference that huge pages make; `None` where it is little, or not known.
pub fn huge_pages(baseline: &[&Summary], side: &[&Summary]) -> Option<HugePages> {
    let counts = HugePages {
        huge: difference(baseline, side, |phase| phase.checkpoint.as_ref()?.huge_pages)?,
        private: difference(baseline, side, |phase| phase.private)?,
    };
    let leads_to_conclusion = counts.private.abs() >= LEAST;
    if leads_to_conclusion && counts.huge.abs() > SHARE * counts.private.abs() {
        Some(counts)
    } else {
        None
    }
}

/// The difference between the medians of a figure at the end of the last phase; `None` unless every run has it.
fn difference(baseline: &[&Summary], side: &[&Summary], figure: fn(&PhaseSummary) -> Option<u64>) -> Option<f64> {
    Some(median_at_end(side, figure)? - median_at_end(baseline, figure)?)
}

/// The median of a figure at the end of the last phase; `None` without runs, or unless every run has it.
fn median_at_end(runs: &[&Summary], figure: fn(&PhaseSummary) -> Option<u64>) -> Option<f64> {
    let mut values = Vec::new();
    for run in runs {
        values.push(figure(run.phases.last()?)? as f64);
    }
    if values.is_empty() {
        None
    } else {
        Some(median_of(values))
    }
}
