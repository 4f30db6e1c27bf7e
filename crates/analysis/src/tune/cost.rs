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
    let allowed = rules.allowed().into_iter();
    let costs = allowed.map(|(figure, allowed)| cost_of(cell, figure, allowed));
    costs.max().unwrap_or(Cost::Shown)
}

/// The cost in one figure, for an allowed increase as a share.
pub fn cost_of(cell: &CellResult, figure: Figure, allowed: f64) -> Cost {
    match cell.figure(figure).ratio.as_ref() {
        Some(ratio) if ratio.high <= 1.0 + allowed => Cost::Shown,
        Some(ratio) if ratio.low > 1.0 + allowed => Cost::Dear,
        Some(ratio) if ratio.ratio <= 1.0 + allowed => Cost::Open,
        Some(_) => Cost::Doubtful,
        None => Cost::Unknown,
    }
}

/// Runs of each that would show, in four of five sweeps, on which side of the limits a cell is, if its figures keep
/// their spread. `None` if nothing is open, or no number of runs suffices.
pub fn runs_to_settle(cell: &CellResult, default: &CellResult, rules: &Rules) -> Option<usize> {
    let mut most_runs = None;
    for (figure, allowed) in rules.allowed() {
        if matches!(cost_of(cell, figure, allowed), Cost::Open | Cost::Doubtful) {
            let runs = runs_to_settle_figure(cell, default, figure, allowed)?;
            most_runs = most_runs.max(Some(runs));
        }
    }
    most_runs
}

fn runs_to_settle_figure(cell: &CellResult, default: &CellResult, figure: Figure, allowed: f64) -> Option<usize> {
    let ratio = cell.figure(figure).ratio.as_ref()?.ratio / (1.0 + allowed);
    let own = Arm::new(&cell.known_values(figure)).ok()?;
    let base = Arm::new(&default.known_values(figure)).ok()?;
    // As of two arms that vary alike.
    let cv = own.variation().hypot(base.variation()) / std::f64::consts::SQRT_2;
    let effect = ratio.max(1.0 / ratio) - 1.0;
    let alpha = (1.0 - CONFIDENCE) / 2.0;
    runs_needed(cv, effect, alpha, WANTED, NoiseFloor::RELATIVE.relative)
}
