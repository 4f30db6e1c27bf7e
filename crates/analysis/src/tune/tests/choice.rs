//! The recommendation and its prediction.

use crate::figures::Figure;
use record::{AllocatorDecay, Delay, WindowEnd};

use super::*;

fn under_limit(bytes: u64) -> Rules {
    Rules {
        max_private: Some(bytes),
        ..Rules::default()
    }
}

#[test]
fn under_a_limit_halving_keeps_the_fastest_and_stops_what_is_over_it() {
    let cells = [
        ("default", (100, 100, 100)),
        ("dirty-lean", (50, 100, 90)),
        ("dirty-quick", (160, 80, 130)),
        ("dirty-large", (300, 60, 90)),
    ];
    let usual = swept(&cells, &Rules::default());
    let rules = under_limit(2 * cell(&usual, "default").median(Figure::Private).unwrap() as u64);
    assert!(cell(&usual, "dirty-quick").stopped.is_some(), "it has thrice the least");
    let sweep = swept(&cells, &rules);
    assert_eq!(shipped(&sweep), "dirty-quick");
    let over_limit = Elimination {
        after: 1,
        why: Why::OverLimit,
    };
    assert_eq!(cell(&sweep, "dirty-large").stopped, Some(over_limit));
    let slower = Elimination {
        after: 3,
        why: Why::Slower("dirty-quick".to_owned()),
    };
    assert_eq!(cell(&sweep, "dirty-lean").stopped, Some(slower));
    let few = Rules {
        rungs: vec![1, 2],
        ..rules
    };
    assert_eq!(swept(&cells, &few).choice, Recommendation::Default(KeepReason::TooFew));
}

#[test]
fn a_latency_that_is_not_known_is_not_shown_to_be_allowed() {
    let cells = [("default", (100, 100, 100)), ("dirty-0", (70, 100, 100))];
    let rules = Rules::default();
    let mut runs = played(&cells, 8, &rules);
    assert_eq!(shipped(&sweep(&runs, &rules).unwrap()), "dirty-0");
    for run in of_cell(&mut runs, "dirty-0") {
        for method in &mut run.summary_mut().traffic.methods {
            method.p95 = None;
        }
    }
    let unknown = sweep(&runs, &rules).unwrap();
    assert_eq!(
        unknown.choice,
        Recommendation::Default(KeepReason::CostOpen(1)),
        "by work it is honest"
    );
    assert_eq!(unknown.cells[1].why_not, Some(WhyNot::CostUnknown(vec![Figure::P95])));
}

#[test]
fn only_what_is_shown_to_be_allowed_is_recommended() {
    let cells = [
        ("default", (100, 100, 100)),
        ("dirty-0", (70, 109, 100)),
        ("dirty-1000", (80, 100, 100)),
    ];
    let rules = Rules::default();
    assert_eq!(shipped(&swept(&cells, &rules)), "dirty-0", "runs that hardly vary");
    let mut runs = played(&cells, 8, &rules);
    for run in of_cell(&mut runs, "dirty-0") {
        let more = 95 + 10 * (u64::from(run.summary.header.plan.block) % 2);
        for method in &mut run.summary_mut().traffic.methods {
            method.p95 = method.p95.map(|value| value / 100 * more);
        }
    }
    assert_eq!(
        shipped(&sweep(&runs, &rules).unwrap()),
        "dirty-1000",
        "by what is shown"
    );
    runs.retain(|run| run.summary.header.server.label != "dirty-1000");
    let open = sweep(&runs, &rules).unwrap();
    assert_eq!(cost(&open.cells[1], &rules), Cost::Open);
    assert_eq!(open.choice, Recommendation::Default(KeepReason::CostOpen(1)));
}

#[test]
fn where_nothing_is_shown_to_need_less_the_default_stays() {
    let rules = Rules::default();
    let same = [
        ("default", (100, 100, 100)),
        ("dirty-0", (100, 100, 100)),
        ("dirty-1000", (101, 100, 100)),
    ];
    assert_eq!(
        swept(&same, &rules).choice,
        Recommendation::Default(KeepReason::NothingLess)
    );
    let dear = [("default", (100, 100, 100)), ("dirty-0", (60, 100, 150))];
    assert_eq!(
        swept(&dear, &rules).choice,
        Recommendation::Default(KeepReason::TooDear(1))
    );
    let few = Rules {
        rungs: vec![1, 2],
        ..Rules::default()
    };
    assert_eq!(swept(&dear, &few).choice, Recommendation::Default(KeepReason::TooFew));
}

#[test]
fn under_a_limit_the_fastest_is_shipped() {
    let default = swept(&cells(), &Rules::default());
    assert_eq!(
        shipped(&swept(&cells(), &under_limit(most_private(&default, "dirty-5000")))),
        "dirty-5000",
        "the fastest of all"
    );
    assert_eq!(
        shipped(&swept(&cells(), &under_limit(most_private(&default, "dirty-1000")))),
        "dirty-1000"
    );
    assert!(matches!(
        swept(&cells(), &under_limit(most_private(&default, "dirty-0") / 2)).choice,
        Recommendation::None(Some(_))
    ));
}

/// The upper end of the interval of a cell's private memory, in bytes.
fn most_private(sweep: &Sweep, label: &str) -> u64 {
    let private = cell(sweep, label).figure(Figure::Private);
    private.median.unwrap().high as u64
}

#[test]
fn the_least_memory_that_costs_no_more_than_is_allowed_is_shipped() {
    let rules = Rules::default();
    let sweep = swept(&cells(), &rules);
    assert_eq!(shipped(&sweep), "dirty-1000", "35 % more CPU is too much for the least");
    let chosen = cell(&sweep, "dirty-1000");
    let (low, high) = chosen.promise.unwrap();
    let median = chosen.median(Figure::Private).unwrap();
    assert!(
        low < median && median < high && high / low < 1.02,
        "{low} {median} {high}"
    );
    let lax = Rules {
        cpu: 0.5,
        ..Rules::default()
    };
    assert_eq!(shipped(&swept(&cells(), &lax)), "dirty-0");
}

/// Makes every idle window of a run end like this.
fn end_windows(run: &mut Played, end: WindowEnd, decay: Option<AllocatorDecay>) {
    for window in &mut run.summary_mut().windows {
        (window.end, window.settled, window.decay) = (Some(end), None, decay);
    }
}

/// The sweep of one run of each cell, where the idle windows of `label` ended so; of all cells for an empty `label`.
fn swept_after(label: &str, end: WindowEnd, decay: Option<AllocatorDecay>) -> Sweep {
    let rules = Rules::default();
    let mut runs = played(&cells(), 1, &rules);
    for run in &mut runs {
        if label.is_empty() || run.summary.header.server.label == label {
            end_windows(run, end, decay);
        }
    }
    sweep(&runs, &rules).unwrap()
}

fn is_hopeless_stopped(sweep: &Sweep) -> bool {
    cell(sweep, "dirty-hopeless").stopped.is_some()
}

#[test]
fn memory_that_is_still_moving_stops_nobody_and_is_no_reason_to_stop() {
    let [too_short, long_enough] = [60_000_000_000, 1_000_000].map(|nanos| {
        Some(AllocatorDecay {
            idle: true,
            delay: Delay::After(nanos),
            lazy: false,
            runtime: None,
        })
    });
    for (label, end, decay) in [
        ("dirty-hopeless", WindowEnd::Settled, None),
        ("dirty-hopeless", WindowEnd::Ended, long_enough),
        // Others need less than the hopeless one too.
        ("dirty-0", WindowEnd::TimedOut, None),
    ] {
        assert!(is_hopeless_stopped(&swept_after(label, end, decay)), "{label} {end:?}");
    }
    for (end, decay) in [(WindowEnd::TimedOut, None), (WindowEnd::Ended, too_short)] {
        let one_moves = swept_after("dirty-hopeless", end, decay);
        assert!(!is_hopeless_stopped(&one_moves), "{end:?}");
        let all_move = swept_after("", end, decay);
        assert!(!is_hopeless_stopped(&all_move), "{end:?}");
        for cell in &all_move.cells {
            assert!(
                cell.rest.moving > 0 && !cell.rest.settled && cell.promise.is_none(),
                "{end:?}"
            );
        }
    }
    for cell in &swept_after("", WindowEnd::Ended, None).cells {
        assert!(!cell.rest.settled && cell.rest.moving == 0);
    }
}

/// Runs of a server of a few MiB.
fn played_small(cells: &[(&str, Percents)]) -> Vec<Played> {
    let mut runs = played(cells, 8, &Rules::default());
    for phase in runs.iter_mut().flat_map(|run| &mut run.summary_mut().phases) {
        phase.private = phase.private.map(|value| value / 40);
    }
    runs
}

#[test]
fn less_memory_that_is_not_worth_a_setting_is_not_called_no_less() {
    let cells = [("default", (100, 100, 100)), ("dirty-0", (70, 95, 95))];
    let sweep = sweep(&played_small(&cells), &Rules::default()).unwrap();
    assert_eq!(sweep.choice, Recommendation::Default(KeepReason::Barred(1)));
    let own = &sweep.cells[1];
    assert!(own.front && own.is_shown_less(), "less memory and less CPU");
    assert!(matches!(own.why_not, Some(WhyNot::NotWorth { saved, worth }) if saved > 0.0 && saved < worth));
}

#[test]
fn less_memory_of_one_that_did_less_is_not_called_no_less() {
    let cells = [("default", (100, 100, 100)), ("dirty-0", (70, 100, 100))];
    let mut runs = played(&cells, 8, &Rules::default());
    for run in of_cell(&mut runs, "dirty-0") {
        does_half(run);
    }
    let sweep = sweep(&runs, &Rules::default()).unwrap();
    assert_eq!(sweep.choice, Recommendation::Default(KeepReason::Barred(1)));
    assert_eq!(sweep.cells[1].why_not, Some(WhyNot::DidLess));
}

#[test]
fn of_settings_with_as_little_memory_the_one_whose_cost_the_fewest_runs_show_is_named() {
    let cells = [
        ("default", (1000, 100, 100)),
        ("dirty-0", (700, 109, 100)),
        ("dirty-1000", (704, 100, 100)),
        ("dirty-5000", (720, 80, 100)),
    ];
    let rules = Rules::default();
    let mut runs = played(&cells, 8, &rules);
    for run in runs
        .iter_mut()
        .filter(|run| run.summary.header.server.label != "default")
    {
        let share = 70 + 60 * (u64::from(run.summary.header.plan.block) % 2);
        for method in &mut run.summary_mut().traffic.methods {
            method.p95 = method.p95.map(|value| value / 100 * share);
        }
    }
    let open = sweep(&runs, &rules).unwrap();
    assert_eq!(
        runs_to_settle(&open.cells[1], &open.cells[0], &rules).filter(|runs| *runs <= 100),
        None
    );
    assert_eq!(open.choice, Recommendation::Default(KeepReason::CostOpen(2)));
}

/// A sweep whose only setting needs less memory and multiplies p95 by these factors, in turn from run to run.
fn swept_with_latency(factors: [u64; 4]) -> Sweep {
    let cells = [("default", (100, 100, 100)), ("dirty-0", (70, 100, 100))];
    let rules = Rules::default();
    let mut runs = played(&cells, 8, &rules);
    for run in of_cell(&mut runs, "dirty-0") {
        let factor = factors[run.summary.header.plan.block as usize % 4];
        for method in &mut run.summary_mut().traffic.methods {
            method.p95 = method.p95.map(|value| value * factor);
        }
    }
    sweep(&runs, &rules).unwrap()
}

#[test]
fn a_cost_is_called_more_than_is_allowed_only_when_it_is_shown() {
    let rules = Rules::default();
    let open = swept_with_latency([1, 12, 1, 1]);
    assert_eq!(open.choice, Recommendation::Default(KeepReason::CostOpen(1)));
    assert_eq!(open.cells[1].why_not, Some(WhyNot::CostOpen(vec![Figure::P95])));
    let runs = runs_to_settle(&open.cells[1], &open.cells[0], &rules).unwrap();
    assert!((9..80).contains(&runs), "{runs}");
    let shown = swept_with_latency([8; 4]);
    assert_eq!(shown.choice, Recommendation::Default(KeepReason::TooDear(1)));
    assert_eq!(shown.cells[1].why_not, Some(WhyNot::Dearer(vec![Figure::P95])));
    assert_eq!(
        runs_to_settle(&shown.cells[1], &shown.cells[0], &rules),
        None,
        "nothing is open"
    );
}

#[test]
fn memory_alone_decides_among_runs_that_are_played_at_once() {
    let cells = [
        ("default", (100, 100, 100)),
        ("dirty-0", (70, 300, 200)),
        ("dirty-1000", (80, 100, 100)),
    ];
    let rules = Rules::default();
    let mut runs = played(&cells, 8, &rules);
    let alone = sweep(&runs, &rules).unwrap();
    assert_eq!(shipped(&alone), "dirty-1000");
    for run in &mut runs {
        run.summary_mut().header.plan.jobs = Some(2);
    }
    let shared = sweep(&runs, &rules).unwrap();
    assert_eq!(shipped(&shared), "dirty-0");
    assert!(shared.rules.is_shared && shared.rules.allowed().is_empty());
}

#[test]
fn every_cell_that_is_not_recommended_says_why() {
    let few = Rules {
        rungs: vec![1, 2],
        ..Rules::default()
    };
    let limits = [1 << 40, 120 << 20, 1].map(under_limit);
    for rules in [vec![Rules::default()], limits.to_vec(), vec![few]].concat() {
        let sweep = swept(&cells(), &rules);
        for (place, cell) in sweep.cells.iter().enumerate() {
            let is_chosen = sweep.choice.place() == Some(place);
            assert_eq!(
                cell.why_not.is_none(),
                is_chosen,
                "{rules:?} {}: {:?}",
                cell.label,
                cell.why_not
            );
        }
    }
    let sweep = swept(&cells(), &Rules::default());
    for (label, why) in [
        ("default", WhyNot::NeedsMore("dirty-1000".to_owned())),
        ("dirty-0", WhyNot::Dearer(vec![Figure::Cpu])),
        ("dirty-5000", WhyNot::NeedsMore("dirty-1000".to_owned())),
        ("dirty-hopeless", WhyNot::Stopped),
    ] {
        assert_eq!(cell(&sweep, label).why_not, Some(why));
    }
}
