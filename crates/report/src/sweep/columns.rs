//! The table of a sweep: a row for each cell, the default first, then by settled private memory.

use super::why::{in_few_words, stop_in_few_words};
use crate::comparison::figures::{self, HOLE};
use analysis::figures::{Figure, Unit};
use analysis::tune::{CellResult, Sweep, Why};
use base::text::Tone;
use base::text::table::{Column, Table};

/// The median of a figure, sizes in MiB.
fn median(cell: &CellResult, figure: Figure) -> String {
    match cell.median(figure) {
        Some(value) => figures::value(value, figure.unit()),
        None => HOLE.to_owned(),
    }
}

/// A value in the unit of its figure, for sentences.
pub fn amount(value: f64, figure: Figure) -> String {
    figures::amount(value, figure.unit())
}

/// `use`, or in a few words why a cell is not recommended; nothing for the default if another is.
fn choice(sweep: &Sweep, place: usize) -> (Tone, &'static str) {
    let cell = &sweep.cells[place];
    if let Some(stopped) = &cell.stopped {
        let tone = if matches!(stopped.why, Why::Failed(_)) {
            Tone::Bad
        } else {
            Tone::Quiet
        };
        return (tone, stop_in_few_words(stopped).0);
    }
    if sweep.choice.place() == Some(place) {
        return (Tone::Good, "use");
    }
    match &cell.why_not {
        Some(why) if place != 0 => (Tone::Plain, in_few_words(cell, why).0),
        _ => (Tone::Plain, ""),
    }
}

/// The label of the setting because of which a cell is not recommended.
fn better(cell: &CellResult) -> String {
    let why = cell.why_not.as_ref();
    why.and_then(|why| in_few_words(cell, why).1).unwrap_or_default()
}

/// The places of the cells in the order of the table.
pub fn order(sweep: &Sweep) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sweep.cells.len()).collect();
    // The sort is stable: cells of one rank are in the order of their memory.
    order.sort_by(|a, b| private_or_infinite(sweep, *a).total_cmp(&private_or_infinite(sweep, *b)));
    order.sort_by_key(|place| {
        let is_default = *place == 0;
        (!is_default, sweep.cells[*place].stopped.is_some())
    });
    order
}

fn private_or_infinite(sweep: &Sweep, place: usize) -> f64 {
    sweep.cells[place].median(Figure::Private).unwrap_or(f64::INFINITY)
}

/// The columns; `private` never leaves, and a label is cut only where little else is left. What a setting is chosen by
/// stays longest: settled memory, then latency, then the peak and processor time.
pub fn columns(sweep: &Sweep, numbers: &[usize]) -> Vec<Column> {
    let mut rows: Vec<(usize, &CellResult)> = Vec::new();
    for place in order(sweep) {
        rows.push((place, &sweep.cells[place]));
    }
    let private = sweep.places.name(Figure::Private).to_owned();
    let peak = sweep.places.name(Figure::Peak).to_owned();
    let p95 = sweep.places.name(Figure::P95).to_owned();
    let mut table = Table::new(&rows)
        .text("setting", 0, |(_, cell)| toned(cell, cell.label.clone()))
        .number("no.", 10, |(place, _)| numbers[*place].to_string())
        .text("choice", 0, |(place, _)| choice(sweep, *place))
        .number("runs", 6, |(_, cell)| toned(cell, cell.runs.len().to_string()))
        .number(private, 0, |(_, cell)| toned_median(cell, Figure::Private))
        .number("interval", 9, |(_, cell)| {
            toned(cell, figures::interval(cell.figure(Figure::Private), Unit::Bytes))
        })
        .number("against default", 1, |(_, cell)| {
            toned(cell, difference_from_default(cell, Figure::Private))
        })
        .number(peak, 2, |(_, cell)| toned_median(cell, Figure::Peak));
    if sweep.places.command.is_none() {
        table = table
            .number("returned", 6, |(_, cell)| toned_median(cell, Figure::Returned))
            .number("t90", 5, |(_, cell)| toned_median(cell, Figure::T90))
            .number("p50", 7, |(_, cell)| toned_median(cell, Figure::P50));
    }
    table
        .number(p95, 1, |(_, cell)| toned_median(cell, Figure::P95))
        .number("CPU", 2, |(_, cell)| toned_median(cell, Figure::Cpu))
        .number("faults", 8, |(_, cell)| toned_median(cell, Figure::Faults))
        .columns()
}

/// The cost of each setting but the default, and the setting that it loses against.
pub fn costs(sweep: &Sweep) -> Option<Vec<Column>> {
    let mut rows: Vec<(usize, &CellResult)> = Vec::new();
    for place in order(sweep).into_iter().filter(|place| *place > 0) {
        rows.push((place, &sweep.cells[place]));
    }
    let mut table = Table::new(&rows)
        .text("setting", 0, |(_, cell)| toned(cell, cell.label.clone()))
        .text("choice", 0, |(place, _)| choice(sweep, *place))
        .number("runs", 3, |(_, cell)| toned(cell, cell.runs.len().to_string()));
    for (figure, rank) in [(Figure::P95, 0), (Figure::Cpu, 1)] {
        let name = sweep.places.name(figure).to_owned();
        table = table.number(name, rank, |(_, cell)| {
            toned(cell, difference_from_default(cell, figure))
        });
    }
    table
        .text("better", 2, |(_, cell)| toned(cell, better(cell)))
        .non_empty()
}

/// A text of a setting's row, quiet if the setting was stopped.
fn toned(cell: &CellResult, text: String) -> (Tone, String) {
    let tone = if cell.stopped.is_some() {
        Tone::Quiet
    } else {
        Tone::Plain
    };
    (tone, text)
}

fn toned_median(cell: &CellResult, figure: Figure) -> (Tone, String) {
    toned(cell, median(cell, figure))
}

/// The difference from the default in per cent; empty if the runs cannot be compared.
pub fn difference_from_default(cell: &CellResult, figure: Figure) -> String {
    let ratio = cell.figure(figure).ratio.as_ref();
    ratio.and_then(figures::difference).unwrap_or_default()
}

/// ` after goto`, the phase at whose end memory is read; empty if it is unknown.
pub(crate) fn after_phase(sweep: &Sweep) -> String {
    match &sweep.places.phase {
        Some((_, name)) => format!(" after {name}"),
        None => String::new(),
    }
}
