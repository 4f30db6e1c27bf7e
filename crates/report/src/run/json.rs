//! One run as JSON: versioned, with a schema in `docs/schemas/run-report.json`.
//!
//! Sizes are bytes, times nanoseconds, as in the record. Unknown values are `null`.

use std::collections::BTreeMap;

use serde::Serialize;

use analysis::findings::{self, Finding};
use analysis::growth::{Repeated, RepeatedCount, repeated_counts, repeated_parts};
use analysis::summary::calls::Traced;
use analysis::summary::decay::{self, Window, WindowKind};
use analysis::summary::release::{self, Share};
use analysis::summary::{
    LostProcess, MethodSummary, Peak, PhaseSummary, PrivateMetric, ProgramSummary, SamplingSummary, ServerRequests,
    Summary, exit_of_run, why_unmeasured, without_invalid_figures,
};
use record::{Close, Ending, Header, IdleKind, Initialized, Listening, Nanos, Pressure, Readiness, Shutdown, Version};
use stats::RunGrowth;

/// The version of this format. The minor one rises when something is added, the major one when a reader would
/// misread.
pub const FORMAT: Version = Version { major: 2, minor: 1 };

/// One run. Sizes are bytes; times and durations are nanoseconds, times since the first start of the server; shares
/// are 0 to 1. Unknown values are `null`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Report<'s> {
    /// Version of this format.
    format: Version,
    /// The record's header: server, host, scenario, settings.
    run: &'s Header,
    /// How the run ended; `null` when the record was cut short before it said.
    ending: Option<&'s Ending>,
    /// The exit code that the run earns.
    exit_code: u8,
    /// Whether the record was cut in the middle of a line.
    truncated: bool,
    /// Lines of the record that are damaged and were left out.
    damaged_lines: u64,
    /// Entries of kinds that this program does not know and left out.
    unknown_entries: u64,
    /// From the first spawn to the last entry.
    duration: Nanos,
    /// Restarts of the server.
    restarts: u32,
    /// The server's own name and version.
    initialized: Option<&'s Initialized>,
    /// One for each server that was waited for.
    readiness: &'s [Readiness],
    /// How the server was brought down.
    shutdown: Option<&'s Shutdown>,
    /// Most resident memory seen since the last phase's marks, in which the server was shut down: a lower bound.
    shutdown_peak: Option<u64>,
    /// Which quantity `private` is in all phases.
    private_metric: PrivateMetric,
    /// Resident peak of the run.
    peak: Option<&'s Peak>,
    /// Highest sampled private memory: a lower bound of its peak.
    private_peak: Option<u64>,
    /// Every round of every phase, in order.
    phases: &'s [PhaseSummary],
    /// How memory grows with what the scenario repeats. One run is no verdict.
    growth: Vec<Growth>,
    /// Processes, zombies, threads and open descriptors from round to round of what the scenario repeats.
    count_growth: Vec<RepeatedCount>,
    /// Idle windows.
    idles: Vec<Idle>,
    /// Idle windows, one by one.
    decay: &'s [Window],
    /// The cost of light traffic alone, from the control window; `null` without one.
    traffic_cost: Option<TrafficCost>,
    /// Forced releases, in steps and before checkpoints.
    released: Vec<Released<'s>>,
    /// What the server said of its own memory.
    self_reports: Vec<Reported<'s>>,
    /// Processes in which the preloaded library listens.
    listening: &'s [Listening],
    /// Why memory, processor time and latencies are `null` and windows have no course: the run was traced.
    unmeasured: Option<String>,
    /// Memory calls by phase, if the run was traced.
    system_calls: Option<Traced>,
    /// Programs of the tree.
    programs: &'s [ProgramSummary],
    /// Processes that crashed, or that held most of the memory and ended, while the server was used.
    lost_processes: &'s [LostProcess],
    /// Most processes that were there at once.
    most_processes: u64,
    /// Requests by method, without the light traffic of idle windows.
    methods: &'s [MethodSummary],
    /// Requests that the imitated editor sent by itself, by method: pulled diagnostics. No step counts them.
    editor: &'s [MethodSummary],
    /// Requests of the server, by method.
    server_requests: &'s BTreeMap<String, ServerRequests>,
    /// Bytes and notifications of the connection.
    traffic: Option<Traffic<'s>>,
    /// What the machine waited for during the run; `null` where that is not counted.
    pressure: Option<&'s Pressure>,
    /// How well the sampler did.
    sampling: Sampling<'s>,
    /// What a person should know, least important first.
    findings: Vec<Finding>,
}

/// Totals of the connection.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Traffic<'s> {
    /// Bytes written to the server.
    sent: u64,
    /// Bytes read from it.
    received: u64,
    /// Bytes on stdout that were not LSP.
    noise: u64,
    /// Bytes on stderr.
    stderr: u64,
    /// Notifications received, by method.
    notifications: &'s BTreeMap<String, u64>,
    /// Messages of the server that came too fast to be recorded.
    dropped: u64,
    /// Requests and notifications of the server whose parameters were too long to read.
    unread: u64,
}

/// How well the sampler did.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Sampling<'s> {
    #[serde(flatten)]
    sampling: &'s SamplingSummary,
    /// By how much samples were late on average.
    mean_delay: Option<Nanos>,
}

/// Something that the scenario repeats, with a checkpoint for each round.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Growth {
    #[serde(flatten)]
    repeated: Repeated,
    /// The slope; `null` of fewer than 8 rounds, or where a value is not known.
    slope: Option<Slope>,
}

/// A slope by Theil and Sen over the rounds after the first two, in bytes per round.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Slope {
    #[serde(flatten)]
    growth: RunGrowth,
    /// The slope per request, or per notification where there are no requests.
    per_message: Option<f64>,
}

/// One idle window, by the sampled curve.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Idle {
    /// Its phase.
    phase: String,
    /// Round of that phase, from 0.
    cycle: u32,
    /// `silent` or `simmer`.
    kind: IdleKind,
    /// Whether memory had become steady; `null` for a window of fixed length or one too short to tell.
    settled: Option<bool>,
    /// How long it was.
    took: Nanos,
    /// Private memory when it began; `null` where it is not known, or its pages may count twice.
    before: Option<u64>,
    /// And when it ended.
    after: Option<u64>,
    /// Share of the growth so far.
    share: Option<f64>,
}

/// The cost of light traffic alone, from the control window. No figure is corrected for it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct TrafficCost {
    #[serde(flatten)]
    traffic: decay::Traffic,
    /// In bytes a minute.
    per_minute: f64,
}

/// A forced release.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Released<'s> {
    #[serde(flatten)]
    released: &'s release::Released,
    /// Whether it came before the phase's checkpoint, as the lens demands; otherwise it was a step.
    checkpoint: bool,
    /// Bytes of private memory released during the step; negative if memory grew. The row of `decay` with the same
    /// phase and kind `released` has the release by the window's end.
    gave: Option<i64>,
}

/// What the server said of its own memory.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Reported<'s> {
    #[serde(flatten)]
    reported: &'s release::Reported,
    /// Share of the measured memory that the report accounts for: of resident memory for one process, of private
    /// memory for several; `null` if either is unknown.
    ratio: Option<f64>,
}

/// The run as indented JSON with a line end.
pub fn render(summary: &Summary) -> Result<String, serde_json::Error> {
    lines(&report(summary, &without_invalid_figures(summary)))
}

/// The run in the types of this format. `valid` is the same without invalid figures.
pub(crate) fn report<'s>(summary: &Summary, valid: &'s Summary) -> Report<'s> {
    Report {
        format: FORMAT,
        run: &valid.header,
        ending: valid.ending.as_ref(),
        exit_code: exit_of_run(summary).code(),
        truncated: valid.unread.truncated,
        damaged_lines: valid.unread.damaged.count,
        unknown_entries: valid.unread.unknown.count,
        duration: valid.duration,
        restarts: valid.lifecycle.restarts,
        initialized: valid.lifecycle.initialized.as_ref(),
        readiness: &valid.lifecycle.readiness,
        shutdown: valid.lifecycle.shutdown.as_ref(),
        shutdown_peak: valid.memory.shutdown_peak,
        private_metric: valid.memory.private_metric,
        peak: valid.memory.peak.as_ref(),
        private_peak: valid.memory.private_peak,
        phases: &valid.phases,
        growth: repeated_parts(valid).into_iter().map(growth).collect(),
        count_growth: repeated_counts(valid),
        idles: valid.windows.iter().filter_map(idle).collect(),
        decay: &valid.windows,
        traffic_cost: decay::traffic(&valid.windows).map(|traffic| TrafficCost {
            per_minute: traffic.per_minute(),
            traffic,
        }),
        released: valid.allocator.released.iter().map(released).collect(),
        self_reports: valid.allocator.reported.iter().map(reported).collect(),
        listening: &valid.allocator.listening,
        unmeasured: why_unmeasured(&valid.header),
        system_calls: Traced::from_summary(valid),
        programs: &valid.processes.programs,
        lost_processes: &valid.processes.lost,
        most_processes: valid.processes.most_at_once,
        methods: &valid.traffic.methods,
        editor: &valid.traffic.editor,
        server_requests: &valid.traffic.server_requests,
        traffic: valid.lifecycle.close.as_ref().map(traffic),
        pressure: valid.pressure.as_ref(),
        sampling: Sampling {
            mean_delay: valid.sampling.mean_delay(),
            sampling: &valid.sampling,
        },
        findings: findings::findings(summary),
    }
}

fn growth(repeated: Repeated) -> Growth {
    let slope = repeated.growth().map(|growth| Slope {
        per_message: repeated.sent.and_then(|sent| sent.per_message(growth.trend.slope)),
        growth,
    });
    Growth { slope, repeated }
}

fn idle(window: &Window) -> Option<Idle> {
    let kind = match window.kind {
        WindowKind::Silent => IdleKind::Silent,
        WindowKind::Simmer => IdleKind::Simmer,
        WindowKind::Closed | WindowKind::Released => return None,
    };
    let private = window.private.as_ref();
    Some(Idle {
        phase: window.phase.name.clone(),
        cycle: window.phase.cycle,
        kind,
        settled: window.settled,
        took: window.took,
        before: private.map(|course| course.before),
        after: private.map(|course| course.after),
        share: private.and_then(|course| course.share),
    })
}

fn released(released: &release::Released) -> Released<'_> {
    Released {
        checkpoint: released.step.is_none(),
        gave: released.released(),
        released,
    }
}

fn reported(reported: &release::Reported) -> Reported<'_> {
    Reported {
        ratio: reported.share().map(Share::ratio),
        reported,
    }
}

fn traffic(close: &Close) -> Traffic<'_> {
    Traffic {
        sent: close.sent,
        received: close.received,
        noise: close.noise,
        stderr: close.stderr,
        notifications: &close.notifications,
        dropped: close.dropped,
        unread: close.unread,
    }
}

#[cfg(test)]
pub(crate) fn schema() -> serde_json::Value {
    crate::schemas::schema_of::<Report>()
}

/// As indented JSON with a line end.
pub(crate) fn lines(report: &impl Serialize) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(report)?;
    text.push('\n');
    Ok(text)
}

#[cfg(test)]
mod tests;
