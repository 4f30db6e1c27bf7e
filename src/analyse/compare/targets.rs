//! Records of several systems: servers are compared within a target and a lens, never across.

use std::collections::BTreeMap;

use crate::lens::Lens;
use crate::record::LensFacts;

use super::Comparison;
use super::gather::{Played, compare};

/// The servers on one target, through one lens.
#[derive(Clone, Debug)]
pub struct Target {
    /// Its triple.
    pub triple: String,
    /// What memory was looked at through, as the first of its runs says.
    pub lens: LensFacts,
    /// What tells its machines from each other.
    pub machines: Vec<String>,
    /// The servers that were run on it.
    pub comparison: Comparison,
}

impl Target {
    /// What tells it from the others: the triple, and the lens unless it is the usual one.
    pub fn name(&self) -> String {
        match self.lens.name {
            Lens::AsShipped => self.triple.clone(),
            Lens::Purged => format!("{}, {}", self.triple, self.lens.name),
        }
    }
}

/// What came of each scenario, by its name: one comparison for each target.
pub type Scenarios = BTreeMap<String, Vec<Target>>;

/// The runs of each scenario on each target through each lens, compared; scenarios and targets in the order of their names.
pub fn by_target(runs: Vec<Played>, baseline: Option<&str>) -> Scenarios {
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
            lens: runs
                .first()
                .map_or_else(LensFacts::default, |run| run.summary.header.server.lens.clone()),
            machines,
            comparison: compare(&runs, baseline),
        };
        scenarios.entry(scenario).or_default().push(target);
    }
    scenarios
}
