//! Statistics of differences: intervals, the decision rule, and power.
//!
//! The unit is one run, a fresh server process; samples within a run are never pooled. All functions take plain
//! positive values, in bytes or another unit, and each formula names its source.

#![deny(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

mod arm;
mod bounds;
mod budget;
mod calibrated;
mod clusters;
mod contrast;
mod counts;
mod decide;
mod endpoint;
mod holm;
mod inversions;
mod known;
mod leak;
mod median;
mod outliers;
mod parted;
mod pooled;
mod power;
mod prediction;
mod rounds;
mod shape;
mod strata;
mod student;
mod trend;

#[cfg(test)]
mod tests;

pub use crate::stats::arm::{Arm, Seen, Unusable};
pub use crate::stats::budget::{Budget, BudgetVerdict, judge_budget, judge_budget_by_looks};
pub use crate::stats::clusters::{Cluster, clusters};
pub use crate::stats::contrast::Contrast;
pub use crate::stats::counts::{CountGrowth, count_growth};
pub use crate::stats::decide::{TooManyEndpoints, Verdict, decide, decide_by_looks};
pub use crate::stats::endpoint::{Answer, Bound, Endpoint, EndpointVerdict, Evidence};
pub use crate::stats::holm::{Held, holm};
pub use crate::stats::known::{Known, LEAST_TO_DECIDE, unseen};
pub use crate::stats::leak::{
    Growth, LEAK_ALPHA, LEAST_CYCLES, LEAST_RUNS, LeakVerdict, Open, RunGrowth, judge_leak, judge_leak_by_looks,
    run_growth,
};
pub use crate::stats::median::{MedianInterval, median_interval};
pub use crate::stats::outliers::{Outlier, outliers};
pub use crate::stats::pooled::Pooled;
pub use crate::stats::power::{detectable, power, runs_needed};
pub use crate::stats::prediction::prediction;
pub use crate::stats::rounds::WARM_UP_CYCLES;
pub use crate::stats::shape::{Shape, shape};
pub use crate::stats::strata::{Side, Strata, Stratum};
pub use crate::stats::trend::{Trend, trend};
