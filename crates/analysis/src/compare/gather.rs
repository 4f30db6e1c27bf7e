//! From the runs' summaries to the comparison.

use std::collections::{BTreeSet, HashSet};

use serde::Serialize;

use crate::compare::summaries;
use crate::figures::{Figure, Measure, MeasuredPart, WorkLimits};
use crate::findings::{self, Doubt, Headline, brief};
use crate::summary::calls::Traced;
use crate::summary::{Summary, exit_of_run};
use base::exit::Exit;
use base::lens::Lens;
use base::units;
use record::{Header, KnobFacts};

use super::cell::{Values, cell};
use super::circumstances::{differences, differences_of, shared_memory};
use super::decay::{decays, releases, traffic_in_windows, traffic_per_minute};
use super::growth::grown;
use super::huge_pages::huge_pages;
use super::metric::unify_metrics;
use super::played::Played;
use super::release::{accounted, forced, forced_before_checkpoints};
use super::strain::strained_runs;
use super::work::inequalities;
use super::{Comparison, Row, Side, are_purged_alike};

/// A run that does not count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Excluded {
    pub record: String,
    pub why: Why,
    /// The failure of the server in a few words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub how: Option<String>,
}

/// Why a run does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// It warmed caches up, as planned.
    WarmUp,
    /// It was traced, which held the server up.
    Traced,
    /// It was not played to its end.
    Unfinished,
    Failed,
}

/// Compares the runs of one scenario: servers in the order of their first run, with `baseline` before all others.
pub fn compare(runs: &[Played], baseline: Option<&str>) -> Comparison {
    let mut runs = runs.to_vec();
    let mut differing = unify_metrics(runs.iter_mut());
    let runs = runs.as_slice();
    let mut labels: Vec<&str> = Vec::new();
    for run in runs {
        let label = run.summary.header.server.label.as_str();
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    labels.sort_by_key(|label| Some(*label) != baseline);
    let arms: Vec<Vec<&Played>> = labels.iter().map(|label| counted_runs(runs, label)).collect();
    let comparison = compare_arms(runs, &labels, &arms);
    differing.extend(comparison.differences);
    Comparison {
        differences: differing,
        ..comparison
    }
}

/// The comparison with one side that a single run is, whether the run counts beside others or not.
pub fn one_run(run: &Played) -> Comparison {
    let label = run.summary.header.server.label.as_str();
    compare_arms(std::slice::from_ref(run), &[label], &[vec![run]])
}

/// Compares the arms of these servers, the baseline first.
fn compare_arms(runs: &[Played], labels: &[&str], arms: &[Vec<&Played>]) -> Comparison {
    let all: Vec<&Played> = arms.iter().flatten().copied().collect();
    let purged: Vec<Vec<String>> = arms.iter().map(|arm| purged_allocators(arm)).collect();
    let compared: Vec<bool> = purged.iter().map(|own| are_purged_alike(own, &purged[0])).collect();
    let mut differing = Vec::new();
    differing.extend(shared_memory(all.iter().map(|run| &*run.summary)));
    differing.extend(differences(headers(&all)));
    for (label, arm) in labels.iter().zip(arms) {
        differing.extend(differences_of(label, headers(arm)));
    }
    Comparison {
        page_cache_dropped: all
            .first()
            .and_then(|run| run.summary.header.settings.page_cache_dropped),
        wrapped: all.iter().any(|run| run.summary.header.wrapped.is_some()),
        looked: all.iter().any(|run| !run.summary.header.plan.looks.is_empty()),
        repeats: all
            .iter()
            .flat_map(|run| &run.summary.phases)
            .any(|phase| phase.phase.cycle > 0),
        strains: strained_runs(labels.iter().map(|label| (*label).to_owned()).zip(arms.to_vec())),
        scenario: runs
            .first()
            .map_or_else(String::new, |run| run.summary.header.scenario.name.clone()),
        sides: labels
            .iter()
            .zip(arms)
            .map(|(label, arm)| side(runs, label, arm, &arms[0]))
            .collect(),
        result: all.iter().find_map(|run| MeasuredPart::result(&run.summary)),
        rows: measures(&all)
            .into_iter()
            .filter_map(|measure| row(measure, arms, &compared))
            .collect(),
        decays: decays(arms, &compared),
        differences: differing,
    }
}

fn headers<'r>(runs: &'r [&Played]) -> impl Iterator<Item = &'r Header> + Clone {
    runs.iter().map(|run| &run.summary.header)
}

pub fn is_counted(summary: &Summary) -> bool {
    reason_excluded(summary).is_none()
}

/// The reason to exclude a run; `None` if it counts.
fn reason_excluded(summary: &Summary) -> Option<Why> {
    match exit_of_run(summary) {
        // Also where the server failed: it may have done so because of that.
        _ if summary.header.plan.traced.is_some() => Some(Why::Traced),
        // Also while it warmed up: what fails then is known to fail.
        Exit::ServerFailed => Some(Why::Failed),
        _ if summary.header.plan.warm_up => Some(Why::WarmUp),
        Exit::Passed | Exit::GateFailed | Exit::Inconclusive => None,
        Exit::Interrupted | Exit::OwnFailure => Some(Why::Unfinished),
    }
}

fn runs_of<'r>(runs: &'r [Played], label: &'r str) -> impl Iterator<Item = &'r Played> {
    runs.iter().filter(move |run| run.summary.header.server.label == label)
}

fn counted_runs<'r>(runs: &'r [Played], label: &'r str) -> Vec<&'r Played> {
    runs_of(runs, label).filter(|run| is_counted(&run.summary)).collect()
}

fn side(runs: &[Played], label: &str, arm: &[&Played], baseline: &[&Played]) -> Side {
    let own = summaries(arm);
    let baseline_summaries = summaries(baseline);
    let purged = purged_allocators(arm);
    let huge_pages = if are_purged_alike(&purged, &purged_allocators(baseline)) {
        huge_pages(&baseline_summaries, &own)
    } else {
        None
    };
    Side {
        label: label.to_owned(),
        version: common_value(arm.iter().map(|run| &run.summary.header.server.version)),
        preload: common_value(arm.iter().map(|run| &run.summary.header.server.preload)),
        runs: arm.iter().map(|run| run.record.clone()).collect(),
        left: runs_of(runs, label).filter_map(excluded).collect(),
        work: inequalities(&baseline_summaries, &own, WorkLimits::default()),
        purged,
        huge_pages,
        unseen: unconfirmed_settings(arm),
        headlines: headlines(label, arm),
        doubts: doubts(arm),
        growth: grown(&own, &failed(runs, label)),
        gave: releases(&own),
        forced: forced(&own),
        forced_before_checkpoints: forced_before_checkpoints(&own),
        accounted: accounted(&own),
        traffic: traffic_per_minute(&own),
        traffic_in_windows: traffic_in_windows(&own),
        traced: runs_of(runs, label).find_map(|run| Traced::from_summary(&run.summary)),
    }
}

/// The value on which all runs agree.
fn common_value<'v, T: Clone + PartialEq + 'v>(mut values: impl Iterator<Item = &'v Option<T>>) -> Option<T> {
    let first = values.next()?;
    if values.all(|value| value == first) {
        first.clone()
    } else {
        None
    }
}

/// The run with the reason to exclude it; `None` if it counts.
fn excluded(run: &Played) -> Option<Excluded> {
    let why = reason_excluded(&run.summary)?;
    let how = if why == Why::Failed {
        Some(brief(&run.summary))
    } else {
        None
    };
    Some(Excluded {
        record: run.record.clone(),
        why,
        how,
    })
}

/// The runs that a server failed, those of warm-ups included.
fn failed<'r>(runs: &'r [Played], label: &'r str) -> Vec<&'r Summary> {
    runs_of(runs, label)
        .map(|run| &*run.summary)
        .filter(|summary| reason_excluded(summary) == Some(Why::Failed))
        .collect()
}

/// The settings that some run asked for and did not see in force.
pub fn unconfirmed_settings(arm: &[&Played]) -> Vec<KnobFacts> {
    let mut unseen: Vec<KnobFacts> = Vec::new();
    for knob in arm.iter().flat_map(|run| &run.summary.header.server.knobs) {
        if knob.taken == Some(true) {
            continue;
        }
        // Where it was looked for in a run has sizes in it, which differ from run to run.
        let is_known = unseen
            .iter()
            .any(|other| other.assignment() == knob.assignment() && other.effective == knob.effective);
        if !is_known {
            unseen.push(knob.clone());
        }
    }
    unseen
}

/// Doubts that some runs had what they were to have, each kind once: its first sentence, and the number of runs with one.
pub fn doubts(arm: &[&Played]) -> Vec<String> {
    let mut kinds: Vec<Kind> = Vec::new();
    for (number, run) in arm.iter().enumerate() {
        for Doubt { kind, text } in findings::doubts(&run.summary) {
            note_kind(&mut kinds, kind, text, number);
        }
    }
    let mut sentences = Vec::new();
    for Kind { text, runs, .. } in kinds {
        let all = units::count_of(arm.len() as u64, "run");
        let first = &arm[runs[0]].record;
        sentences.push(match arm.len() {
            1 => text,
            _ => format!("in {} of {all}, first in `{first}`: {text}", runs.len()),
        });
    }
    sentences
}

/// The first lines of a report of these runs, each kind once: the first such sentence, and the number of runs with one.
pub fn headlines(label: &str, arm: &[&Played]) -> Vec<String> {
    let mut kinds: Vec<Kind> = Vec::new();
    for (number, run) in arm.iter().enumerate() {
        for Headline { kind, text, .. } in findings::headlines(&run.summary) {
            note_kind(&mut kinds, kind.to_owned(), text, number);
        }
    }
    let mut sentences = Vec::new();
    for Kind { text, runs, .. } in kinds {
        sentences.push(match arm.len() {
            1 => format!("{label}: {text}"),
            all => format!("{label}, {} of {all} runs: {text}", runs.len()),
        });
    }
    sentences
}

/// Sentences of one kind in several runs.
struct Kind {
    kind: String,
    /// The first sentence.
    text: String,
    /// Numbers of the runs that have one, each once.
    runs: Vec<usize>,
}

/// Notes a sentence of a run; runs come in order.
fn note_kind(kinds: &mut Vec<Kind>, kind: String, text: String, run: usize) {
    match kinds.iter_mut().find(|seen| seen.kind == kind) {
        Some(seen) if seen.runs.last() == Some(&run) => {}
        Some(seen) => seen.runs.push(run),
        None => kinds.push(Kind {
            kind,
            text,
            runs: vec![run],
        }),
    }
}

/// Every measure that a run has, in the order of the first run; what later ones add comes after.
fn measures(runs: &[&Played]) -> Vec<Measure> {
    let mut seen = HashSet::new();
    let all = runs.iter().flat_map(|run| Measure::all(&run.summary));
    all.filter(|measure| seen.insert(measure.clone())).collect()
}

/// The purged allocators, each once.
fn purged_allocators(arm: &[&Played]) -> Vec<String> {
    let lenses = arm.iter().map(|run| &run.summary.header.server.lens);
    let purged = lenses.filter(|lens| lens.name == Lens::Purged);
    let allocators: BTreeSet<&String> = purged.filter_map(|lens| lens.allocator.as_ref()).collect();
    allocators.into_iter().cloned().collect()
}

fn row(measure: Measure, arms: &[Vec<&Played>], compared: &[bool]) -> Option<Row> {
    let values: Vec<Values> = arms
        .iter()
        .map(|arm| {
            arm.iter()
                .map(|run| (run.machine(), measure.value(&run.summary)))
                .collect()
        })
        .collect();
    let known: Vec<f64> = values.iter().flatten().filter_map(|(_, value)| *value).collect();
    // Servers without zombies need no row that says so.
    let is_without_zombies = measure.figure == Figure::Zombies && known.iter().all(|value| *value == 0.0);
    if known.is_empty() || is_without_zombies {
        return None;
    }
    let floor = measure.figure.noise_of(known);
    let mut cells = Vec::new();
    for (place, own) in values.iter().enumerate() {
        let baseline = if place > 0 && compared[place] {
            values.first()
        } else {
            None
        };
        cells.push(cell(own, baseline, floor));
    }
    Some(Row { measure, cells })
}
