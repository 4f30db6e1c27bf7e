//! The table of phases, with a legend for the words that it uses.

use std::borrow::Cow;
use std::ops::Deref;

use analysis::summary::{Peak, PhaseSummary, PrivateMetric, ResidentMetric, StepSummary, Summary};
use base::text::Tone;
use base::text::table::{Cell, Column, Table};
use base::units;

use super::head::{cpu_time, peak, time};

/// A row: a phase, or all rounds of one that is repeated.
pub struct Line<'s> {
    summary: Cow<'s, PhaseSummary>,
    rounds: usize,
}

impl Deref for Line<'_> {
    type Target = PhaseSummary;

    fn deref(&self) -> &PhaseSummary {
        &self.summary
    }
}

/// Every round of every phase.
pub fn every_round(summary: &Summary) -> Vec<Line<'_>> {
    let line = |phase| Line {
        summary: Cow::Borrowed(phase),
        rounds: 1,
    };
    summary.phases.iter().map(line).collect()
}

/// The rounds of each phase that follow one another in one row: the last checkpoint, and what all of them cost.
pub fn together(summary: &Summary) -> Vec<Line<'_>> {
    let chunks = summary.phases.chunk_by(|a, b| a.phase.phase == b.phase.phase);
    let lines = chunks.filter_map(|rounds| {
        let mut rounds_of = rounds.iter();
        let mut all = Cow::Borrowed(rounds_of.next()?);
        for next in rounds_of {
            all = Cow::Owned(joined(&all, next));
        }
        let rounds = rounds.len();
        Some(Line { summary: all, rounds })
    });
    lines.collect()
}

fn joined(before: &PhaseSummary, next: &PhaseSummary) -> PhaseSummary {
    let sum = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
    let peak = |(a, b): (Peak, Peak)| Peak {
        lower: a.lower.max(b.lower),
        upper: a.upper.zip(b.upper).map(|(a, b)| a.max(b)),
        unseen: a.unseen || b.unseen,
    };
    PhaseSummary {
        started: before.started,
        increment: before.increment.zip(next.increment).map(|(a, b)| a.saturating_add(b)),
        peak: before.peak.zip(next.peak).map(peak),
        cpu: sum(before.cpu, next.cpu),
        minor_faults: sum(before.minor_faults, next.minor_faults),
        steps: before.steps.iter().chain(&next.steps).cloned().collect(),
        ..next.clone()
    }
}

/// What each of these phases cost.
pub fn table(summary: &Summary, phases: &[Line<'_>]) -> Vec<Column> {
    let first = summary.phases.first().map(|phase| phase.phase.clone());
    let is_first = |phase: &PhaseSummary| first.as_ref() == Some(&phase.phase);
    let tree = summary.resident_metric == ResidentMetric::Proportional;
    let settled = if tree { "proportional" } else { "resident" };
    let gone = if tree { "private" } else { "resident" };
    let threads = |phase: &PhaseSummary| phase.checkpoint.as_ref().and_then(|taken| taken.threads);
    let table = Table::new(phases)
        .text("phase", 0, |phase| name(phase, summary))
        .number("checkpoint", 0, |phase| units::or_unknown(phase.private, units::mib))
        .grouped("private")
        .number("increment", 1, |phase| increment(phase, is_first(phase)))
        .grouped("private")
        .number("peak", 2, |phase| units::or_unknown(phase.peak, peak))
        .grouped("resident")
        .number("checkpoint", 5, |phase| resident(phase, tree))
        .grouped(settled)
        .number("returned", 3, |phase| {
            units::or_unknown(share(phase, tree), units::percent)
        })
        .grouped(gone)
        .number("CPU", 7, |phase| units::or_unknown(phase.cpu, cpu_time))
        .number("time", 6, |phase| time(phase.ended.saturating_sub(phase.started)))
        .number("hits", 4, |phase| hits(&phase.steps));
    // Shown only where there is something in them.
    type Figure = fn(&PhaseSummary) -> Option<u64>;
    let rare: [(&'static str, &'static str, Figure); 3] = [
        ("huge", "pages", |phase| phase.checkpoint.as_ref()?.huge_pages),
        ("lazily", "freed", |phase| phase.checkpoint.as_ref()?.lazy_free),
        ("swapped", "out", |phase| phase.checkpoint.as_ref()?.swap),
    ];
    let rare = rare.into_iter();
    let rare = rare.filter(|(.., value)| phases.iter().any(|phase| value(phase).unwrap_or(0) > 0));
    let table = rare.fold(table, |table, (of, head, value)| {
        table
            .number(head, 9, |phase| units::or_unknown(value(phase), units::mib))
            .grouped(of)
    });
    table
        .number("faults", 10, |phase| {
            units::or_unknown(phase.minor_faults, units::count)
        })
        .grouped("minor")
        .number("threads", 11, |phase| units::or_unknown(threads(phase), units::count))
        .columns()
}

/// The name between a mark and the round of a phase that repeats, neither of which may be cut off with a long name.
fn name(phase: &Line<'_>, summary: &Summary) -> Cell {
    let (tone, mark) = match &phase.checkpoint {
        Some(_) if phase.incomplete => (Tone::Bad, "†"),
        Some(taken) if taken.settled => (Tone::Plain, " "),
        Some(_) => (Tone::Warning, "~"),
        None => (Tone::Bad, "✗"),
    };
    let any = |is: &dyn Fn(&PhaseSummary) -> bool| summary.phases.iter().any(is);
    let marks = any(&|phase| phase.incomplete || phase.checkpoint.as_ref().is_none_or(|taken| !taken.settled));
    let repeats = any(&|other| other.phase.phase == phase.phase.phase && other.phase.cycle > 0);
    let mark = if marks { format!("{mark} ") } else { String::new() };
    let round = match phase.rounds {
        1 if repeats => format!(" #{}", u64::from(phase.phase.cycle) + 1),
        1 => String::new(),
        rounds => format!(" ×{rounds}"),
    };
    Cell::toned(tone, format!("{mark}{}", phase.phase.name)).ending(round)
}

fn increment(phase: &PhaseSummary, first: bool) -> Cell {
    if first && phase.private.is_some() {
        return Cell::toned(Tone::Quiet, "start value");
    }
    Cell::plain(units::or_unknown(phase.increment, units::signed_mib))
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
fn hits(steps: &[StepSummary]) -> Cell {
    let sum = |value: fn(&StepSummary) -> Option<u64>| {
        let mut values = steps.iter().map(value);
        values.try_fold(0, |sum: u64, value| Some(sum.saturating_add(value?)))
    };
    match sum(|step| step.hits).zip(sum(|step| step.requests)) {
        None => Cell::plain(units::UNKNOWN),
        Some((_, 0)) => Cell::toned(Tone::Quiet, "–"),
        Some((0, requests)) => Cell::toned(Tone::Bad, format!("0/{}", units::count(requests))),
        Some((hits, requests)) => Cell::plain(format!("{}/{}", units::count(hits), units::count(requests))),
    }
}

/// True for a record from before format 1.9, whose private figures have no shared memory.
fn lacks_shared(summary: &Summary) -> bool {
    let mut taken = summary.phases.iter().filter_map(|phase| phase.checkpoint.as_ref());
    taken.any(|taken| taken.uncounted_shared.is_some())
}

/// What the words of the table mean, and only those that it uses.
pub fn legend(summary: &Summary) -> Vec<String> {
    let tree = summary.resident_metric == ResidentMetric::Proportional;
    let private = match summary.private_metric {
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
    let any = |is: &dyn Fn(&str) -> bool| peaks.iter().any(|peak| is(peak));
    let settled = |wanted: Option<bool>| {
        phases
            .iter()
            .any(|phase| phase.checkpoint.as_ref().map(|taken| taken.settled) == wanted)
    };
    let mut marks = Vec::new();
    if any(&|peak| peak.starts_with('≥')) {
        marks.push("≥ a: at least that much: a high-water mark is not known, or a process ended and may have had more");
    }
    if any(&|peak| peak.contains('–')) {
        marks.push("a–b: the peak of a tree lies between the largest sampled sum and the sum of the high-water marks");
    }
    if any(&|peak| peak.ends_with('?')) {
        marks.push("?: a process ended and may have had more");
    }
    if settled(Some(false)) {
        marks.push("~ not settled: still busy at its checkpoint");
    }
    if phases.iter().any(|phase| phase.incomplete) {
        marks.push("† incomplete: the process with most of the memory had ended, figures are of the rest");
    }
    if settled(None) {
        marks.push("✗ not finished, no checkpoint");
    }
    marks
}

/// Why a share is not known.
fn unreturned(summary: &Summary, tree: bool) -> Option<String> {
    let shares = |phase: &PhaseSummary| tree && phase.checkpoint.as_ref().is_some_and(|taken| taken.forked > 0);
    let mut before: Option<&PhaseSummary> = None;
    let mut reasons: Vec<&str> = Vec::new();
    for phase in &summary.phases {
        let known = phase.checkpoint.as_ref().and_then(|taken| {
            let private = taken.private_sampled.zip(phase.private_peak).map(|_| ());
            let resident = taken.resident.zip(phase.peak).map(|_| ());
            if tree { private } else { resident }
        });
        let reason = match (share(phase, tree), known, before) {
            (Some(_), ..) => None,
            (None, ..) if phase.incomplete => Some("a process had ended that held most of the memory"),
            (None, None, _) if phase.checkpoint.is_none() => Some("the phase was not finished"),
            (None, None, _) => Some("the peak or the checkpoint is not known"),
            (None, Some(()), None) => Some("nothing has been allocated before the first checkpoint"),
            (None, Some(()), Some(_)) if shares(phase) => {
                Some("samples count pages twice that a child shares with its parent")
            }
            (None, Some(()), Some(_)) => Some("less than 1 MiB was allocated"),
        };
        reasons.extend(reason.filter(|reason| !reasons.contains(reason)));
        before = before.or(phase.checkpoint.as_ref().map(|_| phase));
    }
    (!reasons.is_empty()).then(|| format!("returned n/a: {}", reasons.join("; ")))
}
