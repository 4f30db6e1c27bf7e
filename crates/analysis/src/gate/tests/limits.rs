//! Absolute limits and growth: their side and lens.

use crate::figures::{Leak, Limit, Rules};
use crate::growth::{Per, WhyUnasked, repeated_parts};

use super::judge::{MIB, end, less_of, pair, primaries, valued};
use super::*;

fn budget(what: &str, limit: f64) -> Limit {
    Limit {
        subject: what.parse().unwrap(),
        limit,
    }
}

/// Only the usual limit of growth decides.
fn of_growth_alone() -> Rules {
    Rules {
        primaries: Vec::new(),
        leak: Some(Leak {
            phase: None,
            limit: LeakLimit::default(),
            per: Per::Round,
        }),
        ..rules()
    }
}

#[test]
fn a_budget_is_the_candidate_s_through_the_lens_that_decides_unless_it_names_one() {
    let mut sides = pair(&[500 * MIB; 3], &[100 * MIB; 3], end);
    let mut shipped = valued("b", &[300 * MIB; 3], end);
    for run in &mut shipped {
        run.summary_mut().header.server.lens.name = Lens::AsShipped;
    }
    sides.candidate.extend(shipped);
    for (what, answer) in [("private", Answer::Pass), ("as-shipped private", Answer::Fail)] {
        let rules = Rules {
            primaries: Vec::new(),
            budgets: vec![budget(what, (200 * MIB) as f64)],
            ..rules()
        };
        let judgement = judge(&sides, &rules, &Schedule::default());
        assert_eq!(judgement.budgets[0].verdict.answer, answer, "{what}");
    }
}

#[test]
fn a_budget_within_its_noise_is_neither_kept_nor_broken() {
    for (level, limit, answer) in [
        (100, 100.05, Answer::Inconclusive),
        (100, 101.0, Answer::Pass),
        (100, 99.0, Answer::Fail),
        // 64 KiB are more of little memory.
        (1, 1.02, Answer::Inconclusive),
    ] {
        let sides = pair(&[level * MIB; 3], &[level * MIB; 3], end);
        let rules = Rules {
            budgets: vec![budget("private", limit * MIB as f64)],
            ..rules()
        };
        let judgement = judge(&sides, &rules, &Schedule::default());
        assert_eq!(judgement.budgets[0].verdict.answer, answer, "{limit}");
        assert_eq!(judgement.answer, answer, "every rule takes part in the whole: {limit}");
    }
}

#[test]
fn a_budget_is_kept_from_five_runs_on_without_calibrations() {
    for (runs, answer) in [(3, Answer::Inconclusive), (5, Answer::Pass)] {
        let mut sides = pair(&vec![100 * MIB; runs], &vec![100 * MIB; runs], end);
        for run in sides.baseline.iter_mut().flatten().chain(&mut sides.candidate) {
            run.summary_mut().header.server.lens.name = Lens::AsShipped;
        }
        let rules = Rules {
            lens: Lens::AsShipped,
            budgets: vec![budget("private", (130 * MIB) as f64)],
            ..primaries(&["private"])
        };
        let judgement = crate::gate::judge(&sides, &rules, &Schedule::default());
        assert_eq!(judgement.budgets[0].verdict.answer, answer, "{runs}");
    }
}

/// Three runs that play two phases twenty times each, of which one grows by so much from round to round.
fn growing(label: &str, lens: Lens, step: u64) -> Vec<Played> {
    several_growing(label, lens, step, 3)
}

fn several_growing(label: &str, lens: Lens, step: u64, count: u32) -> Vec<Played> {
    let mut runs = Vec::new();
    for number in 1..=count {
        let mut run = run(label, number, lens, 100);
        let model = run.summary.phases[1].clone();
        run.summary_mut().phases.clear();
        for (number, name, step) in [(0, "still", 0), (1, "grows", step)] {
            for cycle in 0..20 {
                let mut phase = model.clone();
                phase.phase.phase = number;
                phase.phase.cycle = cycle;
                phase.phase.name = name.to_owned();
                phase.private = Some(100 * MIB + u64::from(cycle) * step);
                run.summary_mut().phases.push(phase);
            }
        }
        run.summary_mut().header.scenario.phases = vec!["still".to_owned(), "grows".to_owned()];
        for window in &mut run.summary_mut().windows {
            window.phase.phase = 1;
        }
        runs.push(run);
    }
    runs
}

/// The findings on growth, and the overall answer.
fn leaks(sides: &Sides, phase: Option<&str>) -> (Vec<(String, Answer)>, Answer) {
    let rules = Rules {
        primaries: Vec::new(),
        leak: Some(Leak {
            phase: phase.map(str::to_owned),
            limit: LeakLimit::default(),
            per: Per::Round,
        }),
        ..rules()
    };
    let judgement = judge(sides, &rules, &Schedule::default());
    let leaks = judgement
        .leaks
        .iter()
        .map(|leak| (leak.name.clone(), leak.verdict.answer));
    (leaks.collect(), judgement.answer)
}

#[test]
fn growth_of_the_candidate_fails_the_gate_and_that_of_the_baseline_does_not() {
    for (baseline, candidate, answer) in [(0, 4 * MIB, Answer::Fail), (4 * MIB, 0, Answer::Pass)] {
        let sides = Sides {
            baseline: Some(growing("a", Lens::Purged, baseline)),
            candidate: growing("b", Lens::Purged, candidate),
            anchor: None,
        };
        let findings = vec![("still".to_owned(), Answer::Pass), ("grows".to_owned(), answer)];
        assert_eq!(leaks(&sides, None), (findings, answer));
    }
}

#[test]
fn growth_is_looked_at_in_the_phase_that_is_named_and_through_the_lens_that_decides() {
    let mut sides = Sides {
        baseline: Some(growing("a", Lens::Purged, 0)),
        candidate: growing("b", Lens::Purged, 4 * MIB),
        anchor: None,
    };
    let still = vec![("still".to_owned(), Answer::Pass)];
    assert_eq!(leaks(&sides, Some("still")), (still, Answer::Pass));
    sides.candidate = growing("b", Lens::Purged, 0);
    sides.candidate.extend(growing("b", Lens::AsShipped, 4 * MIB));
    assert_eq!(leaks(&sides, None).1, Answer::Pass);
}

#[test]
fn growth_that_the_rule_tolerates_passes() {
    let grown = Sides {
        baseline: Some(growing("a", Lens::Purged, 0)),
        candidate: growing("b", Lens::Purged, 4 * MIB),
        anchor: None,
    };
    let parts = repeated_parts(&grown.candidate[0].summary);
    let requests = Per::Request.count_per_round(&parts.iter().collect::<Vec<_>>()).unwrap();
    assert!(requests > 1.0, "{requests}");
    for (slope, per, answer) in [
        (5.0, Per::Round, Answer::Pass),
        (3.0, Per::Round, Answer::Fail),
        (5.0 / requests, Per::Request, Answer::Pass),
        (3.0 / requests, Per::Request, Answer::Fail),
        (3.0, Per::Notification, Answer::Inconclusive),
    ] {
        let rules = Rules {
            leak: Some(Leak {
                phase: Some("grows".to_owned()),
                limit: LeakLimit::from_slope(slope * MIB as f64),
                per,
            }),
            primaries: Vec::new(),
            ..rules()
        };
        let judged = judge(&grown, &rules, &Schedule::default()).answer;
        assert_eq!(judged, answer, "{slope} per {}", per.name());
    }
}

#[test]
fn identical_sides_whose_cache_fills_never_fail() {
    let mut same = Sides {
        baseline: Some(filling("a")),
        candidate: filling("b"),
        anchor: None,
    };
    assert_eq!(leaks(&same, Some("grows")).1, Answer::Pass);
    for run in same.baseline.iter_mut().flatten().chain(&mut same.candidate) {
        run.summary_mut().phases.retain(|phase| phase.phase.cycle < 10);
    }
    assert_eq!(leaks(&same, Some("grows")).1, Answer::Inconclusive);
}

/// Runs in which a cache fills: 256 KiB of each of the first 160 requests stay, sixteen in a round.
fn filling(label: &str) -> Vec<Played> {
    let mut runs = growing(label, Lens::Purged, 4 * MIB);
    for phase in runs.iter_mut().flat_map(|run| &mut run.summary_mut().phases) {
        phase.private = phase.private.map(|private| private.min(140 * MIB));
    }
    runs
}

#[test]
fn equal_work_is_asked_of_the_runs_that_growth_is_judged_by() {
    let mut sides = Sides {
        baseline: Some(several_growing("a", Lens::Purged, 0, 12)),
        candidate: several_growing("b", Lens::Purged, 0, 12),
        anchor: None,
    };
    let rules = of_growth_alone();
    let judgement = judge(&sides, &rules, &Schedule::default());
    assert_eq!(judgement.exit(), Exit::Passed);
    let bases: Vec<Basis> = judgement.leaks.iter().map(|leak| leak.basis).collect();
    let (look, runs) = (Some(3), 12);
    assert_eq!(bases, [Basis { look, runs }; 2]);
    less_of(&mut sides.candidate, 0..2);
    assert_eq!(judge(&sides, &rules, &Schedule::default()).exit(), Exit::ServerFailed);
}

#[test]
fn growth_of_too_few_rounds_is_not_waited_for() {
    let mut sides = Sides {
        baseline: Some(growing("a", Lens::Purged, 0)),
        candidate: growing("b", Lens::Purged, 0),
        anchor: None,
    };
    for run in &mut sides.candidate {
        run.summary_mut().phases.retain(|phase| phase.phase.cycle < 10);
    }
    let rules = of_growth_alone();
    let judgement = judge(&sides, &rules, &Schedule::default());
    assert_eq!((judgement.exit(), judgement.is_final()), (Exit::OwnFailure, true));
    sides.candidate[2] = growing("b", Lens::Purged, 0).remove(2);
    assert!(
        !judge(&sides, &rules, &Schedule::default()).is_final(),
        "a run has enough"
    );
}

#[test]
fn growth_that_is_not_asked_about_is_not_looked_at() {
    let sides = Sides {
        baseline: Some(growing("a", Lens::Purged, 4 * MIB)),
        candidate: growing("b", Lens::Purged, 4 * MIB),
        anchor: None,
    };
    let judgement = judge(&sides, &primaries(&["private"]), &Schedule::default());
    assert_eq!((judgement.leaks.len(), judgement.answer), (0, Answer::Pass));
}

#[test]
fn a_comparison_tells_the_growth_of_phases_of_one_name_apart() {
    let mut runs = growing("a", Lens::Purged, MIB);
    for phase in runs.iter_mut().flat_map(|run| &mut run.summary_mut().phases) {
        phase.phase.name = "edits".to_owned();
    }
    let growth = compare::compare(&runs, None).sides.remove(0).growth;
    let answers: Vec<Answer> = growth.iter().map(|grown| grown.verdict.answer).collect();
    assert_eq!(answers, [Answer::Pass, Answer::Fail]);
}

#[test]
fn growth_of_what_was_not_asked_or_not_answered_does_not_pass() {
    for (skipped, answered, why) in [(true, 0, WhyUnasked::NotOffered), (false, 0, WhyUnasked::Failed)] {
        let mut sides = Sides {
            baseline: Some(several_growing("a", Lens::Purged, 0, 12)),
            candidate: several_growing("b", Lens::Purged, 0, 12),
            anchor: None,
        };
        for run in sides.baseline.iter_mut().flatten().chain(&mut sides.candidate) {
            for phase in run
                .summary_mut()
                .phases
                .iter_mut()
                .filter(|phase| phase.phase.phase == 1)
            {
                let step = &mut phase.steps[0];
                step.skipped = skipped;
                step.requests = Some(if skipped { 0 } else { 4 });
                (step.answered, step.hits) = (Some(answered), Some(0));
            }
        }
        let judgement = judge(&sides, &of_growth_alone(), &Schedule::default());
        assert_eq!(judgement.answer, Answer::Inconclusive);
        assert!(judgement.is_final(), "more runs ask no more");
        let leak = &judgement.leaks[1];
        assert_eq!((leak.verdict.answer, leak.unasked[0].why), (Answer::Inconclusive, why));
        assert_eq!(judgement.leaks[0].verdict.answer, Answer::Pass);
    }
}
