//! The one reason that comes first, for each cell that is not recommended.

use serde::Serialize;
use strum::EnumDiscriminants;

use crate::figures::Figure;

use super::choose::{LEAST_RUNS, Ranked, Recommendation, UnderLimit};
use super::cost::{Cost, cost, cost_of};
use super::figure::Versus;
use super::{CellResult, Rules};

/// A reason not to recommend a cell.
#[derive(Clone, Debug, PartialEq, EnumDiscriminants)]
#[strum_discriminants(name(NotChosen), derive(Serialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", strum_discriminants(derive(schemars::JsonSchema)))]
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

pub(super) fn set_reasons(cells: &mut [CellResult], rules: &Rules, choice: Recommendation) {
    for place in 0..cells.len() {
        cells[place].why_not = why_not(cells, rules, choice, place);
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
    if cell.ineffective_settings().next().is_some() {
        return Some(WhyNot::Refused);
    }
    if cell.runs.len() < LEAST_RUNS {
        return Some(WhyNot::TooFew);
    }
    let chosen = chosen.map(|place| &cells[place]);
    match rules.max_private {
        _ if choice == Recommendation::Unknown => Some(WhyNot::NoDefault),
        Some(limit) => why_not_fastest(cells, limit as f64, chosen, place),
        None if place == 0 => Some(WhyNot::NeedsMore(chosen?.label.clone())),
        None if default.runs.len() < LEAST_RUNS => Some(WhyNot::NoDefault),
        None => why_not_less(cell, default).or_else(|| why_not_least(cells, rules, chosen, place)),
    }
}

/// The reason why its memory does not speak for a cell; `None` if it needs less than the default by enough.
fn why_not_less(cell: &CellResult, default: &CellResult) -> Option<WhyNot> {
    if cell.figure(Figure::Private).ratio.is_none() {
        return Some(WhyNot::NotMeasured);
    }
    if !cell.is_shown_less() {
        return Some(WhyNot::NotLess);
    }
    let (saved, worth) = super::choose::saving(cell, default)?;
    if saved >= worth {
        return None;
    }
    Some(WhyNot::NotWorth { saved, worth })
}

/// The reason why a cell that needs less memory than the default is not chosen.
fn why_not_least(cells: &[CellResult], rules: &Rules, chosen: Option<&CellResult>, place: usize) -> Option<WhyNot> {
    let cell = &cells[place];
    match cost(cell, rules) {
        Cost::Dear => return Some(WhyNot::Dearer(figures_at(cell, rules, Cost::Dear))),
        Cost::Unknown => return Some(WhyNot::CostUnknown(figures_at(cell, rules, Cost::Unknown))),
        Cost::Doubtful | Cost::Open => {
            let mut figures = figures_at(cell, rules, Cost::Open);
            figures.extend(figures_at(cell, rules, Cost::Doubtful));
            return Some(WhyNot::CostOpen(figures));
        }
        Cost::Shown => {}
    }
    let chosen = chosen?;
    if chosen.front
        && let Some(better) = &cell.beaten_by
    {
        return Some(WhyNot::Beaten(better.clone()));
    }
    let is_decided_by_cpu = !rules.is_shared && Ranked::new(cells, rules).near.contains(&place);
    let better = chosen.label.clone();
    Some(if is_decided_by_cpu {
        WhyNot::MoreCpu(better)
    } else {
        WhyNot::NeedsMore(better)
    })
}

/// The reason why a cell is not the fastest under a limit.
fn why_not_fastest(cells: &[CellResult], limit: f64, chosen: Option<&CellResult>, place: usize) -> Option<WhyNot> {
    let cell = &cells[place];
    match cell.most_private() {
        None => return Some(WhyNot::NotMeasured),
        Some(most) if most > limit => return Some(WhyNot::OverLimit),
        Some(_) => {}
    }
    let under = UnderLimit::find(cells, limit)?;
    if under.as_fast.contains(&place) {
        return Some(WhyNot::MoreCpu(chosen?.label.clone()));
    }
    let first = &cells[under.first];
    let versus = Versus::new(
        &first.known_values(Figure::P95),
        &cell.known_values(Figure::P95),
        Figure::P95,
    );
    Some(WhyNot::Slower {
        than: first.label.clone(),
        ratio: versus.map(|versus| versus.ratio),
    })
}

/// The figures in which a cell has this cost.
fn figures_at(cell: &CellResult, rules: &Rules, wanted: Cost) -> Vec<Figure> {
    let mut allowed = rules.allowed();
    allowed.retain(|(figure, most)| cost_of(cell, *figure, *most) == wanted);
    allowed.into_iter().map(|(figure, _)| figure).collect()
}
