//! The session half of the journal: phases, steps, requests.

use serde::{Deserialize, Serialize};

use super::Nanos;
use super::calls::SystemCalls;
use super::command::CommandEnd;
use super::ending::{Close, Ending, Shutdown};
use super::idle::IdleWindow;
use super::memory::{Delays, Excess, LateTicks, Pressure, Process, ProcessEnd, ReadFailure, Rollup, Sample, Unseen};
use super::preload::{Environment, Libraries};
use super::relayed::Relayed;
use super::release::{Holder, Listening, Release, SelfReport};
use super::resources::Resources;

/// A line of the journal after the header.
///
/// Driver and sampler write concurrently, so lines are only nearly in the order of `at`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Entry {
    pub at: Nanos,
    pub event: Event,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    Spawned {
        pid: u32,
        /// Restarts of the server before this one; 0 for the first start.
        restarts: u32,
    },
    Initialized(Initialized),
    Ready(Readiness),
    /// The server registered a capability after `initialize`.
    Registered {
        method: String,
    },
    PhaseStarted(PhaseRef),
    /// The phase's steps are done. The phase settles until its checkpoint.
    PhaseDriven(PhaseRef),
    /// The measurement at the end of a phase.
    Checkpoint(Checkpoint),
    /// High-water marks, read before a reset or at the end of the phase.
    Peak(PeakMark),
    StepStarted(StepStart),
    /// An idle window or a forced release begins within its step. The server has read all earlier messages, and the
    /// tree was just sampled.
    WindowBegan(WindowStart),
    /// A forced release begins, before the phase's checkpoint.
    ReleaseBegan(PhaseRef),
    StepEnded(Box<StepEnd>),
    Request(Request),
    /// A message between an editor and a server that `lsp-soak wrap` relayed.
    Relayed(Box<Relayed>),
    /// lsp-soak answered a request of the server.
    ServerRequest {
        method: String,
        /// Whether the answer was an error, such as MethodNotFound.
        refused: bool,
    },
    /// A message of the server for people: `window/logMessage` or `window/showMessage`, error or warning.
    ServerMessage {
        /// LSP message type: 1 error, 2 warning.
        level: u8,
        /// Cut to a bounded length.
        text: String,
    },
    /// A process appeared, or ran another program.
    Process(Process),
    Libraries(Libraries),
    Environment(Environment),
    ProcessEnded(ProcessEnd),
    Sample(Sample),
    Rollup(Rollup),
    Late(LateTicks),
    /// Sampling delays, written about once a minute and before each mark.
    Delays(Delays),
    Unseen(Unseen),
    ReadFailed(ReadFailure),
    Listening(Listening),
    Holder(Holder),
    Pressure(Pressure),
    /// The memory calls of one phase of a traced run, written after the server ended.
    SystemCalls(SystemCalls),
    Warning(Warning),
    OverLimit(Excess),
    /// lsp-soak begins to shut the server down: ends of its processes are expected from here on.
    ShutdownBegan,
    /// The server was shut down, or had already ended.
    Shutdown(Shutdown),
    /// Totals of the connection, written when it closes.
    Closed(Close),
    /// A command ended that was run instead of a server.
    Command(CommandEnd),
    /// The end of the run; no entry follows.
    Ended(Ending),
}

/// A phase in one round of its `repeat`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseRef {
    /// Place in the scenario, from 0.
    pub phase: u32,
    /// From 0.
    pub cycle: u32,
    pub name: String,
}

/// A round of a phase in reports, without the phase's place in the scenario.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RoundName {
    phase: String,
    /// From 0.
    cycle: u32,
}

impl From<&PhaseRef> for RoundName {
    fn from(round: &PhaseRef) -> RoundName {
        RoundName {
            phase: round.name.clone(),
            cycle: round.cycle,
        }
    }
}

/// The server's answer to `initialize`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Initialized {
    /// `serverInfo.name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `serverInfo.version`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Agreed position encoding: `utf-8`, `utf-16` or `utf-32`.
    pub encoding: String,
    /// Document synchronisation: `none`, `full` or `incremental`.
    pub sync: String,
    /// Time from the request to its answer; `null` in a report of a traced run.
    #[serde(default)]
    pub latency: Option<Nanos>,
}

/// Result of the wait for readiness.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Readiness {
    /// Result.
    pub outcome: ReadyOutcome,
    /// The rule that was satisfied last, or that blocked.
    pub rule: ReadyRule,
    /// Time since the spawn or restart.
    pub after: Nanos,
    /// Progress tokens created before that.
    pub progress: u64,
    /// What was still missing, for people; empty when ready.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub missing: String,
}

/// Outcome of the wait for readiness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ReadyOutcome {
    /// The server was quiet and started no work within the grace period.
    NoWork,
    /// The server finished its start-up work.
    Ready,
    /// The server was still busy at the time limit.
    Timeout,
    /// The server reported that it could not load the workspace.
    Failed,
}

/// The rules of readiness, in the order of their checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ReadyRule {
    /// The handshake is done, and requests for configuration are answered.
    Handshake,
    /// The server sent the signal that its profile names.
    Signal,
    /// No progress token is open.
    Progress,
    /// The server sends no message except idle chatter.
    Quiet,
    /// The process tree uses almost no processor time.
    Cpu,
    /// The server answered a request that was sent after the other rules held.
    Barrier,
}

/// The settled values at the end of a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Checkpoint {
    pub phase: PhaseRef,
    /// Whether the server settled in time.
    pub settled: bool,
    pub waited: Nanos,
    /// What was still moving at the time limit, for people; empty when settled.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unsettled: String,
    /// At least five rounds of cheap counters, each with a sample of every process of the tree.
    pub rounds: Vec<Vec<Sample>>,
    /// Exact counters of every process; empty where the system has none.
    pub rollups: Vec<Rollup>,
    /// Counts of zombies and descriptors; `None` in older records, and where the system has neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,
    /// Forced release before the checkpoint, if the lens asks for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released: Option<Release>,
}

/// High-water marks of every process of the tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PeakMark {
    pub phase: PhaseRef,
    /// Counters read before the reset; `high_water` is the mark.
    pub marks: Vec<Sample>,
    /// Whether the marks were reset. If so, the next marks cover the next phase alone.
    pub reset: bool,
    /// Processes in `marks` whose own mark was not reset.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepStart {
    pub phase: PhaseRef,
    /// Place in the phase, from 0.
    pub step: u32,
    pub name: String,
    /// Method of a `request` or `notification` step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WindowStart {
    pub phase: PhaseRef,
    /// Place of the step in the phase, from 0.
    pub step: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepEnd {
    pub phase: PhaseRef,
    /// Place in the phase, from 0.
    pub step: u32,
    pub name: String,
    /// Requests that expect a result. Excludes follow-up requests such as a resolve, light traffic, and long polls
    /// that are still open. Each of those has its own [`Request`].
    pub requests: u64,
    /// Requests with a result that is neither null nor empty.
    pub hits: u64,
    pub notifications: u64,
    /// Requests that were still open when the step no longer needed them.
    #[serde(default, skip_serializing_if = "is_zero_u64")]
    pub parked: u64,
    /// Files that the step changed on disk.
    #[serde(default, skip_serializing_if = "is_zero_u64")]
    pub files_written: u64,
    /// Changed files that a process of the server watches by itself, or whose directory it watches; `None` of a step that
    /// changed none, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files_watched: Option<u64>,
    /// Requests of the imitated editor that the server keeps open at the end of the step: `workspace/diagnostic`.
    #[serde(default, skip_serializing_if = "is_zero_u64")]
    pub pulls_open: u64,
    /// Whether the step was skipped: the server does not offer it, and the scenario allows that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skipped: bool,
    /// Target that the step did not find, so that it sent no request, for people: `names in 20 open python files`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looked_for: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<IdleWindow>,
    /// Documents still open after a step that closes some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_open: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<Release>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub self_report: Option<SelfReport>,
}

/// A request, from its first byte to its end. The entry's `at` is the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Request {
    /// LSP method.
    pub method: String,
    /// Time until the last byte of the final answer, including retries; `None` without an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Nanos>,
    pub outcome: Outcome,
    /// Bytes of the result, as sent.
    pub bytes: u64,
    /// Elements of the result: of a list or its `items`, symbols with those inside of them, semantic tokens, and of reports
    /// the diagnostics in them, also in parts. `None` for any other result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<u64>,
    /// Repeats after ContentModified or ServerCancelled.
    #[serde(default, skip_serializing_if = "is_zero_u32")]
    pub retries: u32,
    /// True if the imitated editor sent it by itself, so that no step counts it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub editor: bool,
}

fn is_zero_u64(value: &u64) -> bool {
    *value == 0
}

fn is_zero_u32(value: &u32) -> bool {
    *value == 0
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// A non-empty result.
    Hit,
    /// An empty list.
    Empty,
    /// `null`.
    Null,
    Error {
        code: i64,
        /// Cut to a bounded length.
        message: String,
    },
    /// No answer by the deadline; lsp-soak cancelled the request.
    TimedOut,
    /// A long poll that was still open when its step no longer needed it; not an error.
    Parked,
    /// The connection ended before the answer.
    Lost,
}

/// A message for the user. Reports count repeated ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Warning {
    pub kind: WarningKind,
    /// What happened and what to do.
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum WarningKind {
    /// Bytes on stdout that are not LSP.
    Noise,
    /// A tolerable violation of the protocol.
    Protocol,
    /// A counter could not be read or reset.
    Counters,
    /// Readiness was not reached or is doubtful.
    Readiness,
    Unsettled,
    /// Something about the host makes figures less precise: swap, pressure, an inexact kernel.
    Host,
    /// The scenario asked for something that this server or workspace does not have.
    Scenario,
    /// The record does not have everything that happened.
    Record,
}
