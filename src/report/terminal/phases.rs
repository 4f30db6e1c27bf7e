//! The table of phases, with a legend for the words that it uses.

use crate::analyse::{PhaseSummary, PrivateMetric, StepSummary, Summary};
use crate::report::table::{self, Cell, Column};
use crate::report::text::{Paint, Tone, line_of, paragraph};
use crate::units;

use super::head::{peak, time};

/// Rows from which the middle of a long soak is left out.
const MOST: usize = 48;

/// Rows that are kept of its beginning and of its end.
const KEPT: usize = 16;

/// Draws the table.
pub(super) fn draw(out: &mut String, summary: &Summary, paint: Paint, columns: usize) {
    if summary.phases.is_empty() {
        return;
    }
    let (shown, left_out) = shown(&summary.phases);
    line_of(
        out,
        format!(
            "{}  {}",
            paint.paint(Tone::Strong, "phases"),
            paint.paint(Tone::Quiet, "sizes in MiB")
        ),
    );
    out.push('\n');
    table::draw(out, paint, table(summary, &shown), columns);
    if left_out > 0 {
        let text = format!(
            "{} rounds between the first and the last {KEPT} rows are left out; `--format json` has them all",
            units::count(left_out as u64)
        );
        paragraph(out, paint, Tone::Quiet, "  ", &text, columns);
    }
    out.push('\n');
    for text in legend(summary) {
        paragraph(out, paint, Tone::Quiet, "  ", &text, columns);
    }
}

/// The rows to show, and how many are not.
fn shown(phases: &[PhaseSummary]) -> (Vec<&PhaseSummary>, usize) {
    if phases.len() <= MOST {
        return (phases.iter().collect(), 0);
    }
    let end = phases.len() - KEPT;
    (phases[..KEPT].iter().chain(&phases[end..]).collect(), end - KEPT)
}

fn table(summary: &Summary, phases: &[&PhaseSummary]) -> Vec<Column> {
    let cells = |cell: &dyn Fn(&PhaseSummary) -> Cell| phases.iter().map(|phase| cell(phase)).collect::<Vec<Cell>>();
    let repeats = phases.iter().any(|phase| phase.phase.cycle > 0);
    let marks = phases
        .iter()
        .any(|phase| phase.checkpoint.as_ref().is_none_or(|taken| !taken.settled));
    let first = summary.phases.first().map(|phase| phase.phase.clone());
    let is_first = |phase: &PhaseSummary| first.as_ref() == Some(&phase.phase);
    let tree = summary.most_processes > 1;
    let mut table = vec![
        Column::text("phase", 0, cells(&|phase| name(phase, repeats, marks))),
        Column::number(
            "private",
            0,
            cells(&|phase| Cell::plain(units::or_unknown(phase.private, units::mib))),
        ),
        Column::number("increment", 1, cells(&|phase| increment(phase, is_first(phase)))),
        Column::number(
            "peak",
            2,
            cells(&|phase| Cell::plain(units::or_unknown(phase.peak, peak))),
        ),
        Column::number(
            resident_head(tree),
            5,
            cells(&|phase| Cell::plain(resident(phase, tree))),
        ),
        Column::number("returned", 4, cells(&|phase| returned(phase, tree))),
        Column::number(
            "CPU",
            7,
            cells(&|phase| Cell::plain(units::or_unknown(phase.cpu, time))),
        ),
        Column::number(
            "time",
            6,
            cells(&|phase| Cell::plain(time(phase.ended.saturating_sub(phase.started)))),
        ),
        Column::number("hits", 3, cells(&|phase| hits(&phase.steps))),
    ];
    table.extend(rare(phases));
    let faults = |phase: &PhaseSummary| Cell::plain(units::or_unknown(phase.minor_faults, units::count));
    table.push(Column::number("faults", 10, cells(&faults)));
    let threads = |phase: &PhaseSummary| phase.checkpoint.as_ref().and_then(|taken| taken.threads);
    table.push(Column::number(
        "threads",
        11,
        cells(&|phase| Cell::plain(units::or_unknown(threads(phase), units::count))),
    ));
    table
}

/// Columns that are shown only where there is something in them.
fn rare(phases: &[&PhaseSummary]) -> Vec<Column> {
    type Figure = fn(&PhaseSummary) -> Option<u64>;
    let figures: [(&'static str, Figure); 3] = [
        ("huge pages", |phase| phase.checkpoint.as_ref()?.huge_pages),
        ("lazy free", |phase| phase.checkpoint.as_ref()?.lazy_free),
        ("swap", |phase| phase.checkpoint.as_ref()?.swap),
    ];
    let cell = |phase: &&PhaseSummary, value: Figure| Cell::plain(units::or_unknown(value(phase), units::mib));
    figures
        .into_iter()
        .filter(|(_, value)| phases.iter().any(|phase| value(phase).unwrap_or(0) > 0))
        .map(|(head, value)| Column::number(head, 9, phases.iter().map(|phase| cell(phase, value)).collect()))
        .collect()
}

/// The name after a mark, which must not be cut off with the end of a long name.
fn name(phase: &PhaseSummary, repeats: bool, marks: bool) -> Cell {
    let (tone, mark) = match &phase.checkpoint {
        Some(taken) if taken.settled => (Tone::Plain, " "),
        Some(_) => (Tone::Warning, "~"),
        None => (Tone::Bad, "✗"),
    };
    let mark = if marks { format!("{mark} ") } else { String::new() };
    let round = if repeats {
        format!(" #{}", u64::from(phase.phase.cycle) + 1)
    } else {
        String::new()
    };
    Cell::toned(tone, format!("{mark}{}{round}", phase.phase.name))
}

fn increment(phase: &PhaseSummary, first: bool) -> Cell {
    if first && phase.private.is_some() {
        return Cell::toned(Tone::Quiet, "start");
    }
    Cell::plain(units::or_unknown(phase.increment, units::signed_mib))
}

fn resident_head(tree: bool) -> &'static str {
    if tree { "proportional" } else { "resident" }
}

/// One process: what it has resident. A tree: its proportional size; where the system has none, the sum as a bound.
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

fn returned(phase: &PhaseSummary, tree: bool) -> Cell {
    let share = if tree {
        phase.returned.private
    } else {
        phase.returned.resident
    };
    Cell::plain(units::or_unknown(share, units::percent))
}

/// Hits of requests, over the steps that expect any.
fn hits(steps: &[StepSummary]) -> Cell {
    let sum = |value: fn(&StepSummary) -> Option<u64>| steps.iter().filter_map(value).fold(0, u64::saturating_add);
    let (hits, requests) = (sum(|step| step.hits), sum(|step| step.requests));
    match requests {
        0 => Cell::toned(Tone::Quiet, "–"),
        requests if hits == 0 => Cell::toned(Tone::Bad, format!("0/{}", units::count(requests))),
        requests => Cell::plain(format!("{}/{}", units::count(hits), units::count(requests))),
    }
}

/// What the words of the table mean, and only those that it uses.
fn legend(summary: &Summary) -> Vec<String> {
    let phases = &summary.phases;
    let tree = summary.most_processes > 1;
    let private = match summary.private_metric {
        PrivateMetric::Exact => {
            "private: what only this server pays for, without what is lazily freed, at the settled end of a phase"
        }
        PrivateMetric::Sampled => {
            "private: the median of cheap counters at the end of a phase; an upper bound where pages are shared"
        }
    };
    let returned = if tree {
        "private memory, by samples"
    } else {
        "resident memory, by marks"
    };
    let mut legend = vec![format!(
        "{private} · increment: against the checkpoint before · returned: of what had been taken since start ({returned})"
    )];
    let peaks = || phases.iter().filter_map(|phase| phase.peak);
    let mut marks = Vec::new();
    if peaks().any(|peak| peak.upper.is_none()) {
        marks.push("≥ at least: the high-water mark of that phase is not known");
    }
    if peaks().any(|peak| peak.upper.is_some() && !peak.is_exact()) {
        marks.push("a–b: the peak of a tree lies between the largest sum seen and the sum of the marks");
    }
    if peaks().any(|peak| peak.unseen) {
        marks.push("?: a process ended in between and may have had more");
    }
    let taken = || phases.iter().filter_map(|phase| phase.checkpoint.as_ref());
    if tree && taken().any(|taken| taken.forked > 0) {
        marks.push("returned n/a: samples count the pages twice that a forked process shares with its parent");
    }
    if taken().any(|taken| !taken.settled) {
        marks.push("~ not settled");
    }
    if phases.iter().any(|phase| phase.checkpoint.is_none()) {
        marks.push("✗ not finished");
    }
    if !marks.is_empty() {
        legend.push(marks.join(" · "));
    }
    legend
}
