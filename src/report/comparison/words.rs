//! A comparison in sentences.

use crate::analyse::compare::{Cell, Comparison, Figure, Measure, Place, Ratio, Row, Unit};
use crate::units;

use super::growth;

/// What to conclude of each server against the baseline: one sentence for each figure that a choice hangs on,
/// and of every server what it grows with.
pub fn verdict(comparison: &Comparison) -> Vec<String> {
    let mut sentences = Vec::new();
    let Some(baseline) = comparison.sides.first() else {
        return sentences;
    };
    for (place, side) in comparison.sides.iter().enumerate().skip(1) {
        for row in telling(comparison) {
            let cell = &row.cells[place];
            if let Some(ratio) = &cell.ratio {
                sentences.push(sentence(
                    &side.label,
                    &baseline.label,
                    row,
                    ratio,
                    runs(&row.cells[0], cell),
                ));
            }
        }
    }
    sentences.extend(growth::verdict(comparison));
    sentences
}

/// The figures that a choice hangs on: private memory where the baseline has most and at the end, the peak, CPU.
fn telling(comparison: &Comparison) -> Vec<&Row> {
    let private: Vec<&Row> = comparison
        .rows
        .iter()
        .filter(|row| row.measure.figure == Figure::Private)
        .collect();
    let middle = |row: &Row| row.cells[0].median.map_or(0.0, |median| median.median);
    let mut telling: Vec<&Row> = Vec::new();
    telling.extend(private.iter().copied().max_by(|a, b| middle(a).total_cmp(&middle(b))));
    telling.extend(
        private
            .last()
            .copied()
            .filter(|last| telling.iter().all(|row| row.measure != last.measure)),
    );
    for figure in Figure::OF_RUNS {
        telling.extend(comparison.row(&Measure {
            place: Place::Run,
            figure,
        }));
    }
    telling
}

fn sentence(candidate: &str, baseline: &str, row: &Row, ratio: &Ratio, runs: String) -> String {
    let what = match row.measure.figure {
        Figure::Private => "private memory",
        Figure::Peak => "resident memory at its peak",
        Figure::Resident => "resident memory",
        Figure::Cpu => "CPU time",
        Figure::Faults => "minor page faults",
        Figure::P50 => "median latency",
        Figure::P95 => "95th percentile of latency",
    };
    let place = match &row.measure.place {
        Place::Phase { name, .. } => format!(" after {name}"),
        Place::Run => String::new(),
        Place::Method(method) => format!(" of {method}"),
    };
    let verb = match row.measure.figure.unit() {
        Unit::Bytes => "keeps",
        Unit::Nanos | Unit::Count => "takes",
    };
    if !ratio.differs() {
        return format!(
            "{candidate} cannot be told from {baseline} by {what}{place}: {}, {runs}",
            range(ratio.low, ratio.high)
        );
    }
    format!(
        "{candidate} {verb} {} {what} than {baseline}{place}, {runs}",
        range(ratio.low, ratio.high)
    )
}

fn runs(baseline: &Cell, candidate: &Cell) -> String {
    let known = |cell: &Cell| cell.values.iter().flatten().count() as u64;
    match (known(baseline), known(candidate)) {
        (a, b) if a == b => format!("{} runs each", units::count(a)),
        (a, b) => format!("{} and {} runs", units::count(b), units::count(a)),
    }
}

/// How far the machines are apart, where there are several: ` (+3 to +5 % on 3 machines)`.
pub fn spread(ratio: &Ratio) -> String {
    if ratio.machines.len() < 2 {
        return String::new();
    }
    let ratios = || ratio.machines.iter().map(|machine| (machine.ratio - 1.0) * 100.0);
    let (low, high) = (
        ratios().fold(f64::INFINITY, f64::min),
        ratios().fold(f64::NEG_INFINITY, f64::max),
    );
    let digits = digits(low, high);
    format!(
        " ({low:+.digits$} to {high:+.digits$} % on {} machines)",
        ratio.machines.len()
    )
}

/// The interval of a ratio in words: `28–31 % more`, `3–5 % less`, `between 2 % less and 3 % more`.
pub fn range(low: f64, high: f64) -> String {
    let (less, more) = ((1.0 - low) * 100.0, (high - 1.0) * 100.0);
    if low >= 1.0 {
        format!("{} more", between((low - 1.0) * 100.0, more))
    } else if high <= 1.0 {
        format!("{} less", between((1.0 - high) * 100.0, less))
    } else {
        let digits = digits(-less, more);
        format!("between {less:.digits$} % less and {more:.digits$} % more")
    }
}

fn between(low: f64, high: f64) -> String {
    let digits = digits(low, high);
    match (format!("{low:.digits$}"), format!("{high:.digits$}")) {
        (low, high) if low == high => format!("{low} %"),
        (low, high) => format!("{low}–{high} %"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_says_which_way_and_how_far() {
        assert_eq!(range(1.28, 1.314), "28–31 % more");
        assert_eq!(range(0.95, 0.97), "3.0–5.0 % less");
        assert_eq!(range(0.98, 1.03), "between 2 % less and 3 % more");
        assert_eq!(range(0.9995, 1.0004), "between 0.05 % less and 0.04 % more");
        assert_eq!(range(1.0300, 1.0301), "3.00–3.01 % more");
    }
}
