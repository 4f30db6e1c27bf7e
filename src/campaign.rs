//! Runs of one scenario: its plan block by block, each run prepared, played and recorded, and what was played before.

pub mod before;
mod blocks;
pub mod build;
pub mod calibrations;
pub mod caps;
pub mod files;
mod forecast;
pub mod header;
mod launch;
mod read;
mod scratch;
pub mod single;
mod traced;

pub use blocks::{Campaign, Outcomes, Sweeping, called_off, decided, of_runs};
pub use read::{STDIN, open, played, summary};
pub use scratch::Scratch;
pub use traced::tracer;
