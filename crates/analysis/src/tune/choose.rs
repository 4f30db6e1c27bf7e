//! What to ship: by rules that are stated, from cells that were run to the end.

use std::cmp::Ordering;

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
    Use(usize),
    Default(KeepReason),
    /// No cell is under the limit; the place of the one that comes nearest.
    None(Option<usize>),
    /// The server fails the scenario with its default settings.
    Unknown,
}

/// Why nothing is to be changed.
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
    match (cells.first(), rules.max_private) {
        (Some(default), _) if default.runs.is_empty() && default.failed() => Recommendation::Unknown,
        (None, _) => Recommendation::Unknown,
        (Some(default), limit) if have_others_failed(cells) => match default.median(Figure::Private).zip(limit) {
            Some((private, limit)) if private > limit as f64 => Recommendation::None(Some(0)),
            _ => Recommendation::Default(KeepReason::OthersFailed),
        },
        (Some(_), Some(limit)) => fastest(cells, limit as f64),
        (Some(_), None) => least(cells, rules),
    }
}

fn have_others_failed(cells: &[CellResult]) -> bool {
    let all = cells.iter().map(|cell| cell.sets.of as usize).max();
    cells.len() > 1 && all == Some(cells.len()) && cells[1..].iter().all(CellResult::failed)
}

/// What the least private memory is chosen among.
pub(super) struct Ranked {
    /// Those that need less, by as much as a setting is worth.
    less: Vec<usize>,
    /// Cells whose cost is shown to be allowed, with memory within the slack of the lowest.
    pub near: Vec<usize>,
}

impl Ranked {
    pub fn of(cells: &[CellResult], rules: &Rules) -> Ranked {
        let is_less = |cell: &CellResult| is_candidate(cell) && needs_less(cell, &cells[0]);
        let less: Vec<usize> = (1..cells.len()).filter(|place| is_less(&cells[*place])).collect();
        let kept: Vec<usize> = less
            .iter()
            .copied()
            .filter(|place| cost(&cells[*place], rules) == Cost::Shown)
            .collect();
        let on_front: Vec<usize> = kept.iter().copied().filter(|place| cells[*place].front).collect();
        let candidates = if on_front.is_empty() { kept } else { on_front };
        let most = lowest(cells, &candidates).map(|place| private(cells, place) * (1.0 + Figure::Private.slack()));
        let is_near = |place: &usize| most.is_some_and(|most| private(cells, *place) <= most);
        Ranked {
            near: candidates.into_iter().filter(is_near).collect(),
            less,
        }
    }
}

fn private(cells: &[CellResult], place: usize) -> f64 {
    cells[place].median(Figure::Private).unwrap_or(f64::INFINITY)
}

fn cpu(cells: &[CellResult], place: usize) -> f64 {
    cells[place].median(Figure::Cpu).unwrap_or(f64::INFINITY)
}

fn lowest(cells: &[CellResult], places: &[usize]) -> Option<usize> {
    let places = places.iter().copied();
    places.min_by(|a, b| private(cells, *a).total_cmp(&private(cells, *b)))
}

/// Least settled private memory among those that are shown to cost no more than is allowed.
fn least(cells: &[CellResult], rules: &Rules) -> Recommendation {
    if are_too_few(cells) {
        return Recommendation::Default(KeepReason::TooFew);
    }
    let ranked = Ranked::of(cells, rules);
    // Among cells within the slack, CPU decides.
    let near = ranked.near.iter().copied();
    let by = if rules.is_shared { private } else { cpu };
    let chosen = near.min_by(|a, b| by(cells, *a).total_cmp(&by(cells, *b)));
    chosen.map_or_else(
        || Recommendation::Default(keep(cells, &ranked.less, rules)),
        Recommendation::Use,
    )
}

/// Why the default stays: what more runs may change comes first.
fn keep(cells: &[CellResult], less: &[usize], rules: &Rules) -> KeepReason {
    let costing = |wanted: Cost| -> Vec<usize> {
        let places = less.iter().copied();
        places.filter(|place| cost(&cells[*place], rules) == wanted).collect()
    };
    let open = soonest(cells, &costing(Cost::Open), rules).or_else(|| soonest(cells, &costing(Cost::Doubtful), rules));
    if let Some(place) = open.or_else(|| lowest(cells, &costing(Cost::Unknown))) {
        return KeepReason::CostOpen(place);
    }
    if let Some(place) = lowest(cells, less) {
        return KeepReason::TooDear(place);
    }
    let shown = |may: bool| -> Option<usize> {
        let places = (1..cells.len()).filter(|place| cells[*place].is_shown_less());
        let places: Vec<usize> = places.filter(|place| is_candidate(&cells[*place]) == may).collect();
        lowest(cells, &places)
    };
    let barred = shown(true).or_else(|| shown(false));
    barred.map_or(KeepReason::NothingLess, KeepReason::Barred)
}

/// The cell whose cost is worth showing: of those that at most [`MOST_RUNS`] would show, the one with least memory, and
/// among cells within the slack of the lowest the one that needs the fewest runs.
fn soonest(cells: &[CellResult], places: &[usize], rules: &Rules) -> Option<usize> {
    let runs = |place: usize| runs_to_settle(&cells[place], &cells[0], rules).filter(|runs| *runs <= MOST_RUNS);
    let within_reach: Vec<usize> = places.iter().copied().filter(|place| runs(*place).is_some()).collect();
    let Some(lowest_in_reach) = lowest(cells, &within_reach) else {
        return lowest(cells, places);
    };
    let most = private(cells, lowest_in_reach) * (1.0 + Figure::Private.slack());
    let near = within_reach.into_iter().filter(|place| private(cells, *place) <= most);
    near.min_by_key(|place| runs(*place))
}

/// Usable, and run often enough to be recommended.
fn is_candidate(cell: &CellResult) -> bool {
    cell.is_usable() && cell.runs.len() >= LEAST_RUNS
}

/// Whether the default, or every other usable cell, has too few runs.
fn are_too_few(cells: &[CellResult]) -> bool {
    let seldom = |cell: &CellResult| cell.runs.len() < LEAST_RUNS;
    let mut left = cells.iter().skip(1).filter(|cell| cell.is_usable()).peekable();
    cells.first().is_none_or(seldom) || (left.peek().is_some() && left.all(seldom))
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

/// Whether it may be chosen, and its private memory is under the limit by the upper end of its interval.
fn keeps(cell: &CellResult, limit: f64) -> bool {
    is_candidate(cell) && cell.most_private().is_some_and(|most| most <= limit)
}

/// Under a limit, the others that may be as fast as the one that was chosen: the intervals of p95 overlap.
pub fn as_fast(sweep: &Sweep) -> Vec<&CellResult> {
    let chosen = match sweep.choice {
        Recommendation::Use(place) => place,
        Recommendation::Default(KeepReason::Fastest) => 0,
        Recommendation::Default(_) | Recommendation::None(_) | Recommendation::Unknown => return Vec::new(),
    };
    let interval = |cell: &CellResult| cell.figure(Figure::P95).median;
    let limit = sweep.rules.max_private.map(|limit| limit as f64);
    let (Some(limit), Some(own)) = (limit, interval(&sweep.cells[chosen])) else {
        return Vec::new();
    };
    let overlaps =
        |cell: &CellResult| interval(cell).is_some_and(|other| other.low <= own.high && own.low <= other.high);
    let others = sweep.cells.iter().enumerate().filter(|(place, _)| *place != chosen);
    others
        .map(|(_, cell)| cell)
        .filter(|cell| keeps(cell, limit) && overlaps(cell))
        .collect()
}

/// The fastest cell, the default included, with the upper end of its private memory under the limit.
fn fastest(cells: &[CellResult], limit: f64) -> Recommendation {
    let under: Vec<usize> = (0..cells.len()).filter(|place| keeps(&cells[*place], limit)).collect();
    if under.is_empty() && are_too_few(cells) {
        return Recommendation::Default(KeepReason::TooFew);
    }
    if under.is_empty() {
        // Also of those that were stopped, which is what being far over the limit comes to.
        let private = |place: &usize| cells[*place].median(Figure::Private);
        let measured = (0..cells.len()).filter(|place| cells[*place].is_honest() && private(place).is_some());
        return Recommendation::None(
            measured.min_by(|a, b| private(a).partial_cmp(&private(b)).unwrap_or(Ordering::Equal)),
        );
    }
    let Some(under) = UnderLimit::of(cells, limit) else {
        return Recommendation::None(None);
    };
    let places = under.as_fast.into_iter();
    match places.min_by(|a, b| cpu(cells, *a).total_cmp(&cpu(cells, *b))) {
        Some(0) => Recommendation::Default(KeepReason::Fastest),
        Some(place) => Recommendation::Use(place),
        None => Recommendation::None(None),
    }
}

/// What the fastest is chosen among.
pub(super) struct UnderLimit {
    /// The place of the one with the least p95.
    pub first: usize,
    /// Cells whose latency is within the slack of the fastest. Among them the least CPU wins, and the default wins
    /// ties.
    pub as_fast: Vec<usize>,
}

impl UnderLimit {
    pub fn of(cells: &[CellResult], limit: f64) -> Option<UnderLimit> {
        let under = || (0..cells.len()).filter(|place| keeps(&cells[*place], limit));
        let p95 = |place: &usize| cells[*place].median(Figure::P95).unwrap_or(f64::INFINITY);
        let first = under().min_by(|a, b| p95(a).total_cmp(&p95(b)))?;
        let least = cells[first].known(Figure::P95);
        let as_fast = under().filter(|place| {
            let versus = Versus::new(&least, &cells[*place].known(Figure::P95), Figure::P95);
            // Where not even the fastest has a latency, none has one.
            least.is_empty() || versus.is_some_and(|versus| versus.ratio <= 1.0 + Figure::P95.slack())
        });
        Some(UnderLimit {
            first,
            as_fast: as_fast.collect(),
        })
    }
}
