//! The runs of one scenario: planned in blocks, prepared, played and recorded.

mod auto;
pub mod before;
mod beside;
mod blocks;
pub mod build;
pub mod calibrations;
pub mod caps;
pub mod files;
mod forecast;
pub mod header;
pub mod invocation;
mod jobs;
mod judge;
mod launch;
mod probe;
mod read;
mod scratch;
pub mod single;
mod traced;

pub use auto::{is_decided, verdicts};
pub use blocks::{Campaign, Outcomes, called_off, failed_command, planned_runs};
pub use jobs::Jobs;
pub use judge::{EveryRun, Judge, Next};
pub use probe::{Probed, missing, probe};
pub use read::{STDIN, open, played, summary};
pub use scratch::Scratch;
pub use traced::tracer;
