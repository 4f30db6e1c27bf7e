//! The table of a sweep: a row for each cell, the default first, then by settled private memory.

use crate::compare::{Cell as Figures, Unit};
use crate::report::comparison::figures::{self, HOLE};
use crate::text::Tone;
use crate::text::table::{Cell, Column};
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
pub fn mark(sweep: &Sweep, place: usize) -> (&'static str, Tone) {
    let cell = &sweep.cells[place];
    let chosen = sweep.choice.place() == Some(place);
    match (&cell.stopped, chosen, cell.front) {
        (Some(stopped), ..) if matches!(stopped.why, Why::Failed(_)) => ("failed", Tone::Bad),
        (Some(_), ..) => ("stopped", Tone::Quiet),
        (None, true, _) => ("ship", Tone::Good),
        (None, false, true) => ("front", Tone::Strong),
        (None, false, false) => ("", Tone::Plain),
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
pub fn columns(sweep: &Sweep) -> Vec<Column> {
    let order = order(sweep);
    let cells = |text: &dyn Fn(&Swept) -> String| -> Vec<Cell> {
        let of = |place: &usize| {
            let cell = &sweep.cells[*place];
            let quiet = cell.stopped.is_some();
            Cell::toned(if quiet { Tone::Quiet } else { Tone::Plain }, text(cell))
        };
        order.iter().map(of).collect()
    };
    let figure =
        |head: &'static str, rank: u8, figure: Tuned| Column::number(head, rank, cells(&|cell| middle(cell, figure)));
    let interval = |cell: &Figures| figures::interval(cell, Unit::Bytes);
    let marks = order.iter().map(|place| {
        let (word, tone) = mark(sweep, *place);
        Cell::toned(tone, word)
    });
    vec![
        Column::text("setting", 0, cells(&|cell| cell.label.clone())),
        Column::text("", 0, marks.collect()),
        Column::number("runs", 6, cells(&|cell| cell.runs.len().to_string())),
        figure("private", 0, Tuned::Private),
        Column::number("interval", 9, cells(&|cell| interval(cell.figure(Tuned::Private)))),
        Column::number("against default", 1, cells(&|cell| against(cell, Tuned::Private))),
        figure("peak", 3, Tuned::Peak),
        figure("returned", 6, Tuned::Returned),
        figure("t90", 5, Tuned::T90),
        figure("p50", 7, Tuned::P50),
        figure("p95", 2, Tuned::P95),
        figure("CPU", 4, Tuned::Cpu),
        figure("faults", 8, Tuned::Faults),
    ]
}

/// How much more or less than the default, in per cent; a hole where one run is not compared.
pub fn against(cell: &Swept, figure: Tuned) -> String {
    let ratio = cell.figure(figure).ratio.as_ref();
    ratio.and_then(figures::difference).unwrap_or_default()
}
