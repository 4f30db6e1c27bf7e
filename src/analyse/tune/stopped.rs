//! Successive halving (Jamieson and Talwalkar, *Non-stochastic Best Arm Identification*, 2016), with intervals instead of
//! ranks alone: after each rung of runs, the cells that can no longer be the answer are not run any more.

use std::collections::{BTreeMap, BTreeSet};

use crate::analyse::compare::{Played, counts};
use crate::analyse::{Exit, exit};

use super::Rules;
use super::figure::{Places, Tuned, places};
use super::front::{Doubt, Weights, beats, mean};

/// Why a cell was not run any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// After how many runs of it; 0 where it failed while it warmed up.
    pub after: u32,
    /// Why.
    pub why: Why,
}

/// What stopped a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// The server failed the scenario.
    Failed,
    /// This one was as good in everything and clearly better in something.
    Beaten(String),
    /// It was among the half with more memory, shown to need more than this one, and not shown to be better in anything.
    WorseHalf(String),
}

/// What was decided while a sweep went on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Halving {
    /// The cells that are not run any more.
    pub stopped: BTreeMap<String, Stopped>,
    /// The last rung that all others have reached.
    pub rung: Option<u32>,
}

impl Halving {
    /// Whether there is nothing left to find out: the default failed, or is the only one left.
    pub fn is_over(&self, default: &str, labels: &BTreeSet<&str>) -> bool {
        let left = labels.iter().filter(|label| !self.stopped.contains_key(**label));
        self.stopped.contains_key(default) || left.count() < 2
    }
}

/// Decides, from the runs so far, which cells are not run any more. Runs beyond a rung never change what was decided at it.
pub fn stopped(runs: &[Played], rules: &Rules) -> Halving {
    let mut halving = Halving::default();
    let cells = cells(runs);
    let Some(default) = cells.iter().find(|(_, cell)| cell.default).map(|(label, _)| *label) else {
        return halving;
    };
    let places = places(runs, default);
    for (label, cell) in &cells {
        if let Some(after) = cell.failed_after() {
            let why = Why::Failed;
            halving.stopped.insert((*label).to_owned(), Stopped { after, why });
        }
    }
    let planned = cells.values().map(|cell| cell.of).max().unwrap_or(0);
    if cells.len() < planned as usize {
        return halving;
    }
    for rung in &rules.rungs {
        let left: Vec<&str> = cells
            .keys()
            .copied()
            .filter(|label| !halving.stopped.contains_key(*label))
            .collect();
        if left.is_empty() || !left.iter().all(|label| cells[label].has_reached(*rung)) {
            break;
        }
        halving.rung = Some(*rung);
        if rules.rungs.last() == Some(rung) {
            break;
        }
        let weighed: Vec<(&str, Weights)> = left
            .into_iter()
            .map(|label| (label, cells[label].weights(*rung, &places)))
            .collect();
        for (label, why) in judged(&weighed, default) {
            halving.stopped.insert(label, Stopped { after: *rung, why });
        }
    }
    halving
}

/// The cells that stop here. All are judged before any stops, so that their order does not matter.
fn judged(cells: &[(&str, Weights)], default: &str) -> Vec<(String, Why)> {
    let mut by_memory: Vec<f64> = cells.iter().map(|(_, weights)| mean(&weights[0])).collect();
    by_memory.retain(|mean| mean.is_finite());
    by_memory.sort_by(f64::total_cmp);
    let middle = by_memory.get(by_memory.len().saturating_sub(1) / 2).copied();
    let mut others: Vec<&(&str, Weights)> = cells.iter().collect();
    // The best is looked at first, and told.
    others.sort_by(|(_, a), (_, b)| mean(&a[0]).total_cmp(&mean(&b[0])));
    let judge = |label: &str, own: &Weights| {
        let better = |doubt: Doubt| {
            let beats = |(other, weights): &&&(&str, Weights)| *other != label && beats(weights, own, doubt);
            others.iter().find(beats).map(|(other, _)| (*other).to_owned())
        };
        if let Some(other) = better(Doubt::Strict) {
            return Some(Why::Beaten(other));
        }
        let worse = middle.is_some_and(|middle| mean(&own[0]) > middle);
        let needs_more = |(_, weights): &&(&str, Weights)| {
            let versus = super::figure::Versus::new(&weights[0], &own[0], Tuned::Private);
            versus.is_some_and(|versus| versus.is_more(Tuned::Private))
        };
        let least = others.first().filter(|least| worse && needs_more(least))?;
        beats(&least.1, own, Doubt::Lenient).then(|| Why::WorseHalf(least.0.to_owned()))
    };
    let tried = cells.iter().filter(|(label, _)| *label != default);
    tried
        .filter_map(|(label, weights)| Some(((*label).to_owned(), judge(label, weights)?)))
        .collect()
}

/// The runs of one cell.
struct Cell<'r> {
    default: bool,
    of: u32,
    runs: Vec<&'r Played>,
}

fn cells(runs: &[Played]) -> BTreeMap<&str, Cell<'_>> {
    let mut cells: BTreeMap<&str, Cell<'_>> = BTreeMap::new();
    for run in runs {
        let header = &run.summary.header;
        if let Some(facts) = &header.plan.cell {
            let cell = cells.entry(&header.server.label).or_insert_with(|| Cell {
                default: facts.default,
                of: facts.of,
                runs: Vec::new(),
            });
            cell.runs.push(run);
        }
    }
    cells
}

impl Cell<'_> {
    /// How many runs it had when it failed.
    fn failed_after(&self) -> Option<u32> {
        let failed = self.runs.iter().filter(|run| exit(&run.summary) == Exit::ServerFailed);
        failed.map(|run| run.summary.header.plan.block).min()
    }

    fn counting(&self) -> impl Iterator<Item = &Played> {
        self.runs.iter().copied().filter(|run| counts(&run.summary))
    }

    fn has_reached(&self, rung: u32) -> bool {
        self.counting().any(|run| run.summary.header.plan.block >= rung)
    }

    /// What it is weighed by, of the runs up to a rung.
    fn weights(&self, rung: u32, places: &Places) -> Weights {
        Tuned::WEIGHED.map(|figure| {
            let until = self.counting().filter(|run| run.summary.header.plan.block <= rung);
            until.filter_map(|run| figure.of(&run.summary, places)).collect()
        })
    }
}
