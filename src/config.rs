//! User input (scenarios, servers, overrides) as values that are valid by construction, or a report of every mistake.
//!
//! Everything here is a function of texts, except the few modules that find and read the files of a scenario.

#![deny(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

mod catalogue;
mod check;
mod decode;
mod destructive;
#[expect(clippy::disallowed_methods, reason = "it finds the files of a project")]
pub mod files;
mod gate;
pub mod glob;
mod include;
mod kind;
#[expect(clippy::disallowed_methods, reason = "it reads scenarios and what they include")]
mod load;
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "it writes scenarios to be read")]
mod mistakes;
mod names;
mod origin;
pub mod place;
mod problem;
#[expect(clippy::disallowed_methods, reason = "it looks for the directory of a project")]
mod project;
#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it reads the file of a session"
)]
pub mod recorded;
mod scenario;
pub mod schema;
mod server;
pub mod step;
pub mod tune;
pub mod values;
mod wording;

pub use catalogue::Catalogue;
pub use gate::GateContext;
pub use kind::Kind;
pub use load::{Loaded, load_scenario, read_text};
pub use names::{as_file_name, is_file_name};
pub use origin::{Fetch, Fetched, OriginError, Pin, Source, Wanted, is_version_of, short_name};
pub use problem::{Mistake, MistakeReport};
pub use project::{Overrides, Project, of_command, plain_path};
pub use scenario::{
    FORMAT, Isolation, Phase, Readiness, ReadinessLimits, Repeat, Scenario, Settle, SettleLimits, Workspace,
};
pub use server::{
    Allocator, Failure, NotificationSignal, Package, Profile, ProgressSignal, Question, Ready, SelfReport, Servers,
    Signal, Total, own_home,
};
pub use step::{IdleMode, Step};
