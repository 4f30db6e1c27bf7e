//! Records of several systems: servers are compared within a target and a lens, never across.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use base::lens::Lens;
use record::LensFacts;

use super::Comparison;
use super::cell::median;
use super::gather::{compare, is_counted};
use super::played::Played;

/// The servers on one target, through one lens.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Target {
    /// Its triple.
    pub triple: String,
    /// The lens: every purged allocator, and what holds for all runs.
    #[serde(skip)]
    pub lens: LensFacts,
    /// The distinguishing names of its machines.
    pub machines: Vec<String>,
    /// The servers that were run on it.
    #[serde(skip)]
    pub comparison: Comparison,
}

impl Target {
    /// The distinguishing name: the triple, and the lens unless it is the usual one.
    pub fn name(&self) -> String {
        match self.lens.name {
            Lens::AsShipped => self.triple.clone(),
            Lens::Purged => format!("{}, {}", self.triple, self.lens.name),
        }
    }
}

/// The comparisons of each scenario by name, one for each target.
pub type Scenarios = BTreeMap<String, Vec<Target>>;

/// The runs of each scenario on each target through each lens, compared; scenarios and targets in the order of their names.
pub fn compare_by_target(runs: Vec<Played>, baseline: Option<&str>) -> Scenarios {
    let baseline = baseline.map(str::to_owned).or_else(|| fastest(&runs));
    let mut groups: BTreeMap<(String, String, Lens), Vec<Played>> = BTreeMap::new();
    for run in runs {
        let header = &run.summary.header;
        let key = (
            header.scenario.name.clone(),
            header.host.target.clone(),
            header.server.lens.name,
        );
        groups.entry(key).or_default().push(run);
    }
    let mut scenarios = Scenarios::new();
    for ((scenario, triple, _), runs) in groups {
        let mut machines: Vec<String> = runs.iter().map(Played::machine).collect();
        machines.sort_unstable();
        machines.dedup();
        let target = Target {
            triple,
            lens: lens(&runs),
            machines,
            comparison: compare(&runs, baseline.as_deref()),
        };
        scenarios.entry(scenario).or_default().push(target);
    }
    scenarios
}

/// Of commands that ran one after the other the one with the least wall time: the geometric mean over all scenarios of its
/// medians, since a large project shall not decide alone. Those that lack a scenario are not considered.
fn fastest(runs: &[Played]) -> Option<String> {
    let mut walls: BTreeMap<&str, BTreeMap<&str, Vec<f64>>> = BTreeMap::new();
    for run in runs.iter().filter(|run| is_counted(&run.summary)) {
        let header = &run.summary.header;
        let wall = run.summary.lifecycle.command.as_ref()?.wall as f64;
        if header.plan.jobs.is_some() {
            return None;
        }
        let by_scenario = walls.entry(&header.server.label).or_default();
        by_scenario.entry(&header.scenario.name).or_default().push(wall);
    }
    let most = walls.values().map(BTreeMap::len).max()?;
    let complete = walls.iter().filter(|(_, scenarios)| scenarios.len() == most);
    let (label, _) = complete
        .map(|(label, scenarios)| (label, log_of_product(scenarios)))
        .min_by(|(_, one), (_, other)| one.total_cmp(other))?;
    Some((*label).to_owned())
}

/// The logarithm of the product of the medians. It orders as the geometric mean does, of as many factors.
fn log_of_product(scenarios: &BTreeMap<&str, Vec<f64>>) -> f64 {
    scenarios
        .values()
        .filter_map(|walls| median(walls.iter().copied()))
        .map(|median| median.median.ln())
        .sum()
}

/// The lens of runs that were looked at through the same one, perhaps with several allocators.
fn lens(runs: &[Played]) -> LensFacts {
    let lenses: Vec<&LensFacts> = runs.iter().map(|run| &run.summary.header.server.lens).collect();
    let allocators: BTreeSet<&str> = lenses.iter().filter_map(|lens| lens.allocator.as_deref()).collect();
    let allocators: Vec<&str> = allocators.into_iter().collect();
    LensFacts {
        allocator: if allocators.is_empty() {
            None
        } else {
            Some(allocators.join(" and "))
        },
        approximate: lenses.iter().any(|lens| lens.approximate),
        verified: if lenses.iter().any(|lens| lens.verified == Some(false)) {
            Some(false)
        } else if lenses.is_empty() || lenses.iter().any(|lens| lens.verified.is_none()) {
            None
        } else {
            Some(true)
        },
        ..lenses.first().map(|lens| (*lens).clone()).unwrap_or_default()
    }
}
