//! Eliminates at each rung the cells that can no longer be the answer, by bounds that hold for all of them together.

use serde::Serialize;
use strum::EnumDiscriminants;

use crate::figures::Figure;
use crate::tune::figure::{WEIGHED, assumed_variation};
use stats::Pooled;

use super::front::{Doubt, Weights, beats, mean};

/// The chance that a cell which is as good as the best is stopped, at any rung of a sweep.
const ALPHA: f64 = 0.05;

#[derive(Clone, Debug, PartialEq, Eq, EnumDiscriminants)]
#[strum_discriminants(name(Reason), derive(Serialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", strum_discriminants(derive(schemars::JsonSchema)))]
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
    /// The ending in a few words.
    pub how: String,
}

pub(super) struct Weighed<'r> {
    pub label: &'r str,
    pub weights: Weights,
    /// True if it did the default's work with its settings in force. Other cells eliminate nothing.
    pub is_honest: bool,
    /// True if its memory had settled. An unsettled cell eliminates none, and is not eliminated for its memory.
    pub is_settled: bool,
}

impl Weighed<'_> {
    fn private(&self) -> &[f64] {
        &self.weights[0]
    }
}

pub(super) struct Analyses<'r> {
    /// The label of the default, which never stops.
    pub default: &'r str,
    /// The number of rungs at which cells can be eliminated.
    pub looks: usize,
    /// The most private memory that is allowed, in bytes.
    pub limit: Option<f64>,
}

/// The cells to stop, with reasons. All are judged before any stops, so that their order does not matter.
pub(super) fn eliminations(cells: &[Weighed<'_>], analyses: &Analyses<'_>) -> Vec<(String, Why)> {
    // The best cell comes first and is named.
    let mut rivals: Vec<&Weighed<'_>> = cells.iter().filter(|cell| cell.is_honest && cell.is_settled).collect();
    rivals.sort_by(|a, b| mean(a.private()).total_cmp(&mean(b.private())));
    let bar = Bar::new(cells, analyses.looks);
    let mut eliminations = Vec::new();
    for cell in cells.iter().filter(|cell| cell.label != analyses.default) {
        let why = match analyses.limit {
            Some(limit) => why_not_fastest(cell, &rivals, &bar, limit),
            // Without a limit, memory is part of every reason.
            None if !cell.is_settled => None,
            None => why_not_least(cell, &rivals, &bar),
        };
        if let Some(why) = why {
            eliminations.push((cell.label.to_owned(), why));
        }
    }
    eliminations
}

/// The reason why a cell cannot be the one with least memory; `rivals` come in the order of their memory.
fn why_not_least(own: &Weighed<'_>, rivals: &[&Weighed<'_>], bar: &Bar) -> Option<Why> {
    for rival in rivals {
        if rival.label != own.label && bar.beats(rival, own, Doubt::Strict) {
            return Some(Why::Beaten(rival.label.to_owned()));
        }
    }
    let least = rivals.first()?;
    let mut means: Vec<f64> = rivals.iter().map(|rival| mean(rival.private())).collect();
    means.retain(|mean| mean.is_finite());
    let middle = *means.get(means.len().saturating_sub(1) / 2)?;
    let is_worse = mean(own.private()) > middle
        && bar.is_more(Figure::Private, least.private(), own.private())
        && bar.beats(least, own, Doubt::Lenient);
    if is_worse {
        Some(Why::WorseHalf(least.label.to_owned()))
    } else {
        None
    }
}

/// The reason why a cell cannot be the fastest under a limit. Memory under the limit and CPU then count neither for nor
/// against it.
fn why_not_fastest(own: &Weighed<'_>, rivals: &[&Weighed<'_>], bar: &Bar, limit: f64) -> Option<Why> {
    let bounds = bar.private_bounds(own.private());
    if own.is_settled && bounds.is_some_and(|(low, _)| low > limit) {
        return Some(Why::OverLimit);
    }
    let [private, p95, _] = &own.weights;
    for rival in rivals.iter().filter(|rival| rival.label != own.label) {
        let [rival_private, rival_p95, _] = &rival.weights;
        let bounds = bar.private_bounds(rival_private);
        let may_be_chosen = bounds.is_some_and(|(_, high)| high <= limit)
            || (own.is_settled && bar.is_more(Figure::Private, rival_private, private));
        if may_be_chosen && bar.is_more(Figure::P95, rival_p95, p95) {
            return Some(Why::Slower(rival.label.to_owned()));
        }
    }
    None
}

/// The distance at which two cells are shown to differ: any pair, in any figure, at any rung.
///
/// A few runs do not know their own spread, so the pooled spread within cells is used, or a cell's own if that is
/// larger. One run each knows no spread: see [`assumed_variation`].
struct Bar {
    spreads: [Option<Pooled>; 3],
    alpha: f64,
}

impl Bar {
    fn new(cells: &[Weighed<'_>], looks: usize) -> Bar {
        let mut spreads = [None; 3];
        for (place, figure) in WEIGHED.into_iter().enumerate() {
            let values: Vec<&[f64]> = cells.iter().map(|cell| cell.weights[place].as_slice()).collect();
            let floor = figure.noise_of(values.iter().copied().flatten().copied());
            spreads[place] =
                Pooled::from_arms(&values, floor).or_else(|| assumed_variation(figure).map(Pooled::assumed));
        }
        // Bonferroni over rungs, figures with data, and pairs in both directions.
        let figures = spreads.iter().flatten().count().max(1);
        let pairs = (cells.len() * cells.len().saturating_sub(1)).max(1);
        Bar {
            spreads,
            alpha: ALPHA / (looks.max(1) * figures * pairs) as f64,
        }
    }

    /// True if `rival` matches `own` in all figures and is clearly better in one.
    fn beats(&self, rival: &Weighed<'_>, own: &Weighed<'_>, doubt: Doubt) -> bool {
        beats(&rival.weights, &own.weights, doubt, |figure, less, more| {
            self.is_more(figure, less, more)
        })
    }

    /// True if `more` is shown to exceed `less`, by more than the slack.
    fn is_more(&self, figure: Figure, less: &[f64], more: &[f64]) -> bool {
        let Some(place) = WEIGHED.iter().position(|weighed| *weighed == figure) else {
            return false;
        };
        let Some(spread) = self.spreads[place] else {
            return false;
        };
        let low = spread.lower_ratio(less, more, self.alpha);
        low.is_some_and(|low| low > 1.0) && mean(more) > mean(less) * (1.0 + figure.slack())
    }

    /// The bounds of private memory, in bytes.
    fn private_bounds(&self, values: &[f64]) -> Option<(f64, f64)> {
        self.spreads[0]?.bounds(values, self.alpha)
    }
}
