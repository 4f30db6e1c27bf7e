//! The table of a sweep: a row for each cell, the default first, then by settled private memory.

use crate::comparison::figures::{self, HOLE};
use analysis::figures::{Figure, Unit};
use analysis::tune::WhyNot;
use analysis::tune::{CellResult, Failure, Stopped, Sweep, Why};
use base::text::Tone;
use base::text::table::{Column, Table};
use base::units;

/// The middle of a figure, sizes in MiB.
pub fn middle(cell: &CellResult, figure: Figure) -> String {
    let text = |value: f64| figures::value(value, figure.unit());
    cell.median(figure).map_or_else(|| HOLE.to_owned(), text)
}

/// The same in its unit, for sentences.
pub fn amount(value: f64, figure: Figure) -> String {
    figures::amount(value, figure.unit())
}

/// A cell's state: chosen, stopped, or in two words why it is neither.
pub fn mark(sweep: &Sweep, place: usize) -> (Tone, &'static str) {
    let cell = &sweep.cells[place];
    let chosen = sweep.choice.place() == Some(place);
    match &cell.stopped {
        Some(stopped) if matches!(stopped.why, Why::Failed(_)) => (Tone::Bad, "failed"),
        Some(_) => (Tone::Quiet, "stopped"),
        None if chosen => (Tone::Good, "use"),
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
    let private = |place: &usize| sweep.cells[*place].median(Figure::Private).unwrap_or(f64::INFINITY);
    let rank = |place: &usize| (*place > 0, sweep.cells[*place].stopped.is_some());
    order.sort_by(|a, b| rank(a).cmp(&rank(b)).then(private(a).total_cmp(&private(b))));
    order
}

/// The columns; `private` never leaves, and a label is cut only where little else is left. What a setting is chosen by
/// stays longest: settled memory, then latency, then the peak and processor time.
pub fn columns(sweep: &Sweep, numbers: &[usize]) -> Vec<Column> {
    let order = order(sweep);
    let cell = |text: fn(&CellResult) -> String| {
        move |place: &usize| {
            let cell = &sweep.cells[*place];
            let quiet = cell.stopped.is_some();
            (if quiet { Tone::Quiet } else { Tone::Plain }, text(cell))
        }
    };
    let name = |figure: Figure| sweep.places.name(figure).to_owned();
    let mut table = Table::new(&order)
        .text("setting", 0, cell(|cell| cell.label.clone()))
        .number("no.", 10, |place| numbers[*place].to_string())
        .text("", 0, |place| mark(sweep, *place))
        .number("runs", 6, cell(|cell| cell.runs.len().to_string()))
        .number(name(Figure::Private), 0, cell(|cell| middle(cell, Figure::Private)))
        .number(
            "interval",
            9,
            cell(|cell| figures::interval(cell.figure(Figure::Private), Unit::Bytes)),
        )
        .number("against default", 1, cell(|cell| against(cell, Figure::Private)))
        .number(name(Figure::Peak), 2, cell(|cell| middle(cell, Figure::Peak)));
    if sweep.places.command.is_none() {
        table = table
            .number("returned", 6, cell(|cell| middle(cell, Figure::Returned)))
            .number("t90", 5, cell(|cell| middle(cell, Figure::T90)))
            .number("p50", 7, cell(|cell| middle(cell, Figure::P50)));
    }
    table
        .number(name(Figure::P95), 1, cell(|cell| middle(cell, Figure::P95)))
        .number("CPU", 2, cell(|cell| middle(cell, Figure::Cpu)))
        .number("faults", 8, cell(|cell| middle(cell, Figure::Faults)))
        .columns()
}

/// How much more or less than the default, in per cent; a hole where one run is not compared.
pub fn against(cell: &CellResult, figure: Figure) -> String {
    let ratio = cell.figure(figure).ratio.as_ref();
    ratio.and_then(figures::difference).unwrap_or_default()
}

pub(crate) fn in_brackets(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        parts => format!(" ({})", parts.join(", ")),
    }
}

/// After which phase memory was settled, where that is known.
pub(crate) fn after(sweep: &Sweep) -> String {
    let phase = sweep.places.phase.as_ref();
    phase.map_or_else(String::new, |(_, name)| format!(" after {name}"))
}

/// Why a cell was not run any more.
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
