//! What decides between two servers, named before anything is measured.

use crate::band::{NoiseFloor, tolerance};
use crate::figures::{Figure, Measure, Place};
use crate::lens::Lens;
use crate::stats::{Endpoint, Known, Seen};

use super::{Comparison, Row};

/// The endpoints of a side against the baseline, held to what suits the lens: private memory at the result, and the peak of the run. `known` says what is known of their noise.
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
    private
        .into_iter()
        .chain(peak)
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
