//! The session half of the journal: phases, steps, requests, and how it all ended.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Nanos;
use super::calls::SystemCalls;
use super::ending::{Close, Ending, Shutdown};
use super::idle::IdleWindow;
use super::memory::{Delays, LateTicks, Pressure, Process, ProcessEnd, ReadFailure, Rollup, Sample, Unseen};
use super::preload::{Environment, Libraries};
use super::release::{Holder, Listening, Release, SelfReport};

/// One line of the journal after the header.
///
/// Driver and sampler write concurrently: lines are nearly, not strictly, in the order of `at`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// When it happened.
    pub at: Nanos,
    /// What happened.
    pub event: Event,
}

/// Everything that can happen in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// A server process was started; 0 is the first, a `restart` step adds one.
    Spawned {
        /// Its process id.
        pid: u32,
        /// How many servers were started before it in this run.
        restarts: u32,
    },
    /// The `initialize` request was answered.
    Initialized(Initialized),
    /// The wait for the server to be ready ended.
    Ready(Readiness),
    /// The server registered a capability while running.
    Registered {
        /// The method it registered.
        method: String,
    },
    /// A phase began.
    PhaseStarted(PhaseRef),
    /// The phase's steps are done; what follows until the checkpoint is settling.
    PhaseDriven(PhaseRef),
    /// The value at the end of a phase.
    Checkpoint(Checkpoint),
    /// High-water marks, read just before they were reset or the phase ended.
    Peak(PeakMark),
    /// A step began.
    StepStarted(StepStart),
    /// An idle window or a forced release begins within its step: the server has read what was sent before, and what the
    /// tree has was read just now.
    WindowBegan(WindowStart),
    /// Memory is about to be given back by force, before the phase's checkpoint.
    ReleaseBegan(PhaseRef),
    /// A step ended.
    StepEnded(Box<StepEnd>),
    /// A request ended, whatever its end.
    Request(Request),
    /// A request from the server was answered.
    ServerRequest {
        /// Its method.
        method: String,
        /// Whether the answer was an error, such as MethodNotFound.
        refused: bool,
    },
    /// A message that the server wrote for people: `window/logMessage` or `window/showMessage` at warning or error level.
    ServerMessage {
        /// LSP message type: 1 error, 2 warning.
        level: u8,
        /// The text, cut to a bounded length.
        text: String,
    },
    /// A process came into view.
    Process(Process),
    /// A process was looked at for the libraries that were preloaded.
    Libraries(Libraries),
    /// A process was looked at for the variables that its server was given.
    Environment(Environment),
    /// A process went away.
    ProcessEnded(ProcessEnd),
    /// Cheap counters of a process.
    Sample(Sample),
    /// Exact counters of a process.
    Rollup(Rollup),
    /// Deadlines that were slept through.
    Late(LateTicks),
    /// How late samples were: about once a minute, and before each mark.
    Delays(Delays),
    /// Processes that no sample knows.
    Unseen(Unseen),
    /// A read that failed, or a reset.
    ReadFailed(ReadFailure),
    /// The preloaded library listens in a process.
    Listening(Listening),
    /// A program that held most of the memory at a checkpoint.
    Holder(Holder),
    /// Pressure on the machine so far.
    Pressure(Pressure),
    /// The memory calls of one phase, in a traced run. All of them are written when the server is gone.
    SystemCalls(SystemCalls),
    /// Something a person should know.
    Warning(Warning),
    /// The server was shut down, or found gone.
    Shutdown(Shutdown),
    /// Totals of the connection, written when it is closed.
    Closed(Close),
    /// The end of the run; nothing follows.
    Ended(Ending),
}

/// Which phase, in which round of its `repeat`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct PhaseRef {
    /// Place in the scenario, from 0.
    pub phase: u32,
    /// Round, from 0.
    pub cycle: u32,
    /// Its name.
    pub name: String,
}

/// A round of a phase in reports, where the phase's place in the scenario says nothing.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RoundName {
    /// Its phase.
    phase: String,
    /// Round of that phase, from 0.
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

/// What the server said of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Initialized {
    /// `serverInfo.name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `serverInfo.version`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The position encoding agreed on: `utf-8`, `utf-16` or `utf-32`.
    pub encoding: String,
    /// How documents are synchronised: `none`, `full` or `incremental`.
    pub sync: String,
    /// Time from the request to its answer; `null` in a report of a traced run.
    #[serde(default)]
    pub latency: Option<Nanos>,
}

/// How the wait for readiness ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Readiness {
    /// The answer.
    pub outcome: ReadyOutcome,
    /// The rule that was satisfied last, or that never was.
    pub rule: ReadyRule,
    /// Time from spawn (or restart) until then.
    pub after: Nanos,
    /// Progress tokens created until then.
    pub progress: u64,
    /// What was still missing, for people; empty when ready.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub missing: String,
}

/// Ready, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReadyOutcome {
    /// No sign of start-up work within the start grace, and quiet.
    NoWork,
    /// Start-up work was seen, and it ended.
    Ready,
    /// Still busy when the time was up.
    Timeout,
    /// The server said that it could not load the workspace.
    Failed,
}

/// The rules of readiness, in the order in which they are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReadyRule {
    /// The handshake is done and asked-for configuration was answered.
    Handshake,
    /// The server's own signal, named by its profile.
    Signal,
    /// No open progress token.
    Progress,
    /// No message from the server, idle chatter aside.
    Quiet,
    /// The process tree uses next to no processor time.
    Cpu,
    /// A request sent after all of the above was answered.
    Barrier,
}

/// The settled values at the end of a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Checkpoint {
    /// Which phase.
    pub phase: PhaseRef,
    /// Whether the server came to rest in time.
    pub settled: bool,
    /// How long the settling took.
    pub waited: Nanos,
    /// What was still moving when the time was up, for people; empty when settled.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unsettled: String,
    /// At least five rounds of cheap counters: each the samples of every process of the tree.
    pub rounds: Vec<Vec<Sample>>,
    /// Exact counters of every process; empty where the system has none.
    pub rollups: Vec<Rollup>,
    /// What was given back by force just before the values were taken, where the lens asks for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released: Option<Release>,
}

/// High-water marks of every process of the tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PeakMark {
    /// The phase that ends here.
    pub phase: PhaseRef,
    /// Counters read before the reset; `high_water` is the mark.
    pub marks: Vec<Sample>,
    /// Whether the marks were reset, so that the next ones belong to the next phase alone.
    pub reset: bool,
    /// Processes among `marks` whose own mark was not reset.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<u32>,
}

/// A step begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepStart {
    /// Which phase.
    pub phase: PhaseRef,
    /// Place in the phase, from 0.
    pub step: u32,
    /// The step's name as in the scenario.
    pub name: String,
    /// The method that a `request` or `notification` step sends; the other steps' names say what they send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
}

/// A window begins within its step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WindowStart {
    /// Which phase.
    pub phase: PhaseRef,
    /// Place of its step in the phase, from 0.
    pub step: u32,
}

/// A step ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepEnd {
    /// Which phase.
    pub phase: PhaseRef,
    /// Place in the phase, from 0.
    pub step: u32,
    /// The step's name as in the scenario.
    pub name: String,
    /// Requests that expect a result. Not in it: those that belong to another, such as a resolve, the
    /// light traffic of a simmering idle, and long polls that were still open. Each has a [`Request`] of its own.
    pub requests: u64,
    /// Requests whose result was neither null nor empty.
    pub hits: u64,
    /// Notifications sent.
    pub notifications: u64,
    /// Skipped, because the server does not offer it and the scenario allows that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skipped: bool,
    /// What it found none of and so asked nothing, for people: `names in 20 open python files`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looked_for: Option<String>,
    /// How it went, if it was an idle window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<IdleWindow>,
    /// How many documents were still open after it, if it closed any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_open: Option<u64>,
    /// What came of it, if it was a forced release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<Release>,
    /// What the server said of its memory, if it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub self_report: Option<SelfReport>,
}

/// One request, from its first byte sent to its end. The entry's `at` is the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Request {
    /// LSP method.
    pub method: String,
    /// From handing it to the writer until the last byte of the final answer, retries included; `None` if never answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Nanos>,
    /// How it ended.
    pub outcome: Outcome,
    /// Bytes of the answer's result as sent.
    pub bytes: u64,
    /// Elements of the result, when it is a list or has an `items` list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<u64>,
    /// Times it was sent again after ContentModified or ServerCancelled.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retries: u32,
}

fn is_zero(value: &u32) -> bool {
    *value == 0
}

/// How a request ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// A result with something in it.
    Hit,
    /// An empty list.
    Empty,
    /// `null`.
    Null,
    /// An error answer.
    Error {
        /// JSON-RPC error code.
        code: i64,
        /// Its message, cut to a bounded length.
        message: String,
    },
    /// No answer by the deadline; it was cancelled.
    TimedOut,
    /// A long poll that was still open when it was no longer needed; not a fault.
    Parked,
    /// The connection ended first.
    Lost,
}

/// Something a person should know, counted where it repeats.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// What kind, for programs.
    pub kind: WarningKind,
    /// The sentence, for people: what was seen and what to do.
    pub text: String,
}

/// Kinds of warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WarningKind {
    /// Bytes on stdout that are not LSP.
    Noise,
    /// The server broke the protocol in a way that could be lived with.
    Protocol,
    /// A counter could not be read or reset.
    Counters,
    /// Readiness was not reached or not sure.
    Readiness,
    /// A checkpoint did not settle.
    Unsettled,
    /// Something about the host makes figures less sure: swap, pressure, an inexact kernel.
    Host,
    /// The scenario asked for something that this server or workspace does not have.
    Scenario,
}
