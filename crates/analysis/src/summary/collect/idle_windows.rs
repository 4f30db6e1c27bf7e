//! Steps, and the windows in which memory is released: idle ones end with their step, those of `close` and `release` with
//! the next step or forced release.

use crate::summary::decay::Extremes;
use crate::summary::release::{Released, Reported};
use record::{Nanos, PhaseRef, StepEnd, StepStart, WindowStart};

use super::Pass;

impl Pass {
    pub(super) fn step_started(&mut self, at: Nanos, start: &StepStart) {
        self.phases.step_started(at, start);
        self.idles = start.name == "idle";
        self.watch.step_started(at, start, self.extremes());
        self.update_window(at);
    }

    pub(super) fn window_began(&mut self, at: Nanos, start: &WindowStart) {
        self.phases.window_began(start, self.tree.totals());
        self.watch.window_began(at, start, self.extremes());
        self.update_window(at);
    }

    /// The forced release before a checkpoint ends the window under way, whose memory was released without force.
    pub(super) fn checkpoint_release_began(&mut self, at: Nanos, phase: &PhaseRef) {
        self.phases.release_began(phase, self.tree.totals());
        self.watch.end_window(at, self.extremes());
    }

    pub(super) fn step_ended(&mut self, at: Nanos, end: &StepEnd) {
        self.phases.step_ended(at, end, self.tree.totals());
        self.idles = false;
        if let Some(window) = &end.idle {
            self.summary.memory.curves.window(at, window.kind, window.took);
        }
        self.summary.allocator.released.extend(Released::of_step(end));
        if let Some(report) = &end.self_report {
            self.summary.allocator.reported.push(Reported {
                phase: end.phase.clone(),
                step: end.step,
                report: report.clone(),
            });
        }
        self.watch.step_ended(at, end, self.extremes());
    }

    /// Peaks and lowest checkpoints so far, in phases that have ended and in the one under way.
    pub(super) fn extremes(&self) -> Extremes {
        let ended_phases = self.phases.extremes();
        let epoch = self.epoch.peaks(&self.tree, None);
        Extremes {
            private_peak: ended_phases.private_peak.max(epoch.private),
            resident_peak: ended_phases.resident_peak.max(epoch.resident.map(|peak| peak.lower)),
            single: self.tree.most_processes() <= 1,
            ..ended_phases
        }
    }

    /// Adds the current figures of the tree to the window under way.
    fn update_window(&mut self, at: Nanos) {
        let sums = self.tree.sums();
        self.watch.add(at, &sums, self.tree.totals().cpu());
    }
}
