//! The end of the journal: the result of the session, the shutdown, totals of the connection.

use serde::{Deserialize, Serialize};

use super::Nanos;
use super::memory::{EndCause, Excess};

/// Survivors that are kept by name. A server can leave any number.
pub const MOST_NAMED: usize = 1_000;

/// Requests that an [`Ending::OverLimit`] names of each kind.
pub const MOST_REQUESTS: usize = 10;

/// How the server ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Shutdown {
    /// The last measure that was needed.
    pub stage: ShutdownStage,
    /// Reply to the `shutdown` request; `None` when none was sent, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<ShutdownReply>,
    /// True if `exit` was sent; false if the server had ended before; `None` when `exit` was not planned, and in older
    /// records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_sent: Option<bool>,
    /// Exit code, if the server exited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// Signal, if one ended the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Time from the shutdown request until the server's own process ended; `null` in a report of a traced run.
    #[serde(default)]
    pub took: Option<Nanos>,
    /// Set if the imitated editor died: its pipes closed without a word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub orphaned: Option<Orphaned>,
    /// Processes of the tree that outlived the server and were killed: the first [`MOST_NAMED`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub survivors: Vec<Survivor>,
}

/// A server whose editor died.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Orphaned {
    /// Time that it was given to end by itself.
    pub patience: Nanos,
    /// Private memory of the tree at the end of that time, in bytes; `None` if the server had ended, or where it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<u64>,
}

/// The measures of a shutdown, in rising order of force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ShutdownStage {
    /// The server had already ended.
    AlreadyGone,
    /// `shutdown` and `exit` were enough.
    Exit,
    /// The server ended when its stdin was closed.
    StdinClosed,
    /// The server ended on SIGTERM.
    Terminated,
    /// The server was killed.
    Killed,
}

/// Reply to the `shutdown` request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ShutdownReply {
    /// A result.
    Answered,
    /// An error.
    Refused {
        /// JSON-RPC error code.
        code: i64,
        /// Error message, cut to a bounded length.
        message: String,
    },
    /// No reply in time, or the server's output had already ended.
    Unanswered,
    /// The server ended before it replied.
    Gone,
}

/// A process that outlived the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Survivor {
    /// Its process id.
    pub pid: u32,
    /// Short name of the program.
    pub name: String,
}

/// A message of the server of which only a part had come in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnfinishedMessage {
    /// Bytes that its `Content-Length` announces.
    pub announced: u64,
    /// Bytes of it that came.
    pub came: u64,
}

/// Totals of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// The last message, if it never came whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<UnfinishedMessage>,
    /// Bytes on stderr.
    pub stderr: u64,
    /// The end of stderr, cut to a bounded length.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr_tail: String,
    /// Start of stderr, where the end does not include it and an allocator confirms its settings there; then the first
    /// lines from between that name an error.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr_head: String,
    /// Peak memory of the preloaded allocator in bytes, one value per process that reported it at its end. `None`
    /// without a preload or a request for it. The allocator's report is not part of the kept stderr.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Vec<u64>>,
    /// Notifications received, by method.
    pub notifications: std::collections::BTreeMap<String, u64>,
    /// Messages of the server that arrived too fast to be recorded.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dropped: u64,
    /// Requests and notifications of the server whose parameters were too long to read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unread: u64,
    /// Violations of the protocol, by the warning about the first of each kind.
    #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub violations: std::collections::BTreeMap<String, u64>,
    /// Messages of the server that are only counted: the record keeps the first 4 MiB of each kind.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unwritten: Unwritten,
}

const BYTE_ORDER_MARK: char = '\u{feff}';

impl Close {
    /// The first line of the noise that is not blank, without a byte order mark.
    pub fn first_noise(&self) -> &str {
        let mut lines = self.noise_sample.lines().map(trim_marked);
        lines.find(|line| !line.is_empty()).unwrap_or_default()
    }

    /// True if the noise begins with a byte order mark.
    pub fn has_byte_order_mark(&self) -> bool {
        self.noise_sample.starts_with(BYTE_ORDER_MARK)
    }

    /// True if all that came are messages without their headers, as other transports have them.
    pub fn is_unframed(&self) -> bool {
        self.received == self.noise && self.first_noise().starts_with('{') && self.noise_sample.contains("\"jsonrpc\"")
    }
}

fn trim_marked(line: &str) -> &str {
    line.trim_matches(|c: char| c == BYTE_ORDER_MARK || c.is_whitespace())
}

/// Messages that are only counted, by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// Refused requests among these, by method.
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

/// How the run ended. Every end but `Completed` has a cause in the server or in a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// The scenario was played to its end.
    Completed,
    /// The server's process ended in the middle.
    Crashed {
        /// Exit code, if the server exited.
        code: Option<i32>,
        /// Signal, if one ended the server.
        signal: Option<i32>,
        /// Activity at the time, for people.
        during: String,
    },
    /// The server closed its output or sent unreadable data, but kept running.
    Disconnected {
        /// Cause, for people.
        reason: String,
    },
    /// A request had no answer in time, or the server read almost nothing of a message, although it was busy or
    /// sending.
    TimedOut {
        /// Method of the request or message.
        method: String,
        /// Time limit that passed.
        after: Nanos,
        /// Bytes that the server did not read, if lsp-soak was writing.
        #[serde(default, skip_serializing_if = "is_zero")]
        unsent: u64,
        /// Activity at the time, for people.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        during: String,
    },
    /// No data moved in either direction, and the processors were idle.
    Wedged {
        /// Method of the oldest open request; empty when a write was stuck.
        method: String,
        /// Time without any data.
        after: Nanos,
        /// Bytes that the server did not read.
        unsent: u64,
        /// Activity at the time, for people.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        during: String,
    },
    /// No file of the workspace can be opened any more, although the files existed before the server started.
    Emptied {
        /// Last error, for people.
        reason: String,
    },
    /// The server refused the handshake or said that it could not load the workspace.
    Refused {
        /// The server's message.
        reason: String,
    },
    /// The server reported a failure after it was ready.
    ReportedFailure {
        /// The server's message.
        reason: String,
        /// Activity at the time, for people.
        during: String,
    },
    /// A process that the server started crashed while the server itself still ran.
    ProcessCrashed {
        /// Name for people: program, of an interpreter with its script.
        name: String,
        pid: u32,
        cause: EndCause,
        /// Activity at the time, for people.
        during: String,
    },
    /// The tree exceeded the memory limit and was killed.
    OverLimit {
        excess: Excess,
        /// Activity at the time, for people.
        during: String,
        /// Methods of the requests that were open, the oldest first: at most [`MOST_REQUESTS`].
        in_flight: Vec<String>,
        /// Methods of the requests that were answered last, the oldest first: at most [`MOST_REQUESTS`].
        before: Vec<String>,
    },
    /// The scenario needs a method that the server does not offer.
    Unsupported {
        /// One line per step, with the method it needs.
        steps: Vec<String>,
    },
    /// Some steps sent no request, or received only errors, null and empty results. The scenario was played to its
    /// end.
    Empty {
        /// Each step once.
        steps: Vec<EmptyStep>,
    },
    /// A person pressed ctrl-c.
    Interrupted,
}

/// A step that sent no request, or whose requests had no result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EmptyStep {
    /// Name of the phase.
    pub phase: String,
    /// Name of the step.
    pub step: String,
    /// Requests sent.
    pub requests: u64,
    /// Requests answered with an error.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub errors: u64,
    /// The most frequent error, as `code: message`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Target that the step did not find, so that it sent no request, for people: `names in 20 open python files`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looked_for: Option<String>,
    /// Requests that were still open when the step no longer needed them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub parked: u64,
    /// Method that the server does not offer, so that the step was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lacks: Option<String>,
}
