use std::sync::Arc;

use crate::figures::{Figure, MeasuredPart};
use crate::golden::{lost_helper, run};
use crate::summary::{LostProcess, Summary};
use base::band::Tolerance;
use base::lens::Lens;
use record::{Ending, WindowEnd};
use stats::Known;

use super::*;

mod circumstances;
mod measure;
mod targets;
mod work;

const MIB: u64 = 1 << 20;

/// Runs of two servers, `b` at these per cent of `a`.
fn runs(a: &[u64], b: &[u64]) -> Vec<Played> {
    let mut runs = Vec::new();
    for (label, percents) in [("a", a), ("b", b)] {
        for (number, percent) in (1..).zip(percents) {
            runs.push(run(label, number, *percent));
        }
    }
    runs
}

fn private(comparison: &Comparison) -> &Row {
    let last = comparison
        .rows
        .iter()
        .rev()
        .find(|row| row.measure.figure == Figure::Private);
    last.unwrap()
}

#[test]
fn a_server_that_keeps_more_is_said_to_keep_more() {
    let comparison = compare(&runs(&[100, 101, 99], &[130, 131, 129]), None);
    let cell = &private(&comparison).cells[1];
    let ratio = cell.ratio.as_ref().unwrap();
    assert!(ratio.differs() && ratio.low > 1.25 && ratio.high < 1.35, "{ratio:?}");
    assert!((ratio.ratio - 1.3).abs() < 0.001);
    assert!(
        private(&comparison).cells[0].ratio.is_none(),
        "the baseline is not compared with itself"
    );
}

#[test]
fn the_baseline_that_is_asked_for_comes_first() {
    let comparison = compare(&runs(&[100, 100], &[120, 120]), Some("b"));
    let labels: Vec<&str> = comparison.sides.iter().map(|side| side.label.as_str()).collect();
    assert_eq!(labels, ["b", "a"]);
    assert!(private(&comparison).cells[1].ratio.as_ref().unwrap().ratio < 1.0);
}

#[test]
fn one_run_of_each_is_shown_and_compared_with_nothing() {
    let comparison = compare(&runs(&[100], &[130]), None);
    let cell = &private(&comparison).cells[1];
    assert!(cell.ratio.is_none());
    assert_eq!(cell.median.unwrap().n, 1);
}

#[test]
fn warm_ups_and_failed_runs_do_not_count_but_are_named() {
    let mut all = runs(&[100, 100, 500], &[100, 100, 100]);
    all[2].summary_mut().header.plan.warm_up = true;
    all[3].summary_mut().ending = Some(Ending::Interrupted);
    all[4].summary_mut().ending = Some(Ending::Crashed {
        code: None,
        signal: Some(11),
        during: String::new(),
    });
    let comparison = compare(&all, None);
    let reasons: Vec<Vec<Why>> = comparison
        .sides
        .iter()
        .map(|side| side.left.iter().map(|excluded| excluded.why).collect())
        .collect();
    assert_eq!(reasons, [vec![Why::WarmUp], vec![Why::Unfinished, Why::Failed]]);
    assert_eq!(comparison.sides[0].runs.len(), 2);
    assert_eq!(private(&comparison).cells[1].values.len(), 1);
}

#[test]
fn a_server_that_fails_while_it_warms_up_has_failed() {
    let mut all = runs(&[100], &[100]);
    for run in &mut all {
        run.summary_mut().header.plan.warm_up = true;
    }
    all[1].summary_mut().ending = Some(Ending::Crashed {
        code: None,
        signal: Some(11),
        during: String::new(),
    });
    let comparison = compare(&all, None);
    let reasons: Vec<Why> = comparison
        .sides
        .iter()
        .flat_map(|side| side.left.iter().map(|excluded| excluded.why))
        .collect();
    assert_eq!(reasons, [Why::WarmUp, Why::Failed]);
    assert!(!is_counted(&all[0].summary) && !is_counted(&all[1].summary));
}

#[test]
fn what_may_differ_suits_the_lens() {
    let comparison = compare(&runs(&[100, 100], &[103, 103]), None);
    for (lens, usual) in [
        (Lens::AsShipped, Tolerance::AS_SHIPPED),
        (Lens::Purged, Tolerance::PURGED),
    ] {
        let endpoints = primary(&comparison, 1, lens, &|measure| (measure.figure.noise(), Known::Seen));
        assert_eq!(endpoints.len(), 2);
        assert!(endpoints.iter().all(|endpoint| endpoint.tolerance == usual), "{lens}");
    }
}

#[test]
fn a_ratio_is_of_the_runs_of_machines_that_have_two_of_both() {
    let mut all = runs(&[100, 100, 101], &[110, 110, 111]);
    for number in [0, 3] {
        all[number].summary_mut().header.host.cpu = Some("another".to_owned());
    }
    let ratio = private(&compare(&all, None)).cells[1].ratio.clone().unwrap();
    assert_eq!(ratio.runs, (2, 2));
    assert_eq!(ratio.machines.len(), 1);
}

#[test]
fn a_figure_that_no_run_has_is_no_row_and_one_that_some_have_is_a_hole() {
    let mut all = runs(&[100, 100], &[100, 100]);
    for run in &mut all {
        run.summary_mut().memory.peak = None;
    }
    all[1].summary_mut().phases[0].private = None;
    let comparison = compare(&all, None);
    assert!(
        comparison
            .rows
            .iter()
            .all(|row| row.measure.place != MeasuredPart::Run || row.measure.figure != Figure::Peak)
    );
    assert_eq!(comparison.rows[0].cells[0].values[1], None);
}

#[test]
fn a_server_that_finds_less_does_less_work() {
    let mut all = runs(&[100, 100], &[50, 50]);
    for run in &mut all[2..] {
        for step in run.summary_mut().phases.iter_mut().flat_map(|phase| &mut phase.steps) {
            step.hits = step.hits.map(|_| 0);
        }
    }
    let comparison = compare(&all, None);
    assert!(comparison.sides[0].work.is_empty());
    let less: Vec<&Inequality> = comparison.sides[1].work.iter().filter(|work| work.less).collect();
    assert!(less.iter().all(|work| work.count == Count::Hits), "{less:?}");
    assert_eq!(less.len(), 3, "{less:?}");
}

#[test]
fn ratios_are_taken_within_each_machine() {
    // The second machine needs three times as much of everything: pooled over both, nothing could be seen.
    let mut all = runs(&[100, 101, 300, 303], &[110, 111, 330, 333]);
    for number in [2, 3, 6, 7] {
        all[number].summary_mut().header.host.cpu = Some("another".to_owned());
    }
    let comparison = compare(&all, None);
    let ratio = private(&comparison).cells[1].ratio.clone().unwrap();
    assert!(ratio.low > 1.05 && ratio.high < 1.15, "{ratio:?}");
    assert_eq!(ratio.machines.len(), 2);
    let differing: Vec<&str> = comparison
        .differences
        .iter()
        .map(|difference| difference.what.as_ref())
        .collect();
    assert_eq!(differing, ["processor"]);
}

#[test]
fn the_last_round_of_a_repeated_phase_stands_for_it() {
    let mut all = runs(&[100, 100], &[100, 100]);
    for run in &mut all {
        let mut round = run.summary.phases[1].clone();
        round.phase.cycle = 1;
        round.private = Some(777 * MIB);
        run.summary_mut().phases.insert(2, round);
    }
    let comparison = compare(&all, None);
    assert!(comparison.repeats && !compare(&runs(&[100], &[100]), None).repeats);
    let rows: Vec<&Row> = comparison
        .rows
        .iter()
        .filter(|row| row.measure.figure == Figure::Private)
        .collect();
    assert_eq!(rows.len(), 5);
    assert_eq!(rows[1].cells[0].values[0], Some((777 * MIB) as f64));
}

#[test]
fn no_runs_are_no_comparison() {
    let comparison = compare(&[], None);
    assert!(comparison.sides.is_empty() && comparison.rows.is_empty());
}

#[test]
fn what_is_in_huge_pages_is_told_where_it_is_much_of_the_difference() {
    // The difference is 30 % of the baseline: 6 % of it are a fifth.
    assert_eq!(with_huge_pages(130, 0), None);
    assert_eq!(with_huge_pages(130, 59), None);
    let difference = with_huge_pages(130, 61).unwrap();
    assert!(
        difference.huge > 0.2 * difference.private && difference.private > 0.0,
        "{difference:?}"
    );
    // 1 % of 147 MiB is 1.5 MiB, from which nothing is concluded, and 2 % are enough.
    assert_eq!(with_huge_pages(101, 500), None);
    assert!(with_huge_pages(102, 500).is_some());
}

/// The difference of `b` at these per cent of `a`, of whose memory so many more thousandths are in huge pages of `b`.
fn with_huge_pages(percent: u64, more: u64) -> Option<HugePages> {
    let mut runs = runs(&[100, 100], &[percent; 2]);
    let baseline = runs[0].summary.phases.last().and_then(|phase| phase.private).unwrap();
    for run in runs.iter_mut().filter(|run| run.summary.header.server.label == "b") {
        let last = run.summary_mut().phases.last_mut().unwrap();
        let taken = last.checkpoint.as_mut().unwrap();
        taken.huge_pages = taken.huge_pages.map(|huge| huge + baseline * more / 1000);
    }
    compare(&runs, None).sides.pop().unwrap().huge_pages
}

#[test]
fn what_came_back_is_the_median_of_the_runs_window_by_window() {
    let mut all = runs(&[100, 100, 100], &[100]);
    for (run, lower) in all.iter_mut().zip([0, 2, 4]) {
        let simmer = run.summary_mut().windows[1].private.as_mut().unwrap();
        simmer.floor -= lower * MIB;
        simmer.after -= lower * MIB;
    }
    let comparison = compare(&all, None);
    let [silent, simmer] = &comparison.decays[..] else {
        panic!("{:?}", comparison.decays)
    };
    assert_eq!((silent.kind.name(), simmer.kind.name()), ("silent", "simmer"));
    let floor = simmer.sides[0].floor.median.unwrap();
    let expected = [146, 148, 150].map(|mib| (mib * MIB) as f64);
    assert_eq!([floor.low, floor.median, floor.high], expected);
    assert!(simmer.sides[0].floor.ratio.is_none(), "it is the baseline");
    assert_eq!(simmer.sides[0].ends, BTreeMap::from([(WindowEnd::Settled, 3)]));
    let shown = simmer.sides[0]
        .shown
        .as_ref()
        .and_then(|window| window.private.as_ref());
    assert_eq!(
        shown.map(|course| course.floor),
        Some(148 * MIB),
        "the middle run is drawn"
    );
    let released: Vec<Vec<(f64, bool)>> = comparison.sides[0]
        .gave
        .iter()
        .map(|given| given.runs.iter().map(|run| (run.released, run.much)).collect())
        .collect();
    let in_traffic = [43, 45, 47].map(|mib| ((mib * MIB) as f64, true)).to_vec();
    assert_eq!(released, [vec![(0.0, false); 3], in_traffic]);
}

#[test]
fn traced_runs_count_for_their_calls_and_for_nothing_else() {
    let mut all = runs(&[100, 102, 104], &[100, 101, 103]);
    let untraced = compare(&all, None);
    for label in ["a", "b"] {
        let mut traced = run(label, 9, 900);
        let untraced = Arc::unwrap_or_clone(traced.summary);
        traced.summary = Arc::new(crate::golden::traced(untraced, 5_000));
        // One that failed because it was held up says nothing of the server either.
        if label == "b" {
            traced.summary_mut().ending = None;
        }
        all.push(traced);
    }
    let traced = compare(&all, None);
    assert_eq!(format!("{:?}", traced.rows), format!("{:?}", untraced.rows));
    for side in &traced.sides {
        let why: Vec<Why> = side.left.iter().map(|excluded| excluded.why).collect();
        assert_eq!(why, [Why::Traced], "{}", side.label);
        assert_eq!(side.traced.as_ref().map(|traced| traced.whole), Some(side.label == "a"));
    }
}

#[test]
fn what_light_traffic_costs_is_the_median_of_the_runs_with_a_control() {
    let mut all = runs(&[100; 4], &[100]);
    for (run, grown) in all.iter_mut().zip([1, 2, 9]) {
        let control = &mut run.summary_mut().windows[1];
        (control.control, control.sent, control.took) = (true, 10, 30_000_000_000);
        let private = control.private.as_mut().unwrap();
        private.after = private.before + grown * MIB;
    }
    let sides = compare(&all, None).sides;
    let costs = [0, 1].map(|side| Some(sides[side].traffic?.median));
    assert_eq!(costs, [Some((4 * MIB) as f64), None]);
}

#[test]
fn a_headline_counts_the_runs_that_have_it_and_not_how_often() {
    let mut runs = runs(&[100, 100, 100], &[]);
    for name in ["indexer", "checker"] {
        runs[1].summary_mut().processes.lost.push(LostProcess {
            name: name.to_owned(),
            replaced: true,
            ..lost_helper()
        });
    }
    let [headline] = &compare(&runs, None).sides[0].headlines[..] else {
        panic!("one kind")
    };
    assert!(headline.starts_with("a, 1 of 3 runs: `indexer` ended"), "{headline}");
}
