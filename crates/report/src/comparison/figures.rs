//! The figures of a comparison as text, with their units.

use std::cmp::Ordering;
use std::time::Duration;

use crate::document::{self, Difference, LEAST, MatrixCell};
use analysis::compare::{Cell, Comparison, Ratio, Row};
use analysis::figures::{MeasuredPart, Unit};
use base::units;
use stats::MedianInterval;

pub use crate::document::HOLE;

/// Marks a full range: too few runs for the wanted confidence.
pub const MARK: &str = "*";

/// Where the least and the most of a place are marked.
pub const ENDS: &str = "intervals do not overlap, 4 runs or more";

/// Fewest runs of each server for a lowest or highest mark: by chance, the ranges of two equal servers do not overlap
/// in one case of ten with three runs, in one of 35 with four.
const APART: usize = 4;

/// The mark of the lowest or highest value of its place. A server has it only if its interval overlaps with no other,
/// so that variation between runs cannot explain it. `None` if a server has too few runs or no ratio to the baseline.
fn end_of(row: &Row, side: usize) -> Option<&'static str> {
    let own = row.cells[side].median?;
    let mut others: Vec<MedianInterval> = Vec::new();
    for (place, cell) in row.cells.iter().enumerate() {
        let Some(median) = cell.median else { continue };
        let is_comparable = place == 0 || cell.ratio.is_some();
        if median.n < APART || !is_comparable {
            return None;
        }
        if place != side {
            others.push(median);
        }
    }
    if others.is_empty() {
        None
    } else if others.iter().all(|other| own.high < other.low) {
        Some(LEAST)
    } else if others.iter().all(|other| own.low > other.high) {
        Some(document::MOST)
    } else {
        None
    }
}

/// Describes the intervals of these rows' medians.
pub fn intervals<'r>(rows: impl IntoIterator<Item = &'r Row>) -> &'static str {
    let mut are_wide = false;
    let mut are_certain = false;
    for cell in rows.into_iter().flat_map(|row| &row.cells) {
        match cell.median {
            Some(median) if median.n > 1 && median.reached => are_certain = true,
            Some(median) if median.n > 1 => are_wide = true,
            Some(_) | None => {}
        }
    }
    match (are_wide, are_certain) {
        (true, false) => "full ranges (too few runs for 95 % intervals)",
        (true, true) => "95 % intervals, or full ranges (*) of too few runs",
        (false, true) => "95 % intervals",
        (false, false) => "no intervals (one run of each)",
    }
}

/// True if any of these rows has a lowest or highest mark.
pub fn has_ends(rows: &[Row]) -> bool {
    rows.iter()
        .any(|row| (0..row.cells.len()).any(|side| end_of(row, side).is_some()))
}

/// The meaning of the lowest and highest marks, if any of these rows has one.
pub fn ends_note(rows: &[Row]) -> Option<String> {
    if has_ends(rows) {
        Some(format!("{LEAST} and {}: {ENDS}", document::MOST))
    } else {
        None
    }
}

/// A note for comparisons in which a phase was played more than once.
pub fn rounds_note(comparison: &Comparison) -> Option<String> {
    if comparison.repeats {
        Some("repeated phases: the last round".to_owned())
    } else {
        None
    }
}

/// A figure in its unit, sizes as MiB without one.
pub fn value(value: f64, unit: Unit) -> String {
    value_like(value, unit, value)
}

/// A figure in the unit that suits `like`, so that two figures that stand together have one unit.
pub fn value_like(value: f64, unit: Unit, like: f64) -> String {
    let (whole, like) = (value.round() as u64, like.round() as u64);
    let time = Duration::from_nanos;
    match unit {
        Unit::Bytes => units::mib(whole),
        Unit::Nanos => units::duration_like(time(whole), time(like)),
        Unit::CpuNanos => units::cpu_time_like(time(whole), time(like)),
        Unit::Count => units::count(whole),
        Unit::Number => units::number(value),
        Unit::Share => units::percent(value),
    }
}

/// A figure with the unit that suits it, for sentences and for tables of several units.
pub fn amount(value: f64, unit: Unit) -> String {
    if unit == Unit::Number {
        return units::number(value);
    }
    let value = value.max(0.0);
    match unit {
        Unit::Bytes => units::bytes(value.round() as u64),
        _ => self::value(value, unit),
    }
}

/// The unit of a value that was set and not measured, such as a limit: it has no whole ticks.
pub fn as_set(unit: Unit) -> Unit {
    match unit {
        Unit::CpuNanos => Unit::Nanos,
        _ => unit,
    }
}

/// A figure in its unit, sizes with `MiB`, for sentences.
pub fn value_with_unit(size: f64, unit: Unit) -> String {
    match unit {
        Unit::Bytes => format!("{} MiB", value(size, unit)),
        _ => value(size, unit),
    }
}

pub fn median(cell: &Cell, unit: Unit) -> String {
    cell.median
        .map_or_else(|| HOLE.to_owned(), |median| value(median.median, unit))
}

/// The interval of the median, in the median's unit; marked where it is the range of too few runs. Empty for one run.
pub fn interval(cell: &Cell, unit: Unit) -> String {
    let Some(median) = cell.median.filter(|median| median.n > 1) else {
        return String::new();
    };
    let span = span(
        &value_like(median.low, unit, median.median),
        &value_like(median.high, unit, median.median),
    );
    if median.reached { span } else { format!("{span} {MARK}") }
}

/// `2.3 s (2.1–2.6 s)`, marked where the interval is the range of too few runs; of one run only the value.
pub fn around(median: &MedianInterval, text: impl Fn(f64) -> String) -> String {
    let middle = text(median.median);
    if median.n < 2 {
        return middle;
    }
    let mark = if median.reached {
        String::new()
    } else {
        format!(" {MARK}")
    };
    format!("{middle} ({}{mark})", span(&text(median.low), &text(median.high)))
}

/// A cell of a table of servers.
pub fn cell(row: &Row, side: usize) -> MatrixCell {
    let (cell, figure) = (&row.cells[side], row.measure.figure);
    let unit = figure.unit();
    let difference = cell.ratio.as_ref().map(against).map(|difference| Difference {
        less_is_better: figure.has_direction(),
        ..difference
    });
    MatrixCell {
        median: median(cell, unit),
        interval: interval(cell, unit),
        end: end_of(row, side),
        difference,
        values: cell.values.clone(),
    }
}

/// The difference between a server and the baseline, for a cell.
pub fn against(ratio: &Ratio) -> Difference {
    let direction = if ratio.low > 1.0 {
        Some(Ordering::Greater)
    } else if ratio.high < 1.0 {
        Some(Ordering::Less)
    } else {
        None
    };
    Difference {
        direction,
        less_is_better: true,
        range: difference(ratio).unwrap_or_else(|| HOLE.to_owned()),
        by_machine: spread(ratio),
    }
}

/// `355.0–367.2`, `1.26–1.55 ms`, `< 10–30 ms`: a unit that both ends share stands once.
pub fn span(low: &str, high: &str) -> String {
    match (low.rsplit_once(' '), high.rsplit_once(' ')) {
        _ if low == high => low.to_owned(),
        (Some((number, unit)), Some((_, other_unit)))
            if unit == other_unit && !number.contains(char::is_alphabetic) =>
        {
            format!("{number}–{high}")
        }
        _ => format!("{low}–{high}"),
    }
}

/// `361.1 (355.0–367.2)`; a hole is `–`.
pub fn with_interval(cell: &Cell, unit: Unit) -> String {
    match interval(cell, unit) {
        interval if interval.is_empty() => median(cell, unit),
        interval => format!("{} ({interval})", median(cell, unit)),
    }
}

/// The interval of a ratio as per cent of difference: `+4.1 to +5.9 %`. `None` where nothing bounds it.
pub fn difference(ratio: &Ratio) -> Option<String> {
    between(ratio.low, ratio.high)
}

/// The medians behind a difference: `41.2 against 49.3 MiB`. `None` for several machines, whose medians are not pooled.
pub fn medians(row: &Row, place: usize) -> Option<String> {
    let cell = row.cells.get(place)?;
    let (own, baseline) = (cell.median?, row.cells.first()?.median?);
    let ratio = cell.ratio.as_ref()?;
    let is_of_same_runs = ratio.machines.len() < 2 && ratio.runs == (baseline.n, own.n);
    if row.measure.figure.unit() != Unit::Bytes || !is_of_same_runs {
        return None;
    }
    Some(format!(
        "{} against {}",
        value(own.median, Unit::Bytes),
        value_with_unit(baseline.median, Unit::Bytes)
    ))
}

/// The span of the ratios of several machines: `+3 to +5 %`.
pub fn spread(ratio: &Ratio) -> Option<String> {
    if ratio.machines.len() < 2 {
        return None;
    }
    let lowest = ratio.machines.values().copied().fold(f64::INFINITY, f64::min);
    let highest = ratio.machines.values().copied().fold(0.0, f64::max);
    between(lowest, highest)
}

fn between(low: f64, high: f64) -> Option<String> {
    if !high.is_finite() {
        return None;
    }
    if is_boundless(low, high) {
        return Some(format!("{} to > +{MOST:.0} %", signed((low - 1.0) * 100.0, 0)));
    }
    let (low, high) = ((low - 1.0) * 100.0, (high - 1.0) * 100.0);
    let digits = digits(low, high);
    let (low, high) = (signed_end(low, digits), signed_end(high, digits));
    if low == high {
        Some(format!("{low} %"))
    } else {
        Some(format!("{low} to {high} %"))
    }
}

/// An end of an interval, with more digits than these where it would round to 0: that would not tell on which side of 0
/// the interval ends.
fn signed_end(percent: f64, digits: usize) -> String {
    let most_digits = if percent == 0.0 { digits } else { 2 };
    let mut text = signed(percent, digits);
    for more in digits + 1..=most_digits {
        if text.starts_with(['+', '−']) {
            break;
        }
        text = signed(percent, more);
    }
    text
}

/// The upper end in per cent above which a wide interval has none that is worth its digits.
const MOST: f64 = 1_000.0;

/// True if an interval is too wide to say how much more there may be: it ends above [`MOST`], and at more than ten
/// times its start.
fn is_boundless(low: f64, high: f64) -> bool {
    high > 1.0 + MOST / 100.0 && high > 10.0 * low
}

/// A difference in per cent with its sign; without one if it rounds to 0.
pub fn signed(percent: f64, digits: usize) -> String {
    let text = format!("{:.digits$}", percent.abs());
    match percent {
        _ if text.chars().all(|c| matches!(c, '0' | '.')) => text,
        percent if percent < 0.0 => format!("−{text}"),
        _ => format!("+{text}"),
    }
}

/// A decimal where whole per cent would hide the width of the interval.
fn digits(low: f64, high: f64) -> usize {
    match (high - low).abs() {
        width if width < 0.3 => 2,
        width if width < 3.0 => 1,
        _ => 0,
    }
}

/// The figure and the place of a row: `private after goto`.
pub fn place(row: &Row) -> String {
    let figure = row.measure.figure;
    match &row.measure.place {
        MeasuredPart::Phase { name, .. } if !figure.is_of_checkpoints() => format!("{} in {name}", figure.name()),
        MeasuredPart::Run => format!("{} of the whole run", figure.name()),
        MeasuredPart::Printed(name) => name.clone(),
        place => format!("{}{}", figure.name(), place.suffix()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::figures::{Figure, Measure};

    #[test]
    fn a_difference_has_its_sign_and_the_decimals_that_its_width_needs() {
        assert_eq!(between(0.584, 0.599).unwrap(), "−41.6 to −40.1 %");
        assert_eq!(between(0.98, 1.13).unwrap(), "−2 to +13 %");
        assert_eq!(between(0.9999, 1.0004).unwrap(), "−0.01 to +0.04 %");
        assert_eq!(between(0.999, 1.2).unwrap(), "−0.1 to +20 %");
        assert_eq!(between(1.0, 1.2).unwrap(), "0 to +20 %");
        assert_eq!(between(1.0, 1.0).unwrap(), "0.00 %");
        assert_eq!(between(0.0, f64::INFINITY), None);
        assert_eq!(between(1e-9, 236_696.93).unwrap(), "−100 to > +1000 %");
        assert_eq!(between(1.2, 12.1).unwrap(), "+20 to > +1000 %");
        assert_eq!(between(19.5, 20.5).unwrap(), "+1850 to +1950 %");
    }

    fn ratio() -> Ratio {
        Ratio {
            ratio: 1.0,
            low: 0.9,
            high: 1.1,
            p: 1.0,
            runs: (8, 8),
            machines: std::collections::BTreeMap::new(),
        }
    }

    fn row(cells: Vec<Cell>) -> Row {
        let place = MeasuredPart::Run;
        let measure = Measure {
            place,
            figure: Figure::Private,
        };
        Row { measure, cells }
    }

    /// The mark of each server, whose median and interval are these.
    fn marks(medians: &[(f64, f64, f64)]) -> String {
        let mut cells = Vec::new();
        for (place, (low, median, high)) in medians.iter().enumerate() {
            cells.push(Cell {
                ratio: if place > 0 { Some(ratio()) } else { None },
                ..cell(*low, *median, *high)
            });
        }
        let row = row(cells);
        (0..medians.len())
            .map(|side| end_of(&row, side).unwrap_or(" "))
            .collect()
    }

    fn cell_of_runs(value: f64, n: usize, ratio: Option<Ratio>) -> Cell {
        let cell = cell(value, value, value);
        Cell {
            median: cell.median.map(|median| MedianInterval { n, ..median }),
            ratio,
            ..cell
        }
    }

    /// The mark of the lower of two servers with `n` runs each.
    fn lower_mark(n: usize, ratio: Option<Ratio>) -> Option<&'static str> {
        let cells = vec![cell_of_runs(1.0, n, None), cell_of_runs(2.0, n, ratio)];
        end_of(&row(cells), 0)
    }

    #[test]
    fn the_least_and_the_most_are_apart_from_the_next_and_not_only_from_the_other_end() {
        assert_eq!(marks(&[(1.0, 2.0, 3.0), (4.0, 5.0, 6.0)]), "▾▴");
        assert_eq!(marks(&[(1.0, 2.0, 3.0), (2.5, 5.0, 6.0), (7.0, 8.0, 9.0)]), "  ▴");
        assert_eq!(marks(&[(1.0, 2.0, 3.0), (4.0, 5.0, 6.0), (5.0, 8.0, 9.0)]), "▾  ");
        assert_eq!(marks(&[(0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (1.0, 3.0, 9.0)]), "  ▴");
        assert_eq!(marks(&[(2.0, 2.0, 2.0), (2.0, 2.0, 2.0)]), "  ");
        assert_eq!(marks(&[(2.0, 2.0, 2.0)]), " ");
    }

    #[test]
    fn three_runs_put_nobody_apart() {
        assert_eq!(lower_mark(4, Some(ratio())), Some(LEAST));
        assert_eq!(lower_mark(3, Some(ratio())), None);
        assert_eq!(lower_mark(4, None), None);
    }

    fn cell(low: f64, median: f64, high: f64) -> Cell {
        let median = MedianInterval {
            low,
            median,
            high,
            n: 8,
            coverage: 0.95,
            reached: true,
        };
        Cell {
            values: Vec::new(),
            median: Some(median),
            ratio: None,
            clusters: Vec::new(),
            outliers: Vec::new(),
        }
    }

    #[test]
    fn one_cell_has_one_unit() {
        for (low, median, high, unit, text) in [
            (830e6, 1_020e6, 1_200e6, Unit::Nanos, "1.02 s (0.83–1.20 s)"),
            (0.8e6, 0.853e6, 1.38e6, Unit::Nanos, "853 µs (800–1380 µs)"),
            (20e6, 40e6, 220e6, Unit::CpuNanos, "40 ms (20–220 ms)"),
        ] {
            let cell = cell(low, median, high);
            assert_eq!(with_interval(&cell, unit), text);
        }
    }

    #[test]
    fn processor_time_that_no_tick_fell_into_is_less_than_one() {
        for (low, median, high, text) in [
            (0.0, 0.0, 0.0, "< 10 ms (< 10 ms)"),
            (0.0, 0.0, 50e6, "< 10 ms (< 10–50 ms)"),
            (0.0, 1.2e9, 1.3e9, "1.20 s (< 0.010–1.30 s)"),
        ] {
            assert_eq!(with_interval(&cell(low, median, high), Unit::CpuNanos), text);
        }
    }

    #[test]
    fn a_unit_that_both_ends_share_stands_once() {
        assert_eq!(span("1.26 ms", "1.55 ms"), "1.26–1.55 ms");
        assert_eq!(span("853 µs", "1.38 ms"), "853 µs–1.38 ms");
        assert_eq!(span("< 10 ms", "30 ms"), "< 10–30 ms");
        assert_eq!(span("1 min 05 s", "2 min 05 s"), "1 min 05 s–2 min 05 s");
        assert_eq!(span("355.0", "367.2"), "355.0–367.2");
    }
}
