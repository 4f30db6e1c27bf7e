//! Plays a scenario through a client: what to open, where to ask, what to type, and when the server is at rest.

mod accounted;
pub mod ask;
mod barrier;
pub mod document;
pub mod documents;
mod doubt;
pub mod fault;
mod flood;
pub mod language;
mod late;
mod player;
pub mod quiet;
pub mod readiness;
pub mod session;
pub mod settling;
pub mod shutdown;
pub mod signal;
pub mod snippet;
mod stage;
pub mod steps;
mod tally;
pub mod target;
pub mod uri;
mod violations;
pub mod workspace;

use std::io;
use std::path::PathBuf;

use crate::config::Scenario;
use crate::lsp::process::Launch;
use crate::record::Ending;
use crate::resolve::{KnownDecay, Library, ServerChoice};

pub use player::{Player, lacks};
pub use stage::{Cpu, Frame, Given, Stage};

#[derive(Debug)]
pub struct Job {
    pub scenario: Scenario,
    pub choice: ServerChoice,
    /// How its allocator gives memory back; `None` where that is not known.
    pub decay: Option<KnownDecay>,
    /// The program in which that was found: what a launcher starts, and nothing where that is not known.
    pub native: PathBuf,
    pub launch: Launch,
    /// What is preloaded into it to give memory back; `None` for nothing.
    pub library: Option<Library>,
    /// What is said where one would be needed and there is none.
    pub no_library: String,
    pub root: PathBuf,
    /// The files that may be opened.
    pub selection: workspace::Selection,
    /// Name of the client capability profile.
    pub capabilities: String,
    /// Seed of everything that is picked.
    pub seed: u64,
    /// Whether steps that the server does not offer are left out instead of ending the run.
    pub allow_unsupported: bool,
    /// Whether to end as soon as it is known what the server offers.
    pub probe: bool,
    /// Where the pipe is to be made to which the tracer of a traced run writes.
    pub trace: Option<PathBuf>,
}

/// Why the play stops before its end.
#[derive(Debug)]
pub enum Stop {
    /// The run has ended, and how is known.
    Ended(Ending),
    /// The server is gone or does not talk any more; what it left tells how.
    Gone,
    /// lsp-soak could not do its own part: start the program, read a file, write one.
    Failed {
        /// What, for people: `start `ty``, `read `a.py``.
        what: String,
        error: io::Error,
    },
}

impl Stop {
    /// lsp-soak could not do this; to be used with `map_err`.
    pub fn failed(what: impl Into<String>) -> impl FnOnce(io::Error) -> Stop {
        let what = what.into();
        move |error| Stop::Failed { what, error }
    }
}
