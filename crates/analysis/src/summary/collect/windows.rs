//! Steps and idle windows.

use crate::summary::decay::Known;
use crate::summary::release::{Released, Reported};
use record::{Nanos, PhaseRef, StepEnd, StepStart, WindowStart};

use super::Pass;

impl Pass {
    pub(super) fn step_started(&mut self, at: Nanos, start: &StepStart) {
        self.phases.step_started(at, start);
        self.idles = start.name == "idle";
        self.watch.step_started(at, start, self.known());
        self.watch(at);
    }

    pub(super) fn window_began(&mut self, at: Nanos, start: &WindowStart) {
        self.phases.window_began(start, self.tree.totals());
        self.watch.began(at, start, self.known());
        self.watch(at);
    }

    /// Ends the open window: later releases are forced.
    pub(super) fn release_began(&mut self, at: Nanos, phase: &PhaseRef) {
        self.phases.release_began(phase, self.tree.totals());
        self.watch.over(at, self.known());
    }

    pub(super) fn step_ended(&mut self, at: Nanos, end: &StepEnd) {
        self.phases.step_ended(at, end, self.tree.totals());
        self.idles = false;
        if let Some(window) = &end.idle {
            self.summary.curves.window(at, window.kind, window.took);
        }
        self.summary.released.extend(Released::of_step(end));
        self.summary
            .reported
            .extend(end.self_report.clone().map(|report| Reported {
                phase: end.phase.clone(),
                step: end.step,
                report,
            }));
        self.watch.step_ended(at, end, self.known());
    }

    /// What was taken so far, in phases that have ended and in the one under way.
    pub(super) fn known(&self) -> Known {
        let taken = self.phases.taken();
        let epoch = self.epoch.peaks(&self.tree, None);
        Known {
            private_peak: taken.private_peak.max(epoch.private),
            resident_peak: taken.resident_peak.max(epoch.resident.map(|peak| peak.lower)),
            single: self.tree.most() <= 1,
            ..taken
        }
    }

    /// Shows the window that is open what the tree has now.
    pub(super) fn watch(&mut self, at: Nanos) {
        let sums = self.tree.sums();
        self.watch.see(at, &sums, self.tree.totals().cpu());
    }
}
