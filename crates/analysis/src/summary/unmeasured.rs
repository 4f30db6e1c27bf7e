//! Removes figures that are no measurement: memory, CPU time and latencies of a server that a tracer stops at its
//! system calls.

use std::borrow::Cow;

use crate::summary::{CheckpointSummary, MethodSummary, PhaseSummary, Returned, Summary};
use base::units;
use record::{Counters, Header};

use super::curves::Curves;
use super::histogram::Histogram;

/// The reason why a run has no memory and no latency figures, for people; `None` if it has them.
pub fn why_unmeasured(header: &Header) -> Option<String> {
    let tracer = header.plan.traced.as_ref()?;
    let version = tracer.version.as_deref().unwrap_or(units::UNKNOWN);
    Some(format!(
        "traced by {} {version}, which slows the server down: this run gives no memory and no latency figures",
        tracer.name
    ))
}

/// The summary without invalid figures: a traced run has no memory, CPU time or latencies. Work, page faults and
/// system calls stay.
pub fn without_invalid_figures(summary: &Summary) -> Cow<'_, Summary> {
    match why_unmeasured(&summary.header) {
        None => Cow::Borrowed(summary),
        Some(_) => Cow::Owned(remove_measurements(summary.clone())),
    }
}

/// The counters of a traced process, without invalid ones.
pub fn without_invalid_counters(counters: Counters) -> Counters {
    let Counters {
        minor_faults,
        major_faults,
        threads,
        forked,
        ..
    } = counters;
    Counters {
        minor_faults,
        major_faults,
        threads,
        forked,
        ..Counters::default()
    }
}

fn remove_measurements(mut summary: Summary) -> Summary {
    summary.lifecycle.readiness.clear();
    if let Some(initialized) = &mut summary.lifecycle.initialized {
        initialized.latency = None;
    }
    if let Some(shutdown) = &mut summary.lifecycle.shutdown {
        shutdown.took = None;
    }
    (
        summary.memory.peak,
        summary.memory.private_peak,
        summary.memory.shutdown_peak,
    ) = (None, None, None);
    for phase in &mut summary.phases {
        clear_phase(phase);
    }
    for program in &mut summary.processes.programs {
        (program.peak, program.private, program.cpu) = (None, None, None);
    }
    for method in summary.traffic.methods.iter_mut().chain(&mut summary.traffic.editor) {
        clear_method(method);
    }
    for window in &mut summary.windows {
        window.forget_memory();
        (window.cpu, window.late_cpu) = (None, None);
    }
    summary.allocator.released.clear();
    summary.allocator.reported.clear();
    summary.memory.curves = Curves::default();
    summary
}

fn clear_phase(phase: &mut PhaseSummary) {
    (phase.private, phase.exact, phase.increment) = (None, None, None);
    (phase.peak, phase.private_peak, phase.cpu) = (None, None, None);
    phase.returned = Returned::default();
    if let Some(taken) = &mut phase.checkpoint {
        *taken = CheckpointSummary {
            virtual_size: None,
            ..std::mem::take(taken).without_memory()
        };
    }
    for step in &mut phase.steps {
        step.took = None;
    }
}

fn clear_method(method: &mut MethodSummary) {
    (method.p50, method.p95, method.max) = (None, None, None);
    (method.answered, method.distribution) = (0, Histogram::default());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::traced;

    #[test]
    fn a_run_that_nobody_held_up_keeps_everything() {
        let summary = crate::golden::read("completed");
        assert_eq!(why_unmeasured(&summary.header), None);
        assert!(matches!(without_invalid_figures(&summary), Cow::Borrowed(_)));
    }

    #[test]
    fn a_traced_run_keeps_what_was_done_and_no_size() {
        let summary = traced(crate::golden::read("completed"), 7);
        let measured = without_invalid_figures(&summary);
        assert_eq!(measured.phases.len(), summary.phases.len());
        assert_eq!(measured.traffic.methods[0].count, summary.traffic.methods[0].count);
        assert_eq!(measured.phases[1].minor_faults, summary.phases[1].minor_faults);
        assert!(
            measured
                .phases
                .iter()
                .all(|phase| phase.private.is_none() && phase.cpu.is_none())
        );
        assert!(measured.traffic.methods.iter().all(|method| method.max.is_none()));
        assert_eq!(measured.memory.curves, Curves::default());
        assert!(measured.windows.iter().all(|window| window.private.is_none()));
    }
}
