//! What the user wrote — scenarios, servers, overrides — as values that cannot be invalid, or every mistake at once.

mod catalogue;
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
mod spec;
pub mod step;
mod which;
mod wording;

pub use catalogue::Catalogue;
pub use choice::{ChoiceError, Common, Program, ServerChoice, choose, installed};
pub use load::{Loaded, Overrides, load_scenario};
pub use problem::{Fault, Report, nearest};
pub use project::{Project, plain_path};
pub use scenario::{
    FORMAT, Isolation, Phase, Readiness, ReadinessLimits, Repeat, Scenario, Settle, SettleLimits, Workspace,
};
pub use server::{Allocator, Failure, NotificationSignal, Profile, ProgressSignal, Ready, SCRUBBED, Servers, Signal};
pub use spec::ServerSpec;
pub use step::Step;
pub use which::Which;
