//! From the summary to the types of the format. Every structure is taken apart by name, so that nothing is forgotten.

use crate::analyse::growth::{Repeated, Sent, repeated};
use crate::analyse::stats;
use crate::analyse::{
    self, CheckpointSummary, MethodSummary, PhaseSummary, ProgramSummary, SamplingSummary, StepSummary, Summary,
};
use crate::record::Close;

use super::{
    Checkpoint, FORMAT, Finding, Grows, Growth, Method, Peak, Phase, PrivateMetric, Program, Report, Sampling,
    ServerRequests, Severity, Shape, Slope, Step, Traffic, decay, release, session,
};

pub(super) fn report(summary: &Summary, exit_code: u8) -> Report {
    let requests = |(method, (count, refused)): (&String, &(u64, u64))| {
        (
            method.clone(),
            ServerRequests {
                count: *count,
                refused: *refused,
            },
        )
    };
    let findings = analyse::findings(summary).into_iter().map(finding).collect();
    let summary = &*analyse::measured(summary);
    let held_up = analyse::held_up(&summary.header);
    let (initialized, shutdown) = (summary.initialized.clone(), summary.shutdown.clone());
    Report {
        format: FORMAT,
        run: summary.header.clone(),
        ending: summary.ending.clone(),
        exit_code,
        truncated: summary.truncated,
        damaged_lines: summary.damaged.count,
        unknown_entries: summary.unknown.count,
        duration: summary.duration,
        restarts: summary.restarts,
        initialized: initialized.map(|said| session::initialized(said, held_up.is_some())),
        readiness: summary.readiness.clone(),
        shutdown: shutdown.map(|shutdown| session::shutdown(shutdown, held_up.is_some())),
        shutdown_peak: summary.shutdown_peak,
        private_metric: match summary.private_metric {
            analyse::PrivateMetric::Exact => PrivateMetric::Exact,
            analyse::PrivateMetric::Sampled => PrivateMetric::Sampled,
        },
        peak: summary.peak.map(peak),
        private_peak: summary.private_peak,
        phases: summary.phases.iter().map(phase).collect(),
        growth: repeated(summary).iter().map(growth).collect(),
        idles: summary.windows.iter().filter_map(decay::idle).collect(),
        decay: summary.windows.iter().map(decay::window).collect(),
        traffic_cost: decay::traffic(&summary.windows),
        released: summary.released.iter().map(release::released).collect(),
        self_reports: summary.reported.iter().map(release::reported).collect(),
        listening: summary.listening.clone(),
        unmeasured: held_up,
        system_calls: analyse::calls::Traced::of(summary),
        programs: summary.programs.iter().map(program).collect(),
        most_processes: summary.most_processes,
        methods: summary.methods.iter().map(method).collect(),
        server_requests: summary.server_requests.iter().map(requests).collect(),
        traffic: summary.close.as_ref().map(traffic),
        pressure: summary.pressure,
        sampling: sampling(&summary.sampling),
        findings,
    }
}

fn peak(peak: analyse::Peak) -> Peak {
    Peak {
        lower: peak.lower,
        upper: peak.upper,
        exact: peak.is_exact(),
        unseen: peak.unseen,
    }
}

fn phase(phase: &PhaseSummary) -> Phase {
    Phase {
        name: phase.phase.name.clone(),
        phase: phase.phase.phase,
        cycle: phase.phase.cycle,
        started: phase.started,
        driven: phase.driven,
        ended: phase.ended,
        private: phase.private,
        increment: phase.increment,
        peak: phase.peak.map(peak),
        private_peak: phase.private_peak,
        returned_resident: phase.returned.resident,
        returned_private: phase.returned.private,
        checkpoint: phase.checkpoint.as_ref().map(checkpoint),
        minor_faults: phase.minor_faults,
        major_faults: phase.major_faults,
        cpu: phase.cpu,
        steps: phase.steps.iter().map(step).collect(),
    }
}

fn checkpoint(taken: &CheckpointSummary) -> Checkpoint {
    let CheckpointSummary {
        at,
        settled,
        waited,
        unsettled,
        private_exact,
        private_sampled,
        resident,
        proportional,
        virtual_size,
        huge_pages,
        lazy_free,
        swap,
        threads,
        processes,
        forked,
    } = taken.clone();
    Checkpoint {
        at,
        settled,
        waited,
        unsettled,
        private_exact,
        private_sampled,
        resident,
        proportional,
        virtual_size,
        huge_pages,
        lazy_free,
        swap,
        threads,
        processes,
        forked,
    }
}

fn growth(repeated: &Repeated) -> Growth {
    let (requests, notifications) = match repeated.sent {
        Some(Sent::Requests(count)) => (Some(count), None),
        Some(Sent::Notifications(count)) => (None, Some(count)),
        Some(Sent::Nothing) | None => (None, None),
    };
    Growth {
        name: repeated.name.clone(),
        phase: repeated.phase,
        rounds: repeated.values.clone(),
        requests,
        notifications,
        slope: repeated.growth().map(|growth| slope(repeated, &growth)),
    }
}

fn slope(repeated: &Repeated, growth: &stats::RunGrowth) -> Slope {
    let slope = growth.trend.slope;
    Slope {
        per_round: slope,
        low: growth.trend.low,
        high: growth.trend.high,
        coverage: growth.trend.coverage,
        per_message: repeated.sent.and_then(|sent| sent.per_message(slope)),
        late: growth.late,
        shape: match growth.shape {
            stats::Shape::Flat => Shape::Flat,
            stats::Shape::Step => Shape::Step,
            stats::Shape::Decelerating => Shape::Decelerating,
            stats::Shape::Linear => Shape::Linear,
            stats::Shape::Runaway => Shape::Runaway,
        },
        grows: match growth.growth {
            stats::Growth::Above => Grows::Yes,
            stats::Growth::Below => Grows::No,
            stats::Growth::Unclear => Grows::Unclear,
        },
    }
}

fn step(step: &StepSummary) -> Step {
    let StepSummary {
        step: _,
        name,
        method,
        took,
        requests,
        hits,
        notifications,
        skipped,
        looked_for: _,
    } = step.clone();
    Step {
        name,
        method,
        took,
        requests,
        hits,
        notifications,
        skipped,
    }
}

fn program(program: &ProgramSummary) -> Program {
    let ProgramSummary {
        name,
        command,
        count,
        ended,
        first_seen,
        peak,
        private,
        cpu,
        huge_pages,
    } = program.clone();
    Program {
        name,
        command,
        count,
        ended,
        first_seen,
        peak,
        private,
        cpu,
        huge_pages,
    }
}

fn method(method: &MethodSummary) -> Method {
    let MethodSummary {
        method,
        count,
        hits,
        empty,
        null,
        errors,
        timeouts,
        parked,
        lost,
        retries,
        bytes,
        items,
        error,
        answered,
        p50,
        p95,
        max,
        // For charts; the figures above are exact.
        distribution: _,
    } = method.clone();
    let error = error.map(|(text, _)| text);
    Method {
        method,
        count,
        hits,
        empty,
        null,
        errors,
        timeouts,
        parked,
        lost,
        retries,
        bytes,
        items,
        error,
        answered,
        p50,
        p95,
        max,
    }
}

fn traffic(close: &Close) -> Traffic {
    Traffic {
        sent: close.sent,
        received: close.received,
        noise: close.noise,
        stderr: close.stderr,
        notifications: close.notifications.clone(),
        dropped: close.dropped,
        unread: close.unread,
    }
}

fn sampling(sampling: &SamplingSummary) -> Sampling {
    let mean_delay = sampling.mean_delay();
    let SamplingSummary {
        samples,
        rollups,
        ticks,
        delay: _,
        missed,
        latest,
        unseen,
        failures,
    } = sampling.clone();
    let failures = failures.into_iter().map(|(what, (processes, _))| (what, processes));
    Sampling {
        samples,
        rollups,
        ticks,
        mean_delay,
        missed,
        latest,
        unseen,
        failures: failures.collect(),
    }
}

fn finding(finding: analyse::Finding) -> Finding {
    let severity = match finding.severity {
        analyse::Severity::Note => Severity::Note,
        analyse::Severity::Warning => Severity::Warning,
        analyse::Severity::Failure => Severity::Failure,
    };
    Finding {
        severity,
        text: finding.text,
        details: finding.details,
    }
}
