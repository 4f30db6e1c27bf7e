//! How often each server is run, and which part of these runs is played here.

use crate::config::values::{Partition, Runs};
use crate::plan::{self, Blocks};
use crate::resolve::ServerChoice;
use base::units::Span;
use stats::Schedule;

use super::blocks::programs;

/// Default runs of each server in a comparison.
const USUAL: u32 = 5;

/// Upper bound of the runs that a time budget plans.
const MOST: u32 = 1_000;

#[derive(Clone, Default)]
pub struct Repeating {
    /// Counted runs of each server; `None` for the default.
    pub runs: Option<Runs>,
    /// The interim analyses of `Runs::Auto`.
    pub looks: Schedule,
    pub time_budget: Option<Span>,
    pub partition: Option<Partition>,
    /// Label of the server to compare with; `None` for the first.
    pub baseline: Option<String>,
    /// Warm-up runs of everything that is played; `None` for one of each program.
    pub warm_ups: Option<u32>,
}

impl Repeating {
    /// A number of runs that nothing ends early.
    pub fn fixed(runs: u32) -> Repeating {
        Repeating {
            runs: Some(Runs::Fixed(runs)),
            ..Repeating::default()
        }
    }

    /// True if servers are run more than once, so that caches are warmed up first.
    pub fn repeats(&self, servers: usize) -> bool {
        match (self.runs, self.time_budget) {
            (Some(Runs::Fixed(runs)), _) => runs > 1,
            (Some(Runs::Auto), _) | (None, Some(_)) => true,
            (None, None) => servers > 1,
        }
    }

    /// The planned runs of these servers. A time budget may end them early.
    pub fn planned_runs(&self, choices: &[ServerChoice], seed: u64) -> Vec<plan::PlannedRun> {
        // The lenses of one server are not compared with each other.
        let compared = choices
            .iter()
            .filter(|choice| choice.lens.lens == choices[0].lens.lens)
            .count();
        let many = self.repeats(compared);
        let blocks = match (self.runs, self.time_budget) {
            (Some(Runs::Fixed(runs)), _) => runs,
            (Some(Runs::Auto), _) => self.looks.runs().last().map_or(0, |runs| *runs as u32),
            (None, Some(_)) => MOST,
            (None, None) if many => USUAL,
            (None, None) => 1,
        };
        let is_single = blocks == 1 && !many && self.partition.is_none();
        if is_single && self.warm_ups.is_none_or(|warm_ups| warm_ups == 0) {
            // A later `compare` takes its baseline from the first record, so the first server stays first.
            return plan::once(choices.len());
        }
        let blocks = Blocks {
            servers: choices.len(),
            blocks,
            warm_up: match self.warm_ups {
                Some(warm_ups) => (0..warm_ups).flat_map(|_| 0..choices.len()).collect(),
                None if many => programs(choices),
                None => Vec::new(),
            },
            seed,
        };
        blocks.share(self.partition.unwrap_or(Partition::WHOLE))
    }
}
