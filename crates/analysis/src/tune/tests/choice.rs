//! The recommendation and its prediction.

use crate::figures::Figure;
use record::{AllocatorDecay, Delay, WindowEnd};

use super::*;

#[test]
fn under_a_limit_halving_keeps_the_fastest_and_stops_what_is_over_it() {
    let cells = [
        ("default", (100, 100, 100)),
        ("dirty-lean", (50, 100, 90)),
        ("dirty-quick", (160, 80, 130)),
        ("dirty-large", (300, 60, 90)),
    ];
    let usual = swept(&cells, &Rules::default());
    let of = |sweep: &Sweep, label: &str| sweep.cells.iter().find(|cell| cell.label == label).unwrap().clone();
    let limit = 2 * of(&usual, "default").median(Figure::Private).unwrap() as u64;
    let rules = Rules {
        max_private: Some(limit),
        ..Rules::default()
    };
    assert!(of(&usual, "dirty-quick").stopped.is_some(), "it has thrice the least");
    let sweep = swept(&cells, &rules);
    assert_eq!(shipped(&sweep), "dirty-quick");
    let why = |label: &str| of(&sweep, label).stopped.map(|stopped| (stopped.after, stopped.why));
    assert_eq!(why("dirty-large"), Some((1, Why::OverLimit)));
    assert_eq!(why("dirty-lean"), Some((3, Why::Slower("dirty-quick".to_owned()))));
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
    for run in runs
        .iter_mut()
        .filter(|run| run.summary.header.server.label == "dirty-0")
    {
        run.summary.methods.iter_mut().for_each(|method| method.p95 = None);
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
    let varying = |run: &&mut Played| run.summary.header.server.label == "dirty-0";
    for run in runs.iter_mut().filter(varying) {
        let more = 95 + 10 * (u64::from(run.summary.header.plan.block) % 2);
        for method in &mut run.summary.methods {
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
    let of = |label: &str| {
        let cell = default.cells.iter().find(|cell| cell.label == label).unwrap();
        cell.figure(Figure::Private).median.unwrap().high as u64
    };
    let under = |limit: u64| Rules {
        max_private: Some(limit),
        ..Rules::default()
    };
    assert_eq!(
        shipped(&swept(&cells(), &under(of("dirty-5000")))),
        "dirty-5000",
        "the fastest of all"
    );
    assert_eq!(shipped(&swept(&cells(), &under(of("dirty-1000")))), "dirty-1000");
    assert!(matches!(
        swept(&cells(), &under(of("dirty-0") / 2)).choice,
        Recommendation::None(Some(_))
    ));
}

#[test]
fn the_least_memory_that_costs_no_more_than_is_allowed_is_shipped() {
    let rules = Rules::default();
    let sweep_of = swept(&cells(), &rules);
    assert_eq!(
        shipped(&sweep_of),
        "dirty-1000",
        "35 % more CPU is too much for the least"
    );
    let (low, high) = sweep_of
        .cells
        .iter()
        .find(|cell| cell.label == "dirty-1000")
        .unwrap()
        .promise
        .unwrap();
    let median = sweep_of.cells.iter().find(|cell| cell.label == "dirty-1000").unwrap();
    let median = median.median(Figure::Private).unwrap();
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

/// Ends every idle window of a run so.
fn ended(run: &mut Played, end: WindowEnd, decay: Option<AllocatorDecay>) {
    for window in &mut run.summary.windows {
        (window.end, window.settled, window.decay) = (Some(end), None, decay);
    }
}

#[test]
fn memory_that_is_still_moving_stops_nobody_and_is_no_reason_to_stop() {
    let rules = Rules::default();
    let thread = |nanos: u64| {
        Some(AllocatorDecay {
            idle: true,
            delay: Delay::After(nanos),
            lazy: false,
            runtime: None,
        })
    };
    let stops = |of: &str, end: WindowEnd, decay: Option<AllocatorDecay>| {
        let mut runs = played(&cells(), 1, &rules);
        let mine = |run: &&mut Played| of.is_empty() || run.summary.header.server.label == of;
        runs.iter_mut().filter(mine).for_each(|run| ended(run, end, decay));
        let halving = stopped(&runs, &rules);
        (
            halving.stopped.contains_key("dirty-hopeless"),
            sweep(&runs, &rules).unwrap(),
        )
    };
    let (too_short, long_enough) = (thread(60_000_000_000), thread(1_000_000));
    assert!(stops("dirty-hopeless", WindowEnd::Settled, None).0);
    assert!(stops("dirty-hopeless", WindowEnd::Ended, long_enough).0);
    assert!(stops("dirty-0", WindowEnd::TimedOut, None).0, "others need less too");
    for (end, decay) in [(WindowEnd::TimedOut, None), (WindowEnd::Ended, too_short)] {
        assert!(!stops("dirty-hopeless", end, decay).0, "{end:?}");
        let (any, sweep) = stops("", end, decay);
        assert!(!any, "{end:?}");
        let known = |cell: &CellResult| cell.rest.moving > 0 && !cell.rest.settled && cell.promise.is_none();
        assert!(sweep.cells.iter().all(known), "{end:?}");
    }
    let unknown = stops("", WindowEnd::Ended, None).1;
    assert!(
        unknown
            .cells
            .iter()
            .all(|cell| !cell.rest.settled && cell.rest.moving == 0)
    );
}

/// A server of a few MiB.
fn small(cells: &[(&str, Percents)]) -> Vec<Played> {
    let mut runs = played(cells, 8, &Rules::default());
    for phase in runs.iter_mut().flat_map(|run| &mut run.summary.phases) {
        phase.private = phase.private.map(|value| value / 40);
    }
    runs
}

#[test]
fn less_memory_that_is_not_worth_a_setting_is_not_called_no_less() {
    let cells = [("default", (100, 100, 100)), ("dirty-0", (70, 95, 95))];
    let sweep = sweep(&small(&cells), &Rules::default()).unwrap();
    assert_eq!(sweep.choice, Recommendation::Default(KeepReason::Barred(1)));
    let own = &sweep.cells[1];
    assert!(own.front && own.is_shown_less(), "less memory and less CPU");
    assert!(matches!(own.why_not, Some(WhyNot::NotWorth { saved, worth }) if saved > 0.0 && saved < worth));
}

#[test]
fn less_memory_of_one_that_did_less_is_not_called_no_less() {
    let cells = [("default", (100, 100, 100)), ("dirty-0", (70, 100, 100))];
    let mut runs = played(&cells, 8, &Rules::default());
    let own = |run: &&mut Played| run.summary.header.server.label == "dirty-0";
    runs.iter_mut().filter(own).for_each(does_half);
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
        for method in &mut run.summary.methods {
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

#[test]
fn a_cost_is_called_more_than_is_allowed_only_when_it_is_shown() {
    let cells = [("default", (100, 100, 100)), ("dirty-0", (70, 100, 100))];
    let rules = Rules::default();
    let with = |times: [u64; 4]| {
        let mut runs = played(&cells, 8, &rules);
        let own = |run: &&mut Played| run.summary.header.server.label == "dirty-0";
        for run in runs.iter_mut().filter(own) {
            let times = times[run.summary.header.plan.block as usize % 4];
            for method in &mut run.summary.methods {
                method.p95 = method.p95.map(|value| value * times);
            }
        }
        sweep(&runs, &rules).unwrap()
    };
    let open = with([1, 12, 1, 1]);
    assert_eq!(open.choice, Recommendation::Default(KeepReason::CostOpen(1)));
    assert_eq!(open.cells[1].why_not, Some(WhyNot::CostOpen(vec![Figure::P95])));
    let runs = runs_to_settle(&open.cells[1], &open.cells[0], &rules).unwrap();
    assert!((9..80).contains(&runs), "{runs}");
    let shown = with([8; 4]);
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
        run.summary.header.plan.jobs = Some(2);
    }
    let shared = sweep(&runs, &rules).unwrap();
    assert_eq!(shipped(&shared), "dirty-0");
    assert!(shared.rules.is_shared && shared.rules.allowed().is_empty());
}

#[test]
fn every_cell_that_is_not_recommended_says_why() {
    let limit = |bytes: u64| Rules {
        max_private: Some(bytes),
        ..Rules::default()
    };
    let few = Rules {
        rungs: vec![1, 2],
        ..Rules::default()
    };
    for rules in [Rules::default(), limit(1 << 40), limit(120 << 20), limit(1), few] {
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
    let why = |label: &str| {
        sweep
            .cells
            .iter()
            .find(|cell| cell.label == label)
            .unwrap()
            .why_not
            .clone()
    };
    assert_eq!(why("default"), Some(WhyNot::NeedsMore("dirty-1000".to_owned())));
    assert_eq!(why("dirty-0"), Some(WhyNot::Dearer(vec![Figure::Cpu])));
    assert_eq!(why("dirty-5000"), Some(WhyNot::NeedsMore("dirty-1000".to_owned())));
    assert_eq!(why("dirty-hopeless"), Some(WhyNot::Stopped));
}
