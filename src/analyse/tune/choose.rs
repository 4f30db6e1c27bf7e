//! What to ship: by rules that are stated, from cells that were run to the end.

use std::cmp::Ordering;

use super::figure::{Tuned, Versus};
use super::{Rules, Sweep, Swept};

/// Memory that is not worth a setting, in bytes.
const WORTH: f64 = 2.0 * 1_048_576.0;

/// The fewest runs of each that a recommendation stands on.
pub const LEAST_RUNS: usize = 3;

/// What a sweep recommends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Choice {
    /// This cell, by its place.
    Ship(usize),
    /// Nothing is to be changed.
    Default(Keep),
    /// No cell is under the limit; the place of the one that comes nearest.
    None(Option<usize>),
    /// The server fails the scenario as it is.
    Unknown,
}

/// Why nothing is to be changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Keep {
    /// There are too few runs to show anything.
    TooFew,
    /// No cell is shown to need less.
    NothingLess,
    /// Those that need less cost more than is allowed; the place of the one with least memory.
    TooDear(usize),
    /// It is the fastest that keeps the limit.
    Fastest,
}

/// Applies the rule. `cells` begin with the default.
pub(super) fn choose(cells: &[Swept], rules: &Rules) -> Choice {
    match (cells.first(), rules.max_private) {
        (Some(default), _) if default.runs.is_empty() && default.failed() => Choice::Unknown,
        (None, _) => Choice::Unknown,
        (Some(_), Some(limit)) => fastest(cells, limit as f64),
        (Some(default), None) => least(cells, default, rules),
    }
}

/// Least settled private memory among those that cost no more than is allowed.
fn least(cells: &[Swept], default: &Swept, rules: &Rules) -> Choice {
    let tried = || (1..cells.len()).filter(|place| is_candidate(&cells[*place]));
    if are_too_few(cells) {
        return Choice::Default(Keep::TooFew);
    }
    let less: Vec<usize> = tried().filter(|place| needs_less(&cells[*place], default)).collect();
    let costing = |wanted: Cost| {
        less.iter()
            .copied()
            .filter(move |place| cost(&cells[*place], rules) == wanted)
    };
    // What is shown goes first; but latency and CPU vary by more than is allowed on many machines, and a sweep that answers
    // nothing there would be left for the eye.
    let mut kept: Vec<usize> = costing(Cost::Shown).collect();
    if kept.is_empty() {
        kept = costing(Cost::Open).collect();
    }
    let on_front: Vec<usize> = kept.iter().copied().filter(|place| cells[*place].front).collect();
    let candidates = if on_front.is_empty() { kept } else { on_front };
    let private = |place: &usize| cells[*place].median(Tuned::Private).unwrap_or(f64::INFINITY);
    let lowest = |places: &[usize]| places.iter().copied().min_by(|a, b| private(a).total_cmp(&private(b)));
    let Some(lowest_kept) = lowest(&candidates) else {
        let keep = lowest(&less).map_or(Keep::NothingLess, Keep::TooDear);
        return Choice::Default(keep);
    };
    // What differs by less than anybody cares for is decided by what it costs.
    let most = private(&lowest_kept) * (1.0 + Tuned::Private.slack());
    let near = candidates.into_iter().filter(|place| private(place) <= most);
    let cpu = |place: &usize| cells[*place].median(Tuned::Cpu).unwrap_or(f64::INFINITY);
    near.min_by(|a, b| cpu(a).total_cmp(&cpu(b)))
        .map_or(Choice::Default(Keep::NothingLess), Choice::Ship)
}

/// Usable, and run often enough to be recommended.
fn is_candidate(cell: &Swept) -> bool {
    cell.is_usable() && cell.runs.len() >= LEAST_RUNS
}

/// Whether the default, or all that is left besides it, was run too seldom to show anything.
fn are_too_few(cells: &[Swept]) -> bool {
    let seldom = |cell: &Swept| cell.runs.len() < LEAST_RUNS;
    let mut left = cells.iter().skip(1).filter(|cell| cell.is_usable()).peekable();
    cells.first().is_none_or(seldom) || (left.peek().is_some() && left.all(seldom))
}

/// Shown to need less, by as much as a setting is worth.
fn needs_less(cell: &Swept, default: &Swept) -> bool {
    let shown = cell.figure(Tuned::Private).ratio.as_ref();
    let saved = default.median(Tuned::Private).zip(cell.median(Tuned::Private));
    let worth = saved.is_some_and(|(default, own)| default - own >= WORTH.max(default * Tuned::Private.slack()));
    worth && shown.is_some_and(|ratio| ratio.high < 1.0)
}

/// What a cell costs in latency and CPU, against what is allowed; the worse of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cost {
    /// Shown to be no more, by the upper ends of the intervals.
    Shown,
    /// No more by the figures themselves; the intervals leave open whether it is.
    Open,
    /// More than is allowed, or not known.
    Dear,
}

/// What a cell costs.
pub fn cost(cell: &Swept, rules: &Rules) -> Cost {
    let of = |figure: Tuned, most: f64| match cell.figure(figure).ratio.as_ref() {
        Some(ratio) if ratio.high <= 1.0 + most => Cost::Shown,
        Some(ratio) if ratio.ratio <= 1.0 + most => Cost::Open,
        _ => Cost::Dear,
    };
    of(Tuned::P95, rules.latency).max(of(Tuned::Cpu, rules.cpu))
}

/// Whether it may be chosen, and its private memory is under the limit by the upper end of its interval.
fn keeps(cell: &Swept, limit: f64) -> bool {
    is_candidate(cell) && cell.most_private().is_some_and(|most| most <= limit)
}

/// Under a limit, the others that may be as fast as the one that was chosen: the intervals of p95 overlap.
pub fn as_fast(sweep: &Sweep) -> Vec<&Swept> {
    let chosen = match sweep.choice {
        Choice::Ship(place) => place,
        Choice::Default(Keep::Fastest) => 0,
        Choice::Default(_) | Choice::None(_) | Choice::Unknown => return Vec::new(),
    };
    let interval = |cell: &Swept| cell.figure(Tuned::P95).median;
    let limit = sweep.rules.max_private.map(|limit| limit as f64);
    let (Some(limit), Some(own)) = (limit, interval(&sweep.cells[chosen])) else {
        return Vec::new();
    };
    let overlaps = |cell: &Swept| interval(cell).is_some_and(|other| other.low <= own.high && own.low <= other.high);
    let others = sweep.cells.iter().enumerate().filter(|(place, _)| *place != chosen);
    others
        .map(|(_, cell)| cell)
        .filter(|cell| keeps(cell, limit) && overlaps(cell))
        .collect()
}

/// The fastest whose private memory is under the limit by the upper end of its interval, the default among them.
fn fastest(cells: &[Swept], limit: f64) -> Choice {
    let under: Vec<usize> = (0..cells.len()).filter(|place| keeps(&cells[*place], limit)).collect();
    if under.is_empty() && are_too_few(cells) {
        return Choice::Default(Keep::TooFew);
    }
    if under.is_empty() {
        // Also of those that were stopped, which is what being far over the limit comes to.
        let private = |place: &usize| cells[*place].median(Tuned::Private);
        let measured = (0..cells.len()).filter(|place| cells[*place].is_honest() && private(place).is_some());
        return Choice::None(measured.min_by(|a, b| private(a).partial_cmp(&private(b)).unwrap_or(Ordering::Equal)));
    }
    let values = |place: usize, figure: Tuned| -> Vec<f64> {
        cells[place].figure(figure).values.iter().flatten().copied().collect()
    };
    let typical = |figure: Tuned| move |place: &usize| cells[*place].median(figure).unwrap_or(f64::INFINITY);
    let p95 = typical(Tuned::P95);
    let Some(first) = under.iter().copied().min_by(|a, b| p95(a).total_cmp(&p95(b))) else {
        return Choice::None(None);
    };
    // Of those that are as fast but for what nobody cares for, the one with least processor time; of equals the default.
    let as_fast = under.into_iter().filter(|place| {
        let versus = Versus::new(&values(first, Tuned::P95), &values(*place, Tuned::P95), Tuned::P95);
        // Where not even the fastest has a latency, none has one.
        let unknown = values(first, Tuned::P95).is_empty();
        unknown || versus.is_some_and(|versus| versus.ratio <= 1.0 + Tuned::P95.slack())
    });
    let cpu = typical(Tuned::Cpu);
    match as_fast.min_by(|a, b| cpu(a).total_cmp(&cpu(b))) {
        Some(0) => Choice::Default(Keep::Fastest),
        Some(place) => Choice::Ship(place),
        None => Choice::None(None),
    }
}
