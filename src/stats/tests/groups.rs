//! Unlike shapes: one server's runs fall into two groups and the other's do not, and few runs do not show it.

use crate::band::{NoiseFloor, Tolerance};
use crate::random::Random;
use crate::record::Schedule;
use crate::stats::{ASSUMED_VARIATION, Answer, Budget, Known, decide_by_looks, judge_budget_by_looks};

use super::noise::{BASE, bell, uniform};
use super::{arm, endpoint, one_of, seen};

const SESSIONS: usize = 1_500;

/// Runs of a server: two groups this far apart on the log scale, the upper one with this share, or one group at their
/// mean; each run within so much of its group.
#[derive(Clone, Copy)]
struct Shape {
    gap: f64,
    share: f64,
    within: f64,
}

impl Shape {
    fn of(gap: f64, share: f64, within: f64) -> Shape {
        let gap = gap.ln_1p();
        Shape { gap, share, within }
    }

    fn grouped(self, random: &mut Random, runs: usize) -> Vec<f64> {
        let one = |random: &mut Random| {
            let upper = uniform(random) < self.share;
            let group = if upper { self.gap } else { 0.0 };
            BASE * (group - self.share * self.gap + self.within * bell(random)).exp()
        };
        (0..runs).map(|_| one(random)).collect()
    }

    fn single(self, random: &mut Random, runs: usize) -> Vec<f64> {
        (0..runs).map(|_| BASE * (self.within * bell(random)).exp()).collect()
    }
}

/// How the noise of both sides is known in a session, from six runs of each for calibrations.
type Knowledge = fn(&[f64], &[f64]) -> (NoiseFloor, Known);

fn from_the_runs(_: &[f64], _: &[f64]) -> (NoiseFloor, Known) {
    (NoiseFloor::MEMORY, Known::Seen)
}

fn assumed(_: &[f64], _: &[f64]) -> (NoiseFloor, Known) {
    (NoiseFloor::MEMORY.at_least(ASSUMED_VARIATION), Known::Assumed)
}

fn calibrated(one: &[f64], other: &[f64]) -> (NoiseFloor, Known) {
    let spread = arm(one).variation().max(arm(other).variation());
    (NoiseFloor::MEMORY.at_least(spread), Known::Calibrated)
}

/// The larger of the shares of false PASS and of false FAIL, in per cent, whichever side has the groups: the candidate
/// needs exactly as much as must be ruled out, or as is tolerated.
fn wrong(shape: Shape, tolerance: Tolerance, looks: &Schedule, known: Knowledge) -> f64 {
    let of = |side: usize, more: f64, wrong: Answer| {
        let mut random = Random::for_use(41, "groups");
        let times = (0..SESSIONS).filter(|_| {
            let groups = shape.grouped(&mut random, 12 + 6);
            let single = shape.single(&mut random, 12 + 6);
            let [baseline, candidate] = [[&groups, &single], [&single, &groups]][side];
            let more = |value: &f64| value * (1.0 + more);
            let candidate: Vec<f64> = candidate.iter().map(more).collect();
            let mut endpoint = endpoint(tolerance, &baseline[..12], &candidate[..12]);
            (endpoint.noise, endpoint.known) = known(&baseline[12..], &candidate[12..]);
            decide_by_looks(&[endpoint], looks).unwrap().answer == wrong
        });
        100.0 * times.count() as f64 / SESSIONS as f64
    };
    let errors = [0, 1].map(|side| {
        let pass = of(side, tolerance.fail(), Answer::Pass);
        pass.max(of(side, tolerance.tol(), Answer::Fail))
    });
    errors[0].max(errors[1])
}

fn tight() -> Tolerance {
    Tolerance::new(0.01, 0.05, 0.0).unwrap()
}

/// Groups as mimalloc has them, and so far apart that a base of two equal groups against a candidate that is always in
/// the upper one differs by 9.5 %.
const SHAPES: [(f64, f64); 4] = [(0.0725, 0.5), (0.0725, 0.7), (0.2, 0.5), (0.2, 0.7)];

#[test]
fn groups_that_three_runs_do_not_show_deceive_whoever_trusts_their_spread() {
    for ((gap, share), expected) in one_of(3, SHAPES.into_iter().zip([11.0, 25.0, 11.0, 30.0])) {
        let wrong = wrong(
            Shape::of(gap, share, 0.005),
            tight(),
            &Schedule::default(),
            from_the_runs,
        );
        assert!(wrong > expected, "{gap} {share}: {wrong}");
    }
}

#[test]
fn an_assumed_spread_keeps_errors_under_alpha_for_unlike_groups() {
    for (gap, share) in one_of(2, SHAPES) {
        for tolerance in [tight(), Tolerance::AS_SHIPPED] {
            let wrong = wrong(Shape::of(gap, share, 0.005), tolerance, &Schedule::default(), assumed);
            assert!(wrong <= 5.0, "{gap} {share}: {wrong}");
        }
    }
}

#[test]
fn an_assumed_spread_keeps_errors_under_alpha_also_at_a_number_of_runs_that_was_fixed() {
    for runs in one_of(2, [3, 5, 8, 12]) {
        let looks = Schedule::once(runs, 0.05).unwrap();
        for share in [0.5, 0.7] {
            let wrong = wrong(Shape::of(0.2, share, 0.005), tight(), &looks, assumed);
            assert!(wrong <= 5.0, "{runs} {share}: {wrong}");
        }
    }
}

#[test]
fn calibrations_of_both_sides_keep_errors_under_alpha_however_far_the_groups_are_apart() {
    let shapes = [0.0725, 0.2, 0.37].into_iter().flat_map(|gap| [(gap, 0.7), (gap, 0.5)]);
    for (gap, share) in one_of(3, shapes) {
        let wrong = wrong(Shape::of(gap, share, 0.005), tight(), &Schedule::default(), calibrated);
        assert!(wrong <= 5.0, "{gap} {share}: {wrong}");
    }
}

#[test]
fn the_purged_lens_keeps_errors_under_alpha_with_the_groups_that_its_noise_has_room_for() {
    for share in [0.5, 0.7] {
        let wrong = wrong(
            Shape::of(0.004, share, 0.0005),
            tight(),
            &Schedule::default(),
            from_the_runs,
        );
        assert!(wrong <= 5.0, "{share}: {wrong}");
    }
}

#[test]
fn a_budget_that_a_server_of_two_groups_keeps_or_breaks_is_told_with_errors_under_alpha() {
    for share in [0.5, 0.7] {
        let shape = Shape::of(0.15, share, 0.005);
        for wrong in [Answer::Pass, Answer::Fail] {
            let mut random = Random::for_use(43, "budgets");
            let times = (0..SESSIONS).filter(|_| {
                let (noise, known) = assumed(&[], &[]);
                let budget = Budget {
                    name: "peak".into(),
                    limit: BASE,
                    noise,
                    known,
                    values: seen(&shape.grouped(&mut random, 12)),
                };
                judge_budget_by_looks(&budget, &Schedule::default()).answer == wrong
            });
            let per_cent = 100.0 * times.count() as f64 / SESSIONS as f64;
            assert!(per_cent <= 5.0, "{share} {wrong:?}: {per_cent}");
        }
    }
}

#[test]
fn by_an_assumed_spread_quiet_runs_pass_from_five_on_and_much_more_fails_at_once() {
    let runs = |level: f64, count: usize| -> Vec<f64> { vec![level * 2e8; count] };
    let answer = |count: usize, level: f64, tolerance: Tolerance| {
        let mut one = endpoint(tolerance, &runs(1.0, count), &runs(level, count));
        (one.noise, one.known) = assumed(&[], &[]);
        let verdict = decide_by_looks(&[one], &Schedule::default()).unwrap();
        (verdict.answer, verdict.look)
    };
    let usual = Tolerance::AS_SHIPPED;
    assert_eq!(answer(12, 1.0, usual), (Answer::Pass, Some(5)));
    assert_eq!(answer(12, 1.03, usual), (Answer::Pass, Some(8)));
    assert_eq!(answer(12, 1.3, usual), (Answer::Fail, Some(3)));
    // However much may differ, three runs do not pass.
    let wide = Tolerance::new(0.5, 1.0, 0.0).unwrap();
    assert_eq!(answer(3, 1.0, wide), (Answer::Inconclusive, Some(3)));
    assert_eq!(answer(5, 1.0, wide), (Answer::Pass, Some(5)));
}
