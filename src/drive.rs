//! Plays a scenario through a client: which documents to open, where to ask, what to type, and when the server is idle.

pub mod ask;
mod barrier;
pub mod command;
pub mod document;
pub mod documents;
mod doubt;
mod editor;
pub mod fault;
mod flood;
pub mod language;

pub mod other_windows;
mod parked;
mod player;
pub mod printed_figures;
mod pull;
mod quiet;
pub mod readiness;
mod replay;
mod reported_total;
pub mod repository;
pub mod session;
pub mod settling;
pub mod shutdown;
pub mod signal;
pub mod snippet;
mod stage;
mod start_grace;
pub mod steps;
pub mod stop;
mod tally;
pub mod target;
pub mod uri;
mod violations;
pub mod workspace;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use crate::config::Scenario;
use crate::resolve::{KnownDecay, Library, ServerChoice};
use proctree::process::Launch;
use record::Ending;

pub use player::{Player, lacks};
pub use stage::{Activity, Crash, Frame, MemoryHolder, ReleaseResult, Stage};

#[derive(Debug)]
pub struct Job {
    pub scenario: Scenario,
    pub choice: ServerChoice,
    /// The way in which the allocator releases memory; `None` if unknown.
    pub decay: Option<KnownDecay>,
    /// The variables by which a runtime decides when it releases memory.
    pub runtime_settings: BTreeMap<String, String>,
    /// The program that contains the allocator: what a launcher starts. Empty if unknown.
    pub native: PathBuf,
    pub launch: Launch,
    /// The library preloaded to release memory; `None` if none is.
    pub library: Option<Library>,
    /// The message for a scenario that needs a library when there is none.
    pub no_library: String,
    pub root: PathBuf,
    /// Workspace folders at the start, relative to the root; none for the root itself.
    pub folders: Vec<PathBuf>,
    pub selection: workspace::Selection,
    /// Name of the client capability profile.
    pub capabilities: String,
    /// Seed of every random choice.
    pub seed: u64,
    /// True to skip steps that the server does not support instead of ending the run.
    pub allow_unsupported: bool,
    /// True to end as soon as the server's capabilities are known.
    pub probe: bool,
    /// Path of the pipe to create for the tracer of a traced run.
    pub trace: Option<PathBuf>,
    /// The file for the report of a command that is run instead of a server.
    pub report: Option<PathBuf>,
}

/// The reason why playing stops before the end of the scenario.
#[derive(Debug)]
pub enum Stop {
    /// The run has ended, for a known reason.
    Ended(Ending),
    /// The connection is gone; the process and its stderr tell why.
    Gone,
    /// lsp-soak itself failed: it could not start the program, read a file or write one.
    Failed {
        /// The failed action, for messages: `start `ty``, `read `a.py``.
        what: String,
        error: io::Error,
    },
}

impl Stop {
    /// Makes the error for an action of lsp-soak that failed; use with `map_err`.
    pub fn failed(what: impl Into<String>) -> impl FnOnce(io::Error) -> Stop {
        let what = what.into();
        move |error| Stop::Failed { what, error }
    }
}
