//! The sampler's interface to an operating system, which tests can replace.

use std::io;
use std::path::PathBuf;

use record::{Counters, EndCause, Nanos, Rollup, Used};

/// The effort of a look for new processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// As the duty allows: new processes may be found at a later look.
    Cheap,
    /// All processes that are new since the last look.
    CatchUp,
    Thorough,
}

/// A process found by a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    pub pid: u32,
    pub parent: u32,
    /// Process group, on systems that have them.
    pub group: Option<u32>,
    pub session: Option<u32>,
    /// Start time in the system's own unit; `None` if reading it costs more than a look.
    pub started: Option<u64>,
}

/// An opened process, whose id cannot be reused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The facts of a look, including the start time.
    pub found: Found,
    /// Start time in the system's own unit.
    pub started: u64,
    pub name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    pub name: String,
    pub command: Vec<String>,
    /// True if it may have transparent huge pages; `None` if unknown.
    pub huge_pages: Option<bool>,
}

/// The relations and program of a process, read with the counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kin {
    pub parent: u32,
    pub group: Option<u32>,
    pub session: Option<u32>,
    /// Increases when the process reaps a child; `None` if the system does not count that.
    pub reaped: Option<u64>,
    /// Changes when the process executes another program.
    pub program: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    pub counters: Counters,
    /// `None` if unreadable.
    pub kin: Option<Kin>,
}

/// A failed read of a process that still exists.
#[derive(Debug)]
pub struct Failure {
    pub what: &'static str,
    pub error: io::Error,
}

/// An operating system, or a test's model of one.
pub trait Source {
    type Process;

    /// Adds the processes to `found` that may be new since the last look; extra ones are harmless.
    fn look(&mut self, now: Nanos, effort: Effort, found: &mut Vec<Found>) -> io::Result<()>;

    /// Opens a process. A thread or an ended process is an error of kind `NotFound`.
    fn open(&mut self, pid: u32) -> io::Result<(Self::Process, Opened)>;

    /// Reads the cheap counters; `None` if the process has ended. A failed read is pushed to `failures`, and its
    /// counters are `None`.
    fn read(&mut self, process: &mut Self::Process, failures: &mut Vec<Failure>) -> Option<Reading>;

    /// The final usage of an ended process; `None` if unreadable, as on most systems.
    fn used(&mut self, _process: &Self::Process) -> Option<Used> {
        None
    }

    /// True if two processes run in one address space; `None` where that cannot be known.
    fn shares_memory(&mut self, _one: &Self::Process, _other: &Self::Process) -> Option<bool> {
        None
    }

    /// Kills a process; does nothing where it cannot be named for certain.
    fn kill(&mut self, _process: &Self::Process) {}

    /// The cause of the end of a process.
    fn cause(&mut self, _process: &Self::Process) -> EndCause {
        EndCause::Unknown
    }

    /// The program; `None` if the process has ended.
    fn describe(&mut self, process: &Self::Process) -> Option<Program>;

    /// The files mapped as code, with links resolved; `None` if unreadable or the process has ended.
    fn mapped(&mut self, _process: &Self::Process) -> Option<Vec<PathBuf>> {
        None
    }

    /// The initial environment of the current program, as `NAME=value`; `None` if unreadable or the process has ended.
    fn environment(&mut self, _process: &Self::Process) -> Option<Vec<Vec<u8>>> {
        None
    }

    /// Reads the exact counters; `None` if unsupported or the process has ended.
    fn rollup(&mut self, process: &Self::Process, number: u32) -> Result<Option<Rollup>, Failure>;

    /// Descriptors that the process has open; `None` if unsupported or unreadable.
    fn descriptors(&mut self, _process: &Self::Process) -> Option<u64> {
        None
    }

    /// Ended processes that none of these parents has reaped; `None` if unsupported or unreadable.
    fn zombies(&mut self, _parents: &[u32]) -> Option<u64> {
        None
    }

    /// Resets the high-water mark to the resident size; false if unsupported or the process has ended.
    fn reset_peak(&mut self, process: &Self::Process) -> Result<bool, Failure>;
}
