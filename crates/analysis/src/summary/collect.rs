//! The one pass: every entry goes to the part that knows what to do with it.

mod idle_windows;
mod programs;
mod ticks;

use std::collections::HashMap;
use std::io::BufRead;

use crate::summary::collect::programs::ByProgram;
use crate::summary::{FailedReads, MethodSummary, Peak, Summary, Unloaded};
use record::{
    Checkpoint, Close, CommandEnd, Entry, Environment, Event, Header, Holder, Libraries, Nanos, Outcome, PeakMark,
    PhaseRef, Pressure, Process, ReadError, ReadFailure, Reader, Readiness, Request, Rollup, Shutdown, Unseen,
    Unwritten,
};

use super::decay::WindowTracker;
use super::departure::Departure;
use super::epoch::{Epoch, Exact};
use super::holder::{self, Held};
use super::lost_processes::Losses;
use super::messages::Messages;
use super::phases::Phases;
use super::preload_share::{self, Leader};
use super::release::Released;
use super::traffic::Method;
use super::tree::Tree;
use super::unpurged::{PurgeMethod, UnpurgedCheckpoint, unpurged};
use super::{jemalloc_settings, lost_processes, unset_settings};

pub fn read<R: BufRead>(reader: Reader<R>) -> Result<Summary, ReadError> {
    read_with(reader, |_| Ok(()))
}

/// Reads a whole record and shows each entry to `see`, for a report that is more than the summary.
pub fn read_with<R: BufRead, E: From<ReadError>>(
    mut reader: Reader<R>,
    mut see: impl FnMut(&Entry) -> Result<(), E>,
) -> Result<Summary, E> {
    let header = reader.header().clone();
    let entries = reader.by_ref().map(|entry| {
        let entry = entry?;
        see(&entry)?;
        Ok::<Entry, E>(entry)
    });
    let mut summary = summarise(header, entries)?;
    summary.unread.truncated = reader.is_truncated();
    summary.unread.unknown = reader.unknown_entries().clone();
    summary.unread.damaged = reader.damaged().clone();
    Ok(summary)
}

/// The summary of a header and the entries that follow it.
pub fn summarise<E>(header: Header, entries: impl IntoIterator<Item = Result<Entry, E>>) -> Result<Summary, E> {
    let mut pass = Pass::new(header);
    for entry in entries {
        let Entry { at, event } = entry?;
        pass.add_event(at, event);
    }
    Ok(pass.finish())
}

/// One round of the sampler over all processes, of which only those are written that changed.
#[derive(Clone, Copy)]
struct Tick {
    began: Nanos,
    last: Nanos,
    /// The process read last; rounds go from the oldest process to the youngest.
    process: u32,
}

/// Everything that is remembered between entries.
struct Pass {
    summary: Summary,
    /// The process id of the server that was started last.
    server: Option<u32>,
    tree: Tree,
    epoch: Epoch,
    phases: Phases,
    methods: HashMap<String, Method>,
    editor: HashMap<String, Method>,
    messages: Messages,
    /// The tick whose samples are being read.
    tick: Option<Tick>,
    /// The processes that were sampled in this tick.
    ticked: Vec<u32>,
    /// The last process and the sum of exact counters that were read together, at a quiet moment.
    together: Option<(u32, Exact)>,
    /// The process that had the most memory at a checkpoint.
    leader: Option<Leader>,
    /// Idle windows.
    watch: WindowTracker,
    /// True while an idle step is under way, so that requests are its light traffic.
    idles: bool,
    /// Pressure at the beginning of the run.
    pressure: Option<Pressure>,
    /// Private memory at the last checkpoint.
    by_program: ByProgram,
    /// The processes at the checkpoint with the most memory.
    held: Held,
    /// Findings about the programs that held most of the memory.
    holders: Vec<Holder>,
    losses: Losses,
}

impl Pass {
    fn new(header: Header) -> Pass {
        Pass {
            tree: Tree::new(header.settings.address_spaces),
            losses: Losses::new(header.settings.interval),
            summary: Summary::empty(header),
            server: None,
            epoch: Epoch::default(),
            phases: Phases::default(),
            methods: HashMap::new(),
            editor: HashMap::new(),
            messages: Messages::default(),
            tick: None,
            ticked: Vec::new(),
            together: None,
            leader: None,
            watch: WindowTracker::default(),
            idles: false,
            pressure: None,
            by_program: ByProgram::default(),
            held: Held::default(),
            holders: Vec::new(),
        }
    }

    fn add_event(&mut self, at: Nanos, event: Event) {
        self.summary.duration = self.summary.duration.max(at);
        if !matches!(event, Event::Sample(_) | Event::ProcessEnded(_)) {
            self.complete_tick();
        }
        if !matches!(event, Event::Rollup(_)) && self.together.take().is_some() {
            self.watch.rollups_complete();
        }
        match event {
            Event::Spawned { pid, restarts } => {
                self.server = Some(pid);
                self.summary.lifecycle.restarts = restarts;
                self.phases.restarted();
                self.losses.spawned();
            }
            Event::Initialized(initialized) => self.summary.lifecycle.initialized = Some(initialized),
            Event::Ready(readiness) => self.ready(readiness),
            Event::Registered { .. } | Event::Relayed(_) => {}
            Event::PhaseStarted(phase) => self.phase_started(at, &phase),
            Event::PhaseDriven(phase) => self.phases.steps_ended(at, &phase, self.tree.sums().private),
            Event::Checkpoint(checkpoint) => self.checkpoint(at, checkpoint),
            Event::Peak(mark) => self.peak(at, &mark),
            Event::StepStarted(start) => self.step_started(at, &start),
            Event::WindowBegan(start) => self.window_began(at, &start),
            Event::ReleaseBegan(phase) => self.checkpoint_release_began(at, &phase),
            Event::StepEnded(end) => self.step_ended(at, &end),
            Event::Request(request) => self.request(at, &request),
            Event::ServerRequest { method, refused } => self.server_request(method, refused),
            Event::ServerMessage { level, text } => self.messages.message(level, text),
            Event::Process(process) => self.process(at, &process),
            Event::Libraries(libraries) => self.libraries(libraries),
            Event::Environment(seen) => self.environment(seen),
            Event::ProcessEnded(end) => self.process_ended(at, &end),
            Event::Sample(sample) => self.sample(at, &sample),
            Event::Rollup(rollup) => self.rollup(at, rollup),
            Event::Late(late) => self.late(late),
            Event::Delays(delays) => self.delays(delays),
            Event::ReadFailed(ReadFailure { what, error, .. }) => {
                let failures = &mut self.summary.sampling.failures;
                let failed = failures.entry(what).or_insert(FailedReads { processes: 0, error });
                failed.processes += 1;
            }
            Event::Unseen(Unseen { total }) => {
                self.summary.sampling.unseen = self.summary.sampling.unseen.max(total);
            }
            Event::Holder(holder) => self.holders.push(holder),
            Event::Listening(listening) => self.summary.allocator.listening.push(listening),
            Event::Pressure(pressure) => self.pressure(pressure),
            Event::SystemCalls(calls) => self.summary.system_calls.push(calls),
            Event::Warning(warning) => self.messages.warn(warning),
            Event::ShutdownBegan => self.losses.shutdown_began(),
            Event::OverLimit(_) => self.hold_excess(),
            Event::Shutdown(shutdown) => self.shut_down(shutdown),
            Event::Closed(close) => self.closed(close),
            Event::Command(end) => self.summary.lifecycle.command = Some(end),
            Event::Ended(ending) => self.summary.ending = Some(ending),
        }
    }

    fn closed(&mut self, close: Close) {
        for (text, count) in &close.violations {
            self.messages.count_repeats(text, *count);
        }
        self.add_unwritten(&close.unwritten);
        self.summary.lifecycle.close = Some(close);
    }

    fn ready(&mut self, readiness: Readiness) {
        self.losses.ready(&self.tree);
        self.summary.lifecycle.readiness.push(readiness);
    }

    fn process(&mut self, at: Nanos, process: &Process) {
        self.losses.appeared(at, process);
        self.tree.appear(at, process, self.server);
    }

    fn server_request(&mut self, method: String, is_refused: bool) {
        let requests = self.summary.traffic.server_requests.entry(method).or_default();
        requests.count += 1;
        requests.refused += u64::from(is_refused);
        self.phases.server_request();
    }

    /// Adds messages of a server that are not in the record. Each restart has counts of its own.
    fn add_unwritten(&mut self, more: &Unwritten) {
        let all = &mut self.summary.log.unwritten;
        all.errors += more.errors;
        all.warnings += more.warnings;
        all.registrations += more.registrations;
        for (method, count) in &more.requests {
            *all.requests.entry(method.clone()).or_default() += count;
            self.summary
                .traffic
                .server_requests
                .entry(method.clone())
                .or_default()
                .count += count;
        }
        for (method, count) in &more.refused {
            *all.refused.entry(method.clone()).or_default() += count;
            self.summary
                .traffic
                .server_requests
                .entry(method.clone())
                .or_default()
                .refused += count;
        }
    }

    fn environment(&mut self, mut seen: Environment) {
        unset_settings::accept_added(&mut seen, &self.summary.header.server.env);
        self.tree.set_environment(seen);
    }

    /// Takes a reading of pressure. The first is from the beginning of the run, the next from its end.
    fn pressure(&mut self, pressure: Pressure) {
        match &self.pressure {
            None => self.pressure = Some(pressure),
            Some(first) => self.summary.pressure = Some(pressure.since(first)),
        }
    }

    /// Remembers a process without the preloaded library.
    fn libraries(&mut self, libraries: Libraries) {
        self.tree.set_missing_libraries(libraries.process, &libraries.missing);
        if libraries.missing.is_empty() {
            return;
        }
        self.summary.processes.unloaded.push(Unloaded {
            program: self.tree.program(libraries.process),
            libraries: libraries.missing,
        });
    }

    /// Takes a shutdown. An earlier one was that of a server that was restarted.
    fn shut_down(&mut self, shutdown: Shutdown) {
        let Some(before) = self.summary.lifecycle.shutdown.replace(shutdown) else {
            return;
        };
        let departure = Departure::new(before, self.summary.lifecycle.close.as_ref());
        if departure.fails_run() || departure.wrong_code().is_some() {
            self.summary.lifecycle.earlier.push(departure);
        }
    }

    /// Counts a request. Light traffic is not counted as work: its amount depends on how long memory takes to settle.
    fn request(&mut self, at: Nanos, request: &Request) {
        self.summary.memory.curves.request(at);
        // What the server keeps open to the end of the session is in the steps until there.
        let was_kept_open = request.latency.is_none() && request.outcome != Outcome::TimedOut;
        let methods = if request.editor {
            if !was_kept_open {
                self.phases.editor_request();
            }
            &mut self.editor
        } else if self.idles {
            return;
        } else {
            self.phases.request_ended(&request.outcome);
            &mut self.methods
        };
        match methods.get_mut(&request.method) {
            Some(method) => method.add(request),
            None => methods.entry(request.method.clone()).or_default().add(request),
        }
    }

    fn phase_started(&mut self, at: Nanos, phase: &PhaseRef) {
        if self.phases.lacks_peak() {
            // The marks of the phase before could not be read, and were not reset either.
            self.phases
                .record_ended(at, self.epoch.peaks(&self.tree, None), self.tree.totals_at_end());
            self.new_epoch(|_| false);
        }
        self.losses.phase_started(phase);
        self.phases.start(at, phase, self.tree.totals_before());
    }

    fn checkpoint(&mut self, at: Nanos, mut checkpoint: Checkpoint) {
        self.count_once(&mut checkpoint);
        let checkpoint = &checkpoint;
        // Rounds before the last are older than samples that are drawn already, which have every change in them.
        self.draw(at);
        for rollup in &checkpoint.rollups {
            self.summary.memory.curves.rollup(at, rollup);
            self.watch.add_rollup(at, rollup);
        }
        if !checkpoint.rollups.is_empty() {
            self.watch.rollups_complete();
        }
        let sum = checkpoint.rollups.iter().fold(Exact::default(), Exact::plus);
        self.epoch.exact(sum);
        self.summary
            .allocator
            .released
            .extend(Released::of_checkpoint(checkpoint, &self.tree));
        self.losses.checkpoint(checkpoint, &self.tree);
        self.keep_larger(Held {
            processes: self
                .tree
                .owners(checkpoint)
                .filter_map(|(live, private)| Some((live.pid, live.name.clone(), private?)))
                .collect(),
            excess_of: None,
        });
        let unpurged = self.unpurged(checkpoint);
        self.by_program = match unpurged {
            None => ByProgram::at_checkpoint(checkpoint, &self.tree),
            Some(_) => ByProgram::default(),
        };
        self.phases
            .checkpoint(at, checkpoint, self.tree.totals(), unpurged.is_none());
        self.summary.allocator.unpurged.extend(unpurged);
        let unset = unset_settings::unset(checkpoint, &self.tree, &self.summary.header.server);
        unset_settings::add(&mut self.summary.allocator.unset, unset);
        preload_share::update_leader(&mut self.leader, checkpoint, &self.tree);
        self.watch.end_window(at, self.extremes());
    }

    fn keep_larger(&mut self, held: Held) {
        if held.total() > self.held.total() {
            self.held = held;
        }
    }

    /// Takes the readings of a checkpoint. Those of processes that run in the memory of another lose theirs, so that
    /// checkpoint and curve count it once by one rule.
    fn count_once(&mut self, checkpoint: &mut Checkpoint) {
        for round in &mut checkpoint.rounds {
            for sample in round {
                self.tree.update(sample);
                if self.tree.borrows(sample.process) {
                    sample.counters = sample.counters.without_memory();
                }
            }
            self.epoch.tick(self.tree.sums());
        }
        for rollup in &mut checkpoint.rollups {
            self.tree.update_exact(rollup);
            if self.tree.borrows(rollup.process) {
                *rollup = rollup.without_memory();
            }
        }
    }

    /// The processes that were not purged before a checkpoint of the purged lens; `None` if the checkpoint counts.
    fn unpurged(&self, checkpoint: &Checkpoint) -> Option<UnpurgedCheckpoint> {
        let method = PurgeMethod::for_run(&self.summary.header.server, &self.summary.allocator.listening)?;
        unpurged(checkpoint, &self.tree, &method)
    }

    fn peak(&mut self, at: Nanos, mark: &PeakMark) {
        for sample in &mark.marks {
            self.tree.update(sample);
        }
        self.epoch.tick(self.tree.sums());
        self.draw(at);
        self.phases.peaks(
            at,
            &mark.phase,
            self.epoch.peaks(&self.tree, Some(mark)),
            self.tree.totals(),
        );
        self.new_epoch(|process| {
            let was_read = mark.marks.iter().any(|sample| sample.process == process);
            mark.reset && was_read && !mark.kept.contains(&process)
        });
    }

    fn new_epoch(&mut self, was_reset: impl Fn(u32) -> bool) {
        self.tree.start_over(was_reset);
        self.epoch = Epoch::default();
        // The processes present when the marks are read begin the next epoch.
        self.epoch.tick(self.tree.sums());
    }

    fn rollup(&mut self, at: Nanos, mut rollup: Rollup) {
        self.tree.update_exact(&rollup);
        if self.tree.borrows(rollup.process) {
            rollup = rollup.without_memory();
        }
        let rollup = &rollup;
        self.summary.memory.curves.rollup(at, rollup);
        self.watch.add_rollup(at, rollup);
        self.summary.sampling.rollups += 1;
        // Processes are read in order: a lower number begins a new reading of all.
        let before = match self.together {
            Some((process, sum)) if rollup.process > process => sum,
            _ => Exact::default(),
        };
        let sum = before.plus(rollup);
        self.together = Some((rollup.process, sum));
        self.epoch.exact(sum);
    }

    /// Notes the process that held the most memory at an excess, by the last samples, with its title: a launcher may have
    /// the name of the program that it starts.
    fn hold_excess(&mut self) {
        self.losses.shutdown_began();
        let mut server = None;
        let mut largest: Option<(u32, String, u64)> = None;
        for (_, live) in self.tree.live().filter(|(_, live)| !live.borrows) {
            if live.server {
                server = Some(live.title.clone());
            }
            let private = live.last_private.unwrap_or(0);
            if largest.as_ref().is_none_or(|(.., most)| *most < private) {
                largest = Some((live.pid, live.title.clone(), private));
            }
        }
        self.keep_larger(Held {
            processes: largest.into_iter().collect(),
            excess_of: server,
        });
    }

    fn finish(mut self) -> Summary {
        self.complete_tick();
        let extremes = self.extremes();
        let mut summary = self.summary;
        if let Some(close) = &summary.lifecycle.close
            && jemalloc_settings::correct(&mut summary.header.server, close)
        {
            self.phases.unmeasure();
            self.by_program = ByProgram::default();
        }
        let processes = self.tree.count_all();
        let unused = preload_share::judge_served_memory(&mut summary, self.leader.as_ref(), processes);
        unset_settings::add(&mut summary.allocator.unset, unused.into_iter().collect());
        holder::correct(&mut summary.header.server, &self.held, &self.holders);
        unset_settings::correct(
            &mut summary.header.server,
            &summary.allocator.unset,
            &summary.allocator.unpurged,
        );
        summary.memory.curves.thin(summary.duration);
        let last = self.epoch.peaks(&self.tree, None);
        let cut = self.phases.lacks_peak();
        if summary.lifecycle.shutdown.is_some() && !cut {
            summary.memory.shutdown_peak = last.resident.map(|peak| peak.lower);
        }
        self.watch.end_window(summary.duration, extremes);
        summary.windows = self.watch.finish();
        self.phases
            .record_ended(summary.duration, last, self.tree.totals_at_end());
        summary.processes.most_at_once = self.tree.most_processes();
        let judged = self.losses.judge();
        for phase in &judged.incomplete {
            self.phases.mark_incomplete(phase);
        }
        summary.processes.lost = judged.list;
        (
            summary.phases,
            summary.memory.private_metric,
            summary.memory.resident_metric,
        ) = self.phases.finish();
        lost_processes::forget_windows(&mut summary);
        mark_growth_while_idle(&mut summary);
        summary.memory.peak = summary.phases.iter().filter_map(|phase| phase.peak).reduce(Peak::or);
        summary.memory.private_peak = summary.phases.iter().filter_map(|phase| phase.private_peak).max();
        if let Some(command) = &summary.lifecycle.command {
            summary.memory.peak = Some(command_peak(
                command,
                summary.memory.peak,
                summary.processes.most_at_once,
            ));
        }
        summary.processes.programs = self.tree.into_programs(cut);
        self.by_program
            .fill(&mut summary.processes.programs, summary.memory.private_metric);
        summary.traffic.methods = method_summaries(self.methods);
        summary.traffic.editor = method_summaries(self.editor);
        summary.log.warnings = self.messages.warnings;
        summary.log.messages = self.messages.messages;
        summary.log.more_warnings = self.messages.more_warnings;
        summary.log.more_messages = self.messages.more_messages;
        summary
    }
}

/// The figures of all methods, by name.
fn method_summaries(methods: HashMap<String, Method>) -> Vec<MethodSummary> {
    let mut methods: Vec<MethodSummary> = methods.into_iter().map(|(name, method)| method.finish(name)).collect();
    methods.sort_by(|a, b| a.method.cmp(&b.method));
    methods
}

/// Takes the growth rate of phases that end with a silent window from that window. A checkpoint alone may miss growth on a
/// timer: it takes a second, which fits between two steps of the growth.
fn mark_growth_while_idle(summary: &mut Summary) {
    for phase in &mut summary.phases {
        let Some(last) = phase.steps.last() else { continue };
        let mut windows = summary.windows.iter().rev();
        let window = windows.find(|window| window.phase == phase.phase && window.step == last.step);
        if let (Some(window), Some(taken)) = (window, &mut phase.checkpoint) {
            taken.growing = taken.growing.or(window.growth_rate());
        }
    }
}

/// The peak of a command. The kernel knows that of its largest process; for a tree the samples may show more.
fn command_peak(command: &CommandEnd, sampled: Option<Peak>, processes: u64) -> Peak {
    let largest = command.peak;
    match sampled {
        Some(sampled) if processes > 1 => Peak {
            lower: sampled.lower.max(largest),
            upper: sampled.upper.map(|upper| upper.max(largest)),
            ..sampled
        },
        _ => Peak {
            lower: largest,
            upper: Some(largest),
            unseen: false,
        },
    }
}
