//! Finds the windows of a run while its entries pass by.

use base::curve::{Curve, Span, even_bounds};
use record::{IdleKind, Nanos, PhaseRef, Rollup, StepEnd, StepStart, WindowEnd, WindowStart};

use crate::summary::tree::Sums;

use super::course::Course;
use super::lazy::Lazy;
use super::{POINTS, Window, WindowKind};

/// Exact counters are read at the start of a silent window; readings up to this much later count as its start.
const SOON: Nanos = 500_000_000;

/// Stretches of a window that a chart can tell apart.
const DRAWN: u64 = 512;

/// Peaks and lowest checkpoints of the run so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extremes {
    pub private_peak: Option<u64>,
    /// Private memory of the lowest checkpoint so far.
    pub private_base: Option<u64>,
    pub resident_peak: Option<u64>,
    /// Resident memory of the lowest checkpoint so far.
    pub resident_base: Option<u64>,
    /// True if there was never more than one process.
    pub single: bool,
}

/// A step that is or may become a window.
#[derive(Clone, Debug)]
struct OpenWindow {
    phase: PhaseRef,
    step: u32,
    started: Nanos,
    private: Curve,
    resident: Curve,
    shared: Curve,
    /// Processor time of the tree since the start of the run.
    cpu: Curve,
    /// True if it is an idle step.
    idle: bool,
    /// Lazily freed memory at its start.
    lazily_before: Option<u64>,
    /// The extremes of the run at its start: growth after its floor is not part of the whole.
    extremes: Extremes,
    /// Its kind, once its step has ended and it goes on.
    kind: Option<WindowKind>,
}

/// The windows so far, and the one under way.
#[derive(Debug, Default)]
pub struct WindowTracker {
    open: Option<OpenWindow>,
    /// A window that lasts until the current step's own window begins, and its kind if that never happens.
    ending: Option<(OpenWindow, Window)>,
    done: Vec<Window>,
    lazy: Lazy,
    /// The place of a window that ended as the idle one under way began, so that exact counters tell the end of the one as
    /// soon as they tell the beginning of the other.
    awaiting: Option<usize>,
}

impl WindowTracker {
    /// Adds the current figures of the tree to the windows under way.
    pub fn add(&mut self, at: Nanos, sums: &Sums, cpu: Option<Nanos>) {
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
    pub fn add_rollup(&mut self, at: Nanos, rollup: &Rollup) {
        self.lazy.add_rollup(at, rollup);
    }

    /// Exact counters of all processes were read. At the start of an idle window they hold for its start, and for the
    /// end of the previous one.
    pub fn rollups_complete(&mut self) {
        self.lazy.mark_fresh();
        let lazily_freed = self.lazy.now();
        let Some(open) = self.open.as_mut().filter(|open| open.idle) else {
            return;
        };
        let previous = self.awaiting.take().and_then(|place| self.done.get_mut(place));
        // In older records the first reading may come later, when an allocator may have begun to purge.
        if self.lazy.last_read().saturating_sub(open.started) <= SOON {
            open.lazily_before = open.lazily_before.or(lazily_freed);
            if let Some(window) = previous {
                window.lazily_freed = lazily_freed;
            }
        }
    }

    pub fn process_ended(&mut self, process: u32) {
        self.lazy.remove(process);
    }

    /// A step begins and ends an open window, unless the step has a window of its own. Until that begins, releases
    /// belong to the earlier window, such as that of closed documents.
    pub fn step_started(&mut self, at: Nanos, start: &StepStart, extremes: Extremes) {
        let has_own_window = ["idle", "release"].contains(&start.name.as_str());
        let before = if has_own_window { self.open.clone() } else { None };
        self.end_window(at, extremes);
        if has_own_window
            && let Some(open) = before
            && open.kind.is_some()
            && let Some(window) = self.done.pop()
        {
            self.ending = Some((open, window));
        }
        if ["idle", "close", "release"].contains(&start.name.as_str()) {
            self.open = Some(OpenWindow {
                phase: start.phase.clone(),
                step: start.step,
                started: at,
                private: Curve::default(),
                resident: Curve::default(),
                shared: Curve::default(),
                cpu: Curve::default(),
                idle: start.name == "idle",
                lazily_before: self.lazy.now(),
                extremes,
                kind: None,
            });
        }
        if start.name != "idle" {
            self.lazy.mark_stale();
        }
    }

    /// The window of the step under way begins only here. Records before 1.4 do not say when that was; theirs begin with the
    /// step.
    pub fn window_began(&mut self, at: Nanos, start: &WindowStart, extremes: Extremes) {
        let Some(open) = &mut self.open else { return };
        if open.kind.is_some() || open.phase != start.phase || open.step != start.step {
            return;
        }
        (open.started, open.extremes) = (at, extremes);
        (open.private, open.resident, open.shared, open.cpu) = Default::default();
        if let Some((ending, window)) = self.ending.take() {
            // Exact counters are next read in this window, where it is a silent one.
            self.awaiting = if open.idle { Some(self.done.len()) } else { None };
            self.done.push(ending.window(window.kind, at, extremes));
        }
    }

    /// A step ends. An idle window ends with it; that of closed documents or of a release goes on, for a server takes its
    /// time.
    pub fn step_ended(&mut self, at: Nanos, end: &StepEnd, extremes: Extremes) {
        self.done.extend(self.ending.take().map(|(_, window)| window));
        self.awaiting = None;
        let is_silent = end.idle.as_ref().is_some_and(|idle| idle.kind == IdleKind::Silent);
        if end.idle.is_some() && !is_silent {
            self.lazy.mark_stale();
        }
        let Some(open) = &mut self.open else { return };
        if let Some(idle) = &end.idle {
            let kind = match idle.kind {
                IdleKind::Silent => WindowKind::Silent,
                IdleKind::Simmer => WindowKind::Simmer,
            };
            let (lazily_before, lazily_freed) = if is_silent {
                // While idle, counters are recorded when they change, so the last ones hold at the end.
                (open.lazily_before, self.lazy.last())
            } else {
                (None, None)
            };
            let mut window = Window {
                lazily_before,
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
                ..open.window(kind, at, extremes)
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
        if open.kind.is_none() {
            self.open = None;
        }
    }

    /// Ends the window under way, if any.
    pub fn end_window(&mut self, at: Nanos, extremes: Extremes) {
        self.done.extend(self.ending.take().map(|(_, window)| window));
        if let Some(open) = self.open.take()
            && let Some(kind) = open.kind
        {
            self.done.push(Window {
                lazily_freed: self.lazy.now(),
                ..open.window(kind, at, extremes)
            });
        }
    }

    /// All windows, in the order in which they were played. The record names no runtime for the windows of closed documents:
    /// they get that of the idle windows.
    pub fn finish(mut self) -> Vec<Window> {
        let with_runtime = self
            .done
            .iter()
            .rfind(|window| window.decay.is_some_and(|decay| decay.runtime.is_some()));
        let Some(with_runtime) = with_runtime else {
            return self.done;
        };
        let (decay, holder) = (with_runtime.decay, with_runtime.holder.clone());
        for window in &mut self.done {
            if window.kind == WindowKind::Closed {
                (window.decay, window.holder) = (decay, holder.clone());
                window.too_short_for = window.too_short_for();
            }
        }
        self.done
    }
}

impl OpenWindow {
    /// Processor time between two moments of the window.
    fn used(&self, from: Nanos, to: Nanos) -> Option<Nanos> {
        if !self.cpu.is_whole() {
            return None;
        }
        Some(self.cpu.value_at(to)?.saturating_sub(self.cpu.value_at(from)?))
    }

    fn window(&self, kind: WindowKind, end: Nanos, extremes: Extremes) -> Window {
        let took = end.saturating_sub(self.started);
        let resident = if extremes.single {
            Course::new(
                &self.resident,
                took,
                self.extremes.resident_peak,
                extremes.resident_base,
            )
        } else {
            None
        };
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
            private: Course::new(&self.private, took, self.extremes.private_peak, extremes.private_base),
            resident,
            shared: Course::new(&self.shared, took, None, None),
            curve: highest_by_stretch(&self.private, took),
            private_curve: drawn_curve(&self.private, took),
        }
    }
}

/// The highest value of each of [`POINTS`] stretches of the window; empty if a value was unknown.
fn highest_by_stretch(curve: &Curve, took: Nanos) -> Vec<u64> {
    if !curve.is_whole() {
        return Vec::new();
    }
    let bounds = even_bounds(took, POINTS as u64);
    curve.reduce(&bounds).into_iter().flatten().map(Span::high).collect()
}

/// The curve at a resolution that a report can show; empty if a value was unknown.
fn drawn_curve(curve: &Curve, took: Nanos) -> Curve {
    if !curve.is_whole() {
        return Curve::default();
    }
    let mut drawn = curve.clone();
    drawn.thin(took / DRAWN);
    drawn
}
