//! A sweep: every setting of a server beside its default. It decides which settings to run further, the front, and the
//! one to ship.
//!
//! All of it is a function of records: eliminations are recomputed from the runs so far.

mod choose;
mod cost;
mod figure;
mod front;
mod judge;
mod settled;
mod stopped;
mod why_not;

#[cfg(test)]
mod simulated;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use record::{AllocatorFacts, CellFacts, Header, KnobFacts, ServerFacts, SweepFacts};

use super::compare::{
    self, Cell, Difference, Excluded, HugePages, Inequality, Played, compare, counts, differences, differences_of,
    one_metric, shared_memory,
};
use stats::{Pooled, prediction};

pub use crate::tune::choose::{KeepReason, LEAST_RUNS, Recommendation, as_fast};
pub use crate::tune::cost::{Cost, MOST_RUNS, cost, cost_of, runs_to_settle};
pub use crate::tune::figure::{Places, Timed};
pub use crate::tune::settled::{Moving, Rest};

pub use crate::tune::judge::{Failure, Reason, Why};
pub use crate::tune::stopped::{Halving, Stopped, stopped};
pub use crate::tune::why_not::{NotChosen, WhyNot};

use crate::figures::Figure;
use crate::tune::figure::{figure_of, places};
use crate::tune::settled::rest;

/// How sure every interval of a sweep is.
const CONFIDENCE: f64 = super::compare::CONFIDENCE;

/// What a sweep is held to.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Rules {
    /// After how many runs of each it is looked which cells are still worth more, the last being all there are.
    pub rungs: Vec<u32>,
    /// How much more latency a recommended setting may have, as a share of the default's.
    pub latency: f64,
    /// How much more processor time, as a share.
    pub cpu: f64,
    /// How much private memory there may be, in bytes; then the fastest cell under it is chosen.
    pub max_private: Option<u64>,
    /// Whether runs were played at once: they take time from each other, so memory alone decides.
    #[serde(rename = "shared")]
    pub is_shared: bool,
}

impl Rules {
    /// How much more is allowed of what memory is bought with, as shares.
    pub fn allowed(&self) -> Vec<(Figure, f64)> {
        let mut allowed = vec![(Figure::P95, self.latency), (Figure::Cpu, self.cpu)];
        allowed.retain(|(figure, _)| self.decides_by(*figure));
        allowed
    }

    pub fn decides_by(&self, figure: Figure) -> bool {
        !(self.is_shared && figure.is_time())
    }

    /// The same for these runs.
    fn of(&self, runs: &[Played]) -> Rules {
        Rules {
            is_shared: are_shared(runs),
            ..self.clone()
        }
    }
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            rungs: vec![1, 3, 5, 8],
            latency: 0.10,
            cpu: 0.05,
            max_private: None,
            is_shared: false,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Sweep {
    pub scenario: String,
    /// The server that all cells are of.
    pub server: Server,
    pub places: Places,
    pub cells: Vec<CellResult>,
    /// Cells that were planned and have no run.
    pub missing: u32,
    /// As it was planned; `None` of records that do not say.
    pub planned: Option<SweepFacts>,
    pub rules: Rules,
    pub choice: Recommendation,
    /// Circumstances that are not the same in all runs, and decide nothing.
    pub differences: Vec<Difference>,
}

/// The server of a sweep, as its default runs say.
#[derive(Clone, Debug, Default)]
pub struct Server {
    /// The profile, or else the name of its program.
    pub name: String,
    pub version: Option<String>,
    pub program: String,
    /// Its path, where `PATH` does not find it by its file name.
    pub path: Option<String>,
    /// Whether it runs to its end instead of serving an editor.
    pub is_command: bool,
    pub args: Vec<String>,
    pub allocator: Option<AllocatorFacts>,
}

/// One cell and its results.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CellResult {
    /// Its label.
    pub label: String,
    /// Its settings.
    pub sets: CellFacts,
    /// Names of the records that count.
    pub runs: Vec<String>,
    /// Runs that do not count, and why.
    #[serde(rename = "left_out")]
    pub left: Vec<Excluded>,
    /// Its figures, one for each of [`Figure::SWEPT`]; their ratios are against the default.
    #[serde(serialize_with = "by_name")]
    #[schemars(with = "BTreeMap<String, Cell>")]
    pub figures: Vec<Cell>,
    /// After which it was not run any more, and why.
    #[serde(skip)]
    pub stopped: Option<Stopped>,
    /// Whether no other is as good in everything and clearly better in something.
    pub front: bool,
    /// One that is, where there is one.
    pub beaten_by: Option<String>,
    /// Work that it did not do as the default did.
    pub work: Vec<Inequality>,
    /// Settings that were asked for and not seen in force.
    #[serde(rename = "unseen_settings")]
    pub unseen: Vec<KnobFacts>,
    /// Whether its memory had settled when it was read.
    #[serde(skip)]
    pub rest: Rest,
    /// What huge pages do to its difference from the default, where that is much.
    #[serde(skip)]
    pub huge_pages: Option<HugePages>,
    /// Where the private memory of one more run will probably lie, in bytes; `None` where it had not settled.
    pub promise: Option<(f64, f64)>,
    /// Why the cell is not recommended; `None` for the recommended cell, and for the default if none is.
    #[serde(skip)]
    pub why_not: Option<WhyNot>,
}

fn by_name<S: Serializer>(figures: &[Cell], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(Figure::SWEPT.into_iter().map(Figure::name).zip(figures))
}

impl Sweep {
    /// How many runs there are of each of how many that were planned, where it ended before its end.
    pub fn cut_short(&self) -> Option<(u32, u32)> {
        let (default, others) = self.cells.split_first()?;
        let most = *self.rules.rungs.last()?;
        let left = self.cells.iter().filter(|cell| cell.stopped.is_none());
        let had = left.map(|cell| cell.runs.len()).min().filter(|_| self.missing == 0);
        let had = u32::try_from(had.unwrap_or(0)).unwrap_or(u32::MAX);
        let over = default.failed() || (self.missing == 0 && others.iter().all(|cell| cell.stopped.is_some()));
        (had < most && !over).then_some((had, most))
    }

    /// Whether it was played under another limit than it is chosen by, so that the answer may have been stopped.
    pub fn was_played_otherwise(&self) -> bool {
        let stopped = |cell: &CellResult| {
            cell.stopped
                .as_ref()
                .is_some_and(|stopped| !matches!(stopped.why, Why::Failed(_)))
        };
        let other = |planned: &SweepFacts| planned.max_private != self.rules.max_private;
        self.planned.as_ref().is_some_and(other) && self.cells.iter().any(stopped)
    }
}

impl CellResult {
    pub fn figure(&self, figure: Figure) -> &Cell {
        let place = Figure::SWEPT.iter().position(|one| *one == figure);
        &self.figures[place.expect("it is one of a sweep")]
    }

    /// The upper end of what its private memory is by its interval: that of the median, or where there are too few runs
    /// for one, that of the geometric mean, if it is more. `None` of less than two runs.
    pub fn most_private(&self) -> Option<f64> {
        let figure = self.figure(Figure::Private);
        let median = figure.median?;
        if median.reached {
            return Some(median.high);
        }
        let values = self.known(Figure::Private);
        let spread = Pooled::within(&[&values], Figure::Private.noise())?;
        let (_, high) = spread.bounds(&values, (1.0 - CONFIDENCE) / 2.0)?;
        Some(high.max(median.high))
    }

    /// Whether the server failed the scenario with it.
    pub fn failed(&self) -> bool {
        self.left.iter().any(|left| left.why == compare::Why::Failed)
    }

    /// The values of a figure in all runs that have it.
    pub(super) fn known(&self, figure: Figure) -> Vec<f64> {
        self.figure(figure).values.iter().flatten().copied().collect()
    }

    /// Whether it is shown to need less private memory than the default.
    pub fn is_shown_less(&self) -> bool {
        let ratio = self.figure(Figure::Private).ratio.as_ref();
        ratio.is_some_and(|ratio| ratio.high < 1.0)
    }

    /// The middle of one of its figures.
    pub fn median(&self, figure: Figure) -> Option<f64> {
        self.figure(figure).median.map(|median| median.median)
    }

    /// Whether it did less than the default, so that less memory is no merit of it.
    pub fn did_less(&self) -> bool {
        self.work.iter().any(|work| work.less)
    }

    /// The settings that were seen not to be in force.
    pub fn refused(&self) -> impl Iterator<Item = &KnobFacts> {
        self.unseen.iter().filter(|knob| is_refused(knob))
    }

    /// Settings that cannot be verified, because their allocator reports none.
    pub fn untold(&self) -> impl Iterator<Item = &KnobFacts> {
        self.unseen.iter().filter(|knob| !is_refused(knob))
    }

    /// Whether the cell did the default's work and no setting was seen to be ineffective. Only then is it on the front
    /// or eliminates others.
    pub fn is_honest(&self) -> bool {
        !self.did_less() && self.refused().next().is_none()
    }

    /// Whether the cell may be recommended: it is honest and was run to the end.
    pub fn is_usable(&self) -> bool {
        self.stopped.is_none() && !self.runs.is_empty() && self.is_honest()
    }
}

/// Whether a setting was seen not to be in force. Where nothing was seen, nothing is known.
fn is_refused(knob: &KnobFacts) -> bool {
    knob.taken == Some(false)
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSweep {
    /// They are of `run`, or of a gate.
    #[error("no record belongs to a sweep: name a directory that `lsp-soak tune` wrote")]
    None,
    #[error("no run with the default settings, which every setting is compared with")]
    NoDefault,
    /// Each sweep has a default of its own.
    #[error(
        "the records belong to several sweeps (scenario, project, program or settings differ): {0}; name one of them"
    )]
    Several(String),
    /// A sweep is of one machine and one server; only the setting differs.
    #[error("the runs differ in {0}, which alone changes memory: choose runs that agree in it, or run the sweep again")]
    Apart(String),
}

/// The sweep of these runs as it was planned, by its default.
pub fn planned(runs: &[Played]) -> Option<&SweepFacts> {
    let mut cells = runs.iter().filter_map(|run| run.summary.header.plan.cell.as_ref());
    cells.find(|cell| cell.default)?.sweep.as_ref()
}

/// Whether any of these was played beside another.
pub fn are_shared(runs: &[Played]) -> bool {
    runs.iter().any(|run| run.summary.header.plan.jobs.is_some())
}

/// What the runs of a sweep come to; those of no sweep are passed over.
pub fn sweep(runs: &[Played], rules: &Rules) -> Result<Sweep, NoSweep> {
    let rules = &rules.of(runs);
    let own = |run: &&Played| run.summary.header.plan.cell.is_some();
    let mut runs: Vec<Played> = runs.iter().filter(own).cloned().collect();
    let default = default_of(&runs)?;
    let noted = alike(&runs)?;
    let comparison = compare(&runs, Some(&default));
    let places = places(&runs, &default);
    let halving = stopped(&runs, rules);
    one_metric(runs.iter_mut());
    let base = runs.iter().filter(|run| run.summary.header.server.label == default);
    let base: Vec<&Played> = base.filter(|run| counts(&run.summary)).collect();
    let mut cells: Vec<CellResult> = Vec::new();
    for side in &comparison.sides {
        let of = |run: &&Played| run.summary.header.server.label == side.label;
        let mine: Vec<&Played> = runs.iter().filter(of).collect();
        let counting: Vec<&Played> = mine.iter().copied().filter(|run| counts(&run.summary)).collect();
        let base = (side.label != default).then_some(base.as_slice());
        let figures: Vec<Cell> = Figure::SWEPT
            .iter()
            .map(|figure| figure_of(*figure, &counting, base, &places))
            .collect();
        let mut cell = CellResult {
            label: side.label.clone(),
            sets: sets(&mine),
            runs: side.runs.clone(),
            left: side.left.clone(),
            stopped: halving.stopped.get(&side.label).cloned(),
            front: false,
            beaten_by: None,
            work: side.work.clone(),
            unseen: side.unseen.clone(),
            promise: None,
            rest: rest(&counting, &places),
            huge_pages: side.huge_pages,
            figures,
            why_not: None,
        };
        if cell.rest.moving == 0 {
            cell.promise = promise(&cell.known(Figure::Private));
        }
        cells.push(cell);
    }
    front::mark(&mut cells, rules);
    let choice = choose::choose(&cells, rules);
    why_not::give(&mut cells, rules, choice);
    let of = cells.iter().map(|cell| cell.sets.of).max().unwrap_or(0);
    Ok(Sweep {
        scenario: comparison.scenario,
        server: server(&runs, &default),
        places,
        planned: planned(&runs).cloned(),
        missing: of.saturating_sub(u32::try_from(cells.len()).unwrap_or(u32::MAX)),
        choice,
        cells,
        rules: rules.clone(),
        differences: noted,
    })
}

/// What a cell sets, as its first run says.
fn sets(runs: &[&Played]) -> CellFacts {
    let first = runs.first().and_then(|run| run.summary.header.plan.cell.clone());
    CellFacts {
        sweep: None,
        ..first.unwrap_or_default()
    }
}

/// Differences that decide nothing, or an error if the runs cannot be compared.
pub fn alike(runs: &[Played]) -> Result<Vec<Difference>, NoSweep> {
    let mut cells: BTreeMap<&str, Vec<&Header>> = BTreeMap::new();
    for run in runs.iter().filter(|run| counts(&run.summary)) {
        let header = &run.summary.header;
        cells.entry(&header.server.label).or_default().push(header);
    }
    let all = || cells.values().flatten().copied();
    let mut differing = differences(all());
    let counted = runs.iter().map(|run| &run.summary).filter(|run| counts(run));
    differing.extend(shared_memory(counted));
    // Cells that set processors are compared by them; then each cell keeps its own.
    let is_affinity = |one: &Difference| one.what == "usable processors";
    let of_cells = all().any(|header| header.plan.cell.as_ref().is_some_and(|cell| cell.cpus.is_some()));
    differing.retain(|one| !of_cells || !is_affinity(one));
    for (label, headers) in &cells {
        differing.extend(differences_of(label, headers.iter().copied()));
        if of_cells {
            differing.extend(differences(headers.iter().copied()).into_iter().filter(is_affinity));
        }
    }
    let (apart, noted) = differing.into_iter().partition::<Vec<_>, _>(Difference::is_decisive);
    if apart.is_empty() {
        return Ok(noted);
    }
    let listed = apart
        .iter()
        .map(|one| format!("{} ({})", one.what, one.values.join(", ")));
    Err(NoSweep::Apart(listed.collect::<Vec<String>>().join("; ")))
}

/// Where the private memory of one more run will probably lie.
fn promise(private: &[f64]) -> Option<(f64, f64)> {
    prediction(private, CONFIDENCE, Figure::Private.noise())
}

/// The label of the server with nothing changed.
fn default_of(runs: &[Played]) -> Result<String, NoSweep> {
    let Some(first) = runs.first() else {
        return Err(NoSweep::None);
    };
    let cells = |run: &Played| Some(run.summary.header.plan.cell.as_ref()?.sweep.as_ref()?.cells.clone());
    let same = |run: &Played| {
        let (a, b) = (&run.summary.header, &first.summary.header);
        a.scenario.sha256 == b.scenario.sha256
            && a.workspace.sha256 == b.workspace.sha256
            && (&a.server.program, &a.server.sha256) == (&b.server.program, &b.server.sha256)
            && cells(run) == cells(first)
    };
    if let Some(other) = runs.iter().find(|run| !same(run)) {
        return Err(NoSweep::Several(format!("`{}` and `{}`", first.record, other.record)));
    }
    let is_default = |run: &&Played| run.summary.header.plan.cell.as_ref().is_some_and(|cell| cell.default);
    let default = runs.iter().find(is_default).ok_or(NoSweep::NoDefault)?;
    Ok(default.summary.header.server.label.clone())
}

fn server(runs: &[Played], default: &str) -> Server {
    let header = runs.iter().map(|run| &run.summary.header);
    let Some(header) = header.into_iter().find(|header| header.server.label == default) else {
        return Server::default();
    };
    let facts = &header.server;
    let program = facts.program.rsplit(['/', '\\']).next().unwrap_or(&facts.program);
    Server {
        name: facts.profile.clone().unwrap_or_else(|| program.to_owned()),
        version: facts.version.clone(),
        program: program.to_owned(),
        path: path(facts),
        is_command: runs.iter().any(|run| run.summary.command.is_some()),
        args: facts.args.clone(),
        allocator: facts.allocator.clone(),
    }
}

/// The path of a program in a directory that its `PATH` does not have. Of records that do not say what that was its name has
/// to do.
fn path(facts: &ServerFacts) -> Option<String> {
    let (directory, _) = facts.program.rsplit_once(['/', '\\'])?;
    let separator = if facts.program.contains('\\') { ';' } else { ':' };
    let mut listed = facts.inherited.get("PATH")?.split(separator);
    let is_found = listed.any(|one| one.trim_end_matches(['/', '\\']) == directory);
    (!is_found).then(|| facts.program.clone())
}
