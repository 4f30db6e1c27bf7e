//! The error rate of the rule, over all looks, for servers whose runs fall into two groups that few runs do not show.

use crate::schedule::Schedule;
use crate::{Answer, Budget, Endpoint, Known, decide_by_looks, judge_budget_by_looks, largest_missed_share};
use base::band::{NoiseFloor, Tolerance};
use base::random::Random;

use super::noise::{BASE, bell, uniform};
use super::{arm, every_nth, seen};

const SESSIONS: usize = 1_000;

/// Between the groups, as a share.
const DISTANCES: [f64; 10] = [0.01, 0.02, 0.03, 0.05, 0.07, 0.10, 0.14, 0.20, 0.28, 0.40];

/// The standard deviation within a group.
const WITHIN: [f64; 6] = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02];

/// An endpoint that is known from its runs alone.
fn endpoint(tolerance: Tolerance, baseline: &[f64], candidate: &[f64]) -> Endpoint {
    Endpoint {
        known: Known::Seen,
        ..super::endpoint(tolerance, baseline, candidate)
    }
}

/// Runs of a server around a mean of [`BASE`]: two groups this far apart, the upper one with this share of the runs. One
/// group without a distance.
#[derive(Clone, Copy, Debug)]
struct Shape {
    distance: f64,
    share: f64,
    within: f64,
}

impl Shape {
    fn draw(self, random: &mut Random, effect: f64, runs: usize) -> Vec<f64> {
        let distance = self.distance.ln_1p();
        let mut values = Vec::new();
        for _ in 0..runs {
            let group = if uniform(random) < self.share { distance } else { 0.0 };
            values.push(BASE * (1.0 + effect) * (group - self.share * distance + self.within * bell(random)).exp());
        }
        values
    }

    fn single(self) -> Shape {
        Shape { distance: 0.0, ..self }
    }

    /// Only one side has groups, or both have them, with equal or opposite shares.
    fn sides(self) -> [[Shape; 2]; 4] {
        let mirrored = Shape {
            share: 1.0 - self.share,
            ..self
        };
        [
            [self, self.single()],
            [self.single(), self],
            [self, self],
            [self, mirrored],
        ]
    }
}

/// The source of the noise that both sides are believed to have.
#[derive(Clone, Copy)]
enum Knowledge {
    Runs,
    /// A calibration of each side by `runs` runs, made in sessions of `each` runs.
    Calibrations {
        runs: usize,
        each: usize,
    },
}

impl Knowledge {
    fn floor(self, random: &mut Random, sides: [Shape; 2]) -> (NoiseFloor, Known) {
        let Knowledge::Calibrations { runs, each } = self else {
            return (NoiseFloor::MEMORY, Known::Seen);
        };
        let spread = sides.map(|shape| {
            let parts = (0..runs / each).map(|_| arm(&shape.draw(random, 0.0, each)).variation().powi(2));
            (parts.sum::<f64>() / (runs / each) as f64).sqrt()
        });
        (NoiseFloor::MEMORY.at_least(spread[0].max(spread[1])), Known::Calibrated)
    }
}

/// Wrong answers in per cent of the sessions.
#[derive(Clone, Copy, Debug, Default)]
struct Errors {
    all: f64,
    /// Those of verdicts that rule out a second group with the share that the smaller group has.
    as_printed: f64,
}

/// Sessions in which the candidate needs exactly as much as must be ruled out, or as is tolerated, and that say the opposite.
fn errors(shape: Shape, sides: [Shape; 2], looks: &Schedule, knowledge: Knowledge, wrong: Answer) -> Errors {
    let tolerance = Tolerance::new(0.01, 0.05, 0.0).unwrap();
    let effect = match wrong {
        Answer::Pass => tolerance.fail(),
        Answer::Fail | Answer::Inconclusive => tolerance.tol(),
    };
    let most = *looks.runs().last().unwrap();
    let smaller = shape.share.min(1.0 - shape.share);
    let mut random = Random::for_use(41, "groups");
    let mut errors = Errors::default();
    for _ in 0..SESSIONS {
        let [baseline, candidate] = sides;
        let baseline = baseline.draw(&mut random, 0.0, most);
        let candidate = candidate.draw(&mut random, effect, most);
        let mut endpoint = endpoint(tolerance, &baseline, &candidate);
        (endpoint.noise, endpoint.known) = knowledge.floor(&mut random, sides);
        let verdict = decide_by_looks(&[endpoint], looks).unwrap();
        if verdict.answer == wrong {
            let share = 100.0 / SESSIONS as f64;
            errors.all += share;
            if largest_missed_share(verdict.look.unwrap()) <= smaller {
                errors.as_printed += share;
            }
        }
    }
    errors
}

/// Every distance with every spread.
fn whole_grid() -> Vec<(f64, f64)> {
    let all = DISTANCES
        .into_iter()
        .flat_map(|distance| WITHIN.map(|within| (distance, within)));
    all.collect()
}

/// The distances and spreads that the rule errs by most.
const HARD: [(f64, f64); 6] = [
    (0.01, 0.005),
    (0.02, 0.0005),
    (0.05, 0.02),
    (0.07, 0.0005),
    (0.14, 0.02),
    (0.40, 0.0005),
];

/// The largest share of errors over these distances and spreads, on each side or on both.
fn worst(share: f64, looks: &Schedule, knowledge: Knowledge, grid: impl IntoIterator<Item = (f64, f64)>) -> Errors {
    let mut worst = Errors::default();
    for (distance, within) in grid {
        let shape = Shape {
            distance,
            share,
            within,
        };
        for sides in shape.sides() {
            for wrong in [Answer::Pass, Answer::Fail] {
                let errors = errors(shape, sides, looks, knowledge, wrong);
                worst.all = worst.all.max(errors.all);
                worst.as_printed = worst.as_printed.max(errors.as_printed);
            }
        }
    }
    worst
}

/// 5 %, and two standard errors of the simulation.
const LIMIT: f64 = 5.0 + 1.4;

#[test]
fn equal_groups_deceive_in_one_session_of_twenty_at_most() {
    let worst = worst(0.5, &Schedule::default(), Knowledge::Runs, every_nth(13, whole_grid()));
    assert!(worst.all <= LIMIT, "{worst:?}");
}

#[test]
fn unequal_groups_deceive_no_more_often_once_the_verdict_rules_them_out() {
    for share in [0.3, 0.7] {
        let worst = worst(
            share,
            &Schedule::default(),
            Knowledge::Runs,
            every_nth(23, whole_grid()),
        );
        assert!(worst.as_printed <= LIMIT, "{share}: {worst:?}");
        // Five runs miss the smaller group in 17 of 100 sessions, and say that they may.
        assert!(worst.all < 20.0, "{share}: {worst:?}");
    }
}

#[test]
fn a_number_of_runs_that_was_fixed_and_a_look_at_each_keep_the_errors_too() {
    let each = Schedule::new((3..=12).collect(), 0.05).unwrap();
    let fixed = (5..=12).map(|runs| Schedule::single_look(runs, 0.05).unwrap());
    for looks in every_nth(4, std::iter::once(each).chain(fixed)) {
        let equal = worst(0.5, &looks, Knowledge::Runs, every_nth(6, HARD));
        assert!(equal.all <= LIMIT, "{looks:?}: {equal:?}");
        let unequal = worst(0.7, &looks, Knowledge::Runs, every_nth(6, HARD));
        assert!(unequal.as_printed <= LIMIT, "{looks:?}: {unequal:?}");
    }
}

#[test]
fn calibrations_keep_the_errors_from_three_runs_on() {
    for (runs, each) in every_nth(2, [(12, 12), (12, 3)]) {
        let knowledge = Knowledge::Calibrations { runs, each };
        for share in [0.3, 0.5, 0.7] {
            let worst = worst(share, &Schedule::default(), knowledge, every_nth(6, HARD));
            assert!(worst.all <= LIMIT, "{runs} {each} {share}: {worst:?}");
        }
    }
}

#[test]
fn one_group_that_varies_by_a_thousandth_passes_within_six_runs() {
    let shape = Shape {
        distance: 0.0,
        share: 0.5,
        within: 0.001,
    };
    let mut random = Random::for_use(43, "one group");
    let mut passed = 0;
    for _ in 0..SESSIONS {
        let baseline = shape.draw(&mut random, 0.0, 12);
        let candidate = shape.draw(&mut random, 0.0, 12);
        let endpoint = endpoint(Tolerance::PURGED, &baseline, &candidate);
        let verdict = decide_by_looks(&[endpoint], &Schedule::default()).unwrap();
        passed += usize::from(verdict.answer == Answer::Pass && verdict.look <= Some(6));
    }
    assert!(passed * 100 >= 95 * SESSIONS);
}

#[test]
fn a_budget_that_a_server_of_two_groups_keeps_or_breaks_is_judged_with_few_errors() {
    for share in [0.5, 0.7] {
        for distance in every_nth(3, DISTANCES) {
            let shape = Shape {
                distance,
                share,
                within: 0.005,
            };
            for wrong in [Answer::Pass, Answer::Fail] {
                let mut random = Random::for_use(43, "budgets");
                let mut errors = 0;
                for _ in 0..SESSIONS {
                    let budget = Budget {
                        name: "peak".into(),
                        limit: BASE,
                        noise: NoiseFloor::MEMORY,
                        known: Known::Seen,
                        values: seen(&shape.draw(&mut random, 0.0, 12)),
                    };
                    let verdict = judge_budget_by_looks(&budget, &Schedule::default());
                    let is_printed = largest_missed_share(verdict.look.unwrap()) <= 1.0 - f64::max(share, 1.0 - share);
                    if verdict.answer == wrong && (share == 0.5 || is_printed) {
                        errors += 1;
                    }
                }
                let per_cent = 100.0 * f64::from(errors) / SESSIONS as f64;
                assert!(per_cent <= LIMIT, "{share} {distance} {wrong:?}: {per_cent}");
            }
        }
    }
}

#[test]
fn three_runs_decide_nothing_however_far_apart_they_are() {
    for (runs, ratio, answer, look) in [
        (3, 1.3, Answer::Inconclusive, 3),
        (12, 1.3, Answer::Fail, 5),
        (12, 1.0, Answer::Pass, 5),
        (12, 1.03, Answer::Pass, 5),
    ] {
        let endpoint = endpoint(Tolerance::AS_SHIPPED, &vec![2e8; runs], &vec![ratio * 2e8; runs]);
        let verdict = decide_by_looks(&[endpoint], &Schedule::default()).unwrap();
        assert_eq!((verdict.answer, verdict.look), (answer, Some(look)), "{runs} {ratio}");
    }
}

#[test]
fn a_side_that_shows_one_group_may_have_those_of_the_other() {
    let quiet = [2e8; 5];
    let mut grouped = quiet;
    grouped[1] = 2.4e8;
    grouped[2] = 2.4e8;
    let [grouped, single] = [grouped, quiet].map(|baseline| {
        let endpoint = endpoint(Tolerance::AS_SHIPPED, &baseline, &quiet);
        let mut verdict = decide_by_looks(&[endpoint], &Schedule::default()).unwrap();
        verdict.endpoints.remove(0)
    });
    assert_eq!(grouped.answer, Answer::Inconclusive, "{grouped:?}");
    let distance = grouped.evidence.unwrap().groups.unwrap();
    assert!((distance - 1.2).abs() < 1e-9, "{distance}");
    assert_eq!(single.evidence.unwrap().groups, None);
}
