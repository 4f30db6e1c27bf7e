use crate::golden::{self, run as golden_run};
use crate::growth::{Asked, WhyUnasked};
use crate::summary::StepSummary;
use record::Excess;

use super::*;

const MIB: f64 = 1_048_576.0;
const KIB: u64 = 1_024;

fn level(text: &str, comparison: Comparison, mib: f64) -> When {
    When::Level(Level {
        subject: text.parse().unwrap(),
        comparison,
        bound: mib * MIB,
    })
}

fn rising(comparison: Comparison, kib: f64, per: Per) -> When {
    When::Rising(Rising {
        phase: Some("edit".to_owned()),
        lens: None,
        comparison,
        bound: kib * 1_024.0,
        per,
    })
}

/// Runs of the golden record with these shares of its memory after decay, in per cent.
fn runs(percents: &[u64]) -> Vec<Played> {
    let numbers = 1..;
    numbers
        .zip(percents)
        .map(|(number, percent)| golden_run("server", number, *percent))
        .collect()
}

/// Private memory of the golden record at its result, in MiB.
fn usual() -> f64 {
    let subject: GatedFigure = "private".parse().unwrap();
    subject.value(&golden::read("completed")).unwrap() / MIB
}

/// A run of 24 rounds of four requests each, of which so many are answered, that grows by this much per round.
fn growing(kib: u64, answered: u64) -> Played {
    let mut summary = golden::read("completed");
    let model = summary.phases[1].clone();
    summary.phases = (0..24)
        .map(|round: u64| {
            let mut phase = model.clone();
            phase.phase.phase = 1;
            phase.phase.name = "edit".to_owned();
            phase.private = Some((100 << 20) + round * kib * KIB + round % 2 * KIB);
            phase.steps = vec![StepSummary {
                step: 0,
                name: "hover".to_owned(),
                method: None,
                took: Some(1),
                requests: Some(4),
                hits: Some(answered),
                answered: Some(answered),
                notifications: Some(0),
                others: Some(0),
                files_watched: None,
                parked: Some(0),
                skipped: false,
                looked_for: None,
            }];
            phase
        })
        .collect();
    Played::new("run.jsonl".to_owned(), summary)
}

fn holds(when: &When, runs: &[Played], rigour: Rigour) -> Holds {
    when.evaluate(runs, rigour).holds
}

fn over_limit(mut run: Played) -> Played {
    let summary = run.summary_mut();
    summary.ending = Some(Ending::OverLimit {
        excess: Excess {
            limit: 1 << 30,
            private: 2 << 30,
            is_exact: true,
            rate: None,
        },
        during: String::new(),
        in_flight: Vec::new(),
        before: Vec::new(),
    });
    run
}

#[test]
fn one_run_answers_a_search_where_it_is_far_from_the_bound() {
    let usual = usual();
    for (share, answer) in [
        (0.5, Holds::Yes),
        (1.0, Holds::Undecided(Undecided::Close)),
        (2.0, Holds::No),
    ] {
        let when = level("private", Comparison::Above, usual * share);
        assert_eq!(holds(&when, &runs(&[100]), Rigour::Search), answer, "{share}");
        let below = level("private", Comparison::AtMost, usual * share);
        let opposite = match answer {
            Holds::Yes => Holds::No,
            Holds::No => Holds::Yes,
            Holds::Undecided(why) => Holds::Undecided(why),
        };
        assert_eq!(holds(&below, &runs(&[100]), Rigour::Search), opposite, "{share}");
    }
}

#[test]
fn more_runs_come_closer_to_the_bound() {
    let when = level("private", Comparison::Above, usual() * 0.9);
    assert_eq!(
        holds(&when, &runs(&[100]), Rigour::Search),
        Holds::Undecided(Undecided::Close)
    );
    assert_eq!(holds(&when, &runs(&[100; 4]), Rigour::Search), Holds::Yes);
}

#[test]
fn a_verdict_takes_five_runs_as_a_gate_does() {
    let when = level("private", Comparison::Above, usual() * 0.5);
    let few = holds(&when, &runs(&[100; 4]), Rigour::Verdict);
    assert_eq!(few, Holds::Undecided(Undecided::TooFewRuns { have: 4, need: 5 }));
    assert_eq!(holds(&when, &runs(&[100; 5]), Rigour::Verdict), Holds::Yes);
    let none = holds(&when, &[], Rigour::Search);
    assert_eq!(none, Holds::Undecided(Undecided::TooFewRuns { have: 0, need: 1 }));
}

#[test]
fn growth_holds_per_round_and_per_request_of_what_was_answered() {
    for (when, answer) in [
        (rising(Comparison::Above, 200.0, Per::Round), Holds::Yes),
        (rising(Comparison::Above, 300.0, Per::Round), Holds::No),
        (rising(Comparison::Above, 60.0, Per::Request), Holds::Yes),
        (rising(Comparison::Above, 70.0, Per::Request), Holds::No),
        (rising(Comparison::AtMost, 70.0, Per::Request), Holds::Yes),
        (
            rising(Comparison::Above, 60.0, Per::Notification),
            Holds::Undecided(Undecided::NotCounted(Per::Notification)),
        ),
    ] {
        for (runs, rigour) in [(1, Rigour::Search), (3, Rigour::Search), (5, Rigour::Verdict)] {
            let runs: Vec<Played> = (0..runs).map(|_| growing(256, 4)).collect();
            assert_eq!(holds(&when, &runs, rigour), answer, "{when} of {} runs", runs.len());
        }
    }
    let one = holds(
        &rising(Comparison::Above, 200.0, Per::Round),
        &[growing(256, 4)],
        Rigour::Verdict,
    );
    assert_eq!(one, Holds::Undecided(Undecided::TooFewRuns { have: 1, need: 3 }));
}

#[test]
fn growth_is_not_denied_of_requests_that_nobody_answered() {
    let when = rising(Comparison::Above, 64.0, Per::Request);
    for runs in [1, 5] {
        let runs: Vec<Played> = (0..runs).map(|_| growing(0, 0)).collect();
        match holds(&when, &runs, Rigour::Search) {
            Holds::Undecided(Undecided::Unasked(steps)) => assert_eq!(steps[0].why, WhyUnasked::Failed),
            other => panic!("{other:?}"),
        }
    }
    // Growth that is shown stays.
    assert_eq!(holds(&when, &[growing(512, 0)], Rigour::Search), Holds::Yes);
}

#[test]
fn less_memory_of_a_server_that_answered_nothing_is_no_answer() {
    let mut run = growing(0, 0);
    let when = level("peak", Comparison::Above, 1_000_000.0);
    assert!(matches!(
        holds(&when, std::slice::from_ref(&run), Rigour::Search),
        Holds::Undecided(Undecided::Unasked(_))
    ));
    let (asked, _) = crate::growth::work_of(&run.summary.phases, &run.summary);
    assert_eq!(asked, Asked::Unanswered);
    for phase in &mut run.summary_mut().phases {
        phase.steps[0].answered = Some(4);
    }
    assert_eq!(holds(&when, &[run], Rigour::Search), Holds::No);
}

#[test]
fn a_run_that_failed_shows_what_it_reached_and_never_what_it_did_not() {
    let run = over_limit(runs(&[100]).remove(0));
    let peak = run.summary.memory.peak.unwrap().lower as f64 / MIB;
    let more = level("peak", Comparison::Above, peak / 2.0);
    assert_eq!(holds(&more, std::slice::from_ref(&run), Rigour::Search), Holds::Yes);
    let less = level("peak", Comparison::Above, peak * 2.0);
    assert!(matches!(
        holds(&less, &[run], Rigour::Search),
        Holds::Undecided(Undecided::Failed(_))
    ));
}

#[test]
fn a_crash_holds_if_most_runs_crash() {
    for (crashes, rigour, answer) in [
        (&[true][..], Rigour::Search, Holds::Yes),
        (&[false], Rigour::Search, Holds::No),
        (&[true, false], Rigour::Search, Holds::Undecided(Undecided::SomeCrash)),
        (&[true, true, true, false, false], Rigour::Verdict, Holds::Yes),
        (
            &[true, true, false, false, false],
            Rigour::Verdict,
            Holds::Undecided(Undecided::SomeCrash),
        ),
        (
            &[true; 4],
            Rigour::Verdict,
            Holds::Undecided(Undecided::TooFewRuns { have: 4, need: 5 }),
        ),
    ] {
        let mut runs = runs(&vec![100; crashes.len()]);
        for (run, _) in runs.iter_mut().zip(crashes).filter(|(_, is_crash)| **is_crash) {
            run.summary_mut().ending = Some(Ending::Crashed {
                signal: Some(6),
                code: None,
                during: String::new(),
            });
        }
        assert_eq!(holds(&When::Crash, &runs, rigour), answer, "{crashes:?}");
    }
    let killed = over_limit(runs(&[100]).remove(0));
    let how = brief(&killed.summary);
    assert_eq!(
        holds(&When::Crash, &[killed], Rigour::Search),
        Holds::Undecided(Undecided::Failed(how))
    );
}

#[test]
fn a_condition_prints_as_it_is_typed() {
    for (when, text) in [
        (
            level("purged private after decay", Comparison::AtMost, 300.0),
            "purged private after decay <= 300 MiB",
        ),
        (level("peak", Comparison::Above, 2_048.0), "peak > 2 GiB"),
        (
            rising(Comparison::Above, 64.0, Per::Request),
            "growth in edit > 64 KiB per request",
        ),
        (When::Crash, "crash"),
    ] {
        assert_eq!(when.to_string(), text);
    }
}
