//! Why each cell that is not recommended is not: the one reason that comes first.

use schemars::JsonSchema;
use serde::Serialize;
use strum::EnumDiscriminants;

use crate::figures::Figure;

use super::choose::{LEAST_RUNS, Ranked, Recommendation, UnderLimit};
use super::cost::{Cost, cost, cost_of};
use super::figure::Versus;
use super::{CellResult, Rules};

/// Why a cell is not recommended.
#[derive(Clone, Debug, PartialEq, EnumDiscriminants)]
#[strum_discriminants(name(NotChosen), derive(Serialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum WhyNot {
    /// It was not run to the end; [`CellResult::stopped`] says why.
    Stopped,
    /// It did less work than the default.
    DidLess,
    /// A setting of it was seen not to be in force.
    Refused,
    /// It has fewer runs than a recommendation stands on.
    TooFew,
    /// The default has, with which it would be compared.
    NoDefault,
    /// Its private memory is not known.
    NotMeasured,
    /// It is not shown to need less memory than the default.
    NotLess,
    /// It is shown to need less, and saves this many bytes by the median, of those that a setting is worth.
    NotWorth {
        /// Memory saved; negative if only the mean is lower.
        saved: f64,
        /// The least saving that counts.
        worth: f64,
    },
    /// It is shown to cost more than is allowed, in these figures.
    Dearer(Vec<Figure>),
    /// It is not shown whether it costs more than is allowed, in these figures.
    CostOpen(Vec<Figure>),
    /// The cost in these figures is unknown.
    CostUnknown(Vec<Figure>),
    /// Its private memory is not under the limit, by the upper end of its interval.
    OverLimit,
    /// This one is as good in everything and clearly better in something.
    Beaten(String),
    /// It needs more memory than the one that is recommended.
    NeedsMore(String),
    /// It is as good as the recommended cell, and needs no less CPU.
    MoreCpu(String),
    /// Under a limit, its p95 is more than that of this one, the fastest, by this ratio of means.
    Slower {
        than: String,
        /// `None` where it has no latency.
        ratio: Option<f64>,
    },
}

pub(super) fn give(cells: &mut [CellResult], rules: &Rules, choice: Recommendation) {
    let whys = (0..cells.len()).map(|place| why_not(cells, rules, choice, place));
    let whys: Vec<Option<WhyNot>> = whys.collect();
    for (cell, why) in cells.iter_mut().zip(whys) {
        cell.why_not = why;
    }
}

/// The reason for a cell; `None` for the recommended one.
fn why_not(cells: &[CellResult], rules: &Rules, choice: Recommendation, place: usize) -> Option<WhyNot> {
    let (cell, default) = (&cells[place], cells.first()?);
    let chosen = choice.place();
    if chosen == Some(place) {
        return None;
    }
    if cell.stopped.is_some() {
        return Some(WhyNot::Stopped);
    }
    if cell.did_less() {
        return Some(WhyNot::DidLess);
    }
    if cell.refused().next().is_some() {
        return Some(WhyNot::Refused);
    }
    if cell.runs.len() < LEAST_RUNS {
        return Some(WhyNot::TooFew);
    }
    let chosen = chosen.map(|place| &cells[place]);
    match rules.max_private {
        _ if choice == Recommendation::Unknown => Some(WhyNot::NoDefault),
        Some(limit) => under_a_limit(cells, limit as f64, chosen, place),
        None if place == 0 => Some(WhyNot::NeedsMore(chosen?.label.clone())),
        None if default.runs.len() < LEAST_RUNS => Some(WhyNot::NoDefault),
        None => no_less(cell, default).or_else(|| for_memory(cells, rules, chosen, place)),
    }
}

/// Why its memory is no reason to choose it.
fn no_less(cell: &CellResult, default: &CellResult) -> Option<WhyNot> {
    if cell.figure(Figure::Private).ratio.is_none() {
        return Some(WhyNot::NotMeasured);
    }
    if !cell.is_shown_less() {
        return Some(WhyNot::NotLess);
    }
    let (saved, worth) = super::choose::saving(cell, default)?;
    (saved < worth).then_some(WhyNot::NotWorth { saved, worth })
}

/// Why a cell that needs less memory is not chosen.
fn for_memory(cells: &[CellResult], rules: &Rules, chosen: Option<&CellResult>, place: usize) -> Option<WhyNot> {
    let cell = &cells[place];
    let at = |wanted: Cost| -> Vec<Figure> { costing(cell, rules, wanted) };
    let may_be = || [at(Cost::Open), at(Cost::Doubtful)].concat();
    match cost(cell, rules) {
        Cost::Dear => return Some(WhyNot::Dearer(at(Cost::Dear))),
        Cost::Unknown => return Some(WhyNot::CostUnknown(at(Cost::Unknown))),
        Cost::Doubtful | Cost::Open => return Some(WhyNot::CostOpen(may_be())),
        Cost::Shown => {}
    }
    let chosen = chosen?;
    if let Some(better) = cell.beaten_by.as_ref().filter(|_| chosen.front) {
        return Some(WhyNot::Beaten(better.clone()));
    }
    let is_near = Ranked::of(cells, rules).near.contains(&place);
    Some(match is_near && !rules.is_shared {
        true => WhyNot::MoreCpu(chosen.label.clone()),
        false => WhyNot::NeedsMore(chosen.label.clone()),
    })
}

/// Why it is not the fastest under a limit.
fn under_a_limit(cells: &[CellResult], limit: f64, chosen: Option<&CellResult>, place: usize) -> Option<WhyNot> {
    let cell = &cells[place];
    let most = cell.most_private();
    if most.is_none_or(|most| most > limit) {
        return Some(most.map_or(WhyNot::NotMeasured, |_| WhyNot::OverLimit));
    }
    let under = UnderLimit::of(cells, limit)?;
    if under.as_fast.contains(&place) {
        return Some(WhyNot::MoreCpu(chosen?.label.clone()));
    }
    let first = &cells[under.first];
    let versus = Versus::new(&first.known(Figure::P95), &cell.known(Figure::P95), Figure::P95);
    Some(WhyNot::Slower {
        than: first.label.clone(),
        ratio: versus.map(|versus| versus.ratio),
    })
}

/// The figures in which a cell costs so.
pub(super) fn costing(cell: &CellResult, rules: &Rules, wanted: Cost) -> Vec<Figure> {
    let figures = rules.allowed().into_iter();
    let figures = figures.filter(|(figure, most)| cost_of(cell, *figure, *most) == wanted);
    figures.map(|(figure, _)| figure).collect()
}
