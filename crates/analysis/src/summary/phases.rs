//! Phases as they are played, and what follows from all of them together.

use crate::summary::{CheckpointSummary, PhaseSummary, PrivateMetric, ResidentMetric, Returned, StepSummary};
use base::band;
use record::{Checkpoint, Nanos, Outcome, PhaseRef, Release, ReleasedBy, StepEnd, StepStart, WindowStart};

use super::checkpoint;
use super::decay::Extremes;
use super::epoch::Peaks;
use super::totals::Totals;

/// Growth in bytes below which a share says nothing.
const LEAST_GROWTH: u64 = 1 << 20;

/// A phase that is being played or was.
#[derive(Debug)]
struct PlayedPhase {
    summary: PhaseSummary,
    before: Totals,
    /// Totals when the release began that is under way.
    release: Option<Totals>,
    /// Usage of all releases so far.
    released: Totals,
    step_started: Nanos,
    /// Results that came since then.
    results: u64,
    /// Sampled private memory when its steps were done.
    at_rest_began: Option<u64>,
    /// Processes without exact counters at the checkpoint that did not end at that moment.
    missing: Vec<u32>,
    /// True if the checkpoint of the purged lens still includes freed memory, so that none of its memory counts.
    unpurged: bool,
    has_peak: bool,
    has_ended: bool,
}

#[derive(Debug, Default)]
pub(super) struct Phases {
    open: Vec<PlayedPhase>,
    /// Requests that the running server has left open.
    parked: u64,
}

/// True if a command of the server was to release memory: it is work that the steps do not ask for.
fn released_by_server(release: Option<&Release>) -> bool {
    release.is_some_and(|release| release.used.iter().any(|used| used.by == ReleasedBy::Server))
}

impl Phases {
    pub fn start(&mut self, at: Nanos, phase: &PhaseRef, before: Totals) {
        let summary = PhaseSummary {
            phase: phase.clone(),
            started: at,
            driven: None,
            ended: at,
            checkpoint: None,
            private: None,
            exact: None,
            increment: None,
            peak: None,
            private_peak: None,
            returned: Returned::default(),
            minor_faults: None,
            major_faults: None,
            cpu: None,
            kept_open: self.parked,
            commands: 0,
            incomplete: false,
            steps: Vec::new(),
            editor_requests: 0,
            server_requests: 0,
        };
        let missing = Vec::new();
        self.open.push(PlayedPhase {
            summary,
            before,
            release: None,
            released: Totals::ZERO,
            step_started: at,
            results: 0,
            at_rest_began: None,
            missing,
            unpurged: false,
            has_peak: false,
            has_ended: false,
        });
    }

    /// A new server runs, which knows nothing of the requests that the last one left open.
    pub fn restarted(&mut self) {
        self.parked = 0;
    }

    /// Finds a phase by its reference, since sampler and driver write at the same time. It is always among the last.
    fn find(&mut self, phase: &PhaseRef) -> Option<&mut PlayedPhase> {
        self.open.iter_mut().rev().find(|open| open.summary.phase == *phase)
    }

    /// The steps of a phase are done, with so much sampled private memory.
    pub fn steps_ended(&mut self, at: Nanos, phase: &PhaseRef, private: Option<u64>) {
        if let Some(open) = self.find(phase) {
            open.summary.driven = Some(at);
            open.at_rest_began = private;
        }
    }

    pub fn step_started(&mut self, at: Nanos, start: &StepStart) {
        if let Some(open) = self.find(&start.phase) {
            open.step_started = at;
            open.results = 0;
            open.summary.steps.push(StepSummary {
                step: start.step,
                name: start.name.clone(),
                method: start.method.clone(),
                took: None,
                requests: None,
                hits: None,
                answered: None,
                notifications: None,
                others: None,
                files_watched: None,
                parked: None,
                skipped: false,
                looked_for: None,
            });
        }
    }

    /// A request that the imitated editor sent by itself has ended.
    pub fn editor_request(&mut self) {
        if let Some(open) = self.open.last_mut() {
            open.summary.editor_requests += 1;
        }
    }

    /// The server asked, and the imitated editor answered.
    pub fn server_request(&mut self) {
        if let Some(open) = self.open.last_mut() {
            open.summary.server_requests += 1;
        }
    }

    /// A request of the scenario ended.
    pub fn request_ended(&mut self, outcome: &Outcome) {
        let Some(open) = self.open.last_mut() else { return };
        if matches!(
            outcome,
            Outcome::Hit | Outcome::Empty | Outcome::Null | Outcome::Cancelled
        ) {
            open.results += 1;
        }
    }

    /// The window of a step begins.
    pub fn window_began(&mut self, start: &WindowStart, totals: Totals) {
        if let Some(open) = self.find(&start.phase) {
            let step = open.summary.steps.last();
            let is_forced_release = step.is_some_and(|step| step.step == start.step && step.name == "release");
            open.release = if is_forced_release { Some(totals) } else { None };
        }
    }

    /// A forced release follows.
    pub fn release_began(&mut self, phase: &PhaseRef, totals: Totals) {
        if let Some(open) = self.find(phase) {
            open.release = Some(totals);
        }
    }

    pub fn step_ended(&mut self, at: Nanos, end: &StepEnd, totals: Totals) {
        let Some(open) = self.find(&end.phase) else { return };
        open.release_ended(totals);
        let (started, results) = (open.step_started, open.results);
        let commands = u64::from(released_by_server(end.release.as_ref()))
            + u64::from(end.self_report.as_ref().is_some_and(|report| report.asked.is_some()));
        if let Some(step) = open.summary.steps.iter_mut().rev().find(|step| step.step == end.step) {
            step.took = Some(at.saturating_sub(started));
            step.requests = Some(end.requests);
            step.hits = Some(end.hits);
            // Requests that belong to others have results too. A hit may have come in parts, without a result.
            step.answered = Some(results.min(end.requests).max(end.hits));
            step.notifications = Some(end.notifications);
            let light = end.idle.as_ref().map_or(0, |idle| idle.sent);
            let others = [light, end.parked, end.files_written, commands];
            step.others = Some(others.into_iter().fold(0, u64::saturating_add));
            step.files_watched = end.files_watched;
            step.parked = Some(end.parked);
            step.skipped = end.skipped;
            step.looked_for.clone_from(&end.looked_for);
        }
        open.summary.kept_open = open.summary.kept_open.saturating_add(end.pulls_open);
        self.parked = self.parked.saturating_add(end.parked);
    }

    /// Takes the checkpoint of a phase. Its memory is dropped unless it `counts`.
    pub fn checkpoint(&mut self, at: Nanos, taken: &Checkpoint, totals: Totals, counts: bool) {
        let Some(open) = self.find(&taken.phase) else { return };
        open.missing = checkpoint::without_rollup(taken).collect();
        open.summary.commands += u64::from(released_by_server(taken.released.as_ref()));
        let mut summary = checkpoint::summarise(at, taken);
        if !summary.settled {
            summary.growing = open.growth_rate(at, summary.private_sampled);
        }
        open.unpurged = !counts;
        open.summary.checkpoint = Some(if counts { summary } else { summary.without_memory() });
        open.release_ended(totals);
        open.end(at, totals);
        open.has_ended = true;
    }

    /// A process that crashed or held most of the memory was missing at the checkpoint of a phase.
    pub fn mark_incomplete(&mut self, phase: &PhaseRef) {
        if let Some(open) = self.find(phase) {
            open.summary.incomplete = true;
        }
    }

    /// Freed memory is in every checkpoint from which it was to be gone.
    pub fn unmeasure(&mut self) {
        for open in &mut self.open {
            open.unpurged = true;
            let taken = open.summary.checkpoint.take();
            open.summary.checkpoint = taken.map(CheckpointSummary::without_memory);
        }
    }

    /// A process has ended. If that was about when exact counters were read, it is no fault that it has none.
    pub fn process_ended(&mut self, at: Nanos, process: u32) {
        /// Well over one tick and one reading of a large process.
        const MOMENT: Nanos = 1_000_000_000;
        if let Some(open) = self.open.last_mut()
            && let Some(checkpoint) = &open.summary.checkpoint
            && at <= checkpoint.at.saturating_add(MOMENT)
        {
            open.missing.retain(|missing| *missing != process);
        }
    }

    /// The peaks of a phase are known.
    pub fn peaks(&mut self, at: Nanos, phase: &PhaseRef, peaks: Peaks, totals: Totals) {
        let Some(open) = self.find(phase) else { return };
        open.take_peaks(peaks);
        if !open.has_ended {
            open.end(at, totals);
        }
    }

    /// The record ends, perhaps in the middle of a phase.
    pub fn record_ended(&mut self, at: Nanos, peaks: Peaks, totals: Totals) {
        let Some(open) = self.open.last_mut() else { return };
        if !open.has_peak {
            open.take_peaks(peaks);
        }
        if !open.has_ended {
            open.end(at, totals);
        }
    }

    /// True if the high-water marks of the last phase were not read yet.
    pub fn lacks_peak(&self) -> bool {
        self.open.last().is_some_and(|open| !open.has_peak)
    }

    /// Peaks and lowest checkpoints of all ended phases.
    pub fn extremes(&self) -> Extremes {
        let phases = self.open.iter().map(|open| &open.summary);
        let checkpoints = phases.clone().filter_map(|phase| phase.checkpoint.as_ref());
        Extremes {
            private_peak: phases.clone().filter_map(|phase| phase.private_peak).max(),
            private_base: checkpoints.clone().filter_map(CheckpointSummary::private_once).min(),
            resident_peak: phases.filter_map(|phase| phase.peak).map(|peak| peak.lower).max(),
            resident_base: checkpoints.filter_map(|checkpoint| checkpoint.resident).min(),
            single: false,
        }
    }

    /// The phases with everything that follows from all of them, and the metrics that they share.
    pub fn finish(self) -> (Vec<PhaseSummary>, PrivateMetric, ResidentMetric) {
        let metric = self.private_metric();
        let mut phases: Vec<PhaseSummary> = self
            .open
            .into_iter()
            .map(|open| PhaseSummary {
                exact: open.exact(),
                ..open.summary
            })
            .collect();
        fill_increments(&mut phases, metric);
        let resident = resident_metric(&phases);
        fill_returned(&mut phases, resident == ResidentMetric::Resident);
        (phases, metric, resident)
    }

    fn private_metric(&self) -> PrivateMetric {
        let mut with_checkpoint = self
            .open
            .iter()
            .filter(|open| open.summary.checkpoint.is_some())
            .peekable();
        let has_checkpoint = with_checkpoint.peek().is_some();
        if has_checkpoint && with_checkpoint.all(|open| open.unpurged || open.exact().is_some()) {
            PrivateMetric::Exact
        } else {
            PrivateMetric::Sampled
        }
    }
}

impl PlayedPhase {
    /// Private memory at the checkpoint, where every process that was still there has exact counters.
    fn exact(&self) -> Option<u64> {
        if !self.missing.is_empty() {
            return None;
        }
        self.summary.checkpoint.as_ref()?.private_exact
    }

    /// Growth of sampled private memory since the steps were done, in bytes per second, if it is more than noise.
    fn growth_rate(&self, at: Nanos, private: Option<u64>) -> Option<u64> {
        let (before, now) = (self.at_rest_began?, private?);
        let nanos = at.checked_sub(self.summary.driven?).filter(|nanos| *nanos > 0)?;
        let grown = now
            .checked_sub(before)
            .filter(|grown| *grown > band::tolerated_difference(before))?;
        u64::try_from(u128::from(grown) * 1_000_000_000 / u128::from(nanos)).ok()
    }

    /// Ends a forced release, if one is under way. Its cost is part of the measurement, not of the scenario.
    fn release_ended(&mut self, totals: Totals) {
        if let Some(before) = self.release.take() {
            self.released = totals.since(before).added_to(Some(self.released));
        }
    }

    fn end(&mut self, at: Nanos, totals: Totals) {
        let used = totals.since(self.before).since(self.released);
        self.summary.ended = at;
        self.summary.cpu = used.cpu();
        self.summary.minor_faults = used.minor;
        self.summary.major_faults = used.major;
    }

    fn take_peaks(&mut self, peaks: Peaks) {
        self.has_peak = true;
        self.summary.peak = peaks.resident;
        self.summary.private_peak = peaks.private;
    }
}

/// The metric of a tree if any checkpoint has several processes. A process that ended before does not matter.
fn resident_metric(phases: &[PhaseSummary]) -> ResidentMetric {
    let mut checkpoints = phases.iter().filter_map(|phase| phase.checkpoint.as_ref());
    if checkpoints.any(|checkpoint| checkpoint.processes > 1) {
        ResidentMetric::Proportional
    } else {
        ResidentMetric::Resident
    }
}

/// Private memory of a checkpoint in the metric of the run.
fn private(taken: &CheckpointSummary, metric: PrivateMetric) -> Option<u64> {
    match metric {
        PrivateMetric::Exact => taken.private_exact,
        PrivateMetric::Sampled => taken.private_sampled,
    }
}

/// Fills in private memory and its increments. Each increment is from the last known value, so they always add up to last
/// minus first, even if a phase between has no checkpoint.
fn fill_increments(phases: &mut [PhaseSummary], metric: PrivateMetric) {
    let mut before: Option<u64> = None;
    for phase in phases {
        phase.private = phase.checkpoint.as_ref().and_then(|taken| private(taken, metric));
        if let (Some(now), Some(before)) = (phase.private, before) {
            phase.increment = i64::try_from(i128::from(now) - i128::from(before)).ok();
        }
        before = phase.private.or(before);
    }
}

/// Fills in [`Returned`]: from phase to phase the peak only grows, and the lowest checkpoint only falls. `is_single` is
/// true for a run whose every checkpoint has one process at most: only its resident memory can be compared with peaks.
fn fill_returned(phases: &mut [PhaseSummary], is_single: bool) {
    let mut resident_peak: Option<u64> = None;
    let mut private_peak = None;
    let mut base: Option<[Option<u64>; 2]> = None;
    for phase in phases {
        resident_peak = resident_peak.max(phase.peak.map(|peak| peak.lower));
        private_peak = private_peak.max(phase.private_peak);
        let Some(taken) = &phase.checkpoint else { continue };
        // What a lost process had was not released.
        if phase.incomplete {
            continue;
        }
        let now = [taken.resident, taken.private_once()];
        let Some(before) = base else {
            base = Some(now);
            continue;
        };
        let resident_base = lowest(before[0], now[0]);
        let private_base = lowest(before[1], now[1]);
        base = Some([resident_base, private_base]);
        phase.returned = Returned {
            resident: if is_single {
                share(resident_peak, now[0], resident_base)
            } else {
                None
            },
            private: share(private_peak, now[1], private_base),
        };
    }
}

/// The lower of two values. Unknown if the earlier value is unknown: then the base is not known either.
fn lowest(before: Option<u64>, now: Option<u64>) -> Option<u64> {
    let before = before?;
    Some(before.min(now.unwrap_or(before)))
}

/// `(peak − retained) / (peak − base)`, if growth suffices for a share.
pub(super) fn share(peak: Option<u64>, retained: Option<u64>, base: Option<u64>) -> Option<f64> {
    let (peak, retained, base) = (peak?, retained?, base?);
    let growth = peak.checked_sub(base).filter(|growth| *growth >= LEAST_GROWTH)?;
    Some((peak as f64 - retained as f64) / growth as f64)
}
