//! What to ship: by rules that are stated, from cells that were run to the end.

use super::figure::{Tuned, Versus};
use super::{Rules, Swept};

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
    /// The default itself has no run that counts.
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
        (Some(default), _) if default.runs.is_empty() => Choice::Unknown,
        (None, _) => Choice::Unknown,
        (Some(_), Some(limit)) => fastest(cells, limit as f64),
        (Some(default), None) => least(cells, default, rules),
    }
}

/// Least settled private memory among those that cost no more than is allowed.
fn least(cells: &[Swept], default: &Swept, rules: &Rules) -> Choice {
    let tried = || (1..cells.len()).filter(|place| cells[*place].is_usable());
    if default.runs.len() < LEAST_RUNS || tried().any(|place| cells[place].runs.len() < LEAST_RUNS) {
        return Choice::Default(Keep::TooFew);
    }
    let less: Vec<usize> = tried().filter(|place| needs_less(&cells[*place], default)).collect();
    let kept: Vec<usize> = less
        .iter()
        .copied()
        .filter(|place| is_affordable(&cells[*place], rules))
        .collect();
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

/// Shown to need less, by as much as a setting is worth.
fn needs_less(cell: &Swept, default: &Swept) -> bool {
    let shown = cell.figure(Tuned::Private).ratio.as_ref();
    let saved = default.median(Tuned::Private).zip(cell.median(Tuned::Private));
    let worth = saved.is_some_and(|(default, own)| default - own >= WORTH.max(default * Tuned::Private.slack()));
    worth && shown.is_some_and(|ratio| ratio.high < 1.0)
}

/// Whether it was not seen to cost more than is allowed.
fn is_affordable(cell: &Swept, rules: &Rules) -> bool {
    let keeps = |figure: Tuned, most: f64| {
        let ratio = cell.figure(figure).ratio.as_ref();
        ratio.is_none_or(|ratio| ratio.ratio <= 1.0 + most)
    };
    keeps(Tuned::P95, rules.latency) && keeps(Tuned::Cpu, rules.cpu)
}

/// The fastest whose private memory is under the limit by the upper end of its interval, the default among them.
fn fastest(cells: &[Swept], limit: f64) -> Choice {
    let upper = |place: &usize| {
        let median = cells[*place].figure(Tuned::Private).median;
        median.map_or(f64::INFINITY, |median| median.high)
    };
    let usable: Vec<usize> = (0..cells.len()).filter(|place| cells[*place].is_usable()).collect();
    let under: Vec<usize> = usable.iter().copied().filter(|place| upper(place) <= limit).collect();
    if under.is_empty() {
        return Choice::None(usable.into_iter().min_by(|a, b| upper(a).total_cmp(&upper(b))));
    }
    let values = |place: usize, figure: Tuned| -> Vec<f64> {
        cells[place].figure(figure).values.iter().flatten().copied().collect()
    };
    let cost = |figure: Tuned| move |place: &usize| cells[*place].median(figure).unwrap_or(f64::INFINITY);
    let p95 = cost(Tuned::P95);
    let Some(first) = under.iter().copied().min_by(|a, b| p95(a).total_cmp(&p95(b))) else {
        return Choice::None(None);
    };
    // Of those that are as fast but for what nobody cares for, the one with least processor time; of equals the default.
    let as_fast = under.into_iter().filter(|place| {
        let versus = Versus::new(&values(first, Tuned::P95), &values(*place, Tuned::P95), Tuned::P95);
        versus.is_none_or(|versus| versus.ratio <= 1.0 + Tuned::P95.slack())
    });
    let cpu = cost(Tuned::Cpu);
    match as_fast.min_by(|a, b| cpu(a).total_cmp(&cpu(b))) {
        Some(0) => Choice::Default(Keep::Fastest),
        Some(place) => Choice::Ship(place),
        None => Choice::None(None),
    }
}
