//! What the user wrote — scenarios, servers, overrides — as values that cannot be invalid, or every mistake at once.

mod check;
mod choice;
mod decode;
pub mod files;
pub mod glob;
mod include;
mod load;
#[cfg(test)]
mod mistakes;
mod problem;
mod project;
mod scenario;
mod server;
pub mod step;
mod wording;

pub use choice::{Program, ServerChoice};
pub use load::{Loaded, Overrides, load_scenario};
pub use problem::{Fault, Report, nearest};
pub use project::Project;
pub use scenario::{
    FORMAT, Isolation, Phase, Readiness, ReadinessLimits, Repeat, Scenario, Settle, SettleLimits, Workspace,
};
pub use server::{Allocator, Failure, NotificationSignal, Profile, ProgressSignal, Ready, Servers, Signal};
pub use step::Step;
