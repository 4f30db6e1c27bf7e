//! The decision rule on data with a known answer.

use crate::schedule::Schedule;
use crate::{Answer, Endpoint, Seen, Side, TooManyEndpoints, Unusable, Verdict, decide, decide_by_looks};
use base::band::{Tolerance, ToleranceError};

use super::endpoint;

const MIB: f64 = 1_048_576.0;

/// Runs at `base` MiB with a spread of about 0.1 %.
fn quiet(base: f64, n: usize) -> Vec<f64> {
    let step = [0.0, 0.001, -0.001, 0.0005, -0.0005, 0.0012, -0.0012, 0.0003];
    (0..n).map(|run| base * MIB * (1.0 + step[run % step.len()])).collect()
}

fn answer(endpoints: &[Endpoint], alpha: f64) -> Answer {
    decide(endpoints, alpha).unwrap().answer
}

fn answer_for_one(tolerance: Tolerance, baseline: &[f64], candidate: &[f64]) -> Answer {
    answer(&[endpoint(tolerance, baseline, candidate)], 0.0125)
}

#[test]
fn three_quiet_runs_decide_both_ways() {
    let base = quiet(200.0, 3);
    assert_eq!(answer_for_one(Tolerance::PURGED, &base, &quiet(200.0, 3)), Answer::Pass);
    assert_eq!(answer_for_one(Tolerance::PURGED, &base, &quiet(206.0, 3)), Answer::Fail);
    assert_eq!(answer_for_one(Tolerance::PURGED, &base, &quiet(150.0, 3)), Answer::Pass);
}

#[test]
fn equal_values_are_believed_as_far_as_the_floor_lets_them() {
    assert_eq!(answer_for_one(Tolerance::PURGED, &[2e8; 3], &[2e8; 3]), Answer::Pass);
    assert_eq!(answer_for_one(Tolerance::PURGED, &[2e8; 3], &[2.06e8; 3]), Answer::Fail);
    // Two runs of 200 MB with a floor of 0.1 % are known to 0.9 %; of 20 MB, with 64 KiB, to no less than 2.6 %.
    let strict = Tolerance::new(0.0, 0.01, 0.0).unwrap();
    assert_eq!(answer_for_one(strict, &[2e8; 2], &[2e8; 2]), Answer::Pass);
    assert_eq!(answer_for_one(strict, &[2e7; 2], &[2e7; 2]), Answer::Inconclusive);
}

#[test]
fn no_data_can_never_pass_or_fail() {
    let good = quiet(200.0, 12);
    let mut bad = vec![vec![], vec![2e8]];
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -2e8] {
        let mut spoilt = good.clone();
        spoilt[4] = value;
        bad.push(spoilt);
    }
    for values in bad {
        for (baseline, candidate) in [(&good, &values), (&values, &good), (&values, &values)] {
            let endpoints = [endpoint(Tolerance::AS_SHIPPED, baseline, candidate)];
            let verdict = decide(&endpoints, 0.05).unwrap();
            assert_eq!(verdict.answer, Answer::Inconclusive, "{values:?}");
            assert!(verdict.endpoints[0].evidence.is_err());
            let sequential = decide_by_looks(&endpoints, &Schedule::single_look(12, 0.05).unwrap()).unwrap();
            assert_eq!(sequential.answer, Answer::Inconclusive, "{values:?}");
        }
    }
    assert_eq!(answer(&[], 0.05), Answer::Inconclusive);
    assert_eq!(
        decide_by_looks(&[], &Schedule::default()).unwrap().answer,
        Answer::Inconclusive
    );
    assert_eq!(
        answer(&[endpoint(Tolerance::PURGED, &good, &good)], f64::NAN),
        Answer::Inconclusive
    );
    assert_eq!(
        answer(&[endpoint(Tolerance::PURGED, &good, &good)], 0.0),
        Answer::Inconclusive
    );
}

#[test]
fn the_reason_names_the_side_and_the_run() {
    let mut endpoint = endpoint(Tolerance::PURGED, &[2e8; 3], &[2e8; 3]);
    endpoint.candidate[1].value = None;
    let verdict = decide(&[endpoint], 0.05).unwrap();
    assert_eq!(verdict.answer, Answer::Inconclusive);
    let why = verdict.endpoints[0].evidence.unwrap_err();
    assert_eq!(why, (Side::Candidate, Unusable::Missing { run: 1 }));
    assert_eq!(why.1.to_string(), "run 2 has no value");
}

#[test]
fn the_absolute_floor_forgives_what_the_share_does_not() {
    // 3 % more of 20 MiB is 0.6 MiB, under the floor of 2 MiB.
    assert_eq!(
        answer_for_one(Tolerance::PURGED, &quiet(20.0, 8), &quiet(20.6, 8)),
        Answer::Pass
    );
    let verdict = decide(&[endpoint(Tolerance::PURGED, &quiet(20.0, 8), &quiet(20.6, 8))], 0.05).unwrap();
    let evidence = verdict.endpoints[0].evidence.unwrap();
    assert!(evidence.fail_above.by_floor && evidence.pass_below.by_floor);
    assert!((evidence.fail_above.ratio - 1.1).abs() < 1e-3, "{evidence:?}");
    let no_floor = Tolerance::new(0.01, 0.05, 0.0).unwrap();
    assert_eq!(
        answer_for_one(no_floor, &quiet(200.0, 8), &quiet(206.0, 8)),
        Answer::Fail
    );
}

#[test]
fn fail_is_tested_before_pass() {
    // +3 % is shown to be over 1 % and to be under 5 % at once.
    let verdict = decide(&[endpoint(Tolerance::PURGED, &quiet(200.0, 8), &quiet(206.0, 8))], 0.05).unwrap();
    let evidence = verdict.endpoints[0].evidence.unwrap();
    assert!(evidence.upper < evidence.pass_below.ratio && evidence.lower > evidence.fail_above.ratio);
    assert_eq!(verdict.answer, Answer::Fail);
}

#[test]
fn one_failing_endpoint_fails_and_one_open_endpoint_holds_back_a_pass() {
    let pass = endpoint(Tolerance::PURGED, &quiet(200.0, 3), &quiet(200.0, 3));
    let fail = endpoint(Tolerance::PURGED, &quiet(200.0, 3), &quiet(206.0, 3));
    let open = endpoint(Tolerance::PURGED, &[2e8, 3e8, 2.5e8], &[2.2e8, 3e8, 2.3e8]);
    let none = endpoint(Tolerance::PURGED, &[], &[]);
    assert_eq!(
        answer(&[pass.clone(), pass.clone(), pass.clone()], 0.0125),
        Answer::Pass
    );
    assert_eq!(answer(&[pass.clone(), open.clone()], 0.0125), Answer::Inconclusive);
    assert_eq!(answer(&[pass.clone(), none.clone()], 0.0125), Answer::Inconclusive);
    assert_eq!(answer(&[open, fail, none], 0.0125), Answer::Fail);
    assert_eq!(decide(&vec![pass; 4], 0.05), Err(TooManyEndpoints { count: 4 }));
}

#[test]
fn holm_holds_the_lower_bounds_but_not_the_upper_ones() {
    let near = endpoint(Tolerance::PURGED, &quiet(200.0, 3), &quiet(202.9, 3));
    let alone = decide(std::slice::from_ref(&near), 0.05).unwrap();
    let three = decide(&[near.clone(), near.clone(), near], 0.05).unwrap();
    let alone = alone.endpoints[0].evidence.unwrap();
    let of_three = three.endpoints[0].evidence.unwrap();
    assert!((of_three.fail_level - 0.05 / 3.0).abs() < 1e-12);
    assert!(of_three.lower < alone.lower);
    assert_eq!(of_three.upper, alone.upper);
}

#[test]
fn the_first_look_that_decides_ends_it_and_later_runs_change_nothing() {
    let mut candidate = quiet(200.0, 12);
    let looks = Schedule::default();
    let early = decide_by_looks(
        &[endpoint(Tolerance::PURGED, &quiet(200.0, 3), &candidate[..3])],
        &looks,
    )
    .unwrap();
    candidate[7] *= 3.0;
    let late = decide_by_looks(&[endpoint(Tolerance::PURGED, &quiet(200.0, 12), &candidate)], &looks).unwrap();
    assert_eq!(early, late);
    assert_eq!((early.answer, early.look), (Answer::Pass, Some(3)));
    assert_eq!(early.alpha, 0.0125);
}

#[test]
fn looks_go_on_after_a_fail_until_every_endpoint_has_its_answer() {
    let fails = endpoint(Tolerance::PURGED, &quiet(200.0, 12), &quiet(206.0, 12));
    let mut noisy = quiet(200.0, 12);
    (noisy[0], noisy[1], noisy[2]) = (noisy[0] * 1.03, noisy[1] * 0.97, noisy[2] * 1.03);
    let open = endpoint(Tolerance::PURGED, &quiet(200.0, 12), &noisy);
    let verdict = decide_by_looks(&[fails.clone(), open], &Schedule::default()).unwrap();
    let answers: Vec<(Answer, Option<usize>)> = verdict
        .endpoints
        .iter()
        .map(|endpoint| (endpoint.answer, endpoint.look))
        .collect();
    assert_eq!(answers, [(Answer::Fail, Some(3)), (Answer::Pass, Some(8))]);
    assert_eq!((verdict.answer, verdict.look), (Answer::Fail, Some(8)));
    assert!(verdict.is_settled());
    // Data that no more runs can mend hold nothing up.
    let mut spoilt = fails.clone();
    spoilt.candidate[0].value = None;
    let verdict = decide_by_looks(&[fails, spoilt], &Schedule::default()).unwrap();
    assert_eq!((verdict.answer, verdict.look), (Answer::Fail, Some(3)));
    assert!(verdict.is_settled());
}

/// Quiet runs on these machines, in this order.
fn quiet_on(machines: &[usize], base: f64) -> Vec<Seen> {
    let mut seen = Vec::new();
    for (machine, value) in machines.iter().zip(quiet(base, machines.len())) {
        seen.push(Seen {
            machine: *machine,
            value: Some(value),
        });
    }
    seen
}

/// The verdict on a candidate that needs 3 % more, with runs of both sides on these machines.
fn judged_on(machines: &[usize]) -> Verdict {
    let endpoint = Endpoint {
        baseline: quiet_on(machines, 200.0),
        candidate: quiet_on(machines, 206.0),
        ..endpoint(Tolerance::PURGED, &[], &[])
    };
    decide_by_looks(&[endpoint], &Schedule::default()).unwrap()
}

#[test]
fn a_look_counts_the_runs_that_decide() {
    let one_on_the_second = [0, 0, 1];
    let one_on_each = [0, 1, 2, 3];
    let two_on_each = [0, 0, 1, 1];
    let in_turn = [0, 1, 0, 1, 0, 1];
    for (machines, answer, look, runs) in [
        // The lone run does not decide, and two are no look.
        (&one_on_the_second[..], Answer::Inconclusive, None, Some((2, 2))),
        (&one_on_each[..], Answer::Inconclusive, None, None),
        (&two_on_each[..], Answer::Fail, Some(4), Some((4, 4))),
        (&in_turn[..], Answer::Fail, Some(4), Some((4, 4))),
    ] {
        let verdict = judged_on(machines);
        let seen = verdict.endpoints[0].evidence.ok().map(|evidence| evidence.runs);
        assert_eq!((verdict.answer, verdict.look), (answer, look), "{machines:?}");
        assert_eq!(seen.map(|seen| (seen.baseline, seen.candidate)), runs, "{machines:?}");
    }
}

#[test]
fn before_the_first_look_nothing_is_decided_and_the_numbers_are_there() {
    let endpoints = [endpoint(Tolerance::PURGED, &quiet(200.0, 2), &quiet(230.0, 2))];
    let verdict = decide_by_looks(&endpoints, &Schedule::default()).unwrap();
    assert_eq!((verdict.answer, verdict.look), (Answer::Inconclusive, None));
    assert_eq!(verdict.endpoints[0].answer, Answer::Inconclusive);
    assert!(verdict.endpoints[0].evidence.is_ok());
}

#[test]
fn tolerances_that_decide_nothing_or_everything_are_refused() {
    assert!(matches!(
        Tolerance::new(f64::NAN, 0.05, 0.0),
        Err(ToleranceError::NotANumber { what: "tol", .. })
    ));
    assert!(matches!(
        Tolerance::new(0.01, f64::INFINITY, 0.0),
        Err(ToleranceError::NotANumber { .. })
    ));
    assert!(matches!(
        Tolerance::new(0.01, 0.05, -1.0),
        Err(ToleranceError::NotANumber { .. })
    ));
    assert_eq!(
        Tolerance::new(0.05, 0.01, 0.0),
        Err(ToleranceError::Crossed { tol: 0.05, fail: 0.01 })
    );
    assert_eq!(Tolerance::new(0.0, 0.0, 0.0), Err(ToleranceError::Nothing));
    assert_eq!(Tolerance::new(0.01, 0.05, 2.0 * MIB), Ok(Tolerance::PURGED));
}
