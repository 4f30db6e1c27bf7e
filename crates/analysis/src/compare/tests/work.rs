//! What counts as the same work, to the last request.

use std::sync::Arc;

use crate::compare::work::is_less;
use crate::figures::WorkLimits;
use crate::summary::{MethodSummary, PhaseSummary, StepSummary};
use record::golden::Session;
use record::{Event, Outcome};

use super::*;

/// A run with these phases, each once, and these methods.
fn worked(phases: &[PhaseSummary], methods: &[MethodSummary]) -> Summary {
    let mut summary = Arc::unwrap_or_clone(run("a", 1, 100).summary);
    summary.phases = phases.to_vec();
    summary.traffic.methods = methods.to_vec();
    summary
}

/// A round of a phase at this place of the scenario.
fn phase(number: u32, cycle: u32, steps: &[StepSummary]) -> PhaseSummary {
    let mut phase = run("a", 1, 100).summary.phases[0].clone();
    phase.phase.phase = number;
    phase.phase.cycle = cycle;
    phase.phase.name = format!("phase {number}");
    phase.steps = steps.to_vec();
    phase
}

fn step(step: u32, requests: u64, hits: u64) -> StepSummary {
    StepSummary {
        step,
        name: "hover".to_owned(),
        method: None,
        took: None,
        requests: Some(requests),
        hits: Some(hits),
        answered: Some(hits),
        notifications: None,
        others: Some(0),
        files_watched: None,
        parked: Some(0),
        skipped: false,
        looked_for: None,
    }
}

fn method(answered: u64, items: u64, bytes: u64) -> MethodSummary {
    MethodSummary {
        method: "textDocument/hover".to_owned(),
        answered,
        items,
        bytes,
        ..MethodSummary::default()
    }
}

/// A run with four definitions, whose results have this length in its record.
fn defining(items: Option<u64>) -> Summary {
    let mut session = Session::new("a");
    session.requests("textDocument/definition", 4, 1_000, &Outcome::Hit, 0);
    for entry in &mut session.entries {
        if let Event::Request(request) = &mut entry.event {
            request.items = items;
        }
    }
    crate::golden::summarised(&session)
}

fn with_requests(requests: u64, hits: u64) -> Summary {
    worked(&[phase(0, 0, &[step(0, requests, hits)])], &[])
}

fn answered(answered: u64, items: u64, bytes: u64) -> Summary {
    worked(&[], &[method(answered, items, bytes)])
}

fn unequal(baseline: &[Summary], candidate: &[Summary]) -> Vec<Inequality> {
    let (baseline, candidate): (Vec<_>, Vec<_>) = (baseline.iter().collect(), candidate.iter().collect());
    inequalities(&baseline, &candidate, WorkLimits::default())
}

/// The counts of both servers.
type Counted = (Count, Option<f64>, Option<f64>);

const SAME: [Counted; 0] = [];

fn counted(baseline: Summary, candidate: Summary) -> Vec<Counted> {
    let unequal = unequal(&[baseline], &[candidate]).into_iter();
    unequal
        .map(|work| (work.count, work.baseline, work.candidate))
        .collect()
}

#[test]
fn one_request_in_a_hundred_is_the_same_work_and_two_are_not() {
    for same in [99, 100, 101] {
        assert_eq!(counted(with_requests(100, 50), with_requests(same, 50)), SAME, "{same}");
    }
    for other in [98, 102] {
        let expected = (Count::Requests, Some(100.0), Some(other as f64));
        assert_eq!(counted(with_requests(100, 50), with_requests(other, 50)), [expected]);
    }
}

#[test]
fn two_hits_in_a_hundred_are_the_same_work_and_three_are_not() {
    for same in [98, 100, 102] {
        assert_eq!(
            counted(with_requests(200, 100), with_requests(200, same)),
            SAME,
            "{same}"
        );
    }
    for other in [97, 103] {
        let expected = (Count::Hits, Some(100.0), Some(other as f64));
        assert_eq!(counted(with_requests(200, 100), with_requests(200, other)), [expected]);
    }
}

#[test]
fn results_a_twentieth_larger_or_smaller_are_the_same_work() {
    for same in [95, 100, 105] {
        assert_eq!(counted(answered(1, 100, 100), answered(1, same, 100)), SAME, "{same}");
        assert_eq!(counted(answered(1, 1, 100), answered(1, 1, same)), SAME, "{same}");
    }
    for other in [94, 106] {
        let (baseline, candidate) = (Some(100.0), Some(other as f64));
        assert_eq!(
            counted(answered(1, 100, 100), answered(1, other, 100)),
            [(Count::Items, baseline, candidate)]
        );
        assert_eq!(
            counted(answered(1, 1, 100), answered(1, 1, other)),
            [(Count::Bytes, baseline, candidate)]
        );
    }
}

#[test]
fn servers_that_answer_with_a_location_and_with_a_list_of_one_do_the_same_work() {
    assert_eq!(counted(defining(None), defining(Some(1))), SAME);
    let two = [(Count::Items, Some(1.0), Some(2.0))];
    assert_eq!(counted(defining(None), defining(Some(2))), two);
}

#[test]
fn results_are_weighed_per_answer() {
    assert_eq!(counted(answered(10, 100, 5_000), answered(20, 200, 10_000)), SAME);
    let expected = [(Count::Items, Some(10.0), Some(5.0))];
    assert_eq!(counted(answered(10, 100, 5_000), answered(20, 100, 5_000)), expected);
    // Without an answer there is no size.
    let expected = [(Count::Items, Some(1.0), None), (Count::Bytes, Some(500.0), None)];
    assert_eq!(counted(answered(10, 10, 5_000), answered(0, 10, 5_000)), expected);
}

#[test]
fn a_round_more_is_no_more_work_and_a_round_of_twice_as_much_is() {
    assert_eq!(counted(with_rounds(&[10, 10]), with_rounds(&[10, 10, 10])), SAME);
    let unequal = [
        (Count::Requests, Some(10.0), Some(15.0)),
        (Count::Hits, Some(10.0), Some(15.0)),
    ];
    assert_eq!(counted(with_rounds(&[10, 10]), with_rounds(&[10, 20])), unequal);
}

/// Rounds of one phase with so many requests each, all with a result.
fn with_rounds(requests: &[u64]) -> Summary {
    let mut rounds = Vec::new();
    for (cycle, requests) in (0..).zip(requests) {
        rounds.push(phase(0, cycle, &[step(0, *requests, *requests)]));
    }
    worked(&rounds, &[])
}

#[test]
fn a_side_s_work_is_the_median_of_its_runs() {
    let baseline = side([100, 100, 100]);
    assert!(unequal(&baseline, &side([100, 100, 400])).is_empty());
    assert_eq!(unequal(&baseline, &side([400, 100, 400]))[0].candidate, Some(400.0));
    // Of two runs the median lies between them.
    let work = unequal(
        &[with_requests(100, 1), with_requests(100, 1)],
        &[with_requests(100, 1), with_requests(200, 1)],
    );
    assert_eq!(work[0].candidate, Some(150.0));
}

/// Three runs with so many requests, one of which has a result.
fn side(requests: [u64; 3]) -> [Summary; 3] {
    requests.map(|requests| with_requests(requests, 1))
}

#[test]
fn work_that_only_one_side_did_is_unequal_unless_it_came_to_nothing() {
    let idle = worked(&[phase(0, 0, &[])], &[]);
    assert_eq!(
        counted(with_requests(8, 0), idle.clone()),
        [(Count::Requests, Some(8.0), None)]
    );
    assert_eq!(
        counted(idle.clone(), with_requests(8, 3)),
        [(Count::Requests, None, Some(8.0)), (Count::Hits, None, Some(3.0))]
    );
    assert_eq!(counted(with_requests(0, 0), idle), SAME);
    // A change from zero has no share.
    assert_eq!(
        counted(with_requests(0, 0), with_requests(1, 0)),
        [(Count::Requests, Some(0.0), Some(1.0))]
    );
}

#[test]
fn a_step_that_was_skipped_or_did_not_end_did_nothing_that_could_be_counted() {
    let skipped = StepSummary {
        skipped: true,
        ..step(0, 8, 8)
    };
    let cut = StepSummary {
        hits: None,
        ..step(0, 8, 8)
    };
    for nothing in [skipped, cut] {
        let candidate = worked(&[phase(0, 0, &[nothing])], &[]);
        let expected = [(Count::Requests, Some(8.0), None), (Count::Hits, Some(8.0), None)];
        assert_eq!(counted(with_requests(8, 8), candidate), expected);
    }
}

#[test]
fn steps_of_one_name_are_told_apart_and_told_in_the_order_of_the_scenario_methods_last() {
    let steps = [step(0, 10, 10), step(1, 30, 30)];
    let phases = [phase(0, 0, &steps), phase(1, 0, &steps[..1])];
    let baseline = worked(&phases, &[method(10, 10, 10)]);
    let swapped = [
        phase(0, 0, &[step(0, 30, 10), step(1, 10, 30)]),
        phase(1, 0, &[step(0, 20, 10)]),
    ];
    let work = unequal(&[baseline], &[worked(&swapped, &[method(10, 20, 10)])]);
    let tasks: Vec<(u32, u32)> = work
        .iter()
        .filter_map(|inequality| match &inequality.task {
            Task::Step { number, step, name, .. } if name == "hover" => Some((*number, *step)),
            Task::Step { .. } | Task::Method(_) => None,
        })
        .collect();
    assert_eq!(tasks, [(0, 0), (0, 1), (1, 0)]);
    assert_eq!(work.len(), 4);
    assert_eq!(work[3].task, Task::Method("textDocument/hover".to_owned()));
}

#[test]
fn less_is_what_the_candidate_did_less_of_and_never_what_only_it_did() {
    assert!(is_less(Some(2.0), Some(1.0)));
    assert!(is_less(Some(2.0), None));
    assert!(!is_less(Some(1.0), Some(2.0)));
    assert!(!is_less(Some(1.0), Some(1.0)));
    assert!(!is_less(None, Some(1.0)));
    assert!(!is_less(None, None));
}

#[test]
fn of_a_side_without_runs_nothing_is_known() {
    assert!(unequal(&[], &[with_requests(8, 8)]).is_empty());
    assert!(unequal(&[with_requests(8, 8)], &[]).is_empty());
}

#[test]
fn bytes_decide_only_between_versions_of_one_server_and_only_down_by_half() {
    let baseline = of_profile("ty", &[method(10, 10, 1_000)]);
    assert_eq!(
        unequal_run(&baseline, &of_profile("pyrefly", &[method(10, 10, 100)])),
        []
    );
    let shorter = unequal_run(&baseline, &of_profile("ty", &[method(10, 10, 600)]));
    assert_eq!((shorter[0].count, shorter[0].less), (Count::Bytes, false));
    assert!(unequal_run(&baseline, &of_profile("ty", &[method(10, 10, 400)]))[0].less);
}

/// A run of a server that names itself by its profile alone.
fn of_profile(profile: &str, methods: &[MethodSummary]) -> Summary {
    let mut summary = worked(&[], methods);
    summary.header.server.profile = Some(profile.to_owned());
    summary.lifecycle.initialized = None;
    summary
}

fn unequal_run(baseline: &Summary, candidate: &Summary) -> Vec<Inequality> {
    inequalities(&[baseline], &[candidate], WorkLimits::default())
}

#[test]
fn a_release_that_shortens_the_form_of_a_list_does_no_less_work() {
    // Ten elements an answer are a list.
    let [long, short] = [3_670, 1_530].map(|bytes| of_profile("ty", &[method(10, 100, bytes)]));
    assert_eq!(unequal_run(&long, &short), [], "completions with `itemDefaults`");
    assert_eq!(
        shortened("textDocument/definition"),
        [],
        "`LocationLink` and `Location`"
    );
    assert!(shortened("textDocument/hover")[0].less);
}

/// The unequal work of a release whose results of this method are less than half as long.
fn shortened(name: &str) -> Vec<Inequality> {
    let [long, short] = [367, 153].map(|bytes| {
        let method = MethodSummary {
            method: name.to_owned(),
            ..method(10, 10, bytes)
        };
        of_profile("ty", &[method])
    });
    unequal_run(&long, &short)
}
