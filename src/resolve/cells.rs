//! The cells of a sweep, each put onto the server that it changes.

mod apply;
mod overlaps;
mod preset;
#[cfg(test)]
mod tests;

pub use apply::{applied, of_sweep};
pub use overlaps::shared;
pub use preset::{PresetError, cells as preset_cells};
