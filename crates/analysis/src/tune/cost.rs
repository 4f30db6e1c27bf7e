//! The cost of a setting in latency and processor time, against the limits, and how many runs would show it.

use crate::figures::Figure;
use base::band::NoiseFloor;
use stats::{Arm, runs_needed};

use super::{CONFIDENCE, CellResult, Rules};

/// The power for which a number of runs is computed.
const WANTED: f64 = 0.8;

/// More runs of each than a sweep is advised to make: a quieter machine takes less time.
pub const MOST_RUNS: usize = 100;

/// The cost in latency and CPU against the limits; the worse of the two. Among runs that are played at once none counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cost {
    /// Shown to be no more, by the upper ends of the intervals.
    Shown,
    /// No more by the figures themselves; the intervals leave open whether it is.
    Open,
    /// More by the figures themselves; the intervals leave open whether it is.
    Doubtful,
    Unknown,
    /// Shown to be more, by the lower ends of the intervals.
    Dear,
}

pub fn cost(cell: &CellResult, rules: &Rules) -> Cost {
    let costs = rules
        .allowed()
        .into_iter()
        .map(|(figure, most)| cost_of(cell, figure, most));
    costs.max().unwrap_or(Cost::Shown)
}

/// The cost in one figure, of which `most` more is allowed.
pub fn cost_of(cell: &CellResult, figure: Figure, most: f64) -> Cost {
    match cell.figure(figure).ratio.as_ref() {
        Some(ratio) if ratio.high <= 1.0 + most => Cost::Shown,
        Some(ratio) if ratio.low > 1.0 + most => Cost::Dear,
        Some(ratio) if ratio.ratio <= 1.0 + most => Cost::Open,
        Some(_) => Cost::Doubtful,
        None => Cost::Unknown,
    }
}

/// How many runs of each would show, in four of five sweeps, on which side of the limits a cell is, if its figures
/// keep their spread. `None` if nothing is open, or no number of runs suffices.
pub fn runs_to_settle(cell: &CellResult, default: &CellResult, rules: &Rules) -> Option<usize> {
    let open = rules.allowed().into_iter().filter(|(figure, most)| {
        let cost = cost_of(cell, *figure, *most);
        matches!(cost, Cost::Open | Cost::Doubtful)
    });
    let needed = open.map(|(figure, most)| {
        let ratio = cell.figure(figure).ratio.as_ref()?.ratio / (1.0 + most);
        let own = Arm::new(&cell.known(figure)).ok()?;
        let base = Arm::new(&default.known(figure)).ok()?;
        // As of two arms that vary alike.
        let cv = own.variation().hypot(base.variation()) / std::f64::consts::SQRT_2;
        let effect = ratio.max(1.0 / ratio) - 1.0;
        let alpha = (1.0 - CONFIDENCE) / 2.0;
        runs_needed(cv, effect, alpha, WANTED, NoiseFloor::RELATIVE.relative)
    });
    let needed: Option<Vec<usize>> = needed.collect();
    needed?.into_iter().max()
}
