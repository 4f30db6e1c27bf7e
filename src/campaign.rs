//! The runs of one scenario: planned in blocks, prepared, played and recorded.

mod auto;
mod blocks;
pub mod build;
pub mod calibrations;
pub mod earlier_runs;
pub mod files;
mod forecast;
pub mod header;
pub mod invocation;
mod jobs;
mod judge;
mod launch;
mod parallel;
mod probe;
mod read;
mod repeating;
mod scratch;
pub mod single;
mod traced;
pub mod window_warnings;

pub use auto::{is_decided, verdicts};
pub use blocks::{Campaign, Outcomes, called_off, failed_command};
pub use header::Measuring;
pub use jobs::Jobs;
pub use judge::{EveryRun, Judge, Next};
pub use probe::{Probed, missing_steps, probe};
pub use read::{STDIN, open, read_played};
pub use repeating::Repeating;
pub use scratch::Scratch;
pub use traced::tracer;
