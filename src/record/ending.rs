//! The last part of the journal: how the session ended, how the server went, what is left of the connection.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Nanos;

/// Survivors that are kept by name: a server can make as many as it likes.
pub const MOST_NAMED: usize = 1_000;

/// How the server was brought down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Shutdown {
    /// The last measure that was needed.
    pub stage: ShutdownStage,
    /// What came of the `shutdown` request; `None` when it was not sent, or this was not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<ShutdownReply>,
    /// Whether the server was still there when `exit` was sent; `None` when it was not meant to be, or this was not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_sent: Option<bool>,
    /// Exit code, when it exited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// Signal, when one ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// From the shutdown request until the server's own process was gone; `null` in a report of a traced run.
    #[serde(default)]
    pub took: Option<Nanos>,
    /// Processes of the tree that outlived the server; they were killed. The first [`MOST_NAMED`] of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub survivors: Vec<Survivor>,
}

/// The measures of a shutdown, each harder than the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ShutdownStage {
    /// It had ended before lsp-soak asked.
    AlreadyGone,
    /// `shutdown` and `exit` were enough.
    Exit,
    /// It left when its stdin was closed.
    StdinClosed,
    /// It left on SIGTERM.
    Terminated,
    /// It had to be killed.
    Killed,
}

/// What came of the `shutdown` request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ShutdownReply {
    /// A result.
    Answered,
    /// An error.
    Refused {
        /// JSON-RPC error code.
        code: i64,
        /// Its message, cut to a bounded length.
        message: String,
    },
    /// Nothing in time, or its output had ended before.
    Unanswered,
    /// The server was gone before it answered.
    Gone,
}

/// A process that outlived the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Survivor {
    /// Its process id.
    pub pid: u32,
    /// Short name of the program.
    pub name: String,
}

/// Totals of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Close {
    /// Bytes written to the server.
    pub sent: u64,
    /// Bytes read from the server.
    pub received: u64,
    /// Bytes on stdout that were not LSP.
    pub noise: u64,
    /// Start of the noise, cut to a bounded length.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub noise_sample: String,
    /// Bytes on stderr.
    pub stderr: u64,
    /// The end of stderr, cut to a bounded length.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr_tail: String,
    /// The start of stderr, where the end does not hold it and an allocator confirms its settings there.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr_head: String,
    /// What a preloaded allocator had from the system at most, in bytes, once for each process that said so when it ended;
    /// `None` where nothing is preloaded, and in records that nobody was asked for. Its account is not in what is kept of
    /// stderr.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Vec<u64>>,
    /// Notifications received, by method.
    pub notifications: std::collections::BTreeMap<String, u64>,
    /// Messages of the server that came faster than they could be written down, and are not in the record.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dropped: u64,
    /// Requests and notifications of the server whose parameters were too long to be looked at.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unread: u64,
    /// How often the server broke the protocol, by the warning that told of the first of each kind.
    #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub violations: std::collections::BTreeMap<String, u64>,
    /// What the server said of its own accord and is counted only: of each kind the record has the first 4 MiB.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unwritten: Unwritten,
}

/// What is counted only, by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unwritten {
    /// Messages for people at error level.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub errors: u64,
    /// Messages for people at warning level.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub warnings: u64,
    /// Requests of the server, by method.
    #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub requests: std::collections::BTreeMap<String, u64>,
    /// How many of these requests were refused, by method.
    #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub refused: std::collections::BTreeMap<String, u64>,
    /// Capabilities that the server registered.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub registrations: u64,
}

fn is_default(unwritten: &Unwritten) -> bool {
    *unwritten == Unwritten::default()
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// How the run ended. Everything but `Completed` is something the server did, or a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// The scenario was played to its end.
    Completed,
    /// The server's process ended in the middle.
    Crashed {
        /// Exit code, when it exited.
        code: Option<i32>,
        /// Signal, when one ended it.
        signal: Option<i32>,
        /// What was going on, for people.
        during: String,
    },
    /// The server closed its output or sent what cannot be read, and went on running.
    Disconnected {
        /// What was wrong, for people.
        reason: String,
    },
    /// A request was not answered in time, or next to nothing of what was sent was taken, though the server was busy or still
    /// talking.
    TimedOut {
        /// The method of what was waited for.
        method: String,
        /// How long it was waited for.
        after: Nanos,
        /// Bytes that the server did not take, where that was waited for.
        #[serde(default, skip_serializing_if = "is_zero")]
        unsent: u64,
        /// What was going on, for people.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        during: String,
    },
    /// Nothing moved in either direction and the processors were idle.
    Wedged {
        /// The method of the oldest open request; empty when a write was stuck.
        method: String,
        /// How long nothing had moved.
        after: Nanos,
        /// Bytes that the server did not take.
        unsent: u64,
        /// What was going on, for people.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        during: String,
    },
    /// No file of the workspace can be opened any more: they were there before the server was.
    Emptied {
        /// What was seen last, for people.
        reason: String,
    },
    /// The server refused the handshake or said that it could not load the workspace.
    Refused {
        /// Its words.
        reason: String,
    },
    /// The scenario needs what the server does not offer.
    Unsupported {
        /// One line for each step and the method it needs.
        steps: Vec<String>,
    },
    /// Steps asked nothing, or got only errors, null and empty results. The scenario was played to its end.
    Empty {
        /// Each step once.
        steps: Vec<EmptyStep>,
    },
    /// A person pressed ctrl-c.
    Interrupted,
}

/// A step that asked nothing, or whose requests found nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EmptyStep {
    /// Its phase.
    pub phase: String,
    /// Its name.
    pub step: String,
    /// How many requests it sent.
    pub requests: u64,
    /// How many of them were answered with an error.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub errors: u64,
    /// The commonest of these errors, as `code: message`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What it found none of and so asked nothing, for people: `names in 20 open python files`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looked_for: Option<String>,
    /// The method that it was left out for, because the server does not offer it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lacks: Option<String>,
}
