//! The rule on simulated sessions with the noise that was measured on servers; seeded, so that a result is a fact.

use crate::schedule::Schedule;
use crate::{Answer, Contrast, Endpoint, decide_by_looks, detectable, runs_needed};
use base::band::{NoiseFloor, Tolerance};
use base::random::Random;

use super::noise::{Noise, as_shipped, bell_shaped, draw, purged, two_clusters};
use super::{arm, endpoint};

const SESSIONS: usize = 4_000;

/// Percentages of the answers, and the mean number of runs.
#[derive(Debug)]
struct Outcome {
    fail: f64,
    pass: f64,
    inconclusive: f64,
    runs: f64,
}

fn sessions(endpoints: usize, mut make: impl FnMut(&mut Random) -> Endpoint) -> Outcome {
    let mut random = Random::for_use(20_261_121, "sessions");
    let mut outcome = Outcome {
        fail: 0.0,
        pass: 0.0,
        inconclusive: 0.0,
        runs: 0.0,
    };
    for _ in 0..SESSIONS {
        let endpoints: Vec<Endpoint> = (0..endpoints).map(|_| make(&mut random)).collect();
        let verdict = decide_by_looks(&endpoints, &Schedule::default()).unwrap();
        let count = match verdict.answer {
            Answer::Fail => &mut outcome.fail,
            Answer::Pass => &mut outcome.pass,
            Answer::Inconclusive => &mut outcome.inconclusive,
        };
        *count += 100.0 / SESSIONS as f64;
        outcome.runs += verdict.look.unwrap() as f64 / SESSIONS as f64;
    }
    outcome
}

/// One endpoint with 1 % tolerated and 5 % ruled out.
fn simulate(noise: Noise, effect: f64) -> Outcome {
    let tolerance = Tolerance::new(0.01, 0.05, 0.0).unwrap();
    sessions(1, |random| {
        endpoint(
            tolerance,
            &draw(random, noise, 0.0, 12),
            &draw(random, noise, effect, 12),
        )
    })
}

/// Within three standard errors of both simulations, taking the table to rest on a thousand sessions a cell, and half a
/// point because it is rounded.
#[track_caller]
fn close(ours: f64, table: f64) {
    let share = table / 100.0;
    let error = (share * (1.0 - share) * (1.0 / 1_000.0 + 1.0 / SESSIONS as f64)).sqrt();
    assert!((ours - table).abs() <= 300.0 * error + 0.5, "{ours} is not {table}");
}

#[test]
fn the_as_shipped_table_is_reproduced() {
    for (effect, fail, pass, inconclusive, runs) in [
        (0.0, 1.5, 47.2, 51.4, 10.4),
        (0.05, 30.6, 2.7, 66.8, 10.8),
        (0.10, 94.7, 0.3, 5.1, 7.6),
    ] {
        let outcome = simulate(as_shipped, effect);
        close(outcome.fail, fail);
        close(outcome.pass, pass);
        close(outcome.inconclusive, inconclusive);
        assert!((outcome.runs - runs).abs() < 0.3, "{outcome:?}");
    }
}

#[test]
fn the_purged_table_is_reproduced_in_three_runs() {
    let same = simulate(purged, 0.0);
    assert!(
        same.pass == 100.0 && same.runs == 3.0 || (same.pass - 100.0).abs() < 1e-6,
        "{same:?}"
    );
    let tolerated = simulate(purged, 0.01);
    close(tolerated.fail, 0.7);
    close(tolerated.pass, 99.3);
    let worse = simulate(purged, 0.03);
    assert!(
        (worse.fail - 100.0).abs() < 1e-6 && (worse.runs - 3.0).abs() < 1e-6,
        "{worse:?}"
    );
}

#[test]
fn at_the_border_of_what_is_tolerated_false_alarms_stay_under_alpha() {
    for noise in [as_shipped as Noise, bell_shaped, purged, two_clusters] {
        let outcome = simulate(noise, 0.01);
        assert!(outcome.fail <= 5.0, "{outcome:?}");
    }
}

#[test]
fn a_regression_at_the_border_of_what_must_fail_passes_no_more_often_than_alpha() {
    for noise in [as_shipped as Noise, bell_shaped, purged, two_clusters] {
        let outcome = simulate(noise, 0.05);
        assert!(outcome.pass <= 5.0, "{outcome:?}");
    }
}

#[test]
fn a_server_against_itself_is_not_called_different_more_often_than_alpha() {
    let tolerance = Tolerance::new(0.0, 0.05, 0.0).unwrap();
    for (noise, endpoints) in [
        (as_shipped as Noise, 1),
        (as_shipped, 3),
        (bell_shaped, 3),
        (purged, 3),
        (two_clusters, 1),
    ] {
        let outcome = sessions(endpoints, |random| {
            endpoint(tolerance, &draw(random, noise, 0.0, 12), &draw(random, noise, 0.0, 12))
        });
        assert!(outcome.fail <= 5.0, "{endpoints}: {outcome:?}");
    }
}

/// Of three runs all of one side are in the lower group and all of the other in the upper one once in 64 sessions, and
/// no test on six values can tell that from a difference. Holm's share for three endpoints that fall into groups
/// independently is less than that: 6 % false alarms. What `calibrate` has seen is the cure.
#[test]
fn three_endpoints_with_clusters_of_their_own_need_a_calibrated_floor() {
    let tolerance = Tolerance::new(0.0, 0.05, 0.0).unwrap();
    let mut random = Random::for_use(17, "calibration");
    let calibrated = NoiseFloor {
        relative: arm(&draw(&mut random, two_clusters, 0.0, 12)).variation(),
        absolute: 65_536.0,
    };
    let [without, with] = [NoiseFloor::MEMORY, calibrated].map(|noise| {
        sessions(3, |random| Endpoint {
            noise,
            ..endpoint(
                tolerance,
                &draw(random, two_clusters, 0.0, 12),
                &draw(random, two_clusters, 0.0, 12),
            )
        })
    });
    assert!(without.fail > 5.0 && without.fail < 8.0, "{without:?}");
    assert!(with.fail <= 5.0, "{with:?}");
}

#[test]
fn a_single_test_has_the_table_s_error_and_power() {
    // Runs, effect, and how often Welch's test sees it at 5 %.
    for (n, effect, table) in [
        (3, 0.0, 3.2),
        (3, 0.05, 18.0),
        (3, 0.10, 47.0),
        (5, 0.0, 4.9),
        (5, 0.05, 37.0),
        (5, 0.10, 84.0),
    ] {
        let mut random = Random::for_use(7, "single tests");
        let mut rejections = 0;
        for _ in 0..SESSIONS {
            let first = arm(&draw(&mut random, as_shipped, 0.0, n));
            let second = arm(&draw(&mut random, as_shipped, effect, n));
            let contrast = Contrast::welch(&first, &second, NoiseFloor::MEMORY);
            rejections += usize::from(contrast.p_above(1.0) <= 0.05);
        }
        let share = 100.0 * rejections as f64 / SESSIONS as f64;
        close(share, table);
        if effect == 0.0 {
            assert!(share <= 6.0, "{n} runs: {share}");
        }
    }
}

#[test]
fn what_so_many_runs_can_see_is_the_table_s() {
    let least = NoiseFloor::RELATIVE.relative;
    for (cv, runs, table, slack) in [
        (0.052, 5, 0.09, 0.006),
        (0.052, 10, 0.06, 0.004),
        (0.001, 3, 0.003, 0.0006),
    ] {
        let effect = detectable(cv, runs, 0.05, 0.8, least).unwrap();
        assert!((effect - table).abs() < slack, "{effect}");
    }
    let needed = runs_needed(0.052, 0.02, 0.05, 0.8, least).unwrap();
    assert!((75..=90).contains(&needed), "{needed}");
}
