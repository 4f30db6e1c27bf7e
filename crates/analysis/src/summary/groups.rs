//! The parts of a [`Summary`](super::Summary).

use std::collections::BTreeMap;

use record::{Close, CommandEnd, Initialized, LeftOut, Listening, Readiness, Shutdown, Unwritten};

use super::curves::Curves;
use super::departure::Departure;
use super::lost_processes::LostProcess;
use super::preload_share::Partly;
use super::release::{Released, Reported};
use super::unpurged::UnpurgedCheckpoint;
use super::unset_settings::Unset;
use super::{
    MethodSummary, Peak, PrivateMetric, ProgramSummary, ResidentMetric, ServerMessage, ServerRequests, Unloaded,
    WarningSummary,
};

/// Starts and ends of the server, or of the command.
#[derive(Clone, Debug, Default)]
pub struct Lifecycle {
    /// The server's own name and version.
    pub initialized: Option<Initialized>,
    /// One for each server that was waited for: the first and every restart.
    pub readiness: Vec<Readiness>,
    pub restarts: u32,
    /// Shutdowns before a restart that failed or ended with a wrong exit code.
    pub earlier: Vec<Departure>,
    /// The shutdown of the last server.
    pub shutdown: Option<Shutdown>,
    pub close: Option<Close>,
    /// Memory and time of a command that ran to its end; `None` for a server.
    pub command: Option<CommandEnd>,
}

/// Memory of the process tree over the whole run.
#[derive(Clone, Debug, Default)]
pub struct TreeMemory {
    /// The metric of private memory at all checkpoints of this run.
    pub private_metric: PrivateMetric,
    /// The metric of resident memory at all checkpoints of this run.
    pub resident_metric: ResidentMetric,
    /// The resident peak of the run: the highest of its phases.
    pub peak: Option<Peak>,
    /// The highest sampled private memory, a lower bound of its peak.
    pub private_peak: Option<u64>,
    /// The most resident memory seen since the last phase's marks, in which the server was shut down: a lower bound.
    pub shutdown_peak: Option<u64>,
    /// Curves for charts, at a resolution that a report can show.
    pub curves: Curves,
}

#[derive(Clone, Debug, Default)]
pub struct Processes {
    pub programs: Vec<ProgramSummary>,
    /// Most processes that existed at once.
    pub most_at_once: u64,
    /// Processes that crashed, or that held most of the memory and ended, while the server was used.
    pub lost: Vec<LostProcess>,
    /// Processes that had not mapped all preloaded libraries.
    pub unloaded: Vec<Unloaded>,
}

/// Requests in both directions.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    /// Requests by method, without the light traffic of idle windows.
    pub methods: Vec<MethodSummary>,
    /// Requests that the imitated editor sent by itself, by method.
    pub editor: Vec<MethodSummary>,
    /// Requests of the server by method.
    pub server_requests: BTreeMap<String, ServerRequests>,
}

/// Effects and settings of the allocator, as they were seen.
#[derive(Clone, Debug, Default)]
pub struct AllocatorFindings {
    /// Processes in which the preloaded library listens.
    pub listening: Vec<Listening>,
    pub released: Vec<Released>,
    /// Checkpoints of the purged lens that do not count, since their figures include freed memory.
    pub unpurged: Vec<UnpurgedCheckpoint>,
    /// Settings that were not in force in the process that led the tree's memory.
    pub unset: Vec<Unset>,
    /// The process with the most memory, if the preloaded library served only a part of it.
    pub partly: Option<Partly>,
    /// Memory figures that the server reported about itself.
    pub reported: Vec<Reported>,
}

/// Warnings of the run and messages of the server.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// Each warning once, in the order of their first appearance.
    pub warnings: Vec<WarningSummary>,
    /// Count of warnings beyond those in `warnings`.
    pub more_warnings: u64,
    /// Log messages of the server, each different one once.
    pub messages: Vec<ServerMessage>,
    /// Count of messages in the record beyond those in `messages`.
    pub more_messages: u64,
    /// Messages of the server that were counted, but not recorded.
    pub unwritten: Unwritten,
}

/// Parts of the record that could not be read.
#[derive(Clone, Debug, Default)]
pub struct Unread {
    /// True if the record was cut in the middle of a line.
    pub truncated: bool,
    /// Entries of kinds that this program does not know.
    pub unknown: LeftOut,
    pub damaged: LeftOut,
}
