//! Whether a candidate may replace a baseline: the rules, and what the runs say to each of them.

mod alone;
mod judge;
mod judgement;
mod leaking;
mod machines;
mod rules;
mod sides;
mod what;

#[cfg(test)]
mod tests;

pub use judge::{judge, judge_calibrated};
pub use judgement::{Against, Basis, Broken, Calibrations, Judged, Judgement, Kept, Missing, Party, Role, Sides};
pub use leaking::Leaking;
pub use rules::{Leak, Limit, Rule, Rules};
pub use what::{At, What, WhatError};
