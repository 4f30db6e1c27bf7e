//! Private memory at a checkpoint, program by program.

use std::collections::BTreeMap;

use crate::summary::tree::Tree;
use crate::summary::{PrivateMetric, ProgramSummary};
use record::{Checkpoint, Rollup};

/// Private memory of each program.
#[derive(Default)]
pub(super) struct ByProgram(BTreeMap<String, Private>);

/// Sums over the processes of one program, in bytes; `None` unless known for each of them.
struct Private {
    exact: Option<u64>,
    sampled: Option<u64>,
}

impl ByProgram {
    pub fn at_checkpoint(checkpoint: &Checkpoint, tree: &Tree) -> ByProgram {
        let mut sums = BTreeMap::new();
        for (process, live) in tree.live() {
            let rollup = checkpoint.rollups.iter().find(|rollup| rollup.process == process);
            let sum = sums.entry(live.title.clone()).or_insert(Private {
                exact: Some(0),
                sampled: Some(0),
            });
            sum.exact = add(sum.exact, rollup.and_then(Rollup::private));
            sum.sampled = add(sum.sampled, live.counters.private);
        }
        ByProgram(sums)
    }

    /// Fills in the private memory of each program, in the metric of the run.
    pub fn fill(&self, programs: &mut [ProgramSummary], metric: PrivateMetric) {
        for program in programs {
            let sum = self.0.get(&program.name);
            program.private = sum.and_then(|sum| match metric {
                PrivateMetric::Exact => sum.exact,
                PrivateMetric::Sampled => sum.sampled,
            });
        }
    }
}

fn add(sum: Option<u64>, value: Option<u64>) -> Option<u64> {
    Some(sum?.saturating_add(value?))
}
