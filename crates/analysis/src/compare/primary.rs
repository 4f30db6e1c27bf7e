//! The endpoints that decide between two servers, fixed before any measurement.

use crate::figures::{Figure, Measure, MeasuredPart};
use base::band::{NoiseFloor, tolerance};
use base::lens::Lens;
use stats::{Endpoint, Known, Seen};

use super::{Comparison, Row};

/// A side's endpoints against the baseline, with the lens's limits: private memory at the result, and the peak of the
/// run; where garbage was collected first, live memory at the result alone. `known` is the noise of each.
pub fn primary(
    comparison: &Comparison,
    side: usize,
    lens: Lens,
    known: &impl Fn(&Measure) -> (NoiseFloor, Known),
) -> Vec<Endpoint> {
    deciding_rows(comparison)
        .into_iter()
        .map(|row| endpoint(row, side, lens, known(&row.measure)))
        .collect()
}

fn deciding_rows(comparison: &Comparison) -> Vec<&Row> {
    let live = comparison
        .rows
        .iter()
        .rfind(|row| row.measure.figure == Figure::Live && Some(&row.measure.place) == comparison.result.as_ref());
    if let Some(live) = live {
        return vec![live];
    }
    let peak = comparison.row(&Measure {
        place: MeasuredPart::Run,
        figure: Figure::Peak,
    });
    comparison.result_row().into_iter().chain(peak).collect()
}

fn endpoint(row: &Row, side: usize, lens: Lens, (noise, known): (NoiseFloor, Known)) -> Endpoint {
    Endpoint {
        name: format!("{}{}", row.measure.figure.name(), row.measure.place.suffix()),
        tolerance: tolerance(lens),
        noise,
        known,
        baseline: values_of_side(row, 0),
        candidate: values_of_side(row, side),
    }
}

/// The values of a side as if from one machine, since callers make all runs themselves.
fn values_of_side(row: &Row, side: usize) -> Vec<Seen> {
    match row.cells.get(side) {
        Some(cell) => cell.values.iter().copied().map(Seen::on_only_machine).collect(),
        None => Vec::new(),
    }
}
