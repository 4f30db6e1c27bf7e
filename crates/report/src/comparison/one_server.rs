//! The conclusion for a server that is compared with no other.

use analysis::compare::{Comparison, Row};
use analysis::figures::{Figure, MeasuredPart};

use super::{figures, words};

/// Private memory of the only server at the result, and its peak, with their intervals and runs; `None` of several servers,
/// and where neither is known.
pub fn memory_of_only_server(comparison: &Comparison) -> Option<String> {
    let [side] = comparison.sides.as_slice() else {
        return None;
    };
    let result = comparison.result_row().map(|row| &row.measure);
    let mut parts = Vec::new();
    if let Some((row, size)) = last_known(comparison, |row| Some(&row.measure) == result) {
        parts.push(format!("{size} private after {}", row.measure.place.name()));
    }
    if let Some((_, size)) = last_known(comparison, is_peak_of_run) {
        parts.push(format!("peak {size} resident"));
    }
    if parts.is_empty() {
        return None;
    }
    let runs = words::runs(side);
    Some(format!("{}: {} ({runs})", side.label, parts.join(", ")))
}

fn is_peak_of_run(row: &Row) -> bool {
    row.measure.figure == Figure::Peak && row.measure.place == MeasuredPart::Run
}

/// The last of these rows whose median is known, with its text.
fn last_known(comparison: &Comparison, is_wanted: impl Fn(&Row) -> bool) -> Option<(&Row, String)> {
    for row in comparison.rows.iter().rev().filter(|row| is_wanted(row)) {
        if let Some(median) = row.cells.first().and_then(|cell| cell.median) {
            let unit = row.measure.figure.unit();
            let text = figures::around(&median, |value| figures::value_with_unit(value, unit));
            return Some((row, text));
        }
    }
    None
}
