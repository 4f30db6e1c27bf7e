//! A comparison as JSON, for programs: versioned, with a schema in `docs/schemas/comparison-report.json`.
//!
//! Sizes are bytes and times nanoseconds, as in the summary of one run. What is not known is `null`, never 0.

pub(in crate::report) mod from;
mod gave;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::analyse::compare::{self, Played};
use crate::lens::Lens;
use crate::record::{KnobFacts, PreloadFacts, Version};
use crate::report::json;

pub use gave::{Accounted, Decay, Decayed, Forced, Middle, TrafficCost};

/// The version of this format. The minor one rises when something is added, the major one when a reader would
/// misread.
pub const FORMAT: Version = Version { major: 2, minor: 0 };

/// Servers compared, and every run that they are compared by. Sizes are bytes, times nanoseconds. What is not known is
/// `null`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Report {
    /// Version of this format.
    pub format: Version,
    /// Every scenario that was played, in the order of their names.
    pub scenarios: Vec<Scenario>,
    /// Every run that was read, also those that do not count.
    pub runs: Vec<Run>,
}

/// One record.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Run {
    /// Its name.
    pub record: String,
    /// What it says, as `lsp-soak report --format json` prints it.
    pub summary: json::Report,
}

/// One scenario.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// Every target that it was played on: ratios are taken within one, never across.
    pub targets: Vec<Target>,
}

/// The servers on one target.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Target {
    /// Its triple.
    pub triple: String,
    /// What memory was looked at through.
    pub lens: Lens,
    /// What tells its machines from each other.
    pub machines: Vec<String>,
    /// The servers, the baseline first.
    pub servers: Vec<Server>,
    /// Every figure that at least one run has, in the order of the scenario.
    pub rows: Vec<Row>,
    /// What came back while the servers were left alone, window by window.
    pub decay: Vec<Decay>,
    /// Circumstances that are not the same in all runs.
    pub differences: Vec<Difference>,
    /// What about the machines makes figures less sure, a sentence each: a load, memory that was short, inexact counters.
    pub machine_doubts: Vec<String>,
}

/// One server.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Server {
    /// Its label.
    pub label: String,
    /// Its version, where all runs agree on one.
    pub version: Option<String>,
    /// The allocator that was preloaded into it, where that is the same in all runs.
    pub preload: Option<PreloadFacts>,
    /// Names of the records that count, in the order of the runs: `values` are in this order.
    pub runs: Vec<String>,
    /// Records that do not count.
    pub left_out: Vec<LeftOut>,
    /// Work that it did not do as the baseline did; of a server without `runs`, or beside such a baseline, nothing is known.
    pub work: Vec<Inequality>,
    /// Settings of its allocator that were asked for and not seen in force.
    pub unseen_settings: Vec<KnobFacts>,
    /// What its runs were to have and was not seen in them, a sentence each: libraries, settings, memory given back.
    pub doubts: Vec<String>,
    /// How it grows with what the scenario repeats.
    pub growth: Vec<Growth>,
    /// What it gave back by force in steps, phase by phase.
    pub forced: Vec<Forced>,
    /// What it gave back by force before the checkpoints, phase by phase, as the purged lens asks for.
    pub forced_before_checkpoints: Vec<Forced>,
    /// What it accounts for by its own words, phase by phase.
    pub self_reports: Vec<Accounted>,
    /// What light traffic by itself adds to its private memory in a minute, by control windows; `null` without any.
    pub traffic_cost: Option<TrafficCost>,
    /// Its memory calls, where a run of it was traced; of several the first.
    pub system_calls: Option<json::calls::Traced>,
}

/// How a server grows with one thing that the scenario repeats.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Growth {
    /// The phase's name, or that of whole rounds.
    pub name: String,
    /// The most rounds that a run has of it.
    pub rounds: u64,
    /// The median of the runs' slopes, in bytes per round; `null` of too few rounds.
    pub slope: Option<f64>,
    /// Lowest lower end of the runs' intervals.
    pub low: Option<f64>,
    /// Highest upper end of the runs' intervals.
    pub high: Option<f64>,
    /// Whether growth is shown, or 64 KiB per round are ruled out.
    pub answer: Answer,
    /// The mean slope of the last half of the rounds, in bytes per round; `null` of too few runs or rounds.
    pub late: Option<f64>,
    /// Its lower bound: above the limit it fails.
    pub late_lower: Option<f64>,
    /// Its upper bound: below what must be ruled out it passes.
    pub late_upper: Option<f64>,
    /// How many rounds would probably decide it; `null` where it is decided, runs are missing or no sensible number would.
    pub needed_rounds: Option<u64>,
}

/// What can be said of a question that has a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// More than the limit is ruled out.
    Pass,
    /// More than the limit is shown.
    Fail,
    /// Neither.
    Inconclusive,
}

/// A record that does not count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeftOut {
    /// Its name.
    pub record: String,
    /// Why it does not count.
    pub why: Why,
}

/// Why a record does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// It warmed caches up, as planned.
    WarmUp,
    /// It was traced, which held the server up.
    Traced,
    /// It was not played to its end.
    Unfinished,
    /// The server failed the scenario.
    Failed,
}

/// A piece of work that a server did not do as the baseline did.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Inequality {
    /// The phase; `null` of a method.
    pub phase: Option<String>,
    /// The step; `null` of a method.
    pub step: Option<String>,
    /// The method; `null` of a step.
    pub method: Option<String>,
    /// What was counted.
    pub count: Count,
    /// Median over the runs of the baseline; `null` when it never did this.
    pub baseline: Option<f64>,
    /// Median over the runs of this server; `null` when it never did this.
    pub candidate: Option<f64>,
    /// Whether it did less, so that less memory is no merit of it.
    pub less: bool,
}

/// What is counted of a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Count {
    /// Requests, per round of the phase.
    Requests,
    /// Requests whose result had something in it, per round of the phase.
    Hits,
    /// Elements of the result, per answered request.
    Items,
    /// Bytes of the result, per answered request.
    Bytes,
}

/// One figure of all servers.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    /// What part of the run.
    pub place: Place,
    /// The phase or the method; `null` of the whole run.
    pub name: Option<String>,
    /// Which figure.
    pub figure: Figure,
    /// What it counts.
    pub unit: Unit,
    /// One for each server, in their order.
    pub cells: Vec<Cell>,
}

/// A part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// A phase; the last round of one that is repeated.
    Phase,
    /// The run as a whole.
    Run,
    /// All requests of a method.
    Method,
}

/// A figure. Less of it is better, whatever it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// Private memory at the checkpoint.
    Private,
    /// Peak of resident memory; of a tree a lower bound.
    Peak,
    /// Resident memory at the checkpoint; of a tree the proportional size.
    Resident,
    /// Processor time of the tree.
    Cpu,
    /// Minor page faults of the tree.
    Faults,
    /// Median latency.
    P50,
    /// 95th percentile of the latency.
    P95,
}

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Nanoseconds.
    Nanoseconds,
    /// A plain number.
    Count,
}

/// One figure of one server.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Cell {
    /// One for each run that counts.
    pub values: Vec<Option<f64>>,
    /// The median of what there is.
    pub median: Option<Median>,
    /// Against the baseline; `null` for the baseline itself and where either has less than two runs.
    pub ratio: Option<Ratio>,
    /// The groups that the values fall into: one, unless they are apart; none of less than two values, and over several
    /// machines.
    pub groups: Vec<Group>,
    /// Values far from the others of their machine. They are counted too.
    pub outliers: Vec<Outlier>,
}

/// A median with the interval of its order statistics.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Median {
    /// The median.
    pub value: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
    /// The chance that such an interval has the true median in it.
    pub coverage: f64,
    /// How many values it is of.
    pub runs: u64,
}

/// The ratio of two servers' geometric means, with Welch's interval on logs at 95 %.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Ratio {
    /// The ratio: 1.1 is ten per cent more than the baseline.
    pub value: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of its interval; `null` where nothing bounds it.
    pub high: Option<f64>,
    /// Two-sided p of Welch's test.
    pub p: f64,
    /// The ratio on each machine, by its name.
    pub machines: BTreeMap<String, f64>,
}

/// Values that lie together.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Group {
    /// The smallest.
    pub low: f64,
    /// The largest.
    pub high: f64,
    /// Names of their records.
    pub runs: Vec<String>,
}

/// A value far from the others.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Outlier {
    /// Name of its record.
    pub run: String,
    /// The value.
    pub value: f64,
    /// Its distance from the median in robust standard deviations of the logs, negative below.
    pub distance: f64,
}

/// A circumstance that is not the same in all runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Difference {
    /// Which.
    pub what: String,
    /// Its values, each once.
    pub values: Vec<String>,
    /// Whether it alone can make memory differ.
    pub decisive: bool,
}

/// The comparison of each scenario and the runs behind it, as indented JSON with a line end.
pub fn render(
    scenarios: &BTreeMap<String, Vec<compare::Target>>,
    runs: &[Played],
) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(&report(scenarios, runs))?;
    text.push('\n');
    Ok(text)
}

/// The comparison in the types of this format.
pub fn report(scenarios: &BTreeMap<String, Vec<compare::Target>>, runs: &[Played]) -> Report {
    let scenario = |(name, targets): (&String, &Vec<compare::Target>)| Scenario {
        name: name.clone(),
        targets: targets.iter().map(from::target).collect(),
    };
    Report {
        format: FORMAT,
        scenarios: scenarios.iter().map(scenario).collect(),
        runs: runs
            .iter()
            .map(|run| Run {
                record: run.record.clone(),
                summary: json::report(&run.summary),
            })
            .collect(),
    }
}

pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Report).to_value()
}
