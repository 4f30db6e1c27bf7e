//! Chooses the setting to ship by stated rules, from cells that were run to the end.

use std::collections::BTreeMap;

use crate::figures::Figure;

use super::cost::{Cost, MOST_RUNS, cost, runs_to_settle};
use super::figure::Versus;
use super::{CellResult, Rules, Sweep};

/// A setting that saves less than this, in bytes, is not worth its cost.
const WORTH: f64 = 2.0 * 1_048_576.0;

/// The fewest runs of each that a recommendation stands on.
pub const LEAST_RUNS: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Recommendation {
    /// The place of the cell to use instead of the default.
    Use(usize),
    Default(KeepReason),
    /// No cell is under the limit; the place of the one that comes nearest.
    None(Option<usize>),
    /// The server fails the scenario with its default settings.
    Unknown,
}

/// A reason to keep the default settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KeepReason {
    /// There are too few runs.
    TooFew,
    /// The server failed with every other setting.
    OthersFailed,
    /// No cell is shown to need less.
    NothingLess,
    /// A cell is shown to need less, but is not recommended for a reason other than cost; the place of the one with
    /// least memory.
    Barred(usize),
    /// Those that need less are all shown to cost more than is allowed; the place of the one with least memory.
    TooDear(usize),
    /// It is not shown, or not known, whether one that needs less costs more than is allowed; its place.
    CostOpen(usize),
    /// It is the fastest that keeps the limit.
    Fastest,
}

impl Recommendation {
    /// The place of the recommended cell, if known.
    pub fn place(self) -> Option<usize> {
        match self {
            Recommendation::Use(place) => Some(place),
            Recommendation::Default(KeepReason::TooFew | KeepReason::CostOpen(_))
            | Recommendation::None(_)
            | Recommendation::Unknown => None,
            Recommendation::Default(_) => Some(0),
        }
    }
}

/// Applies the rule. `cells` begin with the default.
pub(super) fn choose(cells: &[CellResult], rules: &Rules) -> Recommendation {
    let Some(default) = cells.first() else {
        return Recommendation::Unknown;
    };
    if default.runs.is_empty() && default.failed() {
        return Recommendation::Unknown;
    }
    let limit = rules.max_private.map(|limit| limit as f64);
    if have_others_failed(cells) {
        return match (default.median(Figure::Private), limit) {
            (Some(private), Some(limit)) if private > limit => Recommendation::None(Some(0)),
            _ => Recommendation::Default(KeepReason::OthersFailed),
        };
    }
    match limit {
        Some(limit) => fastest(cells, limit),
        None => least(cells, rules),
    }
}

fn have_others_failed(cells: &[CellResult]) -> bool {
    let planned = cells.iter().map(|cell| cell.sets.of as usize).max();
    cells.len() > 1 && planned == Some(cells.len()) && cells[1..].iter().all(CellResult::failed)
}

/// The cells among which the one with least private memory is chosen.
pub(super) struct Ranked {
    /// Those that need less, by as much as a setting is worth.
    less: Vec<usize>,
    /// Cells whose cost is shown to be allowed, with memory within the slack of the lowest.
    pub near: Vec<usize>,
}

impl Ranked {
    pub fn new(cells: &[CellResult], rules: &Rules) -> Ranked {
        let less: Vec<usize> = (1..cells.len())
            .filter(|place| is_candidate(&cells[*place]) && needs_less(&cells[*place], &cells[0]))
            .collect();
        let affordable = cells_at_cost(cells, &less, rules, Cost::Shown);
        let on_front: Vec<usize> = affordable.iter().copied().filter(|place| cells[*place].front).collect();
        let candidates = if on_front.is_empty() { affordable } else { on_front };
        Ranked {
            near: near_lowest(cells, &candidates),
            less,
        }
    }
}

/// Those of `places` whose cell has this cost.
fn cells_at_cost(cells: &[CellResult], places: &[usize], rules: &Rules, wanted: Cost) -> Vec<usize> {
    let wanted = places.iter().filter(|place| cost(&cells[**place], rules) == wanted);
    wanted.copied().collect()
}

/// Those of `places` whose private memory is within the slack of the lowest.
fn near_lowest(cells: &[CellResult], places: &[usize]) -> Vec<usize> {
    let Some(lowest) = lowest(cells, places) else {
        return Vec::new();
    };
    let most = private(cells, lowest) * (1.0 + Figure::Private.slack());
    let near = places.iter().filter(|place| private(cells, **place) <= most);
    near.copied().collect()
}

/// The median in bytes; infinite where it is unknown.
fn private(cells: &[CellResult], place: usize) -> f64 {
    cells[place].median(Figure::Private).unwrap_or(f64::INFINITY)
}

/// The median; infinite where it is unknown.
fn cpu(cells: &[CellResult], place: usize) -> f64 {
    cells[place].median(Figure::Cpu).unwrap_or(f64::INFINITY)
}

/// The median; infinite where it is unknown.
fn p95(cells: &[CellResult], place: usize) -> f64 {
    cells[place].median(Figure::P95).unwrap_or(f64::INFINITY)
}

/// The one of `places` with least private memory.
fn lowest(cells: &[CellResult], places: &[usize]) -> Option<usize> {
    let places = places.iter().copied();
    places.min_by(|a, b| private(cells, *a).total_cmp(&private(cells, *b)))
}

/// Least settled private memory among those that are shown to cost no more than is allowed.
fn least(cells: &[CellResult], rules: &Rules) -> Recommendation {
    if are_too_few(cells) {
        return Recommendation::Default(KeepReason::TooFew);
    }
    let ranked = Ranked::new(cells, rules);
    let near = ranked.near.iter().copied();
    // Among cells within the slack, CPU decides, unless the runs were played at once.
    let chosen = if rules.is_shared {
        lowest(cells, &ranked.near)
    } else {
        near.min_by(|a, b| cpu(cells, *a).total_cmp(&cpu(cells, *b)))
    };
    match chosen {
        Some(place) => Recommendation::Use(place),
        None => Recommendation::Default(keep_reason(cells, &ranked.less, rules)),
    }
}

/// The reason for keeping the default, of which `less` need less memory. A reason that more runs may remove comes first.
fn keep_reason(cells: &[CellResult], less: &[usize], rules: &Rules) -> KeepReason {
    for undecided in [Cost::Open, Cost::Doubtful] {
        let places = cells_at_cost(cells, less, rules, undecided);
        if let Some(place) = soonest_settled(cells, &places, rules) {
            return KeepReason::CostOpen(place);
        }
    }
    if let Some(place) = lowest(cells, &cells_at_cost(cells, less, rules, Cost::Unknown)) {
        return KeepReason::CostOpen(place);
    }
    if let Some(place) = lowest(cells, less) {
        return KeepReason::TooDear(place);
    }
    let (candidates, others): (Vec<usize>, Vec<usize>) = (1..cells.len())
        .filter(|place| cells[*place].is_shown_less())
        .partition(|place| is_candidate(&cells[*place]));
    match lowest(cells, &candidates).or_else(|| lowest(cells, &others)) {
        Some(place) => KeepReason::Barred(place),
        None => KeepReason::NothingLess,
    }
}

/// The cell whose cost is worth showing: of those that at most [`MOST_RUNS`] would show, the one with least memory, and
/// among cells within the slack of the lowest the one that needs the fewest runs.
fn soonest_settled(cells: &[CellResult], places: &[usize], rules: &Rules) -> Option<usize> {
    let mut runs: BTreeMap<usize, usize> = BTreeMap::new();
    for place in places {
        let needed = runs_to_settle(&cells[*place], &cells[0], rules);
        if let Some(needed) = needed
            && needed <= MOST_RUNS
        {
            runs.insert(*place, needed);
        }
    }
    if runs.is_empty() {
        return lowest(cells, places);
    }
    let within_reach: Vec<usize> = runs.keys().copied().collect();
    let near = near_lowest(cells, &within_reach);
    near.into_iter().min_by_key(|place| runs[place])
}

/// Usable, and run often enough to be recommended.
fn is_candidate(cell: &CellResult) -> bool {
    cell.is_usable() && cell.runs.len() >= LEAST_RUNS
}

/// True if the default, or every other usable cell, has too few runs.
fn are_too_few(cells: &[CellResult]) -> bool {
    let Some((default, others)) = cells.split_first() else {
        return true;
    };
    if default.runs.len() < LEAST_RUNS {
        return true;
    }
    let usable: Vec<&CellResult> = others.iter().filter(|cell| cell.is_usable()).collect();
    !usable.is_empty() && usable.iter().all(|cell| cell.runs.len() < LEAST_RUNS)
}

/// Shown to need less, by as much as a setting is worth.
fn needs_less(cell: &CellResult, default: &CellResult) -> bool {
    cell.is_shown_less() && saving(cell, default).is_some_and(|(saved, worth)| saved >= worth)
}

/// Private memory saved, by the medians, and the saving that a setting must reach.
pub(super) fn saving(cell: &CellResult, default: &CellResult) -> Option<(f64, f64)> {
    let default = default.median(Figure::Private)?;
    Some((
        default - cell.median(Figure::Private)?,
        WORTH.max(default * Figure::Private.slack()),
    ))
}

/// True if a cell may be chosen, and its private memory is under the limit by the upper end of its interval.
fn is_candidate_under(cell: &CellResult, limit: f64) -> bool {
    is_candidate(cell) && cell.most_private().is_some_and(|most| most <= limit)
}

/// Under a limit, the cells beside the chosen one that may be as fast: the intervals of p95 overlap.
pub fn as_fast(sweep: &Sweep) -> Vec<&CellResult> {
    let chosen = match sweep.choice {
        Recommendation::Use(place) => place,
        Recommendation::Default(KeepReason::Fastest) => 0,
        Recommendation::Default(_) | Recommendation::None(_) | Recommendation::Unknown => return Vec::new(),
    };
    let own = sweep.cells[chosen].figure(Figure::P95).median;
    let (Some(limit), Some(own)) = (sweep.rules.max_private, own) else {
        return Vec::new();
    };
    let mut as_fast = Vec::new();
    for (place, cell) in sweep.cells.iter().enumerate() {
        let other = cell.figure(Figure::P95).median;
        if place != chosen
            && is_candidate_under(cell, limit as f64)
            && other.is_some_and(|other| other.low <= own.high && own.low <= other.high)
        {
            as_fast.push(cell);
        }
    }
    as_fast
}

/// The fastest cell, the default included, with the upper end of its private memory under the limit.
fn fastest(cells: &[CellResult], limit: f64) -> Recommendation {
    let Some(under) = UnderLimit::find(cells, limit) else {
        if are_too_few(cells) {
            return Recommendation::Default(KeepReason::TooFew);
        }
        return Recommendation::None(nearest_to_limit(cells));
    };
    let places = under.as_fast.into_iter();
    match places.min_by(|a, b| cpu(cells, *a).total_cmp(&cpu(cells, *b))) {
        Some(0) => Recommendation::Default(KeepReason::Fastest),
        Some(place) => Recommendation::Use(place),
        None => Recommendation::None(None),
    }
}

/// The honest cell with least private memory, where none is under the limit. Stopped cells count too: most cells far over
/// the limit were stopped.
fn nearest_to_limit(cells: &[CellResult]) -> Option<usize> {
    let measured: Vec<usize> = (0..cells.len())
        .filter(|place| cells[*place].is_honest() && cells[*place].median(Figure::Private).is_some())
        .collect();
    lowest(cells, &measured)
}

/// The cells among which the fastest under a limit is chosen.
pub(super) struct UnderLimit {
    /// The place of the one with the least p95.
    pub first: usize,
    /// Cells whose latency is within the slack of the fastest. Among them the least CPU wins, and the default wins
    /// ties.
    pub as_fast: Vec<usize>,
}

impl UnderLimit {
    /// `None` if no cell is under the limit.
    pub fn find(cells: &[CellResult], limit: f64) -> Option<UnderLimit> {
        let under: Vec<usize> = (0..cells.len())
            .filter(|place| is_candidate_under(&cells[*place], limit))
            .collect();
        let first = under
            .iter()
            .copied()
            .min_by(|a, b| p95(cells, *a).total_cmp(&p95(cells, *b)))?;
        let least = cells[first].known_values(Figure::P95);
        // Where not even the fastest has a latency, none has one.
        let as_fast = if least.is_empty() {
            under
        } else {
            let near = under.into_iter().filter(|place| is_as_fast(&cells[*place], &least));
            near.collect()
        };
        Some(UnderLimit { first, as_fast })
    }
}

/// True if the p95 of a cell is within the slack of the fastest cell's.
fn is_as_fast(cell: &CellResult, fastest: &[f64]) -> bool {
    let versus = Versus::new(fastest, &cell.known_values(Figure::P95), Figure::P95);
    versus.is_some_and(|versus| versus.ratio <= 1.0 + Figure::P95.slack())
}
