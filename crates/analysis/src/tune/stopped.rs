//! Successive halving (Jamieson and Talwalkar, *Non-stochastic Best Arm Identification*, 2016), with intervals instead of
//! ranks alone: after each rung of runs, the cells that can no longer be the answer are not run any more.

use std::collections::{BTreeMap, BTreeSet};

use crate::compare::{Played, counts, inequalities, unseen};
use crate::figures::WorkLimits;
use crate::findings::{brief, loss};
use crate::summary::{Summary, exit};
use crate::tune::figure::WEIGHED;
use base::exit::Exit;

use super::figure::{Places, places};
use super::judge::{Analyses, Failure, Weighed, Why, judged};
use super::settled::rest;
use super::{Rules, is_refused};

/// Why a cell was not run any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// After how many runs of it; 0 where it failed while it warmed up.
    pub after: u32,
    pub why: Why,
}

/// Decisions while a sweep runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Halving {
    /// The cells that are not run any more.
    pub stopped: BTreeMap<String, Stopped>,
    /// The last rung that all others have reached.
    pub rung: Option<u32>,
}

impl Halving {
    /// Whether the sweep can end: the default failed, or is the only cell left.
    pub fn is_over(&self, default: &str, labels: &BTreeSet<&str>) -> bool {
        let left = labels.iter().filter(|label| !self.stopped.contains_key(**label));
        self.stopped.contains_key(default) || left.count() < 2
    }

    /// Stops the cells that have failed by a rung.
    fn failed(&mut self, cells: &BTreeMap<&str, Cell<'_>>, rung: u32) {
        let failed = cells
            .iter()
            .filter_map(|(label, cell)| Some((*label, cell.failed_run()?)));
        for (label, run) in failed {
            let after = run.summary.header.plan.block;
            if after <= rung {
                let why = Why::Failed(Failure {
                    record: run.record.clone(),
                    how: loss(&run.summary).unwrap_or_else(|| brief(&run.summary)),
                });
                self.stopped.entry(label.to_owned()).or_insert(Stopped { after, why });
            }
        }
    }
}

/// Decides from the runs so far which cells are eliminated. Runs beyond a rung never change the decision at it.
pub fn stopped(runs: &[Played], rules: &Rules) -> Halving {
    let mut halving = Halving::default();
    let cells = cells(runs);
    let Some(default) = cells.iter().find(|(_, cell)| cell.default).map(|(label, _)| *label) else {
        return halving;
    };
    let planned = cells.values().map(|cell| cell.of).max().unwrap_or(0);
    if cells.len() >= planned as usize {
        halve(&mut halving, runs, &cells, default, &rules.of(runs));
    }
    halving.failed(&cells, u32::MAX);
    halving
}

/// Goes through the rungs that all cells have reached which are left by then.
fn halve(halving: &mut Halving, runs: &[Played], cells: &BTreeMap<&str, Cell<'_>>, default: &str, rules: &Rules) {
    let places = places(runs, default);
    // The rules of the records decide, not today's options.
    let facts = super::planned(runs);
    let rungs = facts.map(|facts| &facts.rungs).filter(|rungs| !rungs.is_empty());
    let rungs = rungs.unwrap_or(&rules.rungs);
    for rung in rungs {
        // What fails later was there when the others were weighed, and stopped those that it stopped.
        halving.failed(cells, *rung);
        let left: Vec<&str> = cells
            .keys()
            .copied()
            .filter(|label| !halving.stopped.contains_key(*label))
            .collect();
        if left.is_empty() || !left.iter().all(|label| cells[label].has_reached(*rung)) {
            break;
        }
        halving.rung = Some(*rung);
        if rungs.last() == Some(rung) {
            break;
        }
        let base = cells[default].until(*rung);
        let weighed: Vec<Weighed<'_>> = left
            .into_iter()
            .map(|label| cells[label].weighed(label, (*rung, rules), &base, &places))
            .collect();
        let look = Analyses {
            default,
            // The last rung decides nothing that could stop.
            looks: rungs.len().saturating_sub(1),
            limit: facts
                .map_or(rules.max_private, |facts| facts.max_private)
                .map(|limit| limit as f64),
        };
        for (label, why) in judged(&weighed, &look) {
            halving.stopped.insert(label, Stopped { after: *rung, why });
        }
    }
}

struct Cell<'r> {
    default: bool,
    of: u32,
    runs: Vec<&'r Played>,
}

/// The cells with their runs; a traced one is held up, and decides nothing even if it fails.
fn cells(runs: &[Played]) -> BTreeMap<&str, Cell<'_>> {
    let mut cells: BTreeMap<&str, Cell<'_>> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.summary.header.plan.traced.is_none()) {
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
    /// The first run that it failed.
    fn failed_run(&self) -> Option<&Played> {
        let runs = self.runs.iter().copied();
        // What is left without the process that held the memory is no merit of a setting.
        let failed = runs.filter(|run| exit(&run.summary) == Exit::ServerFailed || loss(&run.summary).is_some());
        failed.min_by_key(|run| run.summary.header.plan.block)
    }

    fn counting(&self) -> impl Iterator<Item = &Played> {
        self.runs.iter().copied().filter(|run| counts(&run.summary))
    }

    /// Whether the cell has this many complete runs. An interrupted run does not count: the sweep repeats it on
    /// resume. Failed cells are not asked.
    fn has_reached(&self, rung: u32) -> bool {
        self.counting().any(|run| run.summary.header.plan.block >= rung)
    }

    /// The runs that count up to a rung.
    fn until(&self, rung: u32) -> Vec<&Played> {
        let until = self.counting().filter(|run| run.summary.header.plan.block <= rung);
        until.collect()
    }

    /// The figures of the runs up to a rung; `base` are the default's runs.
    fn weighed<'l>(
        &self,
        label: &'l str,
        (rung, rules): (u32, &Rules),
        base: &[&Played],
        places: &Places,
    ) -> Weighed<'l> {
        let runs = self.until(rung);
        let work = inequalities(&summaries(base), &summaries(&runs), WorkLimits::default());
        Weighed {
            label,
            weights: WEIGHED.map(|figure| {
                let values = runs
                    .iter()
                    .filter(|_| rules.decides_by(figure))
                    .filter_map(|run| places.measure(figure)?.value(&run.summary));
                values.collect()
            }),
            honest: !work.iter().any(|work| work.less) && !unseen(&runs).iter().any(is_refused),
            rests: rest(&runs, places).moving == 0,
        }
    }
}

fn summaries<'r>(runs: &[&'r Played]) -> Vec<&'r Summary> {
    runs.iter().map(|run| &run.summary).collect()
}
