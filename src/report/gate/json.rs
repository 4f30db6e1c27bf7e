//! A gate as JSON, for programs: versioned, with a schema in `docs/schemas/gate-report.json`.
//!
//! Sizes are bytes and times nanoseconds, ratios are of geometric means, 1.1 being ten per cent more. What is not known is
//! `null`, never 0.

mod from;

#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::Serialize;

use crate::analyse::gate::Judgement;
use crate::lens::Lens;
use crate::record::{PreloadFacts, Version};
use crate::report::comparison::json::{Answer, Difference, Figure, Inequality, Unit};

/// The version of this format. The minor one rises when something is added, the major one when a reader would misread.
pub const FORMAT: Version = Version { major: 2, minor: 0 };

/// A gate's verdict and all that it rests on. Sizes are bytes, times nanoseconds. What is not known is `null`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Report {
    /// Version of this format.
    pub format: Version,
    /// The scenario's name.
    pub scenario: String,
    /// What it comes to.
    pub outcome: Outcome,
    /// The exit code: 0 passed, 1 failed, 3 inconclusive, 4 refused; what is inconclusive may have been asked to be 0 or 1.
    pub exit_code: u8,
    /// The verdict in sentences with their numbers, what decides first.
    pub findings: Vec<Finding>,
    /// What must be known to read the verdict right.
    pub notes: Vec<String>,
    /// The lens that decides where a rule names none.
    pub lens: Lens,
    /// The servers: the baseline, the candidate, and the anchor if there is one.
    pub servers: Vec<Server>,
    /// Circumstances that are not the same in all runs.
    pub differences: Vec<Difference>,
    /// The candidate against the baseline, and against the anchor if there is one.
    pub against: Vec<Against>,
    /// Absolute limits.
    pub budgets: Vec<Budget>,
    /// Growth with what the scenario repeats, where it is looked at.
    pub growth: Vec<Growth>,
}

/// What a gate comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Every rule holds.
    Pass,
    /// More than is tolerated is shown.
    Fail,
    /// Neither is shown.
    Inconclusive,
    /// Nothing is decided: a server failed the scenario, or the candidate did less work.
    Refused,
}

/// A part that a server plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// What is compared with.
    Baseline,
    /// What is judged.
    Candidate,
    /// The older baseline.
    Anchor,
}

/// Something that was found, in a sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// What it comes to.
    pub answer: Answer,
    /// Whether it decides.
    pub decides: bool,
    /// The sentence.
    pub text: String,
}

/// A server that takes part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Server {
    /// As what.
    pub role: Role,
    /// Its label.
    pub label: String,
    /// The profile it was run with.
    pub profile: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// What was preloaded into it.
    pub preload: Option<PreloadFacts>,
    /// Runs that count, over all lenses.
    pub runs: u64,
    /// Runs that do not: for warming up, or not played to an end.
    pub not_counted: u64,
    /// Records of runs that it failed.
    pub failed: Vec<String>,
}

/// The candidate against another server.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Against {
    /// Which.
    pub server: Role,
    /// What the rules that decide say together.
    pub answer: Answer,
    /// Runs of each server at the last look that a rule needed, or at the last one reached; `null` before the first, and
    /// where every rule advises. Each rule has its own.
    pub look: Option<u64>,
    /// Whether each of the two was run on one machine of its own, so that what differs may be the machine's.
    pub apart: bool,
    /// Every rule, those that decide first.
    pub rules: Vec<Rule>,
    /// Work that the candidate did not do as the other.
    pub work: Vec<Inequality>,
}

/// What a rule says.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Rule {
    /// The figure in words.
    pub name: String,
    /// Which figure.
    pub figure: Figure,
    /// What it counts.
    pub unit: Unit,
    /// The lens that it names; `null` for the one that decides.
    pub lens: Option<Lens>,
    /// Whether it decides, or advises.
    pub decides: bool,
    /// The share that is tolerated: 0.01 is 1 %.
    pub tolerated: f64,
    /// The share that must be ruled out.
    pub ruled_out: f64,
    /// What never matters, in the unit of the figure.
    pub floor: f64,
    /// What it comes to.
    pub answer: Answer,
    /// Runs of each server at the look that the answer is of; `null` before the first.
    pub look: Option<u64>,
    /// Where the least spread that is believed comes from.
    pub known: Known,
    /// That spread, on the log scale: 0.05 is about 5 %. Memory is believed to vary by 64 KiB besides.
    pub least_spread: f64,
    /// What the answer rests on; `null` where there are no usable data.
    pub evidence: Option<Evidence>,
    /// Why there are none.
    pub unusable: Option<String>,
    /// Runs of each server that would probably decide; `null` where it is decided, or no sensible number would.
    pub runs_needed: Option<u64>,
    /// The figure in each run of the other server that counts.
    pub baseline: Vec<Value>,
    /// The figure in each run of the candidate that counts.
    pub candidate: Vec<Value>,
}

/// Where the least spread that is believed comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Known {
    /// The runs.
    Seen,
    /// Calibrations of both servers.
    Calibrated,
    /// Nothing: it is assumed.
    Assumed,
}

/// A figure of one run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Value {
    /// Which of the machines, from 0: equal numbers within a rule are equal machines.
    pub machine: u64,
    /// The figure.
    pub value: Option<f64>,
}

/// What an answer rests on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Evidence {
    /// Runs of the other server.
    pub baseline_runs: u64,
    /// Runs of the candidate.
    pub candidate_runs: u64,
    /// Machines that have two runs of each.
    pub machines: u64,
    /// Geometric mean of the other server.
    pub baseline: f64,
    /// Geometric mean of the candidate.
    pub candidate: f64,
    /// Their ratio.
    pub ratio: f64,
    /// Lower bound of the ratio.
    pub low: f64,
    /// The chance that the ratio is below it.
    pub low_level: f64,
    /// The ratio that `low` must be above to fail.
    pub fails_above: f64,
    /// One-sided p of "no more than `fails_above`".
    pub p: f64,
    /// Upper bound of the ratio; `null` where nothing bounds it.
    pub high: Option<f64>,
    /// The chance that the ratio is above it.
    pub high_level: f64,
    /// The ratio that `high` must be below to pass.
    pub passes_below: f64,
}

/// An absolute limit.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Budget {
    /// The figure in words.
    pub name: String,
    /// Which figure.
    pub figure: Figure,
    /// What it counts.
    pub unit: Unit,
    /// How much there may be.
    pub limit: f64,
    /// Where the least spread that is believed comes from.
    pub known: Known,
    /// What it comes to.
    pub answer: Answer,
    /// Geometric mean of the candidate, on the machine that has most.
    pub value: Option<f64>,
    /// Lower bound of it.
    pub low: Option<f64>,
    /// Upper bound of it.
    pub high: Option<f64>,
    /// Machines that it was held on.
    pub machines: u64,
    /// Runs of the candidate at the look that answered it, or at the last one reached; `null` before the first.
    pub look: Option<u64>,
    /// Why there are no usable data.
    pub unusable: Option<String>,
}

/// Growth of the candidate with one thing that the scenario repeats.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Growth {
    /// The phase's name, or that of whole rounds.
    pub name: String,
    /// What it comes to.
    pub answer: Answer,
    /// The median of the runs' slopes, in bytes per round.
    pub slope: Option<f64>,
    /// Lowest lower end of the runs' intervals.
    pub low: Option<f64>,
    /// Highest upper end of the runs' intervals.
    pub high: Option<f64>,
    /// The mean slope of the last half of the rounds, in bytes per round; `null` of too few runs or rounds.
    pub late: Option<f64>,
    /// Its lower bound: above the limit it fails.
    pub late_lower: Option<f64>,
    /// Its upper bound: below what must be ruled out it passes.
    pub late_upper: Option<f64>,
    /// Runs of the candidate at the look that answered it, or at the last one reached; `null` before the first.
    pub look: Option<u64>,
    /// How many rounds would probably decide it; `null` where it is decided, runs are missing or no sensible number would.
    pub needed_rounds: Option<u64>,
}

/// The verdict as indented JSON with a line end; `exit_code` is what the command ends with.
pub fn render(judgement: &Judgement, notes: &[String], exit_code: u8) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(&report(judgement, notes, exit_code))?;
    text.push('\n');
    Ok(text)
}

/// The verdict in the types of this format.
pub fn report(judgement: &Judgement, notes: &[String], exit_code: u8) -> Report {
    from::report(judgement, notes, exit_code)
}

pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Report).to_value()
}
