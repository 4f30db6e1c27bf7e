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
    let private = last_known(comparison, |row| Some(&row.measure) == result);
    let peak = last_known(comparison, is_peak_of_run);
    let sentence = memory_sentence(
        private.map(|(row, size)| (size, format!("after {}", row.measure.place.name()))),
        peak.map(|(_, size)| size),
    )?;
    let runs = words::runs(side);
    Some(format!("{}: {sentence} ({runs})", side.label))
}

/// Private memory with its moment, and the peak, of one run or several: `41.2 MiB private after goto, peak 60.1 MiB
/// resident`; `None` where neither is known.
pub fn memory_sentence(private: Option<(String, String)>, peak: Option<String>) -> Option<String> {
    let private = private.map(|(size, when)| format!("{size} private {when}"));
    let peak = peak.map(|size| format!("peak {size} resident"));
    let parts: Vec<String> = private.into_iter().chain(peak).collect();
    if parts.is_empty() { None } else { Some(parts.join(", ")) }
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
