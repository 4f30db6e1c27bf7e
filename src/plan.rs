//! Scenario and servers to an ordered, seeded list of runs, and what one run will do. Pure: nothing is read or spawned.

#![deny(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

mod blocks;
mod estimate;
mod text;

pub use blocks::{Blocks, Run, once};
pub use estimate::{Amount, Outline, PhaseOutline, StepOutline, outline};
pub use text::describe;
