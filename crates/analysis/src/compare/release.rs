//! Forced releases and self-reports, over all runs of each server.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::summary::Summary;
use crate::summary::release::{Released, Reported, Share};
use record::AllocatorFamily;
use stats::MedianInterval;

use super::cell::median;

/// One forced release of a phase, over the runs of a server. Sizes are bytes of private memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Forced {
    /// Its phase; of one that repeats the last round.
    pub phase: String,
    /// Place of its step in the phase, from 0; `None` where it is part of the phase's checkpoint, as the lens asks for.
    pub step: Option<u32>,
    /// The means that were used; empty if none was.
    pub by: Vec<String>,
    /// Why something was not used or could do nothing, each once.
    pub missing: Vec<String>,
    /// Before it; `None` where nothing was done or it is not known.
    pub before: Option<MedianInterval>,
    /// After it.
    pub after: Option<MedianInterval>,
    /// Bytes released; negative if memory grew.
    pub gave: Option<MedianInterval>,
    /// Nanoseconds until the slowest means had answered.
    #[serde(skip)]
    pub took: Option<MedianInterval>,
}

/// What a server accounts for at one step, over its runs. Sizes are bytes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Accounted {
    /// In which phase; of one that repeats the last round.
    pub phase: String,
    /// Place of its step in the phase, from 0.
    pub step: u32,
    /// The question to the server; `None` if none is known.
    pub asked: Option<String>,
    /// Why there is no answer, each once.
    pub missing: Vec<String>,
    /// By its own words; `None` where no answer has a total.
    pub accounted: Option<MedianInterval>,
    /// The memory that was measured at that time.
    pub of: Option<MedianInterval>,
    /// Whether that is resident memory, and not private.
    pub resident: bool,
    /// The share, a part of one.
    pub ratio: Option<MedianInterval>,
    /// Nanoseconds until the answer.
    #[serde(skip)]
    pub took: Option<MedianInterval>,
}

/// Place of the phase in the scenario and of the step in the phase; `None` for a release before the checkpoint.
type Step = (u32, Option<u32>);

/// Release steps, one by one; for a repeated phase the last round.
pub(super) fn forced(runs: &[&Summary]) -> Vec<Forced> {
    forced_where(runs, |release| release.step.is_some())
}

/// Releases before checkpoints, phase by phase.
pub(super) fn forced_before_checkpoints(runs: &[&Summary]) -> Vec<Forced> {
    forced_where(runs, |release| release.step.is_none())
}

fn forced_where(runs: &[&Summary], is_wanted: fn(&Released) -> bool) -> Vec<Forced> {
    let releases = by_step(runs, |run| {
        let family = run.header.server.allocator.as_ref().map(|facts| facts.family);
        let wanted = run.allocator.released.iter().filter(|release| is_wanted(release));
        wanted
            .map(|release| ((release.phase.phase, release.step), (release.clone(), family)))
            .collect()
    });
    releases
        .into_iter()
        .map(|((_, step), releases)| one_forced(step, &releases))
        .collect()
}

fn one_forced(step: Option<u32>, releases: &[(Released, Option<AllocatorFamily>)]) -> Forced {
    let done: Vec<&Released> = releases
        .iter()
        .map(|(release, _)| release)
        .filter(|release| release.is_done())
        .collect();
    let means = releases.iter().flat_map(|(release, _)| &release.release.used);
    let missing: Vec<String> = releases
        .iter()
        .flat_map(|(release, family)| release.failure_reasons(*family))
        .collect();
    Forced {
        phase: releases
            .first()
            .map_or_else(String::new, |(release, _)| release.phase.name.clone()),
        step,
        by: each_once(means.map(|used| &used.what)),
        missing: each_once(missing.iter()),
        before: median(done.iter().filter_map(|one| Some(one.release.before? as f64))),
        after: median(done.iter().filter_map(|one| Some(one.release.after? as f64))),
        gave: median(done.iter().filter_map(|one| Some(one.released()? as f64))),
        took: median(done.iter().filter_map(|one| Some(one.slowest()? as f64))),
    }
}

/// The answers of the server to each question; of a phase that repeats the last round.
pub(super) fn accounted(runs: &[&Summary]) -> Vec<Accounted> {
    let reports = by_step(runs, |run| {
        let reported = run.allocator.reported.iter();
        reported
            .map(|report| ((report.phase.phase, Some(report.step)), report.clone()))
            .collect()
    });
    let mut all = Vec::new();
    for ((_, step), reports) in reports {
        if let Some(step) = step {
            all.push(one_accounted(step, &reports));
        }
    }
    all
}

fn one_accounted(step: u32, reports: &[Reported]) -> Accounted {
    let answered: Vec<&Reported> = reports
        .iter()
        .filter(|reported| reported.report.missing.is_empty())
        .collect();
    let shares: Vec<Share> = answered.iter().filter_map(|reported| reported.share()).collect();
    let resident = shares.iter().all(|share| share.resident);
    // Resident and private memory have no middle together.
    let comparable: Vec<&Share> = shares.iter().filter(|share| share.resident == resident).collect();
    let missing = reports.iter().map(|reported| &reported.report.missing);
    let totals = answered.iter().filter_map(|reported| reported.report.accounted);
    Accounted {
        phase: reports
            .first()
            .map_or_else(String::new, |reported| reported.phase.name.clone()),
        step,
        asked: reports.iter().find_map(|reported| reported.report.asked.clone()),
        missing: each_once(missing.filter(|why| !why.is_empty())),
        accounted: median(totals.map(|bytes| bytes as f64)),
        of: median(comparable.iter().map(|share| share.of as f64)),
        resident,
        ratio: median(comparable.iter().map(|share| share.ratio())),
        took: median(answered.iter().filter_map(|one| Some(one.report.took? as f64))),
    }
}

/// The values of each step, at most one of each run: of its last round.
fn by_step<T>(runs: &[&Summary], values: impl Fn(&Summary) -> Vec<(Step, T)>) -> BTreeMap<Step, Vec<T>> {
    let mut steps: BTreeMap<Step, Vec<T>> = BTreeMap::new();
    for run in runs {
        let last_round: BTreeMap<Step, T> = values(run).into_iter().collect();
        for (step, value) in last_round {
            steps.entry(step).or_default().push(value);
        }
    }
    steps
}

fn each_once<'t>(texts: impl Iterator<Item = &'t String>) -> Vec<String> {
    let mut once: Vec<String> = Vec::new();
    for text in texts {
        if !once.contains(text) {
            once.push(text.clone());
        }
    }
    once
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::{before_checkpoint, with_release, with_release_at};

    const MIB: u64 = 1 << 20;

    /// A run in which the server released `gave` MiB by force and accounted for `accounted` of 400 MiB.
    fn run(gave: u64, accounted: Option<u64>) -> Summary {
        with_release(crate::golden::read("completed"), gave, accounted)
    }

    #[test]
    fn of_several_runs_it_is_the_middle_and_what_is_not_known_is_no_zero() {
        let runs = [run(50, Some(100)), run(40, Some(120)), run(60, None)];
        let runs: Vec<&Summary> = runs.iter().collect();
        let [one] = &forced(&runs)[..] else { panic!("one phase") };
        assert_eq!(one.by, ["malloc_trim"]);
        assert_eq!(one.gave.unwrap().median, (50 * MIB) as f64);
        let [one] = &accounted(&runs)[..] else {
            panic!("one phase")
        };
        assert_eq!(one.accounted.unwrap().n, 2);
        assert_eq!(one.ratio.unwrap().high, 0.3);
        assert_eq!(one.missing, ["it was not answered"]);
        assert!(one.resident);
        let none = [run(50, None)];
        let none: Vec<&Summary> = none.iter().collect();
        assert_eq!(accounted(&none)[0].accounted, None);
    }

    #[test]
    fn of_a_phase_that_repeats_the_last_round_counts() {
        let mut twice = run(10, Some(10));
        twice = with_release(twice, 50, Some(100));
        assert_eq!(forced(&[&twice])[0].gave.unwrap().median, (50 * MIB) as f64);
        assert_eq!(accounted(&[&twice])[0].ratio.unwrap().median, 0.25);
    }

    #[test]
    fn what_is_said_before_a_release_stands_beside_what_is_said_after_it() {
        let run = with_release_at(run(50, Some(300)), 5, 10, Some(100));
        let releases = forced(&[&run]);
        let [first, second] = &releases[..] else {
            panic!("two releases")
        };
        assert_eq!((first.step, first.gave.unwrap().median), (Some(1), (50 * MIB) as f64));
        assert_eq!((second.step, second.gave.unwrap().median), (Some(5), (10 * MIB) as f64));
        let reports = accounted(&[&run]);
        let [before, after] = &reports[..] else {
            panic!("two answers")
        };
        assert_eq!((before.step, before.ratio.unwrap().median), (2, 0.75));
        assert_eq!((after.step, after.ratio.unwrap().median), (6, 0.25));
    }

    #[test]
    fn what_was_given_back_before_a_checkpoint_has_its_middle_and_is_no_step() {
        let runs = [50, 40, 60].map(|gave| before_checkpoint(run(gave, None)));
        let runs: Vec<&Summary> = runs.iter().collect();
        assert!(forced(&runs).is_empty());
        let [one] = &forced_before_checkpoints(&runs)[..] else {
            panic!("one phase")
        };
        assert_eq!((one.step, one.phase.as_str()), (None, "decay"));
        let known = [one.before, one.after, one.gave].map(|median| median.unwrap());
        assert_eq!(known.map(|median| median.median as u64 / MIB), [200, 150, 50]);
        assert_eq!(
            known.map(|median| (median.n, median.high as u64 / MIB)),
            [(3, 200), (3, 160), (3, 60)]
        );
    }

    #[test]
    fn why_a_release_did_nothing_is_told_of_several_runs_too() {
        let mut run = run(0, None);
        run.header.server.allocator = Some(record::AllocatorFacts {
            family: AllocatorFamily::Jemalloc,
            ..Default::default()
        });
        let [one] = &forced(&[&run, &run])[..] else {
            panic!("one phase")
        };
        assert_eq!(one.missing, ["its jemalloc offers no way to purge from outside"]);
    }
}
