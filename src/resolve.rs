//! Servers as they were named, `[LABEL:] [K=V …] NAME|PATH`, each to a program with its profile and settings.

pub mod cells;
mod choice;
mod error;
mod purge;
mod spec;
mod spread;
mod suits;
mod which;

pub use choice::{Common, LIBRARY, Program, ServerChoice, Setting, Shim, choose, installed};
pub use error::ChoiceError;
pub use purge::{PurgeError, asks_for, needs_traffic, purged};
pub use spec::ServerSpec;
pub use spread::{Twice, distinct, spread};
pub use suits::suits;
pub use which::Which;
