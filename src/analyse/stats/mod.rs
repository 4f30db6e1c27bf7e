//! What may be said of a difference: intervals, the decision rule, and what so many runs can see.
//!
//! The unit is one run, a fresh server process; samples within a run are never pooled. Everything is a function
//! of plain values, in bytes or in any other positive unit, and each formula names where it comes from.

mod arm;
mod budget;
mod calibrated;
mod clusters;
mod contrast;
mod decide;
mod endpoint;
mod holm;
mod inversions;
mod known;
mod leak;
mod median;
mod outliers;
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

pub use arm::{Arm, NoiseFloor, Seen, Unusable};
pub use budget::{Budget, BudgetVerdict, judge_budget, judge_budget_by_looks};
pub use clusters::{Cluster, clusters};
pub use contrast::Contrast;
pub use decide::{Answer, MOST_ENDPOINTS, TooManyEndpoints, Verdict, decide, decide_by_looks};
pub use endpoint::{Bound, Endpoint, EndpointVerdict, Evidence, Side, Tolerance, ToleranceError};
pub use holm::{Held, holm};
pub use known::{ASSUMED_VARIATION, Known, LEAST_TO_PASS, unseen};
pub use leak::{
    Growth, LEAK_ALPHA, LEAST_CYCLES, LEAST_ROUNDS, LEAST_RUNS, LeakLimit, LeakVerdict, Open, RunGrowth,
    WARM_UP_CYCLES, judge_leak, judge_leak_by_looks, run_growth,
};
pub use median::{MedianInterval, median_interval};
pub(crate) use median::{median_by, middle};
pub use outliers::{Outlier, outliers};
pub use pooled::Pooled;
pub use power::{detectable, power, runs_needed};
pub use prediction::prediction;
pub use shape::{Shape, shape};
pub use strata::{Strata, Stratum};
pub use trend::{Trend, trend};
