//! Turns scenario and servers into an ordered, seeded list of runs, and outlines one run. Pure: reads and spawns
//! nothing.

#![deny(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

mod blocks;
mod estimate;
mod text;

pub use blocks::{Blocks, PlannedRun, batches, once};
pub use estimate::{Amount, Outline, PhaseOutline, StepOutline, outline};
pub use text::describe;
