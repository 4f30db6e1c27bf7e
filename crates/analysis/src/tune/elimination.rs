//! Successive halving (Jamieson and Talwalkar, *Non-stochastic Best Arm Identification*, 2016), with intervals instead of
//! ranks alone: after each rung of runs, the cells that can no longer be the answer are not run any more.

use std::collections::{BTreeMap, BTreeSet};

use crate::compare::summaries;
use crate::compare::{Played, inequalities, is_counted, unconfirmed_settings};
use crate::figures::{Figure, WorkLimits};
use crate::findings::{brief, loss};
use crate::summary::exit_of_run;
use crate::tune::figure::WEIGHED;
use base::exit::Exit;

use super::figure::{Places, places};
use super::judge::{Analyses, Failure, Weighed, Why, eliminations};
use super::settled::settled_state;
use super::{Rules, counted_runs, is_refused};

/// The elimination of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elimination {
    /// Its number of runs by then; 0 where it failed while it warmed up.
    pub after: u32,
    pub why: Why,
}

/// Decisions while a sweep runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Halving {
    /// The cells that are not run any more.
    pub eliminated: BTreeMap<String, Elimination>,
    /// The last rung that all others have reached.
    pub rung: Option<u32>,
}

impl Halving {
    /// True if the sweep can end: the default failed, or is the only cell left.
    pub fn is_over(&self, default: &str, labels: &BTreeSet<&str>) -> bool {
        let running = labels.iter().filter(|label| !self.eliminated.contains_key(**label));
        self.eliminated.contains_key(default) || running.count() < 2
    }

    /// Stops the cells that have failed by a rung.
    fn stop_failed(&mut self, cells: &BTreeMap<&str, Cell<'_>>, rung: u32) {
        for (label, cell) in cells {
            let Some(run) = cell.failed_run() else {
                continue;
            };
            let after = run.summary.header.plan.block;
            if after <= rung {
                let why = Why::Failed(Failure {
                    record: run.record.clone(),
                    how: loss(&run.summary).unwrap_or_else(|| brief(&run.summary)),
                });
                let stopped = Elimination { after, why };
                self.eliminated.entry((*label).to_owned()).or_insert(stopped);
            }
        }
    }
}

/// Decides from the runs so far which cells are eliminated. Runs beyond a rung never change the decision at it.
pub fn eliminated_cells(runs: &[Played], rules: &Rules) -> Halving {
    let mut halving = Halving::default();
    let cells = cells(runs);
    let Some((default, _)) = cells.iter().find(|(_, cell)| cell.is_default) else {
        return halving;
    };
    let planned = cells.values().map(|cell| cell.planned_cells).max().unwrap_or(0);
    if cells.len() >= planned as usize {
        halve(&mut halving, runs, &cells, default, &rules.adapted_to(runs));
    }
    halving.stop_failed(&cells, u32::MAX);
    halving
}

/// Eliminates cells rung by rung, as far as all cells that are left by then have reached it.
fn halve(halving: &mut Halving, runs: &[Played], cells: &BTreeMap<&str, Cell<'_>>, default: &str, rules: &Rules) {
    let places = places(runs, default);
    let (rungs, limit) = recorded_rules(runs, rules);
    for rung in rungs {
        // A cell that fails after this rung was weighed at it: what it decided here stands.
        halving.stop_failed(cells, *rung);
        let mut running: Vec<&str> = cells.keys().copied().collect();
        running.retain(|label| !halving.eliminated.contains_key(*label));
        if running.is_empty() || !running.iter().all(|label| cells[label].has_reached(*rung)) {
            break;
        }
        halving.rung = Some(*rung);
        if rungs.last() == Some(rung) {
            break;
        }
        let default_runs = cells[default].runs_until(*rung);
        let mut weighed: Vec<Weighed<'_>> = Vec::new();
        for label in running {
            weighed.push(weigh(
                label,
                &cells[label].runs_until(*rung),
                &default_runs,
                rules,
                &places,
            ));
        }
        let analyses = Analyses {
            default,
            // After the last rung there is nothing left to stop.
            looks: rungs.len().saturating_sub(1),
            limit: limit.map(|limit| limit as f64),
        };
        for (label, why) in eliminations(&weighed, &analyses) {
            halving.eliminated.insert(label, Elimination { after: *rung, why });
        }
    }
}

/// The rungs and the memory limit by which the sweep was played; today's options only decide where the records do not say.
fn recorded_rules<'r>(runs: &'r [Played], rules: &'r Rules) -> (&'r [u32], Option<u64>) {
    let Some(planned) = super::planned_sweep(runs) else {
        return (&rules.rungs, rules.max_private);
    };
    let rungs = if planned.rungs.is_empty() {
        &rules.rungs
    } else {
        &planned.rungs
    };
    (rungs, planned.max_private)
}

struct Cell<'r> {
    is_default: bool,
    /// The number of cells of the sweep.
    planned_cells: u32,
    runs: Vec<&'r Played>,
}

/// The cells with their runs; a traced one is held up, and decides nothing even if it fails.
fn cells(runs: &[Played]) -> BTreeMap<&str, Cell<'_>> {
    let mut cells: BTreeMap<&str, Cell<'_>> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.summary.header.plan.traced.is_none()) {
        let header = &run.summary.header;
        if let Some(facts) = &header.plan.cell {
            let cell = cells.entry(&header.server.label).or_insert_with(|| Cell {
                is_default: facts.default,
                planned_cells: facts.of,
                runs: Vec::new(),
            });
            cell.runs.push(run);
        }
    }
    cells
}

impl Cell<'_> {
    /// The first run that the server failed.
    fn failed_run(&self) -> Option<&Played> {
        let runs = self.runs.iter().copied();
        // Less memory is no merit of a setting if the process that held it is gone.
        let failed = runs.filter(|run| exit_of_run(&run.summary) == Exit::ServerFailed || loss(&run.summary).is_some());
        failed.min_by_key(|run| run.summary.header.plan.block)
    }

    /// True if the cell has this many complete runs. An interrupted run does not count: the sweep repeats it on
    /// resume. Failed cells are not asked.
    fn has_reached(&self, rung: u32) -> bool {
        let mut runs = self.runs.iter();
        runs.any(|run| run.summary.header.plan.block >= rung && is_counted(&run.summary))
    }

    /// The runs that count up to a rung.
    fn runs_until(&self, rung: u32) -> Vec<&Played> {
        let mut runs = counted_runs(&self.runs);
        runs.retain(|run| run.summary.header.plan.block <= rung);
        runs
    }
}

/// The figures of a cell's runs, and what they are worth as evidence.
fn weigh<'l>(
    label: &'l str,
    runs: &[&Played],
    default_runs: &[&Played],
    rules: &Rules,
    places: &Places,
) -> Weighed<'l> {
    let work = inequalities(&summaries(default_runs), &summaries(runs), WorkLimits::default());
    Weighed {
        label,
        weights: WEIGHED.map(|figure| {
            if rules.decides_by(figure) {
                known_values(figure, runs, places)
            } else {
                Vec::new()
            }
        }),
        is_honest: !work.iter().any(|work| work.less) && !unconfirmed_settings(runs).iter().any(is_refused),
        is_settled: settled_state(runs, places).moving == 0,
    }
}

fn known_values(figure: Figure, runs: &[&Played], places: &Places) -> Vec<f64> {
    let Some(measure) = places.measure(figure) else {
        return Vec::new();
    };
    runs.iter().filter_map(|run| measure.value(&run.summary)).collect()
}
