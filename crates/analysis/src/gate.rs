//! Whether a candidate may replace a baseline: the rules, and what the runs say to each of them.

mod absolute_rules;
mod judge;
mod judgement;
mod leaking;
mod machines;
mod peaks;
mod role;
mod sides;
mod still_growing;

#[cfg(test)]
mod tests;

pub use crate::gate::judge::{judge, judge_calibrated};
pub use crate::gate::judgement::{Against, Broken, Calibrations, Judged, Judgement, Kept, Party, Sides, UnjudgedRule};
pub use crate::gate::leaking::{Basis, Leaking};
pub use crate::gate::peaks::{Peaks, Range};
pub use crate::gate::role::Role;
pub use crate::gate::still_growing::StillGrowing;
pub(crate) use crate::gate::still_growing::{at_end_of, below_figure_of};
