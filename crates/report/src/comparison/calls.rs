//! Memory calls as text: one table for a run or several servers, and sentences on their differences.

use analysis::compare::Comparison;
use analysis::summary::calls::Traced;
use base::units;
use record::{CallCount, CallKind};

use base::text::Tone;
use base::text::table::{Column, Table};

/// A smaller difference in calls gets no sentence.
const WORTH: u64 = 1_000;

/// A smaller ratio to the baseline gets no sentence.
const MUCH: f64 = 2.0;

/// Kinds that always have a column, since readers look for them.
const ALWAYS: [CallKind; 3] = [CallKind::MadviseDontneed, CallKind::Mmap, CallKind::Munmap];

pub(crate) type Named<'t> = (&'t str, &'t Traced);

/// The circumstances of the counts, for the heading.
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

/// A row of the table: a phase of a server, or a server's total.
struct CallsRow<'t> {
    server: &'t str,
    phase: String,
    calls: Vec<CallCount>,
    minor_faults: Option<u64>,
    total: bool,
}

/// A row for each phase of each server, and a total for a server with several phases.
pub(crate) fn columns(servers: &[Named<'_>]) -> Vec<Column> {
    let kinds: Vec<CallKind> = CallKind::ALL
        .into_iter()
        .filter(|kind| ALWAYS.contains(kind) || is_called(servers, *kind))
        .collect();
    let rows: Vec<CallsRow<'_>> = servers.iter().flat_map(|server| rows(*server, &kinds)).collect();
    let mut table = Table::new(&rows);
    if servers.len() > 1 {
        table = table.text("server", 0, |row| (tone(row), row.server));
    }
    table = table.text("phase", 0, |row| (tone(row), &row.phase));
    for (place, kind) in kinds.iter().enumerate() {
        let (group, head) = kind.words();
        table = table
            .number(head, rank(*kind), |row| (tone(row), cell(row.calls[place])))
            .with_group_head(group);
    }
    // Faults of a command are not counted by phase.
    if rows.iter().any(|row| row.minor_faults.is_some()) {
        table = table
            .number("faults", 2, |row| {
                (tone(row), units::or_unknown(row.minor_faults, units::count))
            })
            .with_group_head("minor");
    }
    table.columns()
}

fn is_called(servers: &[Named<'_>], kind: CallKind) -> bool {
    servers
        .iter()
        .any(|(_, traced)| traced.kinds().any(|called| called == kind))
}

fn tone(row: &CallsRow<'_>) -> Tone {
    if row.total { Tone::Strong } else { Tone::Plain }
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

fn rows<'t>((server, traced): Named<'t>, kinds: &[CallKind]) -> Vec<CallsRow<'t>> {
    let mut rows = Vec::new();
    for phase in &traced.phases {
        rows.push(CallsRow {
            server,
            phase: phase.name.clone().unwrap_or_else(|| "(shutdown)".to_owned()),
            calls: kinds.iter().map(|kind| phase.count(*kind)).collect(),
            minor_faults: phase.minor_faults,
            total: false,
        });
    }
    if traced.phases.len() > 1 {
        rows.push(CallsRow {
            server,
            phase: "in all".to_owned(),
            calls: kinds.iter().map(|kind| traced.total(*kind)).collect(),
            minor_faults: all_minor_faults(traced),
            total: true,
        });
    }
    rows
}

/// Minor faults of all phases without the shutdown; `None` if those of one are unknown.
fn all_minor_faults(traced: &Traced) -> Option<u64> {
    let phases = traced.phases.iter().filter(|phase| phase.name.is_some());
    phases.map(|phase| phase.minor_faults).sum()
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

/// A sentence for each server that calls `madvise` much more often than the first.
pub(crate) fn sentences(servers: &[Named<'_>]) -> Vec<String> {
    let Some(((baseline, first), others)) = servers.split_first() else {
        return Vec::new();
    };
    others
        .iter()
        .filter_map(|(server, traced)| advice_sentence(server, traced, baseline, first))
        .collect()
}

/// `None` if the server does not call `madvise` much more often than the baseline.
fn advice_sentence(server: &str, traced: &Traced, baseline: &str, traced_baseline: &Traced) -> Option<String> {
    let (calls, baseline_calls) = (traced.advice(), traced_baseline.advice());
    let ratio = calls as f64 / baseline_calls as f64;
    if calls.saturating_sub(baseline_calls) < WORTH || (baseline_calls > 0 && ratio <= MUCH) {
        return None;
    }
    let often = match baseline_calls {
        0 => format!("and {baseline} never"),
        _ => format!("{} times as often as {baseline}", times(ratio)),
    };
    let released = [CallKind::MadviseDontneed, CallKind::MadviseFree].map(|kind| traced.total(kind).bytes);
    Some(format!(
        "{server} called madvise {} times, {often}: of the {} released this way, each page written again costs a page \
         fault",
        units::count(calls),
        units::bytes(released.into_iter().sum())
    ))
}

fn times(ratio: f64) -> String {
    if ratio < 10.0 {
        format!("{ratio:.1}")
    } else {
        units::count(ratio.round() as u64)
    }
}

/// The servers that were traced, the baseline first.
fn traced_servers(comparison: &Comparison) -> Vec<Named<'_>> {
    let sides = comparison.sides.iter();
    sides
        .filter_map(|side| Some((side.label.as_str(), side.traced.as_ref()?)))
        .collect()
}

/// The table's columns and its notes; `None` if nothing was traced.
pub(crate) fn table(comparison: &Comparison) -> Option<(Vec<Column>, String)> {
    let servers = traced_servers(comparison);
    if servers.is_empty() {
        None
    } else {
        Some((columns(&servers), note(&servers)))
    }
}

/// Sentences on servers that differ much from the baseline; none if either was not traced or a run was cut short.
pub(crate) fn verdict(comparison: &Comparison) -> Vec<String> {
    let baseline = comparison.sides.first().and_then(|side| side.traced.as_ref());
    if !baseline.is_some_and(|traced| traced.whole) {
        return Vec::new();
    }
    let whole: Vec<Named<'_>> = traced_servers(comparison)
        .into_iter()
        .filter(|(_, traced)| traced.whole)
        .collect();
    sentences(&whole)
}
