//! The cells of a sweep, each put onto the server that it changes.

mod apply;
mod given;
mod preset;
#[cfg(test)]
mod tests;

pub use apply::{applied, of_sweep};
pub use given::shared;
pub use preset::{PresetError, cells as preset_cells};
