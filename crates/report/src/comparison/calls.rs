//! Memory calls as text: one table for a run or several servers, and sentences on their differences.

use analysis::compare::{Comparison, Side};
use analysis::summary::calls::{PhaseCalls, Traced};
use base::units;
use record::{CallCount, CallKind};

use base::text::Tone;
use base::text::table::{Column, Table};

pub(crate) const TITLE: &str = "System calls";

/// A smaller difference in calls gets no sentence.
const WORTH: u64 = 1_000;

/// So much more than the baseline is.
const MUCH: f64 = 2.0;

/// Kinds that always have a column, since readers look for them.
const ALWAYS: [CallKind; 3] = [CallKind::MadviseDontneed, CallKind::Mmap, CallKind::Munmap];

pub(crate) type Named<'t> = (&'t str, &'t Traced);

/// Under what circumstances, for the heading.
pub(crate) fn note(servers: &[Named<'_>]) -> String {
    let mut tracers: Vec<String> = Vec::new();
    for (_, traced) in servers {
        let version = traced.tracer.version.as_deref().unwrap_or(units::UNKNOWN);
        let tracer = format!("{} {version}", traced.tracer.name);
        if !tracers.contains(&tracer) {
            tracers.push(tracer);
        }
    }
    format!(
        "calls and their bytes, from an extra run under {}, which gives no memory and no latency figures",
        tracers.join(" and ")
    )
}

/// The lines of the table: server, phase, calls by kind, faults.
struct Row<'t> {
    server: &'t str,
    phase: String,
    calls: Vec<CallCount>,
    minor_faults: Option<u64>,
    total: bool,
}

/// Server by server and phase by phase, each of several phases with its total; the servers are named where there are several.
pub(crate) fn columns(servers: &[Named<'_>]) -> Vec<Column> {
    let called = |kind: &CallKind| {
        ALWAYS.contains(kind) || servers.iter().any(|(_, traced)| traced.kinds().any(|one| one == *kind))
    };
    let kinds: Vec<CallKind> = CallKind::ALL.into_iter().filter(called).collect();
    let rows: Vec<Row<'_>> = servers.iter().flat_map(|server| rows(*server, &kinds)).collect();
    let tone = |row: &Row<'_>| if row.total { Tone::Strong } else { Tone::Plain };
    let mut table = Table::new(&rows);
    if servers.len() > 1 {
        table = table.text("server", 0, |row| (tone(row), row.server));
    }
    table = table.text("phase", 0, |row| (tone(row), &row.phase));
    for (place, kind) in kinds.iter().enumerate() {
        let (of, head) = kind.words();
        table = table
            .number(head, rank(*kind), |row| (tone(row), cell(row.calls[place])))
            .grouped(of);
    }
    // Those of a command are not counted by phase.
    if rows.iter().any(|row| row.minor_faults.is_some()) {
        table = table
            .number("faults", 2, |row| {
                (tone(row), units::or_unknown(row.minor_faults, units::count))
            })
            .grouped("minor");
    }
    table.columns()
}

/// The first columns to drop on a narrow terminal: those that say least about released memory.
fn rank(kind: CallKind) -> u8 {
    match kind {
        CallKind::MadviseDontneed | CallKind::MadviseFree => 1,
        CallKind::Mmap | CallKind::Munmap => 2,
        CallKind::Brk | CallKind::MadviseHugepage => 3,
        CallKind::Mremap | CallKind::BrkLowered | CallKind::MadviseOther => 4,
    }
}

fn rows<'t>((server, traced): Named<'t>, kinds: &[CallKind]) -> Vec<Row<'t>> {
    let row = |phase: &PhaseCalls| Row {
        server,
        phase: phase.name.clone().unwrap_or_else(|| "(shutdown)".to_owned()),
        calls: kinds.iter().map(|kind| phase.of(*kind)).collect(),
        minor_faults: phase.minor_faults,
        total: false,
    };
    let known: Option<Vec<u64>> = traced
        .phases
        .iter()
        .filter(|one| one.name.is_some())
        .map(|one| one.minor_faults)
        .collect();
    let total = Row {
        server,
        phase: "in all".to_owned(),
        calls: kinds.iter().map(|kind| traced.total(*kind)).collect(),
        minor_faults: known.map(|known| known.into_iter().sum()),
        total: true,
    };
    let total = Some(total).filter(|_| traced.phases.len() > 1);
    traced.phases.iter().map(row).chain(total).collect()
}

/// `12,345 3.2 GiB`, with failures if there are any.
fn cell(count: CallCount) -> String {
    let mut text = units::count(count.calls);
    if count.calls > 0 {
        text.push_str(&format!(" {}", units::bytes(count.bytes)));
    }
    if count.failed > 0 {
        text.push_str(&format!(" + {} failed", units::count(count.failed)));
    }
    text
}

/// Each server that gives advice on its pages much more often than the first, in a sentence.
pub(crate) fn sentences(servers: &[Named<'_>]) -> Vec<String> {
    let Some(((baseline, first), others)) = servers.split_first() else {
        return Vec::new();
    };
    let least = first.advice();
    let more = others.iter().filter_map(|(server, traced)| {
        let calls = traced.advice();
        let ratio = calls as f64 / least as f64;
        if calls.saturating_sub(least) < WORTH || (least > 0 && ratio <= MUCH) {
            return None;
        }
        let often = match least {
            0 => format!("and {baseline} never"),
            _ => format!("{} times as often as {baseline}", times(ratio)),
        };
        let returned = [CallKind::MadviseDontneed, CallKind::MadviseFree].map(|kind| traced.total(kind).bytes);
        Some(format!(
            "{server} called madvise {} times, {often}: of the {} released this way, each page written again costs a \
             page fault",
            units::count(calls),
            units::bytes(returned.into_iter().sum())
        ))
    });
    more.collect()
}

fn times(ratio: f64) -> String {
    if ratio < 10.0 {
        format!("{ratio:.1}")
    } else {
        units::count(ratio.round() as u64)
    }
}

/// The servers that were traced, the baseline first.
fn traced(comparison: &Comparison) -> Vec<Named<'_>> {
    let sides = comparison.sides.iter();
    sides
        .filter_map(|side| Some((side.label.as_str(), side.traced.as_ref()?)))
        .collect()
}

/// The table's columns and its notes; `None` if nothing was traced.
pub(crate) fn table(comparison: &Comparison) -> Option<(Vec<Column>, String)> {
    let servers = traced(comparison);
    (!servers.is_empty()).then(|| (columns(&servers), note(&servers)))
}

/// Sentences on servers that differ much from the baseline; none if either was not traced or a run was cut short.
pub(crate) fn verdict(comparison: &Comparison) -> Vec<String> {
    let whole = |side: Option<&Side>| {
        side.and_then(|side| side.traced.as_ref())
            .is_some_and(|traced| traced.whole)
    };
    if !whole(comparison.sides.first()) {
        return Vec::new();
    }
    let whole: Vec<Named<'_>> = traced(comparison)
        .into_iter()
        .filter(|(_, traced)| traced.whole)
        .collect();
    sentences(&whole)
}
