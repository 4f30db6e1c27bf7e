//! Many runs of several servers side by side: every figure of every run, its middle and its interval, and its ratio
//! against one of them.

pub mod calibration;
pub mod cell;
mod circumstances;
mod decay;
mod gather;
mod growth;
mod huge_pages;
mod metric;
mod played;
mod primary;
mod release;
mod strain;
mod targets;
mod work;

#[cfg(test)]
mod tests;

pub use crate::compare::circumstances::{
    Difference, Weight, are_versions, changes, circumstances, differences, differences_between, differences_of,
    differing_circumstances, shared_memory,
};
pub use crate::compare::decay::{Decay, Decayed, ReleaseOfRuns, releases};
pub use crate::compare::gather::{
    Excluded, Why, compare, doubts, headlines, is_counted, one_run, unconfirmed_settings,
};
pub use crate::compare::growth::Grown;
pub use crate::compare::huge_pages::{HugePages, huge_pages};
pub use crate::compare::metric::unify_metrics;
pub(crate) use crate::compare::played::summaries;
pub use crate::compare::played::{Copied, Played, are_unlike, distinct_runs, labels};
pub use crate::compare::primary::primary;
pub use crate::compare::release::{Accounted, Forced};
pub use crate::compare::strain::{StrainedRuns, strained_runs};
pub use crate::compare::targets::{Scenarios, Target, compare_by_target};
pub use crate::compare::work::{Count, Inequality, Task, inequalities};

use std::collections::BTreeMap;

use serde::Serialize;

use crate::figures::{Figure, Measure, MeasuredPart, Named};
use crate::summary::calls::Traced;
use base::shown;
use record::{KnobFacts, PreloadFacts, Strain};

use stats::{Cluster, MedianInterval, Outlier};

/// The level of every interval of a comparison.
pub const CONFIDENCE: f64 = 0.95;

/// Servers that played one scenario, compared.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    #[serde(skip)]
    pub scenario: String,
    /// The servers, the baseline first.
    #[serde(rename = "servers")]
    pub sides: Vec<Side>,
    /// Where the result is read: private memory after this phase is what servers are compared by first.
    #[serde(skip)]
    pub result: Option<MeasuredPart>,
    /// Every figure that at least one run has, in the order of the scenario.
    pub rows: Vec<Row>,
    /// Idle windows, in the order of the scenario.
    #[serde(rename = "decay")]
    pub decays: Vec<Decay>,
    /// Circumstances that are not the same in all runs.
    pub differences: Vec<Difference>,
    /// What about the machines makes figures less sure.
    #[serde(skip)]
    pub strains: Vec<StrainedRuns>,
    /// True if a counted run played any phase more than once; the last round is used.
    #[serde(skip)]
    pub repeats: bool,
    /// True if the page cache was emptied before the first counted run of a command; `None` for servers.
    #[serde(skip)]
    pub page_cache_dropped: Option<bool>,
    /// True if a counted run is a session of an editor, which has no checkpoints.
    #[serde(skip)]
    pub wrapped: bool,
    /// True if the results of runs decided their number: an interval of 95 % is then not exactly that.
    #[serde(skip)]
    pub looked: bool,
}

/// One server of a comparison.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Side {
    /// Its label.
    pub label: String,
    /// Its version, where all runs agree on one.
    pub version: Option<String>,
    /// The preloaded library, if all runs agree.
    pub preload: Option<PreloadFacts>,
    /// Names of the records that count, in the order of the runs.
    pub runs: Vec<String>,
    /// Runs that do not count, and why.
    #[serde(rename = "left_out")]
    pub left: Vec<Excluded>,
    /// Work that it did not do as the baseline did. Empty for the baseline.
    pub work: Vec<Inequality>,
    /// Allocators that were purged; none as shipped. Sides that differ here are not compared.
    #[serde(skip)]
    pub purged: Vec<String>,
    /// What huge pages do to its difference from the baseline, where that is more than a little.
    #[serde(skip)]
    pub huge_pages: Option<HugePages>,
    /// Settings of its allocator that were asked for and not seen in force, each once.
    #[serde(rename = "unseen_settings")]
    pub unseen: Vec<KnobFacts>,
    /// Crashes, unrest and other things that give its figures another meaning, in sentences.
    pub headlines: Vec<String>,
    /// What its runs were to have and was not seen in them, in sentences.
    pub doubts: Vec<String>,
    /// Its growth with what the scenario repeats.
    pub growth: Vec<Grown>,
    /// Memory released in each window.
    #[serde(skip)]
    pub gave: Vec<ReleaseOfRuns>,
    /// Memory that it was made to release by steps of the scenario.
    pub forced: Vec<Forced>,
    /// Memory that it was made to release before the checkpoint of each phase.
    pub forced_before_checkpoints: Vec<Forced>,
    /// Memory that its self-reports account for.
    #[serde(rename = "self_reports")]
    pub accounted: Vec<Accounted>,
    /// Private memory added by light traffic alone, in bytes a minute; `None` without a control window.
    #[serde(rename = "traffic_cost")]
    pub traffic: Option<MedianInterval>,
    /// The change that this cost explains in the windows of light traffic that are no controls, in bytes.
    #[serde(skip)]
    pub traffic_in_windows: Option<MedianInterval>,
    /// Its memory calls, where a run of it was traced; of several the first.
    #[serde(rename = "system_calls")]
    pub traced: Option<Traced>,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    #[serde(flatten, serialize_with = "shown::<Named, _, _>")]
    #[cfg_attr(feature = "schema", schemars(with = "Named"))]
    pub measure: Measure,
    /// One for each side, in their order.
    pub cells: Vec<Cell>,
}

#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cell {
    /// One for each run of the side; `None` where the run does not have it.
    pub values: Vec<Option<f64>>,
    /// The median of what there is, with its interval where there are enough runs for one.
    pub median: Option<MedianInterval>,
    /// Against the baseline; `None` for the baseline itself and where either side has less than two runs.
    pub ratio: Option<Ratio>,
    /// The groups that the values fall into; empty of less than two values, and over several machines.
    #[serde(rename = "groups")]
    pub clusters: Vec<Cluster>,
    /// Values far from the others of their machine. They are counted too.
    pub outliers: Vec<Outlier>,
}

/// The ratio of two servers' geometric means.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ratio {
    /// The ratio: 1.1 is ten per cent more than the baseline.
    #[serde(rename = "value")]
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of its interval; `null` where nothing bounds it.
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub high: f64,
    /// Two-sided p of Welch's test on logs.
    pub p: f64,
    /// Runs of the baseline and of the server, counting only machines with at least two of each.
    #[serde(skip)]
    pub runs: (usize, usize),
    /// The ratio on each machine. Over several, `ratio` is their geometric mean.
    pub machines: BTreeMap<String, f64>,
}

impl Ratio {
    /// True if the interval excludes 1: the two differ, as far as one look at one figure can tell.
    pub fn differs(&self) -> bool {
        self.low > 1.0 || self.high < 1.0
    }

    /// True if at least three runs of each side put the ratio between 1 / 1.5 and 1.5.
    pub fn excludes_large(&self) -> bool {
        const RUNS: usize = 3;
        const LARGEST_FACTOR: f64 = 1.5;
        let is_narrow = self.low >= 1.0 / LARGEST_FACTOR && self.high <= LARGEST_FACTOR;
        self.runs.0 >= RUNS && self.runs.1 >= RUNS && is_narrow
    }
}

impl Side {
    /// True if the runs of both sides purged at most one allocator between them; a side as shipped purged none.
    pub fn is_purged_as(&self, baseline: &Side) -> bool {
        are_purged_alike(&self.purged, &baseline.purged)
    }
}

/// True if these lists of purged allocators name no more than one allocator together.
fn are_purged_alike(a: &[String], b: &[String]) -> bool {
    let mut allocators = a.iter().chain(b);
    match allocators.next() {
        None => true,
        Some(first) => allocators.all(|other| other == first),
    }
}

impl Comparison {
    /// True if runs were played at once, so that none of their times decides.
    pub fn is_shared(&self) -> bool {
        self.strains.iter().any(|strained| strained.strain == Strain::Shared)
    }

    pub fn row(&self, measure: &Measure) -> Option<&Row> {
        self.rows.iter().find(|row| row.measure == *measure)
    }

    /// Private memory at the result, or at the last checkpoint that any run reached before it.
    pub fn result_row(&self) -> Option<&Row> {
        let result = match &self.result {
            Some(MeasuredPart::Phase { number, .. }) => *number,
            _ => u32::MAX,
        };
        self.rows.iter().rfind(|row| match row.measure.place {
            MeasuredPart::Phase { number, .. } => row.measure.figure == Figure::Private && number <= result,
            _ => false,
        })
    }
}
