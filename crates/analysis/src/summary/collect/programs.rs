//! Private memory at a checkpoint, program by program.

use std::collections::BTreeMap;

use crate::summary::tree::Tree;
use crate::summary::{PrivateMetric, ProgramSummary};
use record::{Checkpoint, Rollup};

/// Of each program the exact and the sampled sum in bytes; `None` where it is not known of all its processes.
#[derive(Default)]
pub(super) struct ByProgram(BTreeMap<String, (Option<u64>, Option<u64>)>);

impl ByProgram {
    /// What the processes in view had at this checkpoint.
    pub fn of(checkpoint: &Checkpoint, tree: &Tree) -> ByProgram {
        let mut sums = BTreeMap::new();
        for (process, live) in tree.live() {
            let rollup = checkpoint.rollups.iter().find(|rollup| rollup.process == process);
            let exact = rollup.and_then(Rollup::private);
            let (exact_sum, sampled_sum) = sums.entry(live.title.clone()).or_insert((Some(0_u64), Some(0_u64)));
            let add = |(a, b): (u64, u64)| a.saturating_add(b);
            *exact_sum = exact_sum.zip(exact).map(add);
            *sampled_sum = sampled_sum.zip(live.counters.private).map(add);
        }
        ByProgram(sums)
    }

    /// Fills in what each program had, in the metric of the run.
    pub fn fill(&self, programs: &mut [ProgramSummary], metric: PrivateMetric) {
        for program in programs {
            let known = self.0.get(&program.name).copied();
            program.private = known.and_then(|(exact, sampled)| match metric {
                PrivateMetric::Exact => exact,
                PrivateMetric::Sampled => sampled,
            });
        }
    }
}
