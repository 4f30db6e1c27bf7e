//! Whether two servers did the same work: memory is only worth comparing between servers that answered alike.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::figures::WorkLimits;
use crate::summary::Summary;
use base::shown;
use base::units::median_of;

/// A piece of work that two sides did not do alike.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Inequality {
    #[serde(flatten, serialize_with = "shown::<TaskNames, _, _>")]
    #[cfg_attr(feature = "schema", schemars(with = "TaskNames"))]
    pub task: Task,
    /// The counted quantity.
    pub count: Count,
    /// Median over the runs of the baseline; `None` when it never did this.
    pub baseline: Option<f64>,
    /// Median over the runs of the candidate; `None` when it never did this.
    pub candidate: Option<f64>,
    /// Whether the candidate did less than the baseline, so that less memory is no merit of it.
    pub less: bool,
}

/// Never of what only the candidate did.
pub(super) fn is_less(baseline: Option<f64>, candidate: Option<f64>) -> bool {
    baseline.is_some_and(|baseline| candidate.is_none_or(|candidate| candidate < baseline))
}

/// The text of a task: a step of a phase, or a method.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct TaskNames {
    /// The phase; `null` of a method.
    phase: Option<String>,
    /// The step; `null` of a method.
    step: Option<String>,
    /// The method; `null` of a step.
    method: Option<String>,
}

impl From<&Task> for TaskNames {
    fn from(task: &Task) -> TaskNames {
        let (phase, step, method) = match task {
            Task::Step { phase, name, .. } => (Some(phase.clone()), Some(name.clone()), None),
            Task::Method(method) => (None, None, Some(method.clone())),
        };
        TaskNames { phase, step, method }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Task {
    Step {
        /// Its phase's place in the scenario, from 0.
        number: u32,
        phase: String,
        /// Its place in the phase, from 0.
        step: u32,
        name: String,
    },
    Method(String),
}

/// The counts of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Count {
    /// Requests, per round of the phase.
    Requests,
    /// Requests with a non-empty result, per round of the phase.
    Hits,
    /// Elements of the result, per answered request.
    Items,
    /// Bytes of the result, per answered request.
    Bytes,
}

/// Everything that the two sides did not do alike, in the order of the scenario. Nothing is known of a side without runs.
pub fn inequalities(baseline: &[&Summary], candidate: &[&Summary], limits: WorkLimits) -> Vec<Inequality> {
    if baseline.is_empty() || candidate.is_empty() {
        return Vec::new();
    }
    let is_one_server = are_one_server(baseline, candidate);
    let (baseline, candidate) = (medians(baseline), medians(candidate));
    let tasks: BTreeSet<&(Task, Count)> = baseline.keys().chain(candidate.keys()).collect();
    let mut unequal = Vec::new();
    for key in tasks {
        let (task, count) = key;
        // Servers word the same result in other bytes, and a list has its elements.
        let is_comparable =
            *count != Count::Bytes || (is_one_server && !is_list(task, &baseline) && !is_list(task, &candidate));
        let (a, b) = (baseline.get(key).copied(), candidate.get(key).copied());
        if is_comparable && !is_within_limit(a, b, *count, limits) {
            unequal.push(Inequality {
                task: task.clone(),
                count: *count,
                baseline: a,
                candidate: b,
                less: match count {
                    Count::Bytes => is_less_than_half(a, b),
                    Count::Requests | Count::Hits | Count::Items => is_less(a, b),
                },
            });
        }
    }
    unequal
}

/// True if the counts of two sides differ by no more than is tolerated. A task that one side lacks is equal to none.
fn is_within_limit(baseline: Option<f64>, candidate: Option<f64>, count: Count, limits: WorkLimits) -> bool {
    let limit = match count {
        Count::Requests => limits.requests,
        Count::Hits => limits.hits,
        Count::Items | Count::Bytes => limits.size,
    };
    match (baseline, candidate) {
        (Some(a), Some(b)) => (a - b).abs() <= limit * a.abs(),
        (Some(only), None) | (None, Some(only)) => only == 0.0,
        (None, None) => true,
    }
}

/// True of a method whose results are lists, by its type or by their elements. Most lists have a short and a long form,
/// such as `Location` and `LocationLink`, or completions with `itemDefaults`, and a release may change it.
fn is_list(task: &Task, counts: &Counts) -> bool {
    const PLACES: [&str; 5] = [
        "textDocument/declaration",
        "textDocument/definition",
        "textDocument/documentSymbol",
        "textDocument/implementation",
        "textDocument/typeDefinition",
    ];
    let elements = counts.get(&(task.clone(), Count::Items)).copied();
    let is_of_places = matches!(task, Task::Method(method) if PLACES.contains(&method.as_str()));
    is_of_places || elements.is_some_and(|elements| elements > 1.0)
}

/// Releases word their results differently; half of the bytes is another result.
fn is_less_than_half(baseline: Option<f64>, candidate: Option<f64>) -> bool {
    baseline.is_some_and(|baseline| candidate.is_none_or(|candidate| candidate < baseline / 2.0))
}

/// True for versions or settings of one server: by its profile, or by its own name.
fn are_one_server(baseline: &[&Summary], candidate: &[&Summary]) -> bool {
    let runs: Vec<&Summary> = baseline.iter().chain(candidate).copied().collect();
    is_one(runs.iter().map(|run| run.header.server.profile.as_deref())) || is_one(runs.iter().map(|run| own_name(run)))
}

fn own_name(run: &Summary) -> Option<&str> {
    run.lifecycle.initialized.as_ref()?.name.as_deref()
}

/// True if all of these names are known and equal.
fn is_one<'n>(mut names: impl Iterator<Item = Option<&'n str>>) -> bool {
    let Some(Some(first)) = names.next() else {
        return false;
    };
    names.all(|name| name == Some(first))
}

type Counts = BTreeMap<(Task, Count), f64>;

fn medians(runs: &[&Summary]) -> Counts {
    let mut values: BTreeMap<(Task, Count), Vec<f64>> = BTreeMap::new();
    for run in runs {
        for (key, value) in counts(run) {
            values.entry(key).or_default().push(value);
        }
    }
    values
        .into_iter()
        .map(|(key, values)| (key, median_of(values)))
        .collect()
}

/// The work of one run. Steps count per round, since two runs of a given time may play one round more or less.
fn counts(run: &Summary) -> Counts {
    let mut counts = Counts::new();
    let mut rounds: BTreeMap<Task, f64> = BTreeMap::new();
    for phase in &run.phases {
        for step in phase.steps.iter().filter(|step| !step.skipped) {
            let (Some(requests), Some(hits)) = (step.requests, step.hits) else {
                continue;
            };
            let task = Task::Step {
                number: phase.phase.phase,
                phase: phase.phase.name.clone(),
                step: step.step,
                name: step.name.clone(),
            };
            *rounds.entry(task.clone()).or_default() += 1.0;
            *counts.entry((task.clone(), Count::Requests)).or_default() += requests as f64;
            *counts.entry((task, Count::Hits)).or_default() += hits as f64;
        }
    }
    for ((task, _), value) in &mut counts {
        *value /= rounds.get(task).copied().unwrap_or(1.0);
    }
    for method in run.traffic.methods.iter().filter(|method| method.answered > 0) {
        let answered = method.answered as f64;
        let task = Task::Method(method.method.clone());
        counts.insert((task.clone(), Count::Items), method.items as f64 / answered);
        counts.insert((task, Count::Bytes), method.bytes as f64 / answered);
    }
    counts
}
