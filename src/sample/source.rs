//! What the sampler asks of an operating system, so that a test can be one.

use std::io;
use std::path::PathBuf;

use crate::record::{Counters, Nanos, Rollup, Used};

/// How hard to look for new processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// As far as the duty allows: new processes may be found at a later look.
    Cheap,
    /// Everything that is new since the last look.
    CatchUp,
    Thorough,
}

/// A process met in a look at the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    pub pid: u32,
    pub parent: u32,
    /// Process group, where there are such.
    pub group: Option<u32>,
    pub session: Option<u32>,
    /// Start time in the system's own unit; `None` where it costs more than a look.
    pub started: Option<u64>,
}

/// A process that was opened, so that its id can no longer be mistaken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// What a look says of it, start time included.
    pub found: Found,
    /// Start time in the system's own unit.
    pub started: u64,
    pub name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    pub name: String,
    pub command: Vec<String>,
    /// Whether it may have transparent huge pages; `None` where that is not known.
    pub huge_pages: Option<bool>,
}

/// Who a process belongs to and what it runs, as read with the counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kin {
    pub parent: u32,
    pub group: Option<u32>,
    pub session: Option<u32>,
    /// Grows when the process waits for a child that has ended; `None` where the system does not count that.
    pub reaped: Option<u64>,
    /// Differs when the process runs another program than before.
    pub program: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    pub counters: Counters,
    /// Kin, unless it could not be read.
    pub kin: Option<Kin>,
}

/// A read that failed though the process is there.
#[derive(Debug)]
pub struct Failure {
    pub what: &'static str,
    pub error: io::Error,
}

/// An operating system, or a test's idea of one.
pub trait Source {
    type Process;

    /// Puts the processes into `found` that may be new since the last look; more than those do no harm.
    fn look(&mut self, now: Nanos, effort: Effort, found: &mut Vec<Found>) -> io::Result<()>;

    /// Holds a process open. A thread, or a process that is over, is an error of kind `NotFound`.
    fn open(&mut self, pid: u32) -> io::Result<(Self::Process, Opened)>;

    /// Reads the cheap counters; `None` when the process is over. What failed is pushed and its counters are `None`.
    fn read(&mut self, process: &mut Self::Process, failures: &mut Vec<Failure>) -> Option<Reading>;

    /// What a process that is over had used; `None` where that cannot be read any more, as on most systems.
    fn used(&mut self, _process: &Self::Process) -> Option<Used> {
        None
    }

    /// What it runs; `None` when the process is over.
    fn describe(&mut self, process: &Self::Process) -> Option<Program>;

    /// The files that it has mapped as code, with links resolved; `None` where that cannot be read, and when the process is
    /// over.
    fn mapped(&mut self, _process: &Self::Process) -> Option<Vec<PathBuf>> {
        None
    }

    /// What the program that it runs began with as its environment, `NAME=value` each; `None` where that cannot be read, and
    /// when the process is over.
    fn environment(&mut self, _process: &Self::Process) -> Option<Vec<Vec<u8>>> {
        None
    }

    /// Reads the exact counters; `None` where there are none, or when the process is over.
    fn rollup(&mut self, process: &Self::Process, number: u32) -> Result<Option<Rollup>, Failure>;

    /// Sets the high-water mark back to what is resident now; false where a system has no such thing, and when the
    /// process is over.
    fn reset_peak(&mut self, process: &Self::Process) -> Result<bool, Failure>;
}
