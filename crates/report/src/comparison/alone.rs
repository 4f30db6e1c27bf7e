//! What there is to say of a server that has no other beside it.

use analysis::compare::{Comparison, Row};
use analysis::figures::{Figure, Place};

use super::{figures, words};

/// What the only server keeps at the result, and its peak, with their intervals and runs; `None` of several servers,
/// and where neither is known.
pub fn kept(comparison: &Comparison) -> Option<String> {
    let [side] = comparison.sides.as_slice() else {
        return None;
    };
    let result = comparison.result_row().map(|row| &row.measure);
    let kept = last(comparison, |row| Some(&row.measure) == result).map(|(row, size)| {
        let phase = row.measure.place.name();
        format!("{size} private after {phase}")
    });
    let of_run = |row: &Row| row.measure.figure == Figure::Peak && row.measure.place == Place::Run;
    let peak = last(comparison, of_run).map(|(_, size)| format!("peak {size} resident"));
    let parts: Vec<String> = kept.into_iter().chain(peak).collect();
    let runs = words::runs(side);
    (!parts.is_empty()).then(|| format!("{}: {} ({runs})", side.label, parts.join(", ")))
}

/// The last of these rows in which something is known, and its median as text.
fn last(comparison: &Comparison, is_it: impl Fn(&Row) -> bool) -> Option<(&Row, String)> {
    let mut rows = comparison.rows.iter().rev().filter(|row| is_it(row));
    rows.find_map(|row| {
        let median = row.cells.first()?.median?;
        let unit = row.measure.figure.unit();
        Some((
            row,
            figures::around(&median, |value| figures::value_with_unit(value, unit)),
        ))
    })
}
