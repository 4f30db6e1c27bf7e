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
    Summary, exit_of_run, held_up, without_invalid_figures,
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
pub struct Report {
    /// Version of this format.
    format: Version,
    /// The record's header: server, host, scenario, settings.
    run: Header,
    /// How the run ended; `null` when the record was cut short before it said.
    ending: Option<Ending>,
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
    initialized: Option<Initialized>,
    /// One for each server that was waited for.
    readiness: Vec<Readiness>,
    /// How the server was brought down.
    shutdown: Option<Shutdown>,
    /// Most resident memory seen since the last phase's marks, in which the server was shut down: a lower bound.
    shutdown_peak: Option<u64>,
    /// Which quantity `private` is in all phases.
    private_metric: PrivateMetric,
    /// Resident peak of the run.
    peak: Option<Peak>,
    /// Highest sampled private memory: a lower bound of its peak.
    private_peak: Option<u64>,
    /// Every round of every phase, in order.
    phases: Vec<PhaseSummary>,
    /// How memory grows with what the scenario repeats. One run is no verdict.
    growth: Vec<Growth>,
    /// Processes, zombies, threads and open descriptors from round to round of what the scenario repeats.
    count_growth: Vec<RepeatedCount>,
    /// Idle windows.
    idles: Vec<Idle>,
    /// Idle windows, one by one.
    decay: Vec<Window>,
    /// The cost of light traffic alone, from the control window; `null` without one.
    traffic_cost: Option<TrafficCost>,
    /// Forced releases, in steps and before checkpoints.
    released: Vec<Released>,
    /// What the server said of its own memory.
    self_reports: Vec<Reported>,
    /// Processes in which the preloaded library listens.
    listening: Vec<Listening>,
    /// Why memory, processor time and latencies are `null` and windows have no course: the run was traced.
    unmeasured: Option<String>,
    /// Memory calls by phase, if the run was traced.
    system_calls: Option<Traced>,
    /// Programs of the tree.
    programs: Vec<ProgramSummary>,
    /// Processes that crashed, or that held most of the memory and ended, while the server was used.
    lost_processes: Vec<LostProcess>,
    /// Most processes that were there at once.
    most_processes: u64,
    /// Requests by method, without the light traffic of idle windows.
    methods: Vec<MethodSummary>,
    /// Requests that the imitated editor sent by itself, by method: pulled diagnostics. No step counts them.
    editor: Vec<MethodSummary>,
    /// Requests of the server, by method.
    server_requests: BTreeMap<String, ServerRequests>,
    /// Bytes and notifications of the connection.
    traffic: Option<Traffic>,
    /// What the machine waited for during the run; `null` where that is not counted.
    pressure: Option<Pressure>,
    /// How well the sampler did.
    sampling: Sampling,
    /// What a person should know, least important first.
    findings: Vec<Finding>,
}

/// Totals of the connection.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Traffic {
    /// Bytes written to the server.
    sent: u64,
    /// Bytes read from it.
    received: u64,
    /// Bytes on stdout that were not LSP.
    noise: u64,
    /// Bytes on stderr.
    stderr: u64,
    /// Notifications received, by method.
    notifications: BTreeMap<String, u64>,
    /// Messages of the server that came too fast to be recorded.
    dropped: u64,
    /// Requests and notifications of the server whose parameters were too long to read.
    unread: u64,
}

/// How well the sampler did.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Sampling {
    #[serde(flatten)]
    sampling: SamplingSummary,
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
struct Released {
    #[serde(flatten)]
    released: release::Released,
    /// Whether it came before the phase's checkpoint, as the lens demands; otherwise it was a step.
    checkpoint: bool,
    /// Bytes of private memory released during the step; negative if memory grew. The row of `decay` with the same
    /// phase and kind `released` has the release by the window's end.
    gave: Option<i64>,
}

/// What the server said of its own memory.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Reported {
    #[serde(flatten)]
    reported: release::Reported,
    /// Share of the measured memory that the report accounts for: of resident memory for one process, of private
    /// memory for several; `null` if either is unknown.
    ratio: Option<f64>,
}

/// The run as indented JSON with a line end.
pub fn render(summary: &Summary) -> Result<String, serde_json::Error> {
    lines(&report(summary))
}

/// The run in the types of this format.
pub fn report(summary: &Summary) -> Report {
    let (findings, exit_code) = (findings::findings(summary), exit_of_run(summary).code());
    let summary = without_invalid_figures(summary).into_owned();
    let held_up = held_up(&summary.header);
    Report {
        format: FORMAT,
        exit_code,
        damaged_lines: summary.damaged.count,
        unknown_entries: summary.unknown.count,
        growth: repeated_parts(&summary).into_iter().map(growth).collect(),
        count_growth: repeated_counts(&summary),
        idles: summary.windows.iter().filter_map(idle).collect(),
        traffic_cost: decay::traffic(&summary.windows).map(|traffic| TrafficCost {
            per_minute: traffic.per_minute(),
            traffic,
        }),
        system_calls: Traced::from_summary(&summary),
        run: summary.header,
        ending: summary.ending,
        truncated: summary.truncated,
        duration: summary.duration,
        restarts: summary.restarts,
        initialized: summary.initialized,
        readiness: summary.readiness,
        shutdown: summary.shutdown,
        shutdown_peak: summary.shutdown_peak,
        private_metric: summary.private_metric,
        peak: summary.peak,
        private_peak: summary.private_peak,
        phases: summary.phases,
        decay: summary.windows,
        released: summary.released.into_iter().map(released).collect(),
        self_reports: summary.reported.into_iter().map(reported).collect(),
        listening: summary.listening,
        unmeasured: held_up,
        programs: summary.programs,
        lost_processes: summary.lost.clone(),
        most_processes: summary.most_processes,
        methods: summary.methods,
        editor: summary.editor,
        server_requests: summary.server_requests,
        traffic: summary.close.map(traffic),
        pressure: summary.pressure,
        sampling: Sampling {
            mean_delay: summary.sampling.mean_delay(),
            sampling: summary.sampling,
        },
        findings,
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

fn released(released: release::Released) -> Released {
    Released {
        checkpoint: released.step.is_none(),
        gave: released.released(),
        released,
    }
}

fn reported(reported: release::Reported) -> Reported {
    Reported {
        ratio: reported.share().map(Share::ratio),
        reported,
    }
}

fn traffic(close: Close) -> Traffic {
    Traffic {
        sent: close.sent,
        received: close.received,
        noise: close.noise,
        stderr: close.stderr,
        notifications: close.notifications,
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
