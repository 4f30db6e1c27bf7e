//! The sampler's loop: absolute deadlines, and the driver's commands served between them.

use std::collections::VecDeque;
use std::sync::mpsc;

use tokio::sync::oneshot;

use record::{Delays, Event, LateTicks, Nanos, PhaseRef, Resources, Rollup, Sample, nanos};

use super::source::{Effort, Source};
use super::watch::{Living, Watch};
use super::{Duty, Glance, Options, guard};

/// Rounds of cheap counters in a checkpoint: the median of five stands two outliers.
const ROUNDS: usize = 5;
/// Least and most time between two rounds of a checkpoint: the interval, but never more than this.
const ROUND_PAUSE: Nanos = 50_000_000;
/// Least time between two exact reads of the tree in a quiet window.
const ROLLUP_PAUSE: Nanos = 1_000_000_000;
/// While nothing changes, exact reads become rarer up to this many doublings of their pause: 16 s.
const ROLLUP_DOUBLINGS: u32 = 4;

/// Turns five rounds of samples and the exact counters into the event to write.
pub type MakeCheckpoint = Box<dyn FnOnce(Vec<Vec<Sample>>, Vec<Rollup>, Option<Resources>) -> Event + Send>;

/// A request of the driver to the sampler.
pub enum SamplerCommand {
    Follow(u32),
    /// A quiet window begins or ends.
    Quiet(bool, oneshot::Sender<()>),
    /// Read the exact counters now and write them all, including unchanged ones.
    Exact(oneshot::Sender<()>),
    /// Read a checkpoint and write it.
    Checkpoint(MakeCheckpoint, oneshot::Sender<()>),
    /// Write the high-water marks and reset them.
    Peak(PhaseRef, oneshot::Sender<()>),
    /// Write what changed now, whatever the interval.
    Sample(oneshot::Sender<()>),
    /// Read the cheap counters now, whatever the interval.
    Glance(oneshot::Sender<Glance>),
    Alive(mpsc::Sender<Vec<Living>>),
}

pub enum Wake {
    Due,
    Command(SamplerCommand),
    /// The driver will send no more commands.
    Stop,
}

/// A clock that can be waited on, so that a test can let a day pass in a second.
pub trait Time {
    fn now(&self) -> Nanos;
    /// Waits until then, or for a command. A pending command comes before a past deadline.
    fn wait(&mut self, until: Nanos) -> Wake;
}

pub fn run<S: Source>(watch: &mut Watch<S>, time: &mut impl Time, options: &Options) {
    let mut schedule = Schedule::new(time.now(), options);
    loop {
        match time.wait(schedule.due()) {
            Wake::Due => {}
            Wake::Command(command) => schedule.serve(command, watch, time),
            Wake::Stop => break,
        }
        schedule.work(watch, time);
    }
    schedule.report_delays(watch, time.now());
    watch.finish(&|| time.now());
}

struct Schedule {
    interval: Nanos,
    deadline: Nanos,
    checkpoints: VecDeque<Pending>,
    quiet: Quiet,
    /// Delays of samples since the last report, and its interval.
    delays: Delays,
    delays_reported: Nanos,
    heartbeat: Nanos,
    /// The next look at the memory limit, where samples are too rare for it.
    guarded: Option<Nanos>,
}

struct Pending {
    next: Nanos,
    rounds: Vec<Vec<Sample>>,
    make: MakeCheckpoint,
    done: oneshot::Sender<()>,
}

/// Decides when exact reads are allowed in a quiet window.
struct Quiet {
    is_on: bool,
    duty: Duty,
    last_read: Nanos,
    /// Consecutive reads without changes.
    unchanged_reads: u32,
    /// True if a cheap counter changed since the last read.
    has_moved: bool,
}

impl Quiet {
    fn may_read(&self, now: Nanos) -> bool {
        let pause = ROLLUP_PAUSE << self.unchanged_reads.min(ROLLUP_DOUBLINGS);
        let is_due = self.has_moved || now >= self.last_read.saturating_add(pause);
        self.is_on && self.duty.ready(now) && is_due
    }

    /// Notes an exact read that began at `at`.
    fn note_read(&mut self, at: Nanos, took: Nanos, has_changed: bool) {
        self.duty.spent(at, took, Nanos::MAX);
        self.last_read = at;
        self.has_moved = false;
        self.unchanged_reads = if has_changed { 0 } else { self.unchanged_reads + 1 };
    }
}

impl Schedule {
    fn new(now: Nanos, options: &Options) -> Schedule {
        let interval = nanos(options.interval);
        let needs_guard = options.memory_limit.is_some() && interval > guard::LOOK;
        let duty = Duty::new(options.rollup_duty, ROLLUP_PAUSE);
        Schedule {
            interval: interval.max(1),
            deadline: now,
            checkpoints: VecDeque::new(),
            quiet: Quiet {
                is_on: false,
                duty,
                last_read: 0,
                unchanged_reads: 0,
                has_moved: true,
            },
            delays: Delays::default(),
            delays_reported: now,
            heartbeat: nanos(options.heartbeat),
            guarded: if needs_guard { Some(now) } else { None },
        }
    }

    /// The next time that work is due.
    fn due(&self) -> Nanos {
        let mut due = self.deadline;
        if let Some(pending) = self.checkpoints.front() {
            due = due.min(pending.next);
        }
        if let Some(guarded) = self.guarded {
            due = due.min(guarded);
        }
        due
    }

    fn serve<S: Source>(&mut self, command: SamplerCommand, watch: &mut Watch<S>, time: &impl Time) {
        let now = || time.now();
        match command {
            SamplerCommand::Follow(root) => watch.follow(root, &now),
            // A receiver that is gone needs no answer.
            SamplerCommand::Quiet(on, done) => {
                let at = now();
                // Reads the end of a quiet window exactly: cheap counters do not show lazily freed memory.
                if self.quiet.is_on && !on && self.checkpoints.is_empty() && self.quiet.duty.ready(at) {
                    let changed = watch.write_rollups(&now);
                    self.quiet.note_read(at, now() - at, changed);
                }
                self.quiet.is_on = on;
                let _ = done.send(());
            }
            SamplerCommand::Exact(done) => {
                let at = now();
                watch.write_all_rollups(&now);
                // Not rationed itself, but it delays the next read.
                self.quiet.note_read(at, now() - at, true);
                let _ = done.send(());
            }
            SamplerCommand::Checkpoint(make, done) => {
                watch.look(Effort::CatchUp, &now);
                let rounds = Vec::with_capacity(ROUNDS);
                self.checkpoints.push_back(Pending {
                    next: now(),
                    rounds,
                    make,
                    done,
                });
            }
            SamplerCommand::Peak(phase, done) => {
                self.report_delays(watch, now());
                watch.peak(phase, &now);
                let _ = done.send(());
            }
            SamplerCommand::Sample(done) => {
                watch.sample(&now);
                let _ = done.send(());
            }
            SamplerCommand::Glance(answer) => {
                let _ = answer.send(watch.glance(&now));
            }
            SamplerCommand::Alive(answer) => {
                let _ = answer.send(watch.living_processes(&now));
            }
        }
    }

    fn work<S: Source>(&mut self, watch: &mut Watch<S>, time: &impl Time) {
        let now = || time.now();
        let at = now();
        let is_tick = at >= self.deadline;
        let is_round = self.checkpoints.front().is_some_and(|pending| pending.next <= at);
        if is_tick {
            self.advance(at, watch);
        }
        if is_tick || is_round {
            watch.look(Effort::Cheap, &now);
            self.quiet.has_moved |= watch.round(&now);
        }
        if let Some(guarded) = &mut self.guarded
            && at >= *guarded
        {
            *guarded = at + guard::LOOK;
            watch.glance(&now);
        }
        if is_round {
            self.checkpoint_round(watch, time);
        } else if is_tick && self.checkpoints.is_empty() && self.quiet.may_read(at) {
            let started = now();
            let changed = watch.write_rollups(&now);
            self.quiet.note_read(started, now() - started, changed);
        }
    }

    /// Moves the deadline past now. Missed deadlines are recorded, not repeated. Delays are summed: a line for each
    /// would be most of an idle record.
    fn advance<S: Source>(&mut self, at: Nanos, watch: &mut Watch<S>) {
        let late = at - self.deadline;
        let missed = late / self.interval;
        if missed > 0 {
            watch.put(at, Event::Late(LateTicks { missed, late }));
        }
        self.deadline += (missed + 1) * self.interval;
        self.delays.samples += 1;
        self.delays.sum += late;
        self.delays.most = self.delays.most.max(late);
        if at.saturating_sub(self.delays_reported) >= self.heartbeat {
            self.report_delays(watch, at);
        }
    }

    fn report_delays<S: Source>(&mut self, watch: &mut Watch<S>, at: Nanos) {
        self.delays_reported = at;
        let delays = std::mem::take(&mut self.delays);
        if delays.samples > 0 {
            watch.put(at, Event::Delays(delays));
        }
    }

    /// Adds the latest round to the first pending checkpoint, and writes the checkpoint after its last round.
    fn checkpoint_round<S: Source>(&mut self, watch: &mut Watch<S>, time: &impl Time) {
        let Some(pending) = self.checkpoints.front_mut() else {
            return;
        };
        pending.rounds.push(watch.samples());
        pending.next = time.now() + self.interval.min(ROUND_PAUSE);
        if pending.rounds.len() < ROUNDS {
            return;
        }
        if let Some(Pending {
            mut rounds, make, done, ..
        }) = self.checkpoints.pop_front()
        {
            let started = time.now();
            let rollups = watch.rollups(&|| time.now());
            let resources = watch.resources();
            watch.count_shared_exactly(&mut rounds);
            // Not rationed itself, but it delays the next read.
            self.quiet.duty.spent(started, time.now() - started, Nanos::MAX);
            watch.put(time.now(), make(rounds, rollups, resources));
            let _ = done.send(());
        }
    }
}
