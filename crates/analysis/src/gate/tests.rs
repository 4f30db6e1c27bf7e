use crate::compare::calibration::ApplicableCalibration;
use crate::compare::{self, Played};
use crate::figures::{Figure, GatedFigure, Leak, Limit, Rule, Rules, WorkLimits};
use crate::golden::gate::{held, judge};
use crate::golden::{self, let_grow, lost_helper};
use crate::growth::Per;
use crate::summary::PrivateMetric;
use base::band::{LeakLimit, Tolerance};
use base::exit::Exit;
use base::lens::Lens;
use record::{Ending, Noise};
use stats::Answer;
use stats::Schedule;

use super::*;

mod judge;
mod limits;

/// A run through this lens with private memory at `percent` of the golden record's.
fn run(label: &str, number: u32, lens: Lens, percent: u64) -> Played {
    let mut run = golden::run(label, number, percent);
    run.summary_mut().header.server.lens.name = lens;
    run
}

fn side(label: &str, percents: &[u64]) -> Vec<Played> {
    let runs = (1..).zip(percents);
    runs.map(|(number, percent)| run(label, number, Lens::Purged, *percent))
        .collect()
}

fn sides(baseline: &[u64], candidate: &[u64], anchor: Option<&[u64]>) -> Sides {
    Sides {
        baseline: Some(side("a", baseline)),
        candidate: side("b", candidate),
        anchor: anchor.map(|anchor| side("c", anchor)),
    }
}

fn rules() -> Rules {
    Rules {
        lens: Lens::Purged,
        primaries: vec![Rule {
            subject: "private".parse().unwrap(),
            tolerance: Tolerance::new(0.01, 0.05, 0.0).unwrap(),
        }],
        advisory: Vec::new(),
        budgets: Vec::new(),
        leak: None,
        work: WorkLimits::default(),
    }
}

fn answer(sides: &Sides) -> Judgement {
    judge(sides, &rules(), &Schedule::default())
}

#[test]
fn what_grew_fails_what_is_the_same_passes_and_no_data_never_pass() {
    assert_eq!(answer(&sides(&[100; 3], &[110; 3], None)).exit(), Exit::GateFailed);
    assert_eq!(answer(&sides(&[100; 3], &[100; 3], None)).exit(), Exit::Passed);
    assert_eq!(answer(&sides(&[100; 3], &[90; 3], None)).exit(), Exit::Passed);
    let few = answer(&sides(&[100; 2], &[100; 2], None));
    assert_eq!(few.exit(), Exit::OwnFailure, "before the first look");
    assert!(few.missing[0].is_too_few() && !few.is_final(), "{:?}", few.missing);
    for (a, b) in [(0, 0), (1, 1), (3, 0)] {
        let judgement = answer(&sides(&vec![100; a], &vec![100; b], None));
        assert_eq!(judgement.exit(), Exit::OwnFailure, "{a} and {b} runs");
        let missing: Vec<&str> = judgement.missing.iter().map(|missing| missing.rule.as_str()).collect();
        assert_eq!(missing, ["private"]);
    }
}

#[test]
fn small_steps_are_seen_against_the_anchor() {
    let judgement = answer(&sides(&[109; 3], &[110; 3], Some(&[100; 3])));
    assert_eq!(judgement.against[0].answer, Answer::Pass);
    assert_eq!(judgement.against[1].answer, Answer::Fail);
    assert_eq!(judgement.exit(), Exit::GateFailed);
}

#[test]
fn only_runs_of_the_lens_that_a_rule_names_are_looked_at() {
    let mut sides = sides(&[100; 3], &[100; 3], None);
    let shipped = (4..).zip([150; 3]);
    sides
        .candidate
        .extend(shipped.map(|(number, percent)| run("b", number, Lens::AsShipped, percent)));
    assert_eq!(answer(&sides).exit(), Exit::Passed);
    let mut rules = rules();
    rules.advisory = vec![Rule {
        subject: "as-shipped private".parse().unwrap(),
        tolerance: Tolerance::AS_SHIPPED,
    }];
    let judgement = judge(&sides, &rules, &Schedule::default());
    assert_eq!(judgement.against[0].advisory[0].verdict.answer, Answer::Inconclusive);
    assert_eq!(judgement.exit(), Exit::Passed, "advice decides nothing");
}

#[test]
fn sampled_private_memory_is_no_answer_beside_exact() {
    let mut sides = sides(&[100; 3], &[100; 3], None);
    assert_eq!(answer(&sides).exit(), Exit::Passed);
    for run in &mut sides.candidate {
        run.summary_mut().memory.private_metric = PrivateMetric::Sampled;
        for phase in &mut run.summary_mut().phases {
            phase.exact = None;
        }
    }
    let judgement = answer(&sides);
    assert_eq!(judgement.exit(), Exit::OwnFailure);
    assert_eq!(judgement.differences[0].what, "private memory");
    sides.baseline = Some(sides.candidate.clone());
    assert_eq!(
        answer(&sides).exit(),
        Exit::Passed,
        "sampled runs are compared with each other"
    );
}

#[test]
fn a_candidate_that_does_less_is_refused_however_little_it_needs() {
    let mut sides = sides(&[100; 3], &[50; 3], None);
    for run in &mut sides.candidate {
        for step in run.summary_mut().phases.iter_mut().flat_map(|phase| &mut phase.steps) {
            step.hits = step.hits.map(|hits| hits / 2);
        }
    }
    let judgement = answer(&sides);
    assert!(judgement.less_work().next().is_some());
    assert!(judgement.is_final());
    assert_eq!(judgement.exit(), Exit::ServerFailed);
}

#[test]
fn work_that_several_rules_miss_is_told_once() {
    let peaks = [80 << 20, 120 << 20].repeat(6);
    let mut sides = judge::pair(&peaks, &peaks, |run, bytes| {
        run.memory.peak.as_mut().unwrap().lower = bytes
    });
    for run in &mut sides.candidate {
        let mut steps = run.summary_mut().phases.iter_mut().flat_map(|phase| &mut phase.steps);
        steps.find(|step| step.hits > Some(9)).unwrap().hits = Some(5);
    }
    let rules = judge::primaries(&["private", "peak"]);
    let work = judge(&sides, &rules, &Schedule::default()).against.remove(0).work;
    assert_eq!(work.len(), 1, "{work:?}");
}

#[test]
fn a_run_that_a_side_failed_is_refused() {
    let mut sides = sides(&[100; 3], &[100; 3], None);
    sides.baseline.as_mut().unwrap()[2].summary_mut().ending = Some(Ending::Crashed {
        signal: Some(11),
        code: None,
        during: String::new(),
    });
    let judgement = answer(&sides);
    assert_eq!(judgement.broken[0].role, Role::Baseline);
    assert_eq!(judgement.exit(), Exit::ServerFailed);
}

#[test]
fn a_side_that_lost_most_of_its_memory_is_refused_however_little_is_left() {
    for role in [Role::Baseline, Role::Candidate] {
        let mut sides = sides(&[100; 3], &[100; 3], None);
        let runs = match role {
            Role::Baseline => sides.baseline.as_mut().unwrap(),
            Role::Candidate | Role::Anchor => &mut sides.candidate,
        };
        runs[1].summary_mut().processes.lost.push(lost_helper());
        let judgement = answer(&sides);
        assert_eq!(judgement.exit(), Exit::ServerFailed);
        let [broken] = judgement.broken.as_slice() else {
            panic!("{:?}", judgement.broken)
        };
        assert_eq!((broken.role, broken.incomplete), (role, true));
        assert_eq!(
            broken.how,
            "`helper` ended with 900.0 MiB of 912.0 MiB private memory, exit code 0"
        );
    }
}

#[test]
fn a_lower_bound_passes_nothing_and_fails_what_is_above_already() {
    let mut rules = rules();
    rules.budgets = vec![Limit {
        subject: "private".parse().unwrap(),
        limit: 1e12,
    }];
    rules.leak = None;
    for (percent, exit) in [(60, Exit::Inconclusive), (130, Exit::GateFailed)] {
        let mut sides = sides(&[100; 3], &[percent; 3], None);
        let_grow(&mut sides.candidate[1]);
        let judgement = judge(&sides, &rules, &Schedule::default());
        assert_eq!(judgement.exit(), exit, "{percent} %");
        assert_eq!(judgement.budgets[0].verdict.answer, Answer::Inconclusive);
        assert!(judgement.is_final(), "more runs repeat a lower bound");
    }
    // Of the baseline it is a lower limit, which the candidate keeps all the more.
    let mut sides = sides(&[100; 3], &[60; 3], None);
    let_grow(&mut sides.baseline.as_mut().unwrap()[1]);
    assert_eq!(judge(&sides, &rules, &Schedule::default()).exit(), Exit::Passed);
}

#[test]
fn a_budget_holds_whatever_the_baseline_needs() {
    let mut rules = rules();
    let same = sides(&[100; 5], &[100; 5], None);
    let peak = same.candidate[0].summary.memory.peak.unwrap().lower as f64;
    for (limit, exit) in [(peak * 1.2, Exit::Passed), (peak * 0.8, Exit::GateFailed)] {
        rules.budgets = vec![Limit {
            subject: "peak".parse().unwrap(),
            limit,
        }];
        assert_eq!(judge(&same, &rules, &Schedule::default()).exit(), exit);
    }
}

#[test]
fn a_candidate_alone_is_held_to_its_limits_and_without_runs_to_nothing() {
    let mut rules = rules();
    rules.primaries.clear();
    let peak = alone(1).candidate[0].summary.memory.peak.unwrap().lower as f64;
    for (runs, limit, exit) in [
        (5, peak * 1.2, Exit::Passed),
        (5, peak * 0.8, Exit::GateFailed),
        (3, peak * 1.2, Exit::Inconclusive),
        (0, peak * 1.2, Exit::OwnFailure),
    ] {
        rules.budgets = vec![Limit {
            subject: "peak".parse().unwrap(),
            limit,
        }];
        let judgement = crate::gate::judge(&alone(runs), &rules, &Schedule::default());
        assert_eq!(judgement.exit(), exit, "{runs} runs");
        assert!(judgement.is_alone() && judgement.against.is_empty() && judgement.peaks.is_empty());
        assert!(judgement.parties.iter().all(|party| party.role == Role::Candidate));
    }
}

/// A candidate without a baseline.
fn alone(runs: usize) -> Sides {
    Sides {
        baseline: None,
        ..sides(&[], &vec![100; runs], None)
    }
}

#[test]
fn growth_that_cannot_be_seen_does_not_pass() {
    let mut rules = rules();
    rules.leak = Some(Leak {
        phase: None,
        limit: LeakLimit::default(),
        per: Per::Round,
    });
    let judgement = judge(&sides(&[100; 3], &[100; 3], None), &rules, &Schedule::default());
    assert_eq!(
        (judgement.answer, judgement.exit()),
        (Answer::Inconclusive, Exit::OwnFailure)
    );
}

#[test]
fn a_figure_that_was_never_measured_is_no_data() {
    let mut rules = rules();
    rules.budgets = vec![Limit {
        subject: "p95 of nobody/asked".parse().unwrap(),
        limit: 1e9,
    }];
    let judgement = judge(&sides(&[100; 3], &[100; 3], None), &rules, &Schedule::default());
    assert_eq!((judgement.exit(), judgement.missing.len()), (Exit::OwnFailure, 1));
    assert!(!judgement.missing[0].is_too_few());
    let judgement = judge(&sides(&[100; 3], &[110; 3], None), &rules, &Schedule::default());
    assert_eq!(judgement.exit(), Exit::GateFailed, "what is shown is shown");
}

#[test]
fn where_no_run_can_bring_what_is_missing_no_more_are_worth_playing() {
    let what: GatedFigure = "p95 of nobody/asked".parse().unwrap();
    let mut endpoint = rules();
    endpoint.primaries[0].subject = what.clone();
    let mut budget = rules();
    budget.budgets = vec![Limit {
        subject: what,
        limit: 1e9,
    }];
    // The golden record repeats nothing.
    let mut growth = rules();
    growth.leak = Some(Leak {
        phase: None,
        limit: LeakLimit::default(),
        per: Per::Round,
    });
    for rules in [&endpoint, &budget, &growth] {
        for (runs, is_final) in [(2, false), (3, true)] {
            let judgement = equal_sides(runs, rules, &Schedule::default());
            assert_eq!(judgement.is_final(), is_final, "{rules:?}");
            assert_eq!(judgement.exit(), Exit::OwnFailure, "{rules:?}");
        }
    }
    assert!(equal_sides(1, &endpoint, &Schedule::default()).is_hopeless());
    assert!(!equal_sides(1, &rules(), &Schedule::default()).is_hopeless());
    // What else decides is to have its answer all the same.
    let open = Rule {
        subject: "peak".parse().unwrap(),
        tolerance: Tolerance::new(0.01, 0.05, 0.0).unwrap(),
    };
    endpoint.primaries.push(open);
    let early = crate::gate::judge(&sides(&[100; 3], &[100; 3], None), &endpoint, &Schedule::default());
    assert!(!early.is_final());
    assert!(!equal_sides(1, &endpoint, &Schedule::default()).is_hopeless());
}

/// The verdict on two sides of so many equal runs.
fn equal_sides(runs: usize, rules: &Rules, looks: &Schedule) -> Judgement {
    judge(&sides(&vec![100; runs], &vec![100; runs], None), rules, looks)
}

#[test]
fn before_the_first_look_there_is_no_verdict_for_any_rule() {
    let eight = Schedule::single_look(8, 0.05).unwrap();
    let mut budget = rules();
    budget.primaries.clear();
    budget.budgets = vec![Limit {
        subject: "private".parse().unwrap(),
        limit: 1e12,
    }];
    for rules in [&rules(), &budget] {
        for (runs, looks) in [(2, &Schedule::default()), (5, &eight)] {
            let judgement = equal_sides(runs, rules, looks);
            assert_eq!(judgement.exit(), Exit::OwnFailure, "{runs} runs");
            assert!(judgement.missing[0].is_too_few() && !judgement.is_final());
        }
        assert_eq!(equal_sides(8, rules, &eight).exit(), Exit::Passed);
    }
}

#[test]
fn where_every_endpoint_advises_budgets_decide_alone() {
    let mut rules = rules();
    rules.advisory = std::mem::take(&mut rules.primaries);
    rules.budgets = vec![Limit {
        subject: "private".parse().unwrap(),
        limit: 1e12,
    }];
    let judgement = judge(&sides(&[100; 3], &[110; 3], None), &rules, &Schedule::default());
    assert_eq!(judgement.against[0].advisory[0].verdict.answer, Answer::Fail);
    assert_eq!(judgement.exit(), Exit::Passed);
}

#[test]
fn an_undecided_rule_says_how_many_runs_would_decide() {
    let judgement = answer(&sides(&[100, 104, 96], &[102, 98, 106], None));
    let judged = &judgement.against[0].primaries[0];
    assert_eq!(judged.verdict.answer, Answer::Inconclusive);
    assert!(judged.needed.is_some_and(|runs| runs > 3), "{:?}", judged.needed);
}

#[test]
fn a_figure_is_named_in_words() {
    for (text, shown) in [
        ("private", "private"),
        (" purged  private after decay", "purged private after decay"),
        ("peak in goto", "peak in goto"),
        ("peak", "peak"),
        ("p95 of textDocument/hover", "p95 of textDocument/hover"),
    ] {
        assert_eq!(text.parse::<GatedFigure>().unwrap().to_string(), shown);
    }
    for text in [
        "",
        "privat",
        "p95",
        "private of textDocument/hover",
        "private decay",
        "private after",
    ] {
        assert!(text.parse::<GatedFigure>().is_err(), "{text}");
    }
    assert_eq!("cpu".parse::<GatedFigure>().unwrap().figure, Figure::Cpu);
}
