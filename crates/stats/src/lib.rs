#![doc = include_str!("../README.md")]

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
mod schedule;
mod shape;
mod strata;
mod student;
mod trend;

#[cfg(test)]
mod tests;

pub use crate::arm::{Arm, Seen, Unusable};
pub use crate::bounds::Bounded;
pub use crate::budget::{Budget, BudgetVerdict, judge_budget, judge_budget_by_looks};
pub use crate::clusters::{Cluster, clusters};
pub use crate::contrast::Contrast;
pub use crate::counts::{CountGrowth, count_growth};
pub use crate::decide::{TooManyEndpoints, Verdict, decide, decide_by_looks};
pub use crate::endpoint::{Answer, Bound, Endpoint, EndpointVerdict, Evidence, MeansOfBoth, RunsOfBoth};
pub use crate::holm::{HolmResult, holm};
pub use crate::known::{Known, LEAST_TO_DECIDE, largest_missed_share};
pub use crate::leak::{
    Growth, LEAK_ALPHA, LEAST_CYCLES, LEAST_RUNS, LeakVerdict, Open, RunGrowth, judge_leak, judge_leak_by_looks,
    run_growth,
};
pub use crate::median::{MedianInterval, median_interval};
pub use crate::outliers::{Outlier, outliers};
pub use crate::pooled::Pooled;
pub use crate::power::{detectable, power, runs_needed};
pub use crate::prediction::prediction;
pub use crate::rounds::WARM_UP_CYCLES;
pub use crate::schedule::{Schedule, ScheduleError};
pub use crate::shape::{Shape, shape};
pub use crate::strata::{Side, Strata, Stratum};
pub use crate::trend::{Trend, trend};
