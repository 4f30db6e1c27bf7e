//! Servers as they were named, `[LABEL:] [K=V …] NAME|PATH`, each to a program with its profile and settings.

pub mod cells;
mod checkout;
mod choice;
mod client;
mod command;
pub mod detector;
mod error;
mod language_check;
mod package;
pub mod preload;
mod preload_variants;
mod purge;
pub mod shim;
mod spec;
mod store;
mod tools;
mod workspace;

pub use checkout::Commits;
pub use choice::{
    Collector, Common, LIBRARY, Program, ServerChoice, Setting, Shim, choose, installed, plain_label as label_of,
};
pub use client::tail;
pub use command::CommandPlan;
pub use detector::{KnownDecay, listed};
pub use error::ChoiceError;
pub use language_check::suits;
pub use package::{PackageError, install, published, sha256_now as package_sha256};
pub use preload::mistakes;
pub use preload_variants::{Twice, distinct, spread};
pub use purge::{PurgeError, collecting, is_lens_option, needs_traffic, purged};
pub use shim::Library;
pub use spec::ServerSpec;
pub use store::{Entry, Store, path_in_variable};
pub use tools::tools;
pub use workspace::fetch;

pub use proctree::host::{Which, unrunnable, which};

use std::ffi::OsString;

/// Changes to the environment that a program inherits: a value sets a variable, `None` removes it; the last of a name holds.
pub type Env = Vec<(OsString, Option<OsString>)>;
