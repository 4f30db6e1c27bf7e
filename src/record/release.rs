//! Memory that was given back by force, and what a server says of its own memory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AllocatorFacts, AllocatorFamily, Nanos};

/// A forced release: what was used for it, and what came of it. Sizes are bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Release {
    /// What was used, in the order in which it was; empty where there was nothing.
    pub used: Vec<Releaser>,
    /// Why other means, or all, were not used or did nothing, for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Private memory of the tree before it, by the cheap counters.
    pub before: Option<u64>,
    /// And after it.
    pub after: Option<u64>,
    /// How long all of it took.
    pub took: Nanos,
}

/// One way in which memory was given back, and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Releaser {
    /// Who did it.
    pub by: ReleasedBy,
    /// What was called: a command of the server, or functions of its allocator.
    pub what: String,
    /// The process, where it was a single one that was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// What it answered, cut to a bounded length.
    pub answer: String,
    /// How long it took: until the server's answer, or by the clock of the process itself.
    pub took: Nanos,
}

/// Who gave memory back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReleasedBy {
    /// The server, by a command of its own.
    Server,
    /// Its allocator, told by the preloaded library.
    Allocator,
}

/// What a server says of its own memory, and what it had then. Sizes are bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SelfReport {
    /// The method or the command; `None` where the server is not known to have one, or was not asked.
    pub asked: Option<String>,
    /// Why there is no answer, for people; empty where there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub missing: String,
    /// Beginning and end of the answer.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub answer: String,
    /// What the server accounts for, where its answer has a total.
    pub accounted: Option<u64>,
    /// Private memory of the tree just before, by the cheap counters.
    pub private: Option<u64>,
    /// Resident memory just before; `None` of a tree, whose sum counts shared pages more than once.
    pub resident: Option<u64>,
    /// How long the answer took.
    pub took: Option<Nanos>,
}

/// The library that gives memory back on a signal, as it was to be preloaded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShimFacts {
    /// Its path.
    pub path: String,
    /// SHA-256 of its file.
    pub sha256: Option<String>,
    /// The signal that it listens to.
    pub signal: i32,
}

/// A program that held more of the tree's private memory than any other at a checkpoint, looked at when the server was gone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Holder {
    /// The id of its largest process.
    pub pid: u32,
    /// Its file.
    pub program: String,
    /// Its allocator, by its file and the libraries that it had mapped; `None` where it is the program that was looked at
    /// before the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocator: Option<AllocatorFacts>,
    /// The variables among the server's settings that it does not read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
}

/// A process in which the preloaded library listens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Listening {
    /// Its process id.
    pub pid: u32,
    /// The file whose `malloc` it calls, as its loader says.
    pub malloc: Option<String>,
    /// What manages memory inside its program, by the marks in its file, where neither the loader nor the C library reaches
    /// it; `None` where there is no such mark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<AllocatorFamily>,
}
