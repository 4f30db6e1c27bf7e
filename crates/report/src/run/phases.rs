//! The table of phases, with a legend for the words that it uses.

use std::borrow::Cow;
use std::ops::Deref;

use analysis::summary::{Peak, PhaseSummary, PrivateMetric, ResidentMetric, StepSummary, Summary};
use base::text::Tone;
use base::text::table::{Column, Table, TableCell};
use base::units;

use super::head::{cpu_time, peak};

/// A row: a phase, or all rounds of one that is repeated.
pub struct PhaseRow<'s> {
    summary: Cow<'s, PhaseSummary>,
    rounds: usize,
}

impl Deref for PhaseRow<'_> {
    type Target = PhaseSummary;

    fn deref(&self) -> &PhaseSummary {
        &self.summary
    }
}

/// A row for every round of every phase.
pub fn every_round(summary: &Summary) -> Vec<PhaseRow<'_>> {
    let mut rows = Vec::new();
    for phase in &summary.phases {
        rows.push(PhaseRow {
            summary: Cow::Borrowed(phase),
            rounds: 1,
        });
    }
    rows
}

/// One row for the rounds of a phase that follow one another: the last checkpoint, and the cost of all of them.
pub fn joined_rounds(summary: &Summary) -> Vec<PhaseRow<'_>> {
    let mut rows: Vec<PhaseRow<'_>> = Vec::new();
    for phase in &summary.phases {
        match rows.last_mut() {
            Some(row) if row.phase.phase == phase.phase.phase => {
                row.summary = Cow::Owned(joined(&row.summary, phase));
                row.rounds += 1;
            }
            _ => rows.push(PhaseRow {
                summary: Cow::Borrowed(phase),
                rounds: 1,
            }),
        }
    }
    rows
}

fn joined(before: &PhaseSummary, next: &PhaseSummary) -> PhaseSummary {
    let peak = match (before.peak, next.peak) {
        (Some(before), Some(next)) => Some(joined_peak(before, next)),
        _ => None,
    };
    PhaseSummary {
        started: before.started,
        increment: before.increment.zip(next.increment).map(|(a, b)| a.saturating_add(b)),
        peak,
        cpu: sum(before.cpu, next.cpu),
        minor_faults: sum(before.minor_faults, next.minor_faults),
        steps: before.steps.iter().chain(&next.steps).cloned().collect(),
        ..next.clone()
    }
}

fn joined_peak(before: Peak, next: Peak) -> Peak {
    Peak {
        lower: before.lower.max(next.lower),
        upper: before.upper.zip(next.upper).map(|(a, b)| a.max(b)),
        unseen: before.unseen || next.unseen,
    }
}

/// The sum; `None` if a part is unknown.
fn sum(before: Option<u64>, next: Option<u64>) -> Option<u64> {
    Some(before?.saturating_add(next?))
}

type Figure = fn(&PhaseSummary) -> Option<u64>;

/// Columns that are shown only if a value is above 0: both lines of their heads, and the value.
const RARE: [(&str, &str, Figure); 3] = [
    ("huge", "pages", |phase| phase.checkpoint.as_ref()?.huge_pages),
    ("lazily", "freed", |phase| phase.checkpoint.as_ref()?.lazy_free),
    ("swapped", "out", |phase| phase.checkpoint.as_ref()?.swap),
];

/// The costs of these phases.
pub fn table(summary: &Summary, phases: &[PhaseRow<'_>]) -> Vec<Column> {
    let first = summary.phases.first().map(|phase| &phase.phase);
    let tree = summary.memory.resident_metric == ResidentMetric::Proportional;
    let settled = if tree { "proportional" } else { "resident" };
    let gone = if tree { "private" } else { "resident" };
    let mut table = Table::new(phases)
        .text("phase", 0, |phase| name(phase, summary))
        .number("checkpoint", 0, |phase| units::or_unknown(phase.private, units::mib))
        .with_group_head("private")
        .number("increment", 1, |phase| increment(phase, first == Some(&phase.phase)))
        .with_group_head("private")
        .number("peak", 2, |phase| units::or_unknown(phase.peak, peak))
        .with_group_head("resident")
        .number("checkpoint", 5, |phase| resident(phase, tree))
        .with_group_head(settled)
        .number("returned", 3, |phase| {
            units::or_unknown(share(phase, tree), units::percent)
        })
        .with_group_head(gone)
        .number("CPU", 7, |phase| units::or_unknown(phase.cpu, cpu_time))
        .number("time", 6, |phase| {
            units::nanoseconds(phase.ended.saturating_sub(phase.started))
        })
        .number("hits", 4, |phase| hits(&phase.steps));
    for (group, head, value) in RARE {
        if phases.iter().any(|phase| value(phase).unwrap_or(0) > 0) {
            table = table
                .number(head, 9, |phase| units::or_unknown(value(phase), units::mib))
                .with_group_head(group);
        }
    }
    table
        .number("faults", 10, |phase| {
            units::or_unknown(phase.minor_faults, units::count)
        })
        .with_group_head("minor")
        .number("threads", 11, |phase| {
            let threads = phase.checkpoint.as_ref().and_then(|checkpoint| checkpoint.threads);
            units::or_unknown(threads, units::count)
        })
        .columns()
}

/// The name of a phase, between a mark and the round. A long name is cut off, the mark and the round are not.
fn name(phase: &PhaseRow<'_>, summary: &Summary) -> TableCell {
    let (tone, mark) = match &phase.checkpoint {
        Some(_) if phase.incomplete => (Tone::Bad, "†"),
        Some(taken) if taken.settled => (Tone::Plain, " "),
        Some(_) => (Tone::Warning, "~"),
        None => (Tone::Bad, "✗"),
    };
    let has_marks = summary.phases.iter().any(is_marked);
    let repeats = summary
        .phases
        .iter()
        .any(|other| other.phase.phase == phase.phase.phase && other.phase.cycle > 0);
    let mark = if has_marks { format!("{mark} ") } else { String::new() };
    let round = match phase.rounds {
        1 if repeats => format!(" #{}", u64::from(phase.phase.cycle) + 1),
        1 => String::new(),
        rounds => format!(" ×{rounds}"),
    };
    TableCell::toned(tone, format!("{mark}{}", phase.phase.name)).with_tail(round)
}

/// True for a phase without a settled and complete checkpoint.
fn is_marked(phase: &PhaseSummary) -> bool {
    phase.incomplete || phase.checkpoint.as_ref().is_none_or(|taken| !taken.settled)
}

fn increment(phase: &PhaseSummary, first: bool) -> TableCell {
    if first && phase.private.is_some() {
        return TableCell::toned(Tone::Quiet, "start value");
    }
    TableCell::plain(units::or_unknown(phase.increment, units::signed_mib))
}

/// Resident memory for one process; proportional size for a tree, or the sum as an upper bound where the system has
/// none.
fn resident(phase: &PhaseSummary, tree: bool) -> String {
    let Some(taken) = &phase.checkpoint else {
        return units::UNKNOWN.to_owned();
    };
    match (tree, taken.proportional, taken.resident) {
        (false, _, resident) => units::or_unknown(resident, units::mib),
        (true, Some(proportional), _) => units::mib(proportional),
        (true, None, Some(sum)) => format!("≤ {}", units::mib(sum)),
        (true, None, None) => units::UNKNOWN.to_owned(),
    }
}

/// The released share, in the one metric that has it.
fn share(phase: &PhaseSummary, tree: bool) -> Option<f64> {
    if tree {
        phase.returned.private
    } else {
        phase.returned.resident
    }
}

/// Hits of requests, over the steps that expect any. Those of a step that did not end are not known.
fn hits(steps: &[StepSummary]) -> TableCell {
    let hits = known_sum(steps.iter().map(|step| step.hits));
    let requests = known_sum(steps.iter().map(|step| step.requests));
    match hits.zip(requests) {
        None => TableCell::plain(units::UNKNOWN),
        Some((_, 0)) => TableCell::toned(Tone::Quiet, "–"),
        Some((0, requests)) => TableCell::toned(Tone::Bad, format!("0/{}", units::count(requests))),
        Some((hits, requests)) => TableCell::plain(format!("{}/{}", units::count(hits), units::count(requests))),
    }
}

/// The sum; `None` if a value is unknown.
fn known_sum(values: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    let mut sum: u64 = 0;
    for value in values {
        sum = sum.saturating_add(value?);
    }
    Some(sum)
}

/// True for a record from before format 1.9, whose private figures have no shared memory.
fn lacks_shared(summary: &Summary) -> bool {
    let mut taken = summary.phases.iter().filter_map(|phase| phase.checkpoint.as_ref());
    taken.any(|taken| taken.uncounted_shared.is_some())
}

/// The meanings of the words and signs that the table uses.
pub fn legend(summary: &Summary) -> Vec<String> {
    let tree = summary.memory.resident_metric == ResidentMetric::Proportional;
    let private = match summary.memory.private_metric {
        PrivateMetric::Exact if lacks_shared(summary) => {
            "private: memory of this server alone, shared and lazily freed memory excluded"
        }
        PrivateMetric::Exact => {
            "private: memory of this server alone, unnamed shared memory included, lazily freed memory excluded"
        }
        PrivateMetric::Sampled => "private: from cheap counters, an upper bound if pages are shared",
    };
    let resident = if tree {
        "resident: everything in memory, its peak from high-water marks · proportional: resident, each shared page \
         divided among its users"
    } else {
        "resident: everything in memory, its peak from the high-water mark"
    };
    let mut legend = vec![format!(
        "{private} · {resident} · checkpoint: the settled end of a phase · increment: change since the checkpoint \
         before · returned: share of the growth so far (highest point above lowest checkpoint)"
    )];
    let marks = marks(&summary.phases);
    if !marks.is_empty() {
        legend.push(marks.join(" · "));
    }
    legend.extend(unreturned(summary, tree));
    legend
}

/// The signs that the table uses.
fn marks(phases: &[PhaseSummary]) -> Vec<&'static str> {
    let peaks: Vec<String> = phases.iter().filter_map(|phase| phase.peak).map(peak).collect();
    let mut marks = Vec::new();
    if peaks.iter().any(|peak| peak.starts_with('≥')) {
        marks.push("≥ a: at least that much: a high-water mark is not known, or a process ended and may have had more");
    }
    if peaks.iter().any(|peak| peak.contains('–')) {
        marks.push("a–b: the peak of a tree lies between the largest sampled sum and the sum of the high-water marks");
    }
    let mut checkpoints = phases.iter().filter_map(|phase| phase.checkpoint.as_ref());
    if checkpoints.any(|checkpoint| !checkpoint.settled) {
        marks.push("~ not settled: still busy at its checkpoint");
    }
    if phases.iter().any(|phase| phase.incomplete) {
        marks.push("† incomplete: the process with most of the memory had ended, figures are of the rest");
    }
    if phases.iter().any(|phase| phase.checkpoint.is_none()) {
        marks.push("✗ not finished, no checkpoint");
    }
    marks
}

/// The reasons why shares of released memory are not known; `None` if all are.
fn unreturned(summary: &Summary, tree: bool) -> Option<String> {
    let mut has_checkpoint_before = false;
    let mut reasons: Vec<&str> = Vec::new();
    for phase in &summary.phases {
        if share(phase, tree).is_none() {
            let reason = why_unreturned(phase, tree, has_checkpoint_before);
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        has_checkpoint_before |= phase.checkpoint.is_some();
    }
    if reasons.is_empty() {
        None
    } else {
        Some(format!("returned n/a: {}", reasons.join("; ")))
    }
}

fn why_unreturned(phase: &PhaseSummary, tree: bool, has_checkpoint_before: bool) -> &'static str {
    if phase.incomplete {
        return "a process had ended that held most of the memory";
    }
    let Some(checkpoint) = &phase.checkpoint else {
        return "the phase was not finished";
    };
    let is_known = if tree {
        checkpoint.private_sampled.is_some() && phase.private_peak.is_some()
    } else {
        checkpoint.resident.is_some() && phase.peak.is_some()
    };
    if !is_known {
        "the peak or the checkpoint is not known"
    } else if !has_checkpoint_before {
        "nothing has been allocated before the first checkpoint"
    } else if tree && checkpoint.forked > 0 {
        "samples count pages twice that a child shares with its parent"
    } else {
        "less than 1 MiB was allocated"
    }
}
