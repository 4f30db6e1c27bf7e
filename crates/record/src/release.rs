//! Forced releases, and a server's own memory report.

use serde::{Deserialize, Serialize};

use super::{AllocatorFacts, AllocatorFamily, Nanos};

/// A forced release: its means and its effect. Sizes are bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Release {
    /// Means that were used, in order; empty where there were none.
    pub used: Vec<Releaser>,
    /// Why other means were not used or had no effect, for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Private memory of the tree before the release, by the cheap counters.
    pub before: Option<u64>,
    /// Private memory of the tree after the release.
    pub after: Option<u64>,
    /// Duration of the whole release.
    pub took: Nanos,
}

impl Release {
    /// Live memory in bytes, by what its processes reported after they collected their garbage.
    pub fn live_memory(&self) -> Option<u64> {
        let accounted = self.used.iter().filter_map(|one| one.accounted);
        accounted.reduce(u64::saturating_add)
    }
}

/// One means of a forced release, with its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Releaser {
    /// Who released memory.
    pub by: ReleasedBy,
    /// The call: a command of the server, or functions of its allocator.
    pub what: String,
    /// Process id, where only one process was asked to release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Answer, cut to a bounded length.
    pub answer: String,
    /// Live memory after a forced collection, by the answer; `None` where it has no such total.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accounted: Option<u64>,
    /// Duration: until the server's answer, or by the clock of the process itself.
    pub took: Nanos,
}

/// Who released memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ReleasedBy {
    /// The server, through its own command.
    Server,
    /// The allocator, through the preloaded library.
    Allocator,
}

/// A server's own memory report, and its memory at that time. Sizes are bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SelfReport {
    /// Method or command of the report; `None` where the server has none or was not asked.
    pub asked: Option<String>,
    /// Why there is no answer, for people; empty where there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub missing: String,
    /// Start and end of the answer.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub answer: String,
    /// Total of the report, where it has one.
    pub accounted: Option<u64>,
    /// Private memory of the tree just before, by the cheap counters.
    pub private: Option<u64>,
    /// Resident memory just before; `None` for a tree, whose sum counts shared pages more than once.
    pub resident: Option<u64>,
    /// Time until the answer.
    pub took: Option<Nanos>,
}

/// The preloaded library that releases memory on a signal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShimFacts {
    /// Path of the library.
    pub path: String,
    /// SHA-256 of the library.
    pub sha256: Option<String>,
    /// Signal that the library listens to.
    pub signal: i32,
}

/// The program with the most private memory of the tree at a checkpoint, inspected after the server ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Holder {
    /// Process id of its largest process.
    pub pid: u32,
    /// Path of the program.
    pub program: String,
    /// Allocator, detected from the file and the mapped libraries; `None` for the program that was inspected before
    /// the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocator: Option<AllocatorFacts>,
    /// Variables among the server's settings that the program does not read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
}

/// A process in which the preloaded library listens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Listening {
    /// Process id.
    pub pid: u32,
    /// File whose `malloc` the library calls, as the loader reports it.
    pub malloc: Option<String>,
    /// Allocator inside the program that neither the loader nor the C library reaches; `None` without a trace of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<AllocatorFamily>,
}
