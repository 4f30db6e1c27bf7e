//! The endpoints that decide between two servers, fixed before any measurement.

use crate::figures::{Figure, Measure, Place};
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
    known: &dyn Fn(&Measure) -> (NoiseFloor, Known),
) -> Vec<Endpoint> {
    let private = comparison.result_row();
    let peak = comparison.row(&Measure {
        place: Place::Run,
        figure: Figure::Peak,
    });
    let live = comparison.rows.iter().filter(|row| row.measure.figure == Figure::Live);
    let live = live
        .rev()
        .find(|row| Some(&row.measure.place) == comparison.result.as_ref());
    let decide: Vec<&Row> = match live {
        Some(live) => vec![live],
        None => private.into_iter().chain(peak).collect(),
    };
    decide
        .into_iter()
        .map(|row| endpoint(row, side, lens, known(&row.measure)))
        .collect()
}

fn endpoint(row: &Row, side: usize, lens: Lens, (noise, known): (NoiseFloor, Known)) -> Endpoint {
    // What asks for this makes its runs itself, on one machine.
    let values = |side: usize| -> Vec<Seen> {
        let cell = row.cells.get(side).into_iter();
        cell.flat_map(|cell| cell.values.iter().copied().map(Seen::here))
            .collect()
    };
    Endpoint {
        name: format!("{}{}", row.measure.figure.name(), row.measure.place.suffix()),
        tolerance: tolerance(lens),
        noise,
        known,
        baseline: values(0),
        candidate: values(side),
    }
}
