//! One run as JSON, for programs: versioned, with a schema in `docs/schemas/run-report.json`.
//!
//! Sizes are bytes and times nanoseconds, as in the record. What is not known is `null`, never 0.

mod decay;
mod from;
mod growth;
mod release;
mod session;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;

pub use growth::{Grows, Growth, Shape, Slope};
pub use session::{Initialized, Shutdown};

use crate::analyse::calls::Traced;
use crate::analyse::{Summary, exit};
use crate::record::{Ending, Header, Listening, Nanos, Pressure, Readiness, Version};

/// The version of this format. The minor one rises when something is added, the major one when a reader would
/// misread.
pub const FORMAT: Version = Version { major: 2, minor: 0 };

/// One run. Sizes are bytes; times and durations are nanoseconds, times since the server was first spawned; shares are
/// parts of one. What is not known is `null`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Report {
    /// Version of this format.
    pub format: Version,
    /// The record's header: server, host, scenario, settings.
    pub run: Header,
    /// How the run ended; `null` when the record was cut short before it said.
    pub ending: Option<Ending>,
    /// The exit code that the run earns.
    pub exit_code: u8,
    /// Whether the record was cut in the middle of a line.
    pub truncated: bool,
    /// Lines of the record that are damaged and were left out.
    pub damaged_lines: u64,
    /// Entries of kinds that this program does not know and left out.
    pub unknown_entries: u64,
    /// From the first spawn to the last entry.
    pub duration: Nanos,
    /// Restarts of the server.
    pub restarts: u32,
    /// What the server said of itself.
    pub initialized: Option<Initialized>,
    /// One for each server that was waited for.
    pub readiness: Vec<Readiness>,
    /// How the server was brought down.
    pub shutdown: Option<Shutdown>,
    /// Most resident memory seen since the last phase's marks, in which the server was shut down: a lower bound.
    pub shutdown_peak: Option<u64>,
    /// Which quantity `private` is in all phases.
    pub private_metric: PrivateMetric,
    /// Resident peak of the run.
    pub peak: Option<Peak>,
    /// Highest sampled private memory: a lower bound of its peak.
    pub private_peak: Option<u64>,
    /// Every round of every phase, in order.
    pub phases: Vec<Phase>,
    /// How memory grows with what the scenario repeats. One run is no verdict.
    pub growth: Vec<Growth>,
    /// What idle windows gave back.
    pub idles: Vec<decay::Idle>,
    /// What came back while the server was left alone, window by window.
    pub decay: Vec<decay::Window>,
    /// What light traffic cost by itself, by the control window; `null` where none was played.
    pub traffic_cost: Option<decay::Traffic>,
    /// Memory given back by force, in steps and before checkpoints.
    pub released: Vec<release::Released>,
    /// What the server said of its own memory.
    pub self_reports: Vec<release::Reported>,
    /// Processes in which the preloaded library listens.
    pub listening: Vec<Listening>,
    /// Why memory, processor time and latencies are `null` and windows have no course: the run was traced.
    pub unmeasured: Option<String>,
    /// Memory calls by phase, if the run was traced.
    pub system_calls: Option<Traced>,
    /// Programs of the tree.
    pub programs: Vec<Program>,
    /// Most processes that were there at once.
    pub most_processes: u64,
    /// Requests by method, without the light traffic of idle windows.
    pub methods: Vec<Method>,
    /// Requests of the server, by method.
    pub server_requests: BTreeMap<String, ServerRequests>,
    /// Bytes and notifications of the connection.
    pub traffic: Option<Traffic>,
    /// What the machine waited for during the run; `null` where that is not counted.
    pub pressure: Option<Pressure>,
    /// How well the sampler did.
    pub sampling: Sampling,
    /// What a person should know, least important first.
    pub findings: Vec<Finding>,
}

/// The two quantities called private.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PrivateMetric {
    /// Σ `Pss_Anon + SwapPss − LazyFree` over the tree.
    Exact,
    /// The median of Σ cheap counters over the tree.
    Sampled,
}

/// The highest resident memory of the tree, as far as it can be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Peak {
    /// At least this.
    pub lower: u64,
    /// At most this; `null` where nothing bounds it.
    pub upper: Option<u64>,
    /// Known to the page.
    pub exact: bool,
    /// A process ended inside and may have had more, so that `upper` may be too low.
    pub unseen: bool,
}

/// One round of one phase.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Phase {
    /// Its name.
    pub name: String,
    /// Place in the scenario, from 0.
    pub phase: u32,
    /// Round, from 0.
    pub cycle: u32,
    /// When it began.
    pub started: Nanos,
    /// When its steps were done.
    pub driven: Option<Nanos>,
    /// When its checkpoint was taken, or where it was cut.
    pub ended: Nanos,
    /// Private memory at its checkpoint, in the metric of the run.
    pub private: Option<u64>,
    /// Against the checkpoint before; `null` for the first.
    pub increment: Option<i64>,
    /// Resident peak.
    pub peak: Option<Peak>,
    /// Highest sampled private memory: a lower bound of its peak.
    pub private_peak: Option<u64>,
    /// Share of the resident peak so far, above the lowest checkpoint so far, that had come back; one process only.
    pub returned_resident: Option<f64>,
    /// The same of the sampled private memory.
    pub returned_private: Option<f64>,
    /// All values of its checkpoint.
    pub checkpoint: Option<Checkpoint>,
    /// Minor page faults.
    pub minor_faults: Option<u64>,
    /// Major page faults.
    pub major_faults: Option<u64>,
    /// Processor time.
    pub cpu: Option<Nanos>,
    /// Its steps.
    pub steps: Vec<Step>,
}

/// The settled values at the end of a phase, for the whole tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Checkpoint {
    /// When.
    pub at: Nanos,
    /// Whether the server came to rest in time.
    pub settled: bool,
    /// How long that took.
    pub waited: Nanos,
    /// What was still moving; empty when settled.
    pub unsettled: String,
    /// Σ `Pss_Anon + SwapPss − LazyFree`.
    pub private_exact: Option<u64>,
    /// Median of Σ cheap private counters; here and below of the last round where memory was still moving while it was read.
    pub private_sampled: Option<u64>,
    /// Median of Σ resident: an upper bound for more than one process.
    pub resident: Option<u64>,
    /// Σ `Pss`.
    pub proportional: Option<u64>,
    /// Median of Σ address space.
    pub virtual_size: Option<u64>,
    /// Anonymous huge pages.
    pub huge_pages: Option<u64>,
    /// Lazily freed.
    pub lazy_free: Option<u64>,
    /// Swapped out.
    pub swap: Option<u64>,
    /// Threads.
    pub threads: Option<u64>,
    /// Processes.
    pub processes: u64,
    /// Of them, forked ones without a program of their own: sampled sums may count pages of theirs twice.
    pub forked: u64,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Step {
    /// Its name.
    pub name: String,
    /// The method that the scenario names, of a `request` or `notification`; `null` for other steps.
    pub method: Option<String>,
    /// How long it took; `null` when it did not end.
    pub took: Option<Nanos>,
    /// Requests that expect a result.
    pub requests: Option<u64>,
    /// Requests whose result had something in it.
    pub hits: Option<u64>,
    /// Notifications sent.
    pub notifications: Option<u64>,
    /// Skipped, because the server does not offer it.
    pub skipped: bool,
}

/// All processes of one program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Program {
    /// Short name.
    pub name: String,
    /// Command line of the first one.
    pub command: Vec<String>,
    /// How many.
    pub count: u64,
    /// How many went away during the run.
    pub ended: u64,
    /// When the first came into view.
    pub first_seen: Nanos,
    /// Most resident memory of one of them.
    pub peak: Option<u64>,
    /// Private memory of them all at the last checkpoint.
    pub private: Option<u64>,
    /// Processor time of them all.
    pub cpu: Option<Nanos>,
    /// Whether any of them may have transparent huge pages.
    pub huge_pages: Option<bool>,
}

/// All requests of one method.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Method {
    /// The method.
    pub method: String,
    /// How many.
    pub count: u64,
    /// With something in the result.
    pub hits: u64,
    /// With an empty list.
    pub empty: u64,
    /// With `null`.
    pub null: u64,
    /// With an error.
    pub errors: u64,
    /// Without an answer by the deadline.
    pub timeouts: u64,
    /// Long polls that were still open.
    pub parked: u64,
    /// Ended by the end of the connection.
    pub lost: u64,
    /// Sent again.
    pub retries: u64,
    /// Bytes of all results.
    pub bytes: u64,
    /// Elements of all results that are lists.
    pub items: u64,
    /// The commonest error.
    pub error: Option<String>,
    /// How many latencies the percentiles stand on.
    pub answered: u64,
    /// Median latency, by Hyndman and Fan's type 7 as the next.
    pub p50: Option<Nanos>,
    /// 95th percentile; `null` of fewer than 20 answers.
    pub p95: Option<Nanos>,
    /// The longest.
    pub max: Option<Nanos>,
}

/// Requests of the server of one method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ServerRequests {
    /// How many.
    pub count: u64,
    /// How many were answered with an error.
    pub refused: u64,
}

/// Totals of the connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Traffic {
    /// Bytes written to the server.
    pub sent: u64,
    /// Bytes read from it.
    pub received: u64,
    /// Bytes on stdout that were not LSP.
    pub noise: u64,
    /// Bytes on stderr.
    pub stderr: u64,
    /// Notifications received, by method.
    pub notifications: BTreeMap<String, u64>,
    /// Messages of the server that came faster than they could be written down.
    pub dropped: u64,
    /// Requests and notifications of the server whose parameters were too long to be looked at.
    pub unread: u64,
}

/// How well the sampler did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Sampling {
    /// Samples in the record.
    pub samples: u64,
    /// Exact readings besides those of checkpoints.
    pub rollups: u64,
    /// Deadlines that a sample was taken for.
    pub ticks: u64,
    /// By how much those samples were late on average.
    pub mean_delay: Option<Nanos>,
    /// Deadlines missed.
    pub missed: u64,
    /// The latest that a sample was.
    pub latest: Nanos,
    /// Processes that came and went between two looks, at least.
    pub unseen: u64,
    /// Processes of which something could not be read or reset, by what.
    pub failures: BTreeMap<String, u64>,
}

/// One thing to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// The sentence.
    pub text: String,
    /// Lines that belong to it.
    pub details: Vec<String>,
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Some figures are less sure.
    Warning,
    /// The run failed.
    Failure,
}

/// The run as indented JSON with a line end.
pub fn render(summary: &Summary) -> Result<String, serde_json::Error> {
    lines(&report(summary))
}

/// The run in the types of this format.
pub fn report(summary: &Summary) -> Report {
    from::report(summary, exit(summary).code())
}

pub fn schema() -> serde_json::Value {
    schema_of::<Report>()
}

/// As indented JSON with a line end.
pub(in crate::report) fn lines(report: &impl Serialize) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(report)?;
    text.push('\n');
    Ok(text)
}

/// The schema of what is written.
pub(in crate::report) fn schema_of<T: JsonSchema>() -> serde_json::Value {
    let settings = SchemaSettings::default().for_serialize();
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

#[cfg(test)]
mod tests;
