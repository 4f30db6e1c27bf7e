//! Decides after each block of a campaign if more runs are played.

use std::collections::BTreeMap;
use std::time::Duration;

use analysis::compare::Played;

/// What a campaign does after a block.
pub enum Next {
    Continue,
    /// Every question has its answer.
    Decided,
    /// More runs cannot give an answer.
    Hopeless,
    /// Goes on without the runs of these eliminated cells: label → reason.
    WithoutCells(BTreeMap<String, String>),
}

pub trait Judge {
    /// True if no run can change the answer, as of a gate whose recorded anchor failed. Asked by `--runs auto` only.
    fn is_decided_without_runs(&self) -> bool {
        false
    }

    fn after_block(&self, runs: &[Played]) -> Next;

    /// A sentence about what these runs have decided, and what is still open.
    fn verdict_so_far(&self, _runs: &[Played]) -> Option<String> {
        None
    }

    /// Sentences about the time that the runs after the warm-up will take, given that of one run. `None` for the usual
    /// sentences, which are about what those runs can detect.
    fn time_forecast(&self, _of_one_run: Duration) -> Option<Vec<String>> {
        None
    }
}

/// Plays every run of the plan.
pub struct EveryRun;

impl Judge for EveryRun {
    fn after_block(&self, _runs: &[Played]) -> Next {
        Next::Continue
    }
}
