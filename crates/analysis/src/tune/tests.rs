//! What a sweep decides, of invented runs.

use crate::compare::Played;
use crate::figures::Figure;
use crate::golden::lost_helper;
use crate::golden::tune::{Percents, cells, crashes, played, with_impostor};
use record::{Ending, KnobFacts};

use super::*;

mod choice;

fn labels(halving: &Halving) -> Vec<&str> {
    halving.eliminated.keys().map(String::as_str).collect()
}

fn swept(cells: &[(&str, Percents)], rules: &Rules) -> Sweep {
    let most = *rules.rungs.last().unwrap();
    sweep(&played(cells, most, rules), rules).unwrap()
}

fn shipped(sweep: &Sweep) -> &str {
    match sweep.choice {
        Recommendation::Use(place) => &sweep.cells[place].label,
        _ => "",
    }
}

fn cell<'s>(sweep: &'s Sweep, label: &str) -> &'s CellResult {
    sweep.cells.iter().find(|cell| cell.label == label).unwrap()
}

fn of_cell<'r>(runs: &'r mut [Played], label: &str) -> impl Iterator<Item = &'r mut Played> {
    runs.iter_mut()
        .filter(move |run| run.summary.header.server.label == label)
}

#[test]
fn a_hopeless_cell_stops_after_its_first_run_and_the_default_never() {
    let rules = Rules::default();
    let runs = played(&cells(), 3, &rules);
    let halving = eliminated_cells(&runs, &rules);
    assert!(labels(&halving).contains(&"dirty-hopeless"), "{halving:?}");
    assert_eq!(halving.eliminated["dirty-hopeless"].after, 1);
    assert_eq!(halving.rung, Some(3));
    let worst: Vec<(&str, Percents)> = vec![("default", (200, 200, 200)), ("dirty-0", (100, 100, 100))];
    let runs = played(&worst, 5, &rules);
    assert!(
        eliminated_cells(&runs, &rules).eliminated.is_empty(),
        "the default is what all are compared with"
    );
}

/// The decisions from the runs of the first blocks.
fn stopped_until(runs: &[Played], blocks: u32) -> Halving {
    let runs = runs.iter().filter(|run| run.summary.header.plan.block <= blocks);
    eliminated_cells(&runs.cloned().collect::<Vec<Played>>(), &Rules::default())
}

#[test]
fn runs_beyond_a_rung_change_nothing_that_was_decided_at_it() {
    let rules = Rules::default();
    let runs = played(&cells(), 8, &rules);
    let mut before: Vec<Halving> = Vec::new();
    for blocks in 1..=8 {
        before.push(stopped_until(&runs, blocks));
    }
    for (one, next) in before.iter().zip(&before[1..]) {
        for (label, stopped) in &one.eliminated {
            assert_eq!(next.eliminated.get(label), Some(stopped));
        }
    }
    // Records come in any order.
    let mut shuffled = runs.clone();
    shuffled.reverse();
    assert_eq!(eliminated_cells(&shuffled, &rules), before[7]);
}

#[test]
fn what_stopped_by_the_rungs_of_a_sweep_stays_so_whatever_others_are_asked_for() {
    let rules = Rules::default();
    let mut runs = played(&cells(), 8, &rules);
    for run in &mut runs {
        run.summary_mut().header.plan.cell.as_mut().unwrap().sweep = Some(SweepFacts {
            rungs: rules.rungs.clone(),
            ..SweepFacts::default()
        });
    }
    let then = eliminated_cells(&runs, &rules);
    assert!(!then.eliminated.is_empty());
    let others = Rules {
        rungs: vec![3],
        ..Rules::default()
    };
    assert_eq!(eliminated_cells(&runs, &others), then);
    assert!(!cell(&sweep(&runs, &others).unwrap(), "dirty-hopeless").front);
}

#[test]
fn a_rung_that_is_not_whole_decides_nothing() {
    let rules = Rules::default();
    let mut runs = played(&cells(), 1, &rules);
    runs.retain(|run| run.summary.header.server.label != "dirty-1000");
    let halving = eliminated_cells(&runs, &rules);
    assert_eq!((halving.rung, labels(&halving).len()), (None, 0), "{halving:?}");
}

#[test]
fn cells_that_one_run_cannot_tell_apart_go_on() {
    let rules = Rules::default();
    let near = [
        ("default", (100, 100, 100)),
        ("dirty-0", (92, 100, 100)),
        ("dirty-1000", (94, 105, 103)),
    ];
    assert!(
        eliminated_cells(&played(&near, 1, &rules), &rules)
            .eliminated
            .is_empty()
    );
}

#[test]
fn a_cell_that_the_server_fails_with_stops_at_once_and_is_never_recommended() {
    let rules = Rules::default();
    let mut runs = played(&cells(), 1, &rules);
    crashes(of_cell(&mut runs, "dirty-0").next().unwrap());
    let halving = eliminated_cells(&runs, &rules);
    assert_eq!(halving.eliminated["dirty-0"], crashed("dirty-0", 1));
    let sweep = sweep(&runs, &rules).unwrap();
    assert!(sweep.cells.iter().all(|cell| cell.label != "dirty-0" || !cell.front));
}

#[test]
fn a_cell_that_lost_most_of_its_memory_stops_and_is_never_recommended() {
    let rules = Rules::default();
    let mut runs = played(&cells(), 1, &rules);
    let run = of_cell(&mut runs, "dirty-0").next().unwrap();
    run.summary_mut().processes.lost.push(lost_helper());
    let stopped = &eliminated_cells(&runs, &rules).eliminated["dirty-0"];
    let Why::Failed(failure) = &stopped.why else {
        panic!("{stopped:?}")
    };
    assert!(failure.how.starts_with("`helper` ended with 900.0 MiB"), "{failure:?}");
}

#[test]
fn where_every_other_setting_fails_the_default_stays_and_no_more_runs_are_asked_for() {
    let rules = Rules::default();
    let mut runs = played(&[("default", (100, 100, 100)), ("dirty-0", (70, 100, 100))], 1, &rules);
    assert_eq!(choice(&runs, None), Recommendation::Default(KeepReason::TooFew));
    for run in of_cell(&mut runs, "dirty-0") {
        crashes(run);
    }
    for limit in [None, Some(1 << 40)] {
        assert_eq!(choice(&runs, limit), Recommendation::Default(KeepReason::OthersFailed));
    }
    assert_eq!(choice(&runs, Some(1)), Recommendation::None(Some(0)));
    // What was not run yet may not fail.
    for run in &mut runs {
        run.summary_mut().header.plan.cell.as_mut().unwrap().of = 3;
    }
    assert_eq!(choice(&runs, None), Recommendation::Default(KeepReason::TooFew));
}

/// The choice from these runs under a limit of private memory, in bytes.
fn choice(runs: &[Played], max_private: Option<u64>) -> Recommendation {
    let rules = Rules {
        max_private,
        ..Rules::default()
    };
    sweep(runs, &rules).unwrap().choice
}

/// The elimination of a cell whose run crashed.
fn crashed(label: &str, after: u32) -> Elimination {
    let failure = Failure {
        record: format!("run-{after:03}-{label}.jsonl"),
        how: "crashed during goto with up to 193.0 MiB private, signal 6".to_owned(),
    };
    Elimination {
        after,
        why: Why::Failed(failure),
    }
}

#[test]
fn what_fails_in_the_end_changes_nothing_that_was_decided_before() {
    for block in [4, 8] {
        let runs = with_impostor(|run| {
            if run.summary.header.plan.block == block {
                crashes(run);
            }
        });
        let by_impostor = Why::Beaten("dirty-impostor".to_owned());
        let early = stopped_until(&runs, 3);
        assert!(
            early.eliminated.values().any(|stopped| stopped.why == by_impostor),
            "{early:?}"
        );
        for blocks in 1..8 {
            let next = stopped_until(&runs, blocks + 1);
            for (label, stopped) in &stopped_until(&runs, blocks).eliminated {
                assert_eq!(next.eliminated.get(label), Some(stopped), "{label}");
            }
        }
        let halving = stopped_until(&runs, 8);
        assert_eq!(halving.eliminated["dirty-impostor"], crashed("dirty-impostor", block));
        assert_eq!(halving.rung, Some(8), "the sweep has its end");
    }
}

#[test]
fn a_run_that_was_cut_off_is_none_that_a_rung_could_be_decided_by() {
    let rules = Rules::default();
    let whole = played(&cells(), 1, &rules);
    let mut cut = whole.clone();
    let last = cut.last_mut().unwrap();
    last.summary_mut().ending = Some(Ending::Interrupted);
    assert_eq!(eliminated_cells(&cut, &rules), Halving::default());
    assert_eq!(
        eliminated_cells(&whole, &rules).rung,
        Some(1),
        "once it was played again"
    );
}

#[test]
fn the_front_is_what_nothing_beats_in_memory_latency_and_cpu() {
    let sweep = swept(&cells(), &Rules::default());
    let on: Vec<&str> = sweep
        .cells
        .iter()
        .filter(|cell| cell.front)
        .map(|cell| cell.label.as_str())
        .collect();
    assert_eq!(on, ["dirty-0", "dirty-1000", "dirty-5000"], "{on:?}");
    let default = &sweep.cells[0];
    assert_eq!((default.label.as_str(), default.front), ("default", false));
    assert!(default.beaten_by.is_some());
}

/// Gives a run one setting, which was seen to be in force, seen not to be, or not seen at all.
fn set_knob(run: &mut Played, taken: Option<bool>) {
    run.summary_mut().header.server.knobs = vec![KnobFacts {
        variable: "GOGC".to_owned(),
        requested: "50".to_owned(),
        taken,
        ..KnobFacts::default()
    }];
}

fn does_half(run: &mut Played) {
    for step in run.summary_mut().phases.iter_mut().flat_map(|phase| &mut phase.steps) {
        step.hits = step.hits.map(|hits| hits / 2);
    }
}

#[test]
fn who_does_less_or_was_not_set_stops_nobody_and_is_on_no_front() {
    let rules = Rules::default();
    let honest = swept(&cells(), &rules);
    for runs in [
        with_impostor(does_half),
        with_impostor(|run| set_knob(run, Some(false))),
    ] {
        let sweep = sweep(&runs, &rules).unwrap();
        let impostor = cell(&sweep, "dirty-impostor");
        assert!(!impostor.is_honest() && !impostor.front && impostor.beaten_by.is_none());
        assert!(impostor.median(Figure::Private).is_some(), "it stays in the table");
        assert_eq!(shipped(&sweep), shipped(&honest));
        for alone in &honest.cells {
            let beside = cell(&sweep, &alone.label);
            assert_eq!(
                (beside.front, &beside.stopped, &beside.beaten_by),
                (alone.front, &alone.stopped, &alone.beaten_by),
                "{}",
                alone.label
            );
        }
    }
    let taken = with_impostor(|run| set_knob(run, Some(true)));
    assert_eq!(
        shipped(&sweep(&taken, &rules).unwrap()),
        "dirty-impostor",
        "nothing is wrong with it"
    );
}

#[test]
fn what_no_allocator_confirms_is_recommended_all_the_same() {
    let runs = with_impostor(|run| set_knob(run, None));
    let sweep = sweep(&runs, &Rules::default()).unwrap();
    assert_eq!(shipped(&sweep), "dirty-impostor");
    let Recommendation::Use(place) = sweep.choice else {
        panic!("{:?}", sweep.choice)
    };
    assert!(sweep.cells[place].front && sweep.cells[place].untold().count() == 1);
}

#[test]
fn records_of_something_else_are_no_sweep() {
    let mut runs = played(&cells(), 1, &Rules::default());
    for run in &mut runs {
        run.summary_mut().header.plan.cell = None;
    }
    assert_eq!(sweep(&runs, &Rules::default()).unwrap_err(), NoSweep::None);
    let mut runs = played(&cells(), 1, &Rules::default());
    runs.retain(|run| run.summary.header.server.label != "default");
    assert_eq!(sweep(&runs, &Rules::default()).unwrap_err(), NoSweep::NoDefault);
    let mut runs = played(&cells(), 1, &Rules::default());
    runs[1].summary_mut().header.scenario.sha256 = "another".to_owned();
    assert!(matches!(
        sweep(&runs, &Rules::default()).unwrap_err(),
        NoSweep::Several(_)
    ));
    // The same names of other settings.
    let mut runs = played(&cells(), 1, &Rules::default());
    for (place, run) in runs.iter_mut().enumerate() {
        run.summary_mut().header.plan.cell.as_mut().unwrap().sweep = Some(SweepFacts {
            cells: (place / 3).to_string(),
            ..SweepFacts::default()
        });
    }
    assert!(matches!(
        sweep(&runs, &Rules::default()).unwrap_err(),
        NoSweep::Several(_)
    ));
}

#[test]
fn a_program_that_path_does_not_find_keeps_its_own() {
    assert_eq!(server_path(Some("/usr/bin:/bin")).as_deref(), Some("/home/me/bin/ty"));
    assert_eq!(server_path(Some("/usr/bin:/home/me/bin/")), None);
    assert_eq!(server_path(None), None, "nobody knows");
}

/// The path of the server `/home/me/bin/ty`, started with this `PATH`.
fn server_path(path: Option<&str>) -> Option<String> {
    let mut runs = played(&cells(), 1, &Rules::default());
    for run in &mut runs {
        let server = &mut run.summary_mut().header.server;
        server.program = "/home/me/bin/ty".to_owned();
        server.inherited.clear();
        if let Some(path) = path {
            server.inherited.insert("PATH".to_owned(), path.to_owned());
        }
    }
    sweep(&runs, &Rules::default()).unwrap().server.path
}
