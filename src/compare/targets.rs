//! Records of several systems: servers are compared within a target and a lens, never across.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::lens::Lens;
use crate::record::LensFacts;

use super::Comparison;
use super::gather::compare;
use super::played::Played;

/// The servers on one target, through one lens.
#[derive(Clone, Debug, Serialize, JsonSchema)]
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
            lens: lens(&runs),
            machines,
            comparison: compare(&runs, baseline),
        };
        scenarios.entry(scenario).or_default().push(target);
    }
    scenarios
}

/// The lens of runs that were looked at through the same one, perhaps with several allocators.
fn lens(runs: &[Played]) -> LensFacts {
    let lenses = || runs.iter().map(|run| &run.summary.header.server.lens);
    let allocators: BTreeSet<&str> = lenses().filter_map(|lens| lens.allocator.as_deref()).collect();
    let allocators: Vec<&str> = allocators.into_iter().collect();
    let verified = lenses().map(|lens| lens.verified);
    LensFacts {
        allocator: (!allocators.is_empty()).then(|| allocators.join(" and ")),
        approximate: lenses().any(|lens| lens.approximate),
        // False comes before unknown, and both before true.
        verified: verified
            .min_by_key(|verified| verified.map_or(1, |is| if is { 2 } else { 0 }))
            .flatten(),
        ..lenses().next().cloned().unwrap_or_default()
    }
}
