//! A comparison as JSON: versioned, with a schema in `docs/schemas/comparison-report.json`.
//!
//! Sizes are bytes, times nanoseconds. Unknown values are `null`.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::run::json;
use analysis::compare::{self, Comparison, Played};
use analysis::summary::without_invalid_figures;
use base::lens::Lens;
use record::Version;

use super::notes::strained;

/// The version of this format. The minor one rises when something is added, the major one when a reader would
/// misread.
pub const FORMAT: Version = Version { major: 2, minor: 0 };

/// Compared servers, with all of their runs. Sizes are bytes, times nanoseconds. Unknown values are `null`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Report<'c> {
    /// Version of this format.
    format: Version,
    /// Every scenario that was played, in the order of their names.
    scenarios: Vec<Scenario<'c>>,
    /// Every run that was read, also those that do not count.
    runs: Vec<Run<'c>>,
}

/// One record.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Run<'c> {
    /// Its name.
    record: &'c str,
    /// The run, as `lsp-soak report --format json` prints it.
    summary: json::Report<'c>,
}

/// One scenario.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Scenario<'c> {
    /// Its name.
    name: &'c str,
    /// The targets; ratios are taken within one, never across.
    targets: Vec<Target<'c>>,
}

/// The servers on one target.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Target<'c> {
    #[serde(flatten)]
    target: &'c compare::Target,
    /// What memory was looked at through.
    lens: Lens,
    #[serde(flatten)]
    comparison: &'c Comparison,
    /// What about the machines makes figures less sure, a sentence each: a load, memory that was short, inexact counters.
    machine_doubts: Vec<String>,
}

/// The comparison of each scenario and the runs behind it, as indented JSON with a line end.
pub fn render(
    scenarios: &BTreeMap<String, Vec<compare::Target>>,
    runs: &[Played],
) -> Result<String, serde_json::Error> {
    let scenarios = scenarios.iter().map(|(name, targets)| Scenario {
        name,
        targets: targets.iter().map(target).collect(),
    });
    let valid: Vec<_> = runs.iter().map(|run| without_invalid_figures(&run.summary)).collect();
    let runs = runs.iter().zip(&valid).map(|(run, valid)| Run {
        record: &run.record,
        summary: json::report(&run.summary, valid),
    });
    json::lines(&Report {
        format: FORMAT,
        scenarios: scenarios.collect(),
        runs: runs.collect(),
    })
}

fn target(target: &compare::Target) -> Target<'_> {
    Target {
        target,
        lens: target.lens.name,
        comparison: &target.comparison,
        machine_doubts: target.comparison.strains.iter().map(strained).collect(),
    }
}

#[cfg(test)]
pub(crate) fn schema() -> serde_json::Value {
    crate::schemas::schema_of::<Report>()
}
