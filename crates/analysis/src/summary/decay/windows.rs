//! Finds the windows of a run while its entries pass by.

use record::{IdleKind, Nanos, PhaseRef, Rollup, StepEnd, StepStart, WindowEnd, WindowStart};

use crate::summary::tree::Sums;

use super::course::Course;
use super::curve::{Curve, at};
use super::lazy::Lazy;
use super::{POINTS, Window, WindowKind};

/// Exact counters are read at the start of a silent window; readings up to this much later count as its start.
const SOON: Nanos = 500_000_000;

/// The state of the run so far, by quantity.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known {
    pub private_peak: Option<u64>,
    /// Private memory of the lowest checkpoint so far.
    pub private_base: Option<u64>,
    pub resident_peak: Option<u64>,
    /// Resident memory of the lowest checkpoint so far.
    pub resident_base: Option<u64>,
    /// Whether there was never more than one process.
    pub single: bool,
}

/// A step that is or may become a window.
#[derive(Clone, Debug)]
struct Open {
    phase: PhaseRef,
    step: u32,
    started: Nanos,
    private: Curve,
    resident: Curve,
    shared: Curve,
    /// Processor time of the tree since the start of the run.
    cpu: Curve,
    /// Whether it is an idle step.
    idle: bool,
    /// Lazily freed memory at its start.
    lazily_before: Option<u64>,
    /// The state of the run at its start: growth after its floor is not part of the whole.
    known: Known,
    /// Its kind, once its step has ended and it goes on.
    kind: Option<WindowKind>,
}

/// The windows so far, and the one under way.
#[derive(Debug, Default)]
pub struct Watch {
    open: Option<Open>,
    /// A window that lasts until the current step's own window begins, and its kind if that never happens.
    ending: Option<(Open, Window)>,
    done: Vec<Window>,
    lazy: Lazy,
    /// The place of a window that ended as the idle one under way began, so that exact counters tell the end of the one as
    /// soon as they tell the beginning of the other.
    awaiting: Option<usize>,
}

impl Watch {
    pub fn see(&mut self, at: Nanos, sums: &Sums, cpu: Option<Nanos>) {
        let ending = self.ending.iter_mut().map(|(open, _)| open);
        for open in self.open.iter_mut().chain(ending) {
            let since = at.saturating_sub(open.started);
            open.private.add(since, sums.private_once);
            open.resident.add(since, sums.resident);
            open.shared.add(since, sums.shared);
            open.cpu.add(since, cpu);
        }
    }

    /// Exact counters of a process were read.
    pub fn exact(&mut self, at: Nanos, rollup: &Rollup) {
        self.lazy.exact(at, rollup);
    }

    /// The counters of all processes were read. At the start of an idle window they hold for its start, and for the
    /// end of the previous one.
    pub fn looked(&mut self) {
        self.lazy.looked();
        let now = self.lazy.now();
        let Some(open) = self.open.as_mut().filter(|open| open.idle) else {
            return;
        };
        let ended = self.awaiting.take().and_then(|place| self.done.get_mut(place));
        // In older records the first look may come later, when an allocator may have begun.
        if self.lazy.at().saturating_sub(open.started) <= SOON {
            open.lazily_before = open.lazily_before.or(now);
            if let Some(window) = ended {
                window.lazily_freed = now;
            }
        }
    }

    pub fn gone(&mut self, process: u32) {
        self.lazy.gone(process);
    }

    /// A step begins and ends an open window, unless the step has a window of its own. Until that begins, releases
    /// belong to the earlier window, such as that of closed documents.
    pub fn step_started(&mut self, at: Nanos, start: &StepStart, known: Known) {
        let before = self.open.clone();
        self.over(at, known);
        if ["idle", "release"].contains(&start.name.as_str())
            && let Some(open) = before.filter(|open| open.kind.is_some())
            && let Some(window) = self.done.pop()
        {
            self.ending = Some((open, window));
        }
        if ["idle", "close", "release"].contains(&start.name.as_str()) {
            self.open = Some(Open {
                phase: start.phase.clone(),
                step: start.step,
                started: at,
                private: Curve::default(),
                resident: Curve::default(),
                shared: Curve::default(),
                cpu: Curve::default(),
                idle: start.name == "idle",
                lazily_before: self.lazy.now(),
                known,
                kind: None,
            });
        }
        if start.name != "idle" {
            self.lazy.worked();
        }
    }

    /// The window of the step under way begins only here. Records before 1.4 do not say when that was; theirs begin with the
    /// step.
    pub fn began(&mut self, at: Nanos, start: &WindowStart, known: Known) {
        let of = |open: &&mut Open| open.kind.is_none() && open.phase == start.phase && open.step == start.step;
        if let Some(open) = self.open.as_mut().filter(of) {
            (open.started, open.known) = (at, known);
            (open.private, open.resident, open.shared, open.cpu) = Default::default();
            if let Some((ending, window)) = self.ending.take() {
                // Exact counters are next read in this window, where it is a silent one.
                self.awaiting = open.idle.then_some(self.done.len());
                self.done.push(ending.window(window.kind, at, known));
            }
        }
    }

    /// A step ends. An idle window ends with it; that of closed documents or of a release goes on, for a server takes its
    /// time.
    pub fn step_ended(&mut self, at: Nanos, end: &StepEnd, known: Known) {
        self.done.extend(self.ending.take().map(|(_, window)| window));
        self.awaiting = None;
        let is_silent = end.idle.as_ref().is_some_and(|idle| idle.kind == IdleKind::Silent);
        if end.idle.is_some() && !is_silent {
            self.lazy.worked();
        }
        // While idle, counters are recorded when they change, so the last ones hold at the end.
        let lazily_freed = self.lazy.last().filter(|_| is_silent);
        let Some(open) = &mut self.open else { return };
        if let Some(idle) = &end.idle {
            let mut window = Window {
                lazily_before: open.lazily_before.filter(|_| is_silent),
                lazily_freed,
                control: idle.control,
                end: idle.end,
                settled: idle.settled,
                moving: idle.moving.clone(),
                needed: idle.needed,
                sent: idle.sent,
                left_out: idle.left_out,
                decay: idle.decay,
                holder: idle.holder.clone(),
                took: idle.took,
                ..open.window(
                    match idle.kind {
                        IdleKind::Silent => WindowKind::Silent,
                        IdleKind::Simmer => WindowKind::Simmer,
                    },
                    at,
                    known,
                )
            };
            window.too_short_for = window.too_short_for();
            if let (Some(WindowEnd::Held), Some(private)) = (window.end, &mut window.private) {
                private.settle_time = None;
            }
            self.done.push(window);
            self.open = None;
            return;
        }
        open.kind = match end.name.as_str() {
            "close" if end.left_open == Some(0) => Some(WindowKind::Closed),
            "release" if end.release.as_ref().is_none_or(|release| !release.used.is_empty()) => {
                Some(WindowKind::Released)
            }
            _ => None,
        };
        self.open = self.open.take().filter(|open| open.kind.is_some());
    }

    pub fn over(&mut self, at: Nanos, known: Known) {
        self.done.extend(self.ending.take().map(|(_, window)| window));
        if let Some(open) = self.open.take()
            && let Some(kind) = open.kind
        {
            self.done.push(Window {
                lazily_freed: self.lazy.now(),
                ..open.window(kind, at, known)
            });
        }
    }

    /// All windows, in the order in which they were played. Of closed documents the record names no runtime: it is that of
    /// the idle windows.
    pub fn finish(mut self) -> Vec<Window> {
        let known = self
            .done
            .iter()
            .rev()
            .find(|window| window.decay.is_some_and(|decay| decay.runtime.is_some()));
        let known = known.map(|window| (window.decay, window.holder.clone()));
        for window in &mut self.done {
            if window.kind == WindowKind::Closed
                && let Some((decay, holder)) = &known
            {
                (window.decay, window.holder) = (*decay, holder.clone());
                window.too_short_for = window.too_short_for();
            }
        }
        self.done
    }
}

impl Open {
    /// Processor time between two moments of the window.
    fn used(&self, from: Nanos, to: Nanos) -> Option<Nanos> {
        let points = self.cpu.points()?;
        Some(at(points, to)?.saturating_sub(at(points, from)?))
    }

    fn window(&self, kind: WindowKind, end: Nanos, known: Known) -> Window {
        let took = end.saturating_sub(self.started);
        let resident = Course::of(&self.resident, took, self.known.resident_peak, known.resident_base);
        Window {
            phase: self.phase.clone(),
            step: self.step,
            kind,
            control: false,
            end: None,
            settled: None,
            moving: String::new(),
            needed: None,
            sent: 0,
            left_out: 0,
            decay: None,
            holder: String::new(),
            too_short_for: None,
            lazily_before: self.lazily_before,
            lazily_freed: None,
            started: self.started,
            took,
            cpu: self.used(0, took),
            late_cpu: self.used(took / 2, took),
            private: Course::of(&self.private, took, self.known.private_peak, known.private_base),
            resident: resident.filter(|_| known.single),
            shared: Course::of(&self.shared, took, None, None),
            curve: drawn(&self.private, took),
        }
    }
}

/// The curve at even distances; each point has the highest value since the one before, so that no spike is lost.
fn drawn(curve: &Curve, took: Nanos) -> Vec<u64> {
    let Some(points) = curve.points() else {
        return Vec::new();
    };
    let moment = |place: usize| took / POINTS as u64 * place as u64;
    let highest = |place: usize| {
        let (from, to) = (moment(place), moment(place + 1));
        let within = points.iter().skip(points.partition_point(|(at, _)| *at < from));
        let within = within.take_while(|(at, _)| *at < to).map(|(_, value)| *value);
        within.chain(at(points, from)).max()
    };
    (0..POINTS).filter_map(highest).collect()
}
