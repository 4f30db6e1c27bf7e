//! What the user wrote — scenarios, servers, overrides — as values that cannot be invalid, or every mistake at once.

mod choice;
pub mod glob;
mod load;
mod scenario;
mod server;
pub mod step;

pub use choice::{Program, ServerChoice};
pub use load::{Loaded, Overrides, Project};
pub use scenario::{
    FORMAT, Isolation, Phase, Readiness, ReadinessLimits, Repeat, Scenario, Settle, SettleLimits, Workspace,
};
pub use server::{Allocator, Failure, NotificationSignal, Profile, ProgressSignal, Ready, Servers, Signal};
pub use step::Step;
