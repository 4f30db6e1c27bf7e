//! A sweep: every setting of a server beside its default. It decides which settings to run further, the front, and the
//! one to ship.
//!
//! All of it is a function of records: eliminations are recomputed from the runs so far.

mod choose;
mod cost;
mod elimination;
mod figure;
mod front;
mod judge;
mod settled;
mod why_not;

#[cfg(test)]
mod simulated;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use record::{AllocatorFacts, CellFacts, Header, KnobFacts, ServerFacts, SweepFacts};

use super::compare::{
    self, Cell, Difference, Excluded, HugePages, Inequality, Played, Side, compare, differences, differences_of,
    is_counted, shared_memory, unify_metrics,
};
use stats::{Pooled, prediction};

pub use crate::tune::choose::{KeepReason, LEAST_RUNS, Recommendation, as_fast};
pub use crate::tune::cost::{Cost, MOST_RUNS, cost, cost_of, runs_to_settle};
pub use crate::tune::figure::{Places, Timed};
pub use crate::tune::settled::{Moving, SettledState};

pub use crate::tune::elimination::{Elimination, Halving, eliminated_cells};
pub use crate::tune::judge::{Failure, Reason, Why};
pub use crate::tune::why_not::{NotChosen, WhyNot};

use crate::figures::Figure;
use crate::tune::figure::{figure_of, places};
use crate::tune::settled::settled_state;

/// The confidence of every interval of a sweep.
const CONFIDENCE: f64 = super::compare::CONFIDENCE;

/// What a sweep is held to.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// The figures that smaller memory may cost, each with the increase that is allowed, as a share.
    pub fn allowed(&self) -> Vec<(Figure, f64)> {
        let mut allowed = vec![(Figure::P95, self.latency), (Figure::Cpu, self.cpu)];
        allowed.retain(|(figure, _)| self.decides_by(*figure));
        allowed
    }

    pub fn decides_by(&self, figure: Figure) -> bool {
        !(self.is_shared && figure.is_time())
    }

    /// These rules, with `is_shared` read from the runs.
    fn adapted_to(&self, runs: &[Played]) -> Rules {
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
    /// True for a program that runs to its end instead of serving an editor.
    pub is_command: bool,
    pub args: Vec<String>,
    pub allocator: Option<AllocatorFacts>,
}

/// One cell and its results.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, Cell>"))]
    pub figures: Vec<Cell>,
    /// After which it was not run any more, and why.
    #[serde(skip)]
    pub stopped: Option<Elimination>,
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
    pub rest: SettledState,
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
    /// For a sweep that was interrupted: runs that every cell has, and runs planned per cell.
    pub fn cut_short(&self) -> Option<(u32, u32)> {
        let (default, others) = self.cells.split_first()?;
        let planned = *self.rules.rungs.last()?;
        let is_over = default.failed() || (self.missing == 0 && others.iter().all(|cell| cell.stopped.is_some()));
        let fewest = self.fewest_runs();
        if is_over || fewest >= planned {
            return None;
        }
        Some((fewest, planned))
    }

    /// The number of runs that every cell has, apart from those that were stopped.
    fn fewest_runs(&self) -> u32 {
        if self.missing > 0 {
            return 0;
        }
        let running = self.cells.iter().filter(|cell| cell.stopped.is_none());
        let fewest = running.map(|cell| cell.runs.len()).min().unwrap_or(0);
        u32::try_from(fewest).unwrap_or(u32::MAX)
    }

    /// True if cells were stopped under another memory limit than the one that chooses now: the right answer may be among
    /// the stopped ones.
    pub fn was_played_otherwise(&self) -> bool {
        let Some(planned) = &self.planned else {
            return false;
        };
        planned.max_private != self.rules.max_private && self.cells.iter().any(CellResult::was_outcompeted)
    }
}

impl CellResult {
    pub fn figure(&self, figure: Figure) -> &Cell {
        let place = Figure::SWEPT.iter().position(|swept| *swept == figure);
        &self.figures[place.expect("it is one of a sweep")]
    }

    /// The upper end of the interval of its private memory, in bytes: that of the median, or where there are too few runs
    /// for one, that of the geometric mean, if it is more. `None` of less than two runs.
    pub fn most_private(&self) -> Option<f64> {
        let figure = self.figure(Figure::Private);
        let median = figure.median?;
        if median.reached {
            return Some(median.high);
        }
        let values = self.known_values(Figure::Private);
        let spread = Pooled::from_arms(&[&values], Figure::Private.noise())?;
        let (_, high) = spread.bounds(&values, (1.0 - CONFIDENCE) / 2.0)?;
        Some(high.max(median.high))
    }

    /// True if the server failed the scenario with these settings.
    pub fn failed(&self) -> bool {
        self.left.iter().any(|left| left.why == compare::Why::Failed)
    }

    /// True if it was stopped for being worse than another cell or over the limit, and not for a failure.
    fn was_outcompeted(&self) -> bool {
        let stopped = self.stopped.as_ref();
        stopped.is_some_and(|stopped| !matches!(stopped.why, Why::Failed(_)))
    }

    /// The values of a figure in all runs that have it.
    fn known_values(&self, figure: Figure) -> Vec<f64> {
        self.figure(figure).values.iter().flatten().copied().collect()
    }

    /// True if its private memory is shown to be less than the default's, by however little.
    fn is_shown_less(&self) -> bool {
        let ratio = self.figure(Figure::Private).ratio.as_ref();
        ratio.is_some_and(|ratio| ratio.high < 1.0)
    }

    pub fn median(&self, figure: Figure) -> Option<f64> {
        self.figure(figure).median.map(|median| median.median)
    }

    /// True if it did less work than the default: its smaller memory is then no merit.
    pub fn did_less(&self) -> bool {
        self.work.iter().any(|work| work.less)
    }

    /// The settings that were seen not to be in force.
    pub fn ineffective_settings(&self) -> impl Iterator<Item = &KnobFacts> {
        self.unseen.iter().filter(|knob| is_refused(knob))
    }

    /// Settings that cannot be verified, because their allocator reports none.
    pub fn untold(&self) -> impl Iterator<Item = &KnobFacts> {
        self.unseen.iter().filter(|knob| !is_refused(knob))
    }

    /// True if the cell did the default's work and no setting was seen to be ineffective. Only then is it on the front
    /// or eliminates others.
    fn is_honest(&self) -> bool {
        !self.did_less() && self.ineffective_settings().next().is_none()
    }

    /// True if the cell may be recommended: it is honest and was run to the end.
    fn is_usable(&self) -> bool {
        self.stopped.is_none() && !self.runs.is_empty() && self.is_honest()
    }
}

/// True if a setting was seen not to be in force. Where nothing was seen, nothing is known.
fn is_refused(knob: &KnobFacts) -> bool {
    knob.taken == Some(false)
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSweep {
    /// All records come from `run` or from a gate.
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

/// The plan of the sweep that these runs belong to, as the default's runs recorded it.
pub fn planned_sweep(runs: &[Played]) -> Option<&SweepFacts> {
    let mut cells = runs.iter().filter_map(|run| run.summary.header.plan.cell.as_ref());
    cells.find(|cell| cell.default)?.sweep.as_ref()
}

/// True if any of the runs was played at the same time as another.
pub fn are_shared(runs: &[Played]) -> bool {
    runs.iter().any(|run| run.summary.header.plan.jobs.is_some())
}

/// Evaluates the runs of a sweep. Runs that belong to no sweep are ignored.
pub fn sweep(runs: &[Played], rules: &Rules) -> Result<Sweep, NoSweep> {
    let rules = &rules.adapted_to(runs);
    let of_sweeps = runs.iter().filter(|run| run.summary.header.plan.cell.is_some());
    let mut runs: Vec<Played> = of_sweeps.cloned().collect();
    let default = default_of(&runs)?;
    let differences = undecisive_differences(&runs)?;
    let comparison = compare(&runs, Some(&default));
    let places = places(&runs, &default);
    let halving = eliminated_cells(&runs, rules);
    unify_metrics(runs.iter_mut());
    let mut cells: Vec<CellResult> = Vec::new();
    for side in &comparison.sides {
        let mut cell = cell_result(side, &runs, &default, &places);
        cell.stopped = halving.eliminated.get(&side.label).cloned();
        cells.push(cell);
    }
    front::mark(&mut cells, rules);
    let choice = choose::choose(&cells, rules);
    why_not::set_reasons(&mut cells, rules, choice);
    let planned_cells = cells.iter().map(|cell| cell.sets.of).max().unwrap_or(0);
    Ok(Sweep {
        scenario: comparison.scenario,
        server: server(&runs, &default),
        places,
        planned: planned_sweep(&runs).cloned(),
        missing: planned_cells.saturating_sub(u32::try_from(cells.len()).unwrap_or(u32::MAX)),
        choice,
        cells,
        rules: rules.clone(),
        differences,
    })
}

/// The results of one cell before cells are compared with each other; its elimination is not set.
fn cell_result(side: &Side, runs: &[Played], default: &str, places: &Places) -> CellResult {
    let own_runs = runs_of(runs, &side.label);
    let counted = counted_runs(&own_runs);
    let baseline = if side.label == default {
        None
    } else {
        Some(counted_runs(&runs_of(runs, default)))
    };
    let figures = Figure::SWEPT.map(|figure| figure_of(figure, &counted, baseline.as_deref(), places));
    let mut cell = CellResult {
        label: side.label.clone(),
        sets: sets(&own_runs),
        runs: side.runs.clone(),
        left: side.left.clone(),
        stopped: None,
        front: false,
        beaten_by: None,
        work: side.work.clone(),
        unseen: side.unseen.clone(),
        promise: None,
        rest: settled_state(&counted, places),
        huge_pages: side.huge_pages,
        figures: figures.to_vec(),
        why_not: None,
    };
    if cell.rest.moving == 0 {
        cell.promise = promise(&cell.known_values(Figure::Private));
    }
    cell
}

fn runs_of<'r>(runs: &'r [Played], label: &str) -> Vec<&'r Played> {
    let own = runs.iter().filter(|run| run.summary.header.server.label == label);
    own.collect()
}

fn counted_runs<'r>(runs: &[&'r Played]) -> Vec<&'r Played> {
    runs.iter().copied().filter(|run| is_counted(&run.summary)).collect()
}

/// The settings of a cell, as its first run says.
fn sets(runs: &[&Played]) -> CellFacts {
    let first = runs.first().and_then(|run| run.summary.header.plan.cell.clone());
    CellFacts {
        sweep: None,
        ..first.unwrap_or_default()
    }
}

/// The circumstances that differ between runs and decide nothing. An error if a decisive one differs.
pub fn undecisive_differences(runs: &[Played]) -> Result<Vec<Difference>, NoSweep> {
    let mut cells: BTreeMap<&str, Vec<&Header>> = BTreeMap::new();
    for run in runs.iter().filter(|run| is_counted(&run.summary)) {
        let header = &run.summary.header;
        cells.entry(&header.server.label).or_default().push(header);
    }
    let headers = cells.values().flatten().copied();
    let mut all_differences = differences(headers.clone());
    let counted = runs.iter().map(|run| &*run.summary).filter(|run| is_counted(run));
    all_differences.extend(shared_memory(counted));
    // Processors that cells set are what is compared; then they may differ between cells, but not within one.
    let is_affinity_swept = headers.clone().any(sets_affinity);
    if is_affinity_swept {
        all_differences.retain(|difference| !is_affinity(difference));
    }
    for (label, headers) in &cells {
        all_differences.extend(differences_of(label, headers.iter().copied()));
        if is_affinity_swept {
            let within_cell = differences(headers.iter().copied());
            all_differences.extend(within_cell.into_iter().filter(is_affinity));
        }
    }
    let (decisive, noted): (Vec<Difference>, Vec<Difference>) =
        all_differences.into_iter().partition(Difference::is_decisive);
    if decisive.is_empty() {
        return Ok(noted);
    }
    let listed: Vec<String> = decisive
        .iter()
        .map(|difference| format!("{} ({})", difference.what, difference.values.join(", ")))
        .collect();
    Err(NoSweep::Apart(listed.join("; ")))
}

fn is_affinity(difference: &Difference) -> bool {
    difference.what == "usable processors"
}

fn sets_affinity(header: &Header) -> bool {
    let cell = header.plan.cell.as_ref();
    cell.is_some_and(|cell| cell.cpus.is_some())
}

/// The interval in which the private memory of one more run will probably lie, in bytes.
fn promise(private: &[f64]) -> Option<(f64, f64)> {
    prediction(private, CONFIDENCE, Figure::Private.noise())
}

/// The label of the cell with default settings. An error if the runs are not of one sweep.
fn default_of(runs: &[Played]) -> Result<String, NoSweep> {
    let first = runs.first().ok_or(NoSweep::None)?;
    for run in runs {
        if !are_of_one_sweep(&run.summary.header, &first.summary.header) {
            return Err(NoSweep::Several(format!("`{}` and `{}`", first.record, run.record)));
        }
    }
    for run in runs {
        let header = &run.summary.header;
        if header.plan.cell.as_ref().is_some_and(|cell| cell.default) {
            return Ok(header.server.label.clone());
        }
    }
    Err(NoSweep::NoDefault)
}

fn are_of_one_sweep(a: &Header, b: &Header) -> bool {
    a.scenario.sha256 == b.scenario.sha256
        && a.workspace.sha256 == b.workspace.sha256
        && (&a.server.program, &a.server.sha256) == (&b.server.program, &b.server.sha256)
        && planned_cells(a) == planned_cells(b)
}

/// A digest of all cells of the sweep that a run belongs to; `None` of records that do not say.
fn planned_cells(header: &Header) -> Option<&String> {
    let sweep = header.plan.cell.as_ref()?.sweep.as_ref()?;
    Some(&sweep.cells)
}

fn server(runs: &[Played], default: &str) -> Server {
    let mut headers = runs.iter().map(|run| &run.summary.header);
    let Some(header) = headers.find(|header| header.server.label == default) else {
        return Server::default();
    };
    let facts = &header.server;
    let program = facts.program.rsplit(['/', '\\']).next().unwrap_or(&facts.program);
    Server {
        name: facts.profile.clone().unwrap_or_else(|| program.to_owned()),
        version: facts.version.clone(),
        program: program.to_owned(),
        path: unlisted_path(facts),
        is_command: runs.iter().any(|run| run.summary.lifecycle.command.is_some()),
        args: facts.args.clone(),
        allocator: facts.allocator.clone(),
    }
}

/// The path of a program in a directory that its `PATH` does not list. `None` also for records without a `PATH`.
fn unlisted_path(facts: &ServerFacts) -> Option<String> {
    let (directory, _) = facts.program.rsplit_once(['/', '\\'])?;
    let separator = if facts.program.contains('\\') { ';' } else { ':' };
    let mut listed = facts.inherited.get("PATH")?.split(separator);
    if listed.any(|entry| entry.trim_end_matches(['/', '\\']) == directory) {
        return None;
    }
    Some(facts.program.clone())
}
