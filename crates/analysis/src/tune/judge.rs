//! Which cells stop at a rung: those that can no longer be the answer, by bounds that hold for all of them together.

use schemars::JsonSchema;
use serde::Serialize;
use strum::EnumDiscriminants;

use crate::figures::Figure;
use crate::tune::figure::{WEIGHED, assumed};
use stats::Pooled;

use super::front::{Doubt, Weights, beats, mean};

/// The chance that a cell which is as good as the best is stopped, at any rung of a sweep.
const ALPHA: f64 = 0.05;

#[derive(Clone, Debug, PartialEq, Eq, EnumDiscriminants)]
#[strum_discriminants(name(Reason), derive(Serialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Why {
    Failed(Failure),
    /// This one was as good in everything and clearly better in something.
    Beaten(String),
    /// It was in the half with more memory, is shown to need more than the named cell, and is not shown to be better
    /// in any figure.
    WorseHalf(String),
    /// It was shown to need more than there may be.
    OverLimit,
    /// This one was shown to be faster, and to keep the limit.
    Slower(String),
}

/// The run that a server failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub record: String,
    /// How it ended, in a few words.
    pub how: String,
}

pub(super) struct Weighed<'r> {
    pub label: &'r str,
    pub weights: Weights,
    /// Whether it did the default's work with its settings in force. Other cells eliminate nothing.
    pub honest: bool,
    /// Whether its memory had settled. An unsettled cell eliminates none, and is not eliminated for its memory.
    pub rests: bool,
}

pub(super) struct Analyses<'r> {
    /// The label of the default, which never stops.
    pub default: &'r str,
    /// How often it is looked in the whole sweep.
    pub looks: usize,
    /// How much private memory there may be.
    pub limit: Option<f64>,
}

/// The cells that stop here. All are judged before any stops, so that their order does not matter.
pub(super) fn judged(cells: &[Weighed<'_>], look: &Analyses<'_>) -> Vec<(String, Why)> {
    // The best cell comes first and is named.
    let mut others: Vec<&Weighed<'_>> = cells.iter().filter(|cell| cell.honest && cell.rests).collect();
    others.sort_by(|a, b| mean(&a.weights[0]).total_cmp(&mean(&b.weights[0])));
    let bar = Bar::of(cells, look.looks);
    let why = |own: &Weighed<'_>| match look.limit {
        // Every reason of these is one of memory.
        None if !own.rests => None,
        None => too_much(own, &others, &bar),
        Some(limit) => not_the_fastest(own, &others, &bar, limit),
    };
    let tried = cells.iter().filter(|cell| cell.label != look.default);
    tried
        .filter_map(|cell| Some((cell.label.to_owned(), why(cell)?)))
        .collect()
}

/// Why a cell cannot be the one with least memory; `others` by their memory.
fn too_much(own: &Weighed<'_>, others: &[&Weighed<'_>], bar: &Bar) -> Option<Why> {
    let beats = |other: &Weighed<'_>, doubt: Doubt| {
        let more = |figure: Figure, against: &[f64], of: &[f64]| bar.is_more(figure, against, of);
        beats(&other.weights, &own.weights, doubt, &more)
    };
    let mut unlike = others.iter().filter(|other| other.label != own.label);
    if let Some(other) = unlike.find(|other| beats(other, Doubt::Strict)) {
        return Some(Why::Beaten(other.label.to_owned()));
    }
    let by_memory = others.iter().map(|other| mean(&other.weights[0]));
    let by_memory: Vec<f64> = by_memory.filter(|mean| mean.is_finite()).collect();
    let middle = by_memory.get(by_memory.len().saturating_sub(1) / 2)?;
    let least = others.first().filter(|_| mean(&own.weights[0]) > *middle)?;
    let needs_more = bar.is_more(Figure::Private, &least.weights[0], &own.weights[0]);
    (needs_more && beats(least, Doubt::Lenient)).then(|| Why::WorseHalf(least.label.to_owned()))
}

/// Why a cell cannot be the fastest under a limit. Memory under the limit and CPU then count neither for nor against
/// it.
fn not_the_fastest(own: &Weighed<'_>, others: &[&Weighed<'_>], bar: &Bar, limit: f64) -> Option<Why> {
    let bounds = |cell: &Weighed<'_>| bar.private(&cell.weights[0]);
    if own.rests && bounds(own).is_some_and(|(low, _)| low > limit) {
        return Some(Why::OverLimit);
    }
    let [private, p95, _] = &own.weights;
    let beats = |other: &&&Weighed<'_>| {
        let [less, faster, _] = &other.weights;
        let needs_less = || own.rests && bar.is_more(Figure::Private, less, private);
        let fits = bounds(other).is_some_and(|(_, high)| high <= limit) || needs_less();
        other.label != own.label && fits && bar.is_more(Figure::P95, faster, p95)
    };
    let other = others.iter().find(beats)?;
    Some(Why::Slower(other.label.to_owned()))
}

/// How far apart two cells must be to be shown to differ: any pair, in any figure, at any rung.
///
/// A few runs do not know their own spread, so the pooled spread within cells is used, or a cell's own if that is
/// larger. One run each knows no spread: see [`Figure::assumed`].
struct Bar {
    spreads: [Option<Pooled>; 3],
    alpha: f64,
}

impl Bar {
    fn of(cells: &[Weighed<'_>], looks: usize) -> Bar {
        let mut spreads = [None; 3];
        for (place, figure) in WEIGHED.into_iter().enumerate() {
            let values: Vec<&[f64]> = cells.iter().map(|cell| cell.weights[place].as_slice()).collect();
            let assumed = || assumed(figure).map(Pooled::assumed);
            let floor = figure.noise_of(values.iter().copied().flatten().copied());
            spreads[place] = Pooled::within(&values, floor).or_else(assumed);
        }
        // Bonferroni over rungs, figures with data, and pairs in both directions.
        let figures = spreads.iter().flatten().count().max(1);
        let pairs = (cells.len() * cells.len().saturating_sub(1)).max(1);
        Bar {
            spreads,
            alpha: ALPHA / (looks.max(1) * figures * pairs) as f64,
        }
    }

    /// Whether `of` is shown to exceed `against`, by more than the slack.
    fn is_more(&self, figure: Figure, against: &[f64], of: &[f64]) -> bool {
        let place = WEIGHED.iter().position(|one| *one == figure);
        let spread = place.and_then(|place| self.spreads[place]);
        let low = spread.and_then(|spread| spread.lower_ratio(against, of, self.alpha));
        low.is_some_and(|low| low > 1.0) && mean(of) > mean(against) * (1.0 + figure.slack())
    }

    fn private(&self, values: &[f64]) -> Option<(f64, f64)> {
        self.spreads[0]?.bounds(values, self.alpha)
    }
}
