//! Records of several systems: servers are compared within a target, never across.

use std::collections::BTreeMap;

use super::Comparison;
use super::gather::{Played, compare};

/// The servers on one target.
#[derive(Clone, Debug)]
pub struct Target {
    /// Its triple.
    pub triple: String,
    /// What tells its machines from each other.
    pub machines: Vec<String>,
    /// The servers that were run on it.
    pub comparison: Comparison,
}

/// The runs of each scenario on each target, compared; scenarios and targets in the order of their names.
pub fn by_target(runs: Vec<Played>, baseline: Option<&str>) -> BTreeMap<String, Vec<Target>> {
    let mut groups: BTreeMap<(String, String), Vec<Played>> = BTreeMap::new();
    for run in runs {
        let header = &run.summary.header;
        let key = (header.scenario.name.clone(), header.host.target.clone());
        groups.entry(key).or_default().push(run);
    }
    let mut scenarios: BTreeMap<String, Vec<Target>> = BTreeMap::new();
    for ((scenario, triple), runs) in groups {
        let mut machines: Vec<String> = runs.iter().map(Played::machine).collect();
        machines.sort_unstable();
        machines.dedup();
        let target = Target {
            triple,
            machines,
            comparison: compare(&runs, baseline),
        };
        scenarios.entry(scenario).or_default().push(target);
    }
    scenarios
}
