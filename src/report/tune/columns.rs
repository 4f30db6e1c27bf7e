//! The table of a sweep: a row for each cell, the default first, then by settled private memory.

use crate::compare::Unit;
use crate::report::comparison::figures::{self, HOLE};
use crate::text::Tone;
use crate::text::table::{Column, Table};
use crate::tune::{Sweep, Swept, Tuned, Why};
use crate::units;

/// What a figure counts; `None` of a share.
pub fn unit(figure: Tuned) -> Option<Unit> {
    match figure {
        Tuned::Private | Tuned::Peak => Some(Unit::Bytes),
        Tuned::T90 | Tuned::P50 | Tuned::P95 => Some(Unit::Nanos),
        Tuned::Cpu => Some(Unit::CpuNanos),
        Tuned::Faults => Some(Unit::Count),
        Tuned::Returned => None,
    }
}

/// The middle of a figure, sizes in MiB.
pub fn middle(cell: &Swept, figure: Tuned) -> String {
    match (unit(figure), cell.median(figure)) {
        (_, None) => HOLE.to_owned(),
        (Some(unit), Some(value)) => figures::value(value, unit),
        (None, Some(share)) => units::percent(share),
    }
}

/// The same in its unit, for sentences.
pub fn amount(value: f64, figure: Tuned) -> String {
    unit(figure).map_or_else(|| units::percent(value), |unit| figures::amount(value, unit))
}

/// What a cell is: chosen, on the front, or not run any more.
pub fn mark(sweep: &Sweep, place: usize) -> (Tone, &'static str) {
    let cell = &sweep.cells[place];
    let chosen = sweep.choice.place() == Some(place);
    match (&cell.stopped, chosen, cell.front) {
        (Some(stopped), ..) if matches!(stopped.why, Why::Failed(_)) => (Tone::Bad, "failed"),
        (Some(_), ..) => (Tone::Quiet, "stopped"),
        (None, true, _) => (Tone::Good, "ship"),
        (None, false, true) => (Tone::Strong, "front"),
        (None, false, false) => (Tone::Plain, ""),
    }
}

/// The places of the cells in the order of the table.
pub fn order(sweep: &Sweep) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sweep.cells.len()).collect();
    let private = |place: &usize| sweep.cells[*place].median(Tuned::Private).unwrap_or(f64::INFINITY);
    let rank = |place: &usize| (*place > 0, sweep.cells[*place].stopped.is_some());
    order.sort_by(|a, b| rank(a).cmp(&rank(b)).then(private(a).total_cmp(&private(b))));
    order
}

/// The columns; `private` never leaves, and a label is cut only where little else is left. What a setting is chosen by
/// stays longest: settled memory, then latency, then the peak and processor time.
pub fn columns(sweep: &Sweep, numbers: &[usize]) -> Vec<Column> {
    let order = order(sweep);
    let cell = |text: fn(&Swept) -> String| {
        move |place: &usize| {
            let cell = &sweep.cells[*place];
            let quiet = cell.stopped.is_some();
            (if quiet { Tone::Quiet } else { Tone::Plain }, text(cell))
        }
    };
    Table::new(&order)
        .text("setting", 0, cell(|cell| cell.label.clone()))
        .number("no.", 10, |place| numbers[*place].to_string())
        .text("", 0, |place| mark(sweep, *place))
        .number("runs", 6, cell(|cell| cell.runs.len().to_string()))
        .number("private", 0, cell(|cell| middle(cell, Tuned::Private)))
        .number(
            "interval",
            9,
            cell(|cell| figures::interval(cell.figure(Tuned::Private), Unit::Bytes)),
        )
        .number("against default", 1, cell(|cell| against(cell, Tuned::Private)))
        .number("peak", 3, cell(|cell| middle(cell, Tuned::Peak)))
        .number("returned", 6, cell(|cell| middle(cell, Tuned::Returned)))
        .number("t90", 5, cell(|cell| middle(cell, Tuned::T90)))
        .number("p50", 7, cell(|cell| middle(cell, Tuned::P50)))
        .number("p95", 2, cell(|cell| middle(cell, Tuned::P95)))
        .number("CPU", 4, cell(|cell| middle(cell, Tuned::Cpu)))
        .number("faults", 8, cell(|cell| middle(cell, Tuned::Faults)))
        .columns()
}

/// How much more or less than the default, in per cent; a hole where one run is not compared.
pub fn against(cell: &Swept, figure: Tuned) -> String {
    let ratio = cell.figure(figure).ratio.as_ref();
    ratio.and_then(figures::difference).unwrap_or_default()
}
