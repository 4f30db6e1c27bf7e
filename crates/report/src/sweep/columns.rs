//! The table of a sweep: a row for each cell, the default first, then by settled private memory.

use crate::comparison::figures::{self, HOLE};
use analysis::figures::{Figure, Unit};
use analysis::tune::WhyNot;
use analysis::tune::{CellResult, Failure, Stopped, Sweep, Why};
use base::text::Tone;
use base::text::table::{Column, Table};
use base::units;

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

/// A cell's state: chosen, stopped, or in two words why it is neither.
pub fn mark(sweep: &Sweep, place: usize) -> (Tone, &'static str) {
    let cell = &sweep.cells[place];
    let is_chosen = sweep.choice.place() == Some(place);
    match &cell.stopped {
        Some(stopped) if matches!(stopped.why, Why::Failed(_)) => (Tone::Bad, "failed"),
        Some(_) => (Tone::Quiet, "stopped"),
        None if is_chosen => (Tone::Good, "use"),
        None if place == 0 => (Tone::Plain, ""),
        None => (Tone::Plain, cell.why_not.as_ref().map_or("", in_two_words)),
    }
}

fn in_two_words(why: &WhyNot) -> &'static str {
    match why {
        WhyNot::Stopped => "stopped",
        WhyNot::DidLess => "less work",
        WhyNot::Refused => "not in force",
        WhyNot::TooFew | WhyNot::NoDefault => "few runs",
        WhyNot::NotMeasured => units::UNKNOWN,
        WhyNot::NotLess | WhyNot::NotWorth { .. } => "saves little",
        WhyNot::Dearer(_) => "costs more",
        WhyNot::CostOpen(_) | WhyNot::CostUnknown(_) => "cost open",
        WhyNot::OverLimit => "over limit",
        WhyNot::Beaten(_) => "beaten",
        WhyNot::NeedsMore(_) => "needs more",
        WhyNot::MoreCpu(_) => "more CPU",
        WhyNot::Slower { .. } => "slower",
    }
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
        .text("", 0, |(place, _)| mark(sweep, *place))
        .number("runs", 6, |(_, cell)| toned(cell, cell.runs.len().to_string()))
        .number(private, 0, |(_, cell)| toned_median(cell, Figure::Private))
        .number("interval", 9, |(_, cell)| {
            toned(cell, figures::interval(cell.figure(Figure::Private), Unit::Bytes))
        })
        .number("against default", 1, |(_, cell)| {
            toned(cell, against(cell, Figure::Private))
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
pub fn against(cell: &CellResult, figure: Figure) -> String {
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

/// The moment and the reason of a cell's stop, to stand after `stopped`.
pub fn stop(stopped: &Stopped) -> String {
    let after = match stopped.after {
        0 => "while it warmed up".to_owned(),
        runs => format!("after {}", units::counted(u64::from(runs), "run")),
    };
    match &stopped.why {
        Why::Failed(Failure { record, how }) => {
            format!("{after}: it failed with this setting: {how} ({record})")
        }
        Why::Beaten(other) => format!("{after}: {other} is as good in all figures and clearly better in one"),
        Why::WorseHalf(other) => {
            format!("{after}: more memory than {other} and than half of all settings, and not better in any figure")
        }
        Why::OverLimit => format!("{after}: it needs more than the limit"),
        Why::Slower(other) => format!("{after}: {other} is faster and keeps the limit"),
    }
}
