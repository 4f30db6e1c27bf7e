//! What came back while servers were left alone, of all servers.

use crate::analyse::compare::{Cell as Figures, Comparison, Decayed, Side, Unit};
use crate::analyse::decay::{AFTER, Window};
use crate::analyse::stats::MedianInterval;
use crate::record::WindowEnd;
use crate::report::decay::{self, Scale};
use crate::report::table::{Cell, Column};
use crate::report::text::Tone;
use crate::units;

use super::figures::{self, HOLE, MARK};

/// What the table is of.
pub const SUBJECT: &str = "private, MiB, from the beginning of each window";

/// Columns of a curve.
const CURVE: usize = 20;

/// One window of one server.
struct Line<'c> {
    /// The name of the window.
    name: String,
    /// Whether it is the first server's.
    first: bool,
    server: &'c str,
    /// The curve of its middle run.
    curve: String,
    decayed: &'c Decayed,
}

/// How often the name of a window stands in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// Once, beside its first server: a terminal is read downwards.
    Once,
    /// Beside each server: a table that is copied and sorted.
    Always,
}

/// The table of windows, a row for each window and server, those of one window on one scale; `None` where there was none.
pub fn columns(comparison: &Comparison, named: Named) -> Option<Vec<Column>> {
    let lines = lines(comparison);
    let cells = |cell: &dyn Fn(&Line) -> Cell| lines.iter().map(cell).collect::<Vec<Cell>>();
    let plain = |text: &dyn Fn(&Decayed) -> String| cells(&|line| Cell::plain(text(line.decayed)));
    let name = |line: &Line| match (named, line.first) {
        (Named::Once, false) => Cell::plain(""),
        (Named::Once, true) | (Named::Always, _) => Cell::toned(Tone::Strong, &line.name),
    };
    let against = |line: &Line| match line.decayed.floor.ratio.as_ref().filter(|_| !line.first) {
        Some(ratio) => Cell::toned(
            figures::tone(ratio),
            figures::difference(ratio).unwrap_or_else(|| HOLE.to_owned()),
        ),
        None => Cell::plain(""),
    };
    let size = |value: f64| figures::value(value, Unit::Bytes);
    let mut table = vec![
        Column::text("window", 0, cells(&name)),
        Column::text("server", 0, cells(&|line| Cell::plain(line.server))),
        Column::text(decay::CURVE, 3, cells(&|line| Cell::plain(&line.curve))),
        Column::number("from", 6, plain(&|one| middle(&one.before, size))),
    ];
    for (place, seconds) in AFTER.iter().enumerate() {
        let at = plain(&|one| middle(&one.at[place], size));
        table.push(Column::number(format!("+{seconds} s"), 8, at));
    }
    let time = |value: f64| decay::time(value.round() as u64);
    table.extend([
        Column::text(
            "floor",
            0,
            plain(&|one| figures::with_interval(&one.floor, Unit::Bytes)),
        ),
        Column::text("vs baseline", 4, cells(&against)),
        Column::text("t50", 7, plain(&|one| with(&one.t50, time))),
        Column::text("t90", 5, plain(&|one| with(&one.t90, time))),
        Column::text("half-life", 10, plain(&|one| with(&one.half_life, time))),
        Column::text("MiB·s held", 9, plain(&|one| with(&one.held, decay::held))),
        Column::text("settle time", 2, plain(&|one| with(&one.settle_time, time))),
        Column::text("returned", 2, plain(&|one| with(&one.returned, units::percent))),
        Column::text("ended", 1, plain(&|one| ends(&one.ends))),
    ]);
    table.retain(|column| column.is_filled(HOLE));
    (!lines.is_empty()).then_some(table)
}

/// A line for each window and server, those of one window together and on one scale.
fn lines<'c>(comparison: &'c Comparison) -> Vec<Line<'c>> {
    let lines = comparison.decays.iter().flat_map(|window| {
        let shown: Vec<&Window> = window.sides.iter().filter_map(|side| side.shown.as_ref()).collect();
        let scale = Scale::of(shown.into_iter());
        let sides = comparison.sides.iter().zip(&window.sides).enumerate();
        let line = |(place, (side, decayed)): (usize, (&'c Side, &'c Decayed))| {
            let curve = decayed.shown.as_ref().map(|shown| scale.draw(shown, CURVE));
            Line {
                name: decay::label(&window.phase, window.kind, window.control),
                first: place == 0,
                server: &side.label,
                curve: curve.unwrap_or_default(),
                decayed,
            }
        };
        sides.map(line).collect::<Vec<Line>>()
    });
    lines.collect()
}

/// The middle by itself; a hole is `–`.
fn middle(cell: &Figures, text: impl Fn(f64) -> String) -> String {
    cell.median
        .map_or_else(|| HOLE.to_owned(), |median| text(median.median))
}

/// The same with its interval.
fn with(cell: &Figures, text: impl Fn(f64) -> String) -> String {
    cell.median
        .map_or_else(|| HOLE.to_owned(), |median| figures::around(&median, text))
}

fn ends(ends: &[(WindowEnd, u64)]) -> String {
    let word = |end: WindowEnd| match end {
        WindowEnd::Settled => "settled",
        WindowEnd::Held => "held",
        WindowEnd::TimedOut => "timed out",
        WindowEnd::Ended => "ended",
    };
    match ends {
        [(end, _)] => word(*end).to_owned(),
        ends => {
            let parts: Vec<String> = ends
                .iter()
                .map(|(end, count)| format!("{count} {}", word(*end)))
                .collect();
            parts.join(", ")
        }
    }
}

/// In which windows each server gave memory back, in a sentence each.
pub fn verdict(comparison: &Comparison) -> Vec<String> {
    let sides = comparison.sides.iter();
    let said = sides.filter_map(|side| {
        let sentence = decay::sentence(&side.gave)?;
        let cost = side.traffic.map(|cost| format!("; {}", traffic(&cost)));
        Some(format!("{}: {sentence}{}", side.label, cost.unwrap_or_default()))
    });
    said.collect()
}

/// What light traffic cost by itself, with its interval over the runs.
fn traffic(cost: &MedianInterval) -> String {
    let size = |bytes: f64| units::signed_mib(bytes.round() as i64);
    let mark = if cost.reached {
        String::new()
    } else {
        format!(" {MARK}")
    };
    let span = match cost.n {
        1 => String::new(),
        _ => format!(" ({}{mark})", figures::span(&size(cost.low), &size(cost.high))),
    };
    format!(
        "light traffic by itself, as the control has it, {} MiB a minute{span}, taken off no figure",
        size(cost.median)
    )
}
