//! Each part of a verdict: its runs, its test and its side.

use crate::figures::{Limit, Rule, Rules};
use crate::summary::Summary;
use stats::Known;

use super::*;

pub const MIB: u64 = 1 << 20;

/// Runs whose figure has each of these values.
pub fn valued(label: &str, values: &[u64], set: impl Fn(&mut Summary, u64)) -> Vec<Played> {
    let mut runs = side(label, &vec![100; values.len()]);
    for (run, value) in runs.iter_mut().zip(values) {
        set(run.summary_mut(), *value);
    }
    runs
}

/// A baseline and a candidate that differ in one figure.
pub fn pair(baseline: &[u64], candidate: &[u64], set: impl Fn(&mut Summary, u64)) -> Sides {
    Sides {
        baseline: Some(valued("a", baseline, &set)),
        candidate: valued("b", candidate, &set),
        anchor: None,
    }
}

pub fn end(summary: &mut Summary, bytes: u64) {
    summary.phases.last_mut().unwrap().private = Some(bytes);
}

fn cpu(summary: &mut Summary, nanos: u64) {
    summary.processes.programs.truncate(1);
    summary.processes.programs[0].cpu = Some(nanos);
}

fn p50(summary: &mut Summary, nanos: u64) {
    summary.traffic.methods.truncate(1);
    summary.traffic.methods[0].method = "textDocument/hover".to_owned();
    summary.traffic.methods[0].p50 = Some(nanos);
}

fn peak(summary: &mut Summary, bytes: u64) {
    summary.memory.peak.as_mut().unwrap().lower = bytes;
}

/// A rule that tolerates 1 % and rules out 2 %.
pub fn rule(what: &str) -> Rule {
    Rule {
        subject: what.parse().unwrap(),
        tolerance: Tolerance::new(0.01, 0.02, 0.0).unwrap(),
    }
}

pub fn primaries(whats: &[&str]) -> Rules {
    Rules {
        primaries: whats.iter().map(|what| rule(what)).collect(),
        ..rules()
    }
}

/// The answer of each primary endpoint, with all of α at three runs.
fn answers(sides: &Sides, rules: &Rules) -> Vec<Answer> {
    let judgement = judge(sides, rules, &Schedule::single_look(3, 0.05).unwrap());
    let primaries = judgement.against[0].primaries.iter();
    primaries.map(|judged| judged.verdict.answer).collect()
}

/// About 3 % more with a spread of 1 %: p is 0.036 against 1 % tolerated.
const UNSURE: ([u64; 3], [u64; 3]) = (
    [100_000_000, 101_000_000, 102_000_000],
    [103_000_000, 104_000_000, 105_000_000],
);

#[test]
fn several_endpoints_share_alpha_and_advice_takes_none_of_it() {
    let sides = pair(&UNSURE.0, &UNSURE.1, end);
    assert_eq!(answers(&sides, &primaries(&["private"])), [Answer::Fail]);
    let mut three = primaries(&["private", "peak", "resident"]);
    assert_eq!(answers(&sides, &three)[0], Answer::Inconclusive);
    three.primaries.truncate(1);
    three.advisory = vec![rule("private"), rule("peak"), rule("resident")];
    let judgement = judge(&sides, &three, &Schedule::single_look(3, 0.05).unwrap());
    assert_eq!(judgement.against[0].primaries[0].verdict.answer, Answer::Fail);
    assert_eq!(judgement.against[0].advisory[0].verdict.answer, Answer::Fail);
}

#[test]
fn what_failed_first_leaves_its_alpha_to_the_next() {
    let mut sides = pair(&UNSURE.0, &UNSURE.1, end);
    for (runs, bytes) in [(sides.baseline.as_mut().unwrap(), 100), (&mut sides.candidate, 200)] {
        for run in runs {
            peak(run.summary_mut(), bytes * MIB);
        }
    }
    assert_eq!(answers(&sides, &primaries(&["private", "peak"])), [Answer::Fail; 2]);
    // Beside a peak that does not fail, half of it is too little.
    for runs in [sides.baseline.as_mut().unwrap(), &mut sides.candidate] {
        for run in runs {
            peak(run.summary_mut(), 100 * MIB);
        }
    }
    assert_eq!(
        answers(&sides, &primaries(&["private", "peak"])),
        [Answer::Inconclusive, Answer::Pass]
    );
}

#[test]
fn each_look_has_its_part_of_alpha() {
    let sides = pair(&UNSURE.0, &UNSURE.1, end);
    let judgement = judge(&sides, &primaries(&["private"]), &Schedule::default());
    assert_eq!(judgement.against[0].look, Some(3));
    assert_eq!(judgement.against[0].answer, Answer::Inconclusive);
}

#[test]
fn a_fourth_endpoint_is_not_tested() {
    let sides = sides(&[100; 3], &[100; 3], None);
    assert_eq!(
        answers(&sides, &primaries(&["private", "peak", "resident", "cpu"])).len(),
        3
    );
}

#[test]
fn every_figure_is_weighed_by_its_own_noise() {
    for (what, set, baseline, answer) in [
        // 10 % more of 1 MiB are little beside 64 KiB, and of 100 MiB they are much.
        ("private", end as fn(&mut Summary, u64), MIB, Answer::Inconclusive),
        ("private", end, 100 * MIB, Answer::Fail),
        // The kernel counts processor time in ticks of 10 ms, however little it is.
        ("cpu", cpu, 20_000_000, Answer::Inconclusive),
        ("cpu", cpu, 2_000_000_000, Answer::Fail),
        // Where it was read in nanoseconds it has no ticks.
        ("cpu", cpu, 20_000_010, Answer::Fail),
        // A latency has no tick.
        ("p50 of textDocument/hover", p50, 20_000, Answer::Fail),
    ] {
        let more = baseline + baseline / 10;
        let sides = pair(&[baseline; 3], &[more; 3], set);
        assert_eq!(answers(&sides, &primaries(&[what])), [answer], "{what} {baseline}");
    }
}

#[test]
fn the_order_in_which_directories_are_named_makes_no_difference() {
    // A part in which the candidate needs more, and one in which it does not, of one plan.
    let baseline = [part("a", "1/2", 100, [1, 2, 3]), part("a", "2/2", 100, [4, 5, 6])];
    let candidate = [part("b", "1/2", 110, [1, 2, 3]), part("b", "2/2", 100, [4, 5, 6])];
    let ordered = Sides {
        baseline: Some(baseline.concat()),
        candidate: candidate.concat(),
        anchor: None,
    };
    let [first, second] = &baseline;
    let [candidate_first, candidate_second] = &candidate;
    let reversed = Sides {
        baseline: Some([second.as_slice(), first].concat()),
        candidate: [candidate_second.as_slice(), candidate_first].concat(),
        anchor: None,
    };
    for sides in [ordered, reversed] {
        let judgement = answer(&sides);
        let against = &judgement.against[0];
        let evidence = against.primaries[0].verdict.evidence.as_ref().unwrap();
        assert_eq!((judgement.answer, against.look), (Answer::Fail, Some(3)));
        assert_eq!((evidence.runs.baseline, evidence.runs.candidate), (3, 3));
    }
}

/// Runs of one part of a plan.
fn part(label: &str, partition: &str, percent: u64, blocks: [u32; 3]) -> Vec<Played> {
    let mut runs = Vec::new();
    for block in blocks {
        let mut run = run(label, block, Lens::Purged, percent);
        run.summary_mut().header.plan.block = block;
        run.summary_mut().header.plan.partition = Some(partition.to_owned());
        runs.push(run);
    }
    runs
}

#[test]
fn a_fail_is_not_the_end_while_another_rule_that_decides_is_open() {
    let early = judge_open_peak(3);
    assert_eq!((early.answer, early.is_final()), (Answer::Fail, false));
    let late = judge_open_peak(12);
    assert_eq!((late.answer, late.is_final()), (Answer::Fail, true));
    assert_eq!(looks(&late), [Some(3), Some(5)]);
}

/// The verdict on more private memory, and on a peak that is decided late.
fn judge_open_peak(runs: usize) -> Judgement {
    let mut sides = sides(&vec![100; runs], &vec![110; runs], None);
    for (number, run) in sides.candidate.iter_mut().enumerate() {
        let wave = [106, 94, 106].get(number).copied().unwrap_or(100);
        peak(run.summary_mut(), wave * MIB);
    }
    for run in sides.baseline.as_mut().unwrap() {
        peak(run.summary_mut(), 100 * MIB);
    }
    let mut rules = primaries(&["private", "peak"]);
    rules.primaries[1].tolerance = Tolerance::new(0.01, 0.3, 0.0).unwrap();
    judge(&sides, &rules, &Schedule::default())
}

/// The look that answered each rule against the baseline.
fn looks(judgement: &Judgement) -> Vec<Option<usize>> {
    let primaries = judgement.against[0].primaries.iter();
    primaries.map(|judged| judged.verdict.look).collect()
}

#[test]
fn every_rule_has_a_tolerance_of_its_own() {
    let mut sides = sides(&[100; 5], &[100; 5], None);
    for (runs, bytes) in [(sides.baseline.as_mut().unwrap(), 100), (&mut sides.candidate, 120)] {
        for run in runs {
            end(run.summary_mut(), bytes * MIB);
            peak(run.summary_mut(), bytes * MIB);
        }
    }
    let mut rules = primaries(&["private", "peak"]);
    for (tolerance, answer) in [
        (Tolerance::new(0.4, 0.5, 0.0), Answer::Pass),
        (Tolerance::new(0.01, 0.05, (50 * MIB) as f64), Answer::Pass),
        (Tolerance::new(0.01, 0.05, (2 * MIB) as f64), Answer::Fail),
    ] {
        rules.primaries[1].tolerance = tolerance.unwrap();
        let judgement = judge(&sides, &rules, &Schedule::single_look(5, 0.05).unwrap());
        let answers: Vec<Answer> = judgement.against[0]
            .primaries
            .iter()
            .map(|judged| judged.verdict.answer)
            .collect();
        assert_eq!(answers, [Answer::Fail, answer]);
    }
}

#[test]
fn the_candidate_is_held_against_the_baseline_and_against_the_anchor() {
    let judgement = answer(&sides(&[100; 3], &[110; 3], Some(&[110; 3])));
    let answers: Vec<(Role, Answer)> = judgement
        .against
        .iter()
        .map(|against| (against.role, against.answer))
        .collect();
    assert_eq!(answers, [(Role::Baseline, Answer::Fail), (Role::Anchor, Answer::Pass)]);
    assert_eq!((judgement.exit(), judgement.is_final()), (Exit::GateFailed, true));
    let means = judgement.against[0].primaries[0]
        .verdict
        .evidence
        .as_ref()
        .unwrap()
        .means;
    assert!(
        means.candidate > means.baseline,
        "the candidate's comes second: {means:?}"
    );
}

#[test]
fn an_anchor_that_was_not_run_often_enough_leaves_it_open() {
    let judgement = answer(&sides(&[100; 3], &[100; 3], Some(&[100; 1])));
    assert_eq!(judgement.against[0].answer, Answer::Pass);
    assert_eq!(
        (judgement.against[1].answer, judgement.against[1].look),
        (Answer::Inconclusive, None)
    );
    assert_eq!(judgement.exit(), Exit::OwnFailure, "one run is no data");
    assert!(!judgement.is_final());
}

#[test]
fn a_candidate_that_did_less_than_the_anchor_is_refused_and_one_that_did_more_is_not() {
    let mut less = sides(&[100; 3], &[100; 3], Some(&[100; 3]));
    halve_hits(less.baseline.as_mut().unwrap());
    halve_hits(&mut less.candidate);
    let judgement = answer(&less);
    assert!(judgement.less_work().all(|(role, _)| role == Role::Anchor));
    assert_eq!(judgement.exit(), Exit::ServerFailed);
    let mut more = sides(&[100; 3], &[100; 3], None);
    halve_hits(more.baseline.as_mut().unwrap());
    let judgement = answer(&more);
    assert!(!judgement.against[0].work.is_empty());
    assert_eq!(judgement.exit(), Exit::Passed);
}

fn halve_hits(runs: &mut [Played]) {
    let phases = runs.iter_mut().flat_map(|run| &mut run.summary_mut().phases);
    for step in phases.flat_map(|phase| &mut phase.steps) {
        step.hits = step.hits.map(|hits| hits / 2);
    }
}

/// Runs of which some answered four in ten requests less.
pub fn less_of(runs: &mut [Played], lazy: std::ops::Range<usize>) {
    let lazy = runs[lazy].iter_mut().flat_map(|run| &mut run.summary_mut().phases);
    for step in lazy.flat_map(|phase| &mut phase.steps) {
        step.hits = step.hits.map(|hits| hits * 6 / 10);
    }
}

#[test]
fn equal_work_is_asked_of_the_runs_that_decide_and_of_no_others() {
    // Through the other lens, and after the look that decided, work was done as it should be.
    let mut other = sides(&[100; 3], &[100; 3], None);
    for (label, runs) in [("a", other.baseline.as_mut().unwrap()), ("b", &mut other.candidate)] {
        runs.extend((4..7).map(|number| run(label, number, Lens::AsShipped, 100)));
    }
    let mut later = sides(&[100; 8], &[100; 8], None);
    for sides in [&mut other, &mut later] {
        assert_eq!(answer(sides).exit(), Exit::Passed);
        less_of(&mut sides.candidate, 0..2);
        let judgement = answer(sides);
        assert_eq!(judgement.against[0].look, Some(3));
        assert_eq!(judgement.exit(), Exit::ServerFailed);
    }
    // Nor do runs count on a machine that has less than two of a side.
    for (baseline, candidate) in [("abc", "def"), ("abc", "abc"), ("abc", "aaa")] {
        let mut alone = sides(&[100; 6], &[100; 6], None);
        for (machines, runs) in [
            (baseline, alone.baseline.as_mut().unwrap()),
            (candidate, &mut alone.candidate),
        ] {
            for (machine, run) in machines.chars().zip(runs) {
                run.summary_mut().header.host.cpu = Some(machine.to_string());
            }
        }
        less_of(&mut alone.candidate, 3..5);
        assert_eq!(answer(&alone).exit(), Exit::ServerFailed, "{baseline} {candidate}");
    }
    // What decides nothing refuses nothing.
    let mut advice = sides(&[100; 3], &[100; 3], None);
    for (label, runs) in [("a", advice.baseline.as_mut().unwrap()), ("b", &mut advice.candidate)] {
        runs.extend((4..8).map(|number| run(label, number, Lens::AsShipped, 100)));
    }
    less_of(&mut advice.candidate, 3..7);
    assert_eq!(answer(&advice).exit(), Exit::Passed);
    let mut rules = rules();
    rules.budgets = vec![Limit {
        subject: "as-shipped peak".parse().unwrap(),
        limit: 1e12,
    }];
    assert_eq!(judge(&advice, &rules, &Schedule::default()).exit(), Exit::ServerFailed);
}

#[test]
fn equal_work_is_asked_of_each_rule_at_its_own_look() {
    // Of all twelve runs the median did its work, and of the three by which one endpoint passes it did not.
    let mut sides = sides(&[100; 12], &[100; 12], None);
    for (number, run) in (0..).zip(sides.baseline.iter_mut().flatten().chain(&mut sides.candidate)) {
        peak(run.summary_mut(), (if number % 2 == 0 { 80 } else { 120 }) * MIB);
    }
    less_of(&mut sides.candidate, 0..2);
    let two = judge(&sides, &primaries(&["private", "peak"]), &Schedule::default());
    assert_eq!((two.exit(), looks(&two)), (Exit::ServerFailed, vec![Some(3), Some(12)]));
    let budget = Rules {
        primaries: Vec::new(),
        advisory: vec![rule("private")],
        budgets: vec![Limit {
            subject: "private".parse().unwrap(),
            limit: 1e12,
        }],
        ..rules()
    };
    let early = judge(&sides, &budget, &Schedule::default());
    assert_eq!(early.exit(), Exit::ServerFailed);
    let late = judge(&sides, &budget, &Schedule::single_look(12, 0.05).unwrap());
    assert_eq!(late.exit(), Exit::Passed, "they all decide, and most did their work");
}

#[test]
fn work_is_held_to_the_rule_s_limits() {
    let mut less = sides(&[100; 3], &[100; 3], None);
    for step in less
        .candidate
        .iter_mut()
        .flat_map(|run| &mut run.summary_mut().phases)
        .flat_map(|phase| &mut phase.steps)
    {
        step.hits = step.hits.map(|hits| hits - hits / 10);
    }
    assert!(answer(&less).is_refused());
    let mut rules = rules();
    rules.work.hits = 0.2;
    assert!(!judge(&less, &rules, &Schedule::default()).is_refused());
}

#[test]
fn a_run_that_any_side_failed_is_named_and_one_that_was_cut_off_is_only_left_out() {
    for (role, place) in [(Role::Baseline, 0), (Role::Candidate, 1), (Role::Anchor, 2)] {
        let mut sides = sides(&[100; 3], &[100; 3], Some(&[100; 3]));
        let runs = match role {
            Role::Baseline => sides.baseline.as_mut().unwrap(),
            Role::Candidate => &mut sides.candidate,
            Role::Anchor => sides.anchor.as_mut().unwrap(),
        };
        runs[1].summary_mut().ending = Some(Ending::Crashed {
            signal: Some(11),
            code: None,
            during: String::new(),
        });
        let record = runs[1].record.clone();
        let judgement = answer(&sides);
        let broken: Vec<(Role, &str)> = judgement
            .broken
            .iter()
            .map(|run| (run.role, run.record.as_str()))
            .collect();
        assert_eq!(broken, [(role, record.as_str())]);
        assert_eq!((judgement.parties[place].runs, judgement.parties[place].left), (2, 1));
        assert_eq!((judgement.exit(), judgement.is_final()), (Exit::ServerFailed, true));
    }
    let mut sides = sides(&[100; 3], &[100; 4], None);
    sides.candidate[3].summary_mut().ending = Some(Ending::Interrupted);
    let judgement = answer(&sides);
    assert_eq!((judgement.broken.len(), judgement.exit()), (0, Exit::Passed));
}

#[test]
fn runs_for_warming_up_are_counted_for_nothing() {
    let mut sides = sides(&[100; 4], &[500, 100, 100, 100], None);
    sides.baseline.as_mut().unwrap()[0].summary_mut().header.plan.warm_up = true;
    sides.candidate[0].summary_mut().header.plan.warm_up = true;
    sides.candidate[0].summary_mut().header.host.kernel = Some("another".to_owned());
    let judgement = answer(&sides);
    assert_eq!(judgement.exit(), Exit::Passed);
    assert!(judgement.differences.is_empty());
    let counted: Vec<(usize, usize)> = judgement.parties.iter().map(|party| (party.runs, party.left)).collect();
    assert_eq!(counted, [(3, 1); 2]);
}

#[test]
fn circumstances_of_every_side_are_held_against_each_other() {
    for place in 0..3 {
        let mut sides = sides(&[100; 3], &[100; 3], Some(&[100; 3]));
        let anchor = sides.anchor.as_mut().unwrap();
        let all = [sides.baseline.as_mut().unwrap(), &mut sides.candidate, anchor];
        all[place][2].summary_mut().header.scenario.seed += 1;
        let differences = answer(&sides).differences;
        let names: Vec<&str> = differences.iter().map(|difference| difference.what.as_ref()).collect();
        assert_eq!(names, ["seed"], "{place}");
    }
}

#[test]
fn a_side_of_two_servers_is_told() {
    let mut sides = sides(&[100; 3], &[100; 3], None);
    sides.candidate[2].summary_mut().header.server.sha256 = Some("other".to_owned());
    let judgement = answer(&sides);
    let differences: Vec<(&str, bool)> = judgement
        .differences
        .iter()
        .map(|difference| (difference.what.as_ref(), difference.is_decisive()))
        .collect();
    assert_eq!(differences, [("program of the candidate", true)]);
}

#[test]
fn who_took_part_is_said_with_labels_versions_and_lenses() {
    let mut sides = sides(&[100; 2], &[100; 2], Some(&[]));
    sides.candidate[1].summary_mut().header.server.lens.name = Lens::AsShipped;
    sides.candidate[0].summary_mut().header.server.version = Some("2".to_owned());
    sides.candidate.push(run("b", 3, Lens::Purged, 100));
    sides.candidate[0].summary_mut().header.scenario.name = "of the candidate".to_owned();
    let judgement = answer(&sides);
    assert_eq!(
        (judgement.scenario.as_str(), judgement.lens),
        ("of the candidate", Lens::Purged)
    );
    let labels: Vec<(Role, &str)> = judgement
        .parties
        .iter()
        .map(|party| (party.role, party.label.as_str()))
        .collect();
    assert_eq!(
        labels,
        [(Role::Baseline, "a"), (Role::Candidate, "b"), (Role::Anchor, "anchor")]
    );
    assert_eq!(judgement.parties[1].version.as_deref(), Some("2"));
    let lenses: Vec<Lens> = judgement.parties[1].lenses.iter().map(|lens| lens.name).collect();
    assert_eq!(lenses, [Lens::Purged, Lens::AsShipped]);
    assert!(judgement.parties[2].lenses.is_empty());
}

#[test]
fn runs_are_recommended_only_where_nothing_is_decided_and_up_to_a_look() {
    for (candidate, answer, needed) in [
        (UNSURE.1, Answer::Inconclusive, Some(8)),
        ([103_500_000, 104_500_000, 105_500_000], Answer::Inconclusive, Some(5)),
        ([203_000_000, 204_000_000, 205_000_000], Answer::Fail, None),
    ] {
        let sides = pair(&UNSURE.0, &candidate, end);
        let judgement = judge(&sides, &primaries(&["private"]), &Schedule::default());
        let judged = &judgement.against[0].primaries[0];
        assert_eq!((judged.verdict.answer, judged.needed), (answer, needed));
    }
}

#[test]
fn runs_are_recommended_for_the_nearer_answer() {
    let sides = pair(
        &[98_000_000, 100_000_000, 102_000_000],
        &[100_000_000, 102_000_000, 104_000_000],
        end,
    );
    let mut rules = primaries(&["private"]);
    rules.primaries[0].tolerance = Tolerance::new(0.01, 0.05, 0.0).unwrap();
    let judgement = judge(&sides, &rules, &Schedule::default());
    // To show 2 % to be more than 1 % takes many more runs than to show that they are less than 5 %.
    assert_eq!(judgement.against[0].primaries[0].needed, Some(12));
}

/// A calibration of private memory at the end of the golden scenario.
fn calibration(lens: Lens, variation: f64) -> ApplicableCalibration {
    let phases = run("a", 1, lens, 100).summary.header.scenario.phases.clone();
    let noise = Noise {
        place: phases.last().unwrap().clone(),
        figure: "private".to_owned(),
        primary: true,
        mean: 1e8,
        variation,
        believed: variation,
    };
    held(lens, vec![noise])
}

#[test]
fn three_runs_that_agree_pass_only_where_both_sides_are_calibrated() {
    let one = calibrations(&[Role::Baseline], 0.002);
    let both = calibrations(&[Role::Baseline, Role::Candidate], 0.002);
    // Groups that were calibrated are not forgotten because three runs do not show them.
    let grouped = calibrations(&[Role::Baseline, Role::Candidate], 0.09);
    let none = Calibrations::default();
    for (runs, lens, calibrations, answer, known) in [
        (3, Lens::AsShipped, &none, Answer::Inconclusive, Known::Seen),
        (5, Lens::AsShipped, &none, Answer::Pass, Known::Seen),
        (3, Lens::AsShipped, &one, Answer::Inconclusive, Known::Seen),
        (3, Lens::AsShipped, &both, Answer::Pass, Known::Calibrated),
        (8, Lens::AsShipped, &grouped, Answer::Inconclusive, Known::Calibrated),
        (3, Lens::Purged, &none, Answer::Inconclusive, Known::Seen),
        (5, Lens::Purged, &none, Answer::Pass, Known::Seen),
    ] {
        let judgement = judge_equal_runs(runs, lens, calibrations);
        assert_eq!(judgement.answer, answer, "{runs} {lens}");
        assert_eq!(judgement.against[0].primaries[0].endpoint.known, known, "{runs} {lens}");
    }
}

/// As-shipped calibrations of these sides.
fn calibrations(roles: &[Role], variation: f64) -> Calibrations {
    let of_sides = roles
        .iter()
        .map(|role| (*role, vec![calibration(Lens::AsShipped, variation)]));
    Calibrations {
        of_sides: of_sides.collect(),
    }
}

/// The verdict on private memory that is the same in all runs.
fn judge_equal_runs(runs: usize, lens: Lens, calibrations: &Calibrations) -> Judgement {
    let mut sides = pair(&vec![100 * MIB; runs], &vec![100 * MIB; runs], end);
    for run in sides.baseline.iter_mut().flatten().chain(&mut sides.candidate) {
        run.summary_mut().header.server.lens.name = lens;
    }
    let mut rules = Rules {
        lens,
        ..primaries(&["private"])
    };
    rules.primaries[0].tolerance = Tolerance::AS_SHIPPED;
    judge_calibrated(&sides, &rules, &Schedule::default(), calibrations)
}
