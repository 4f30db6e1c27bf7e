//! Growth of a repeated part up to a crash, to the memory limit, or to the end of the process that held most of the memory.

use serde::Serialize;

use crate::summary::{PhaseSummary, Summary};
use record::{Ending, PhaseRef};

/// Least growth, in bytes, that is told.
const LEAST: u64 = 16 << 20;

/// Fewest rounds before the last one.
const LEAST_EARLIER: usize = 2;

/// Growth over the rounds up to the one in which something ended. All amounts are sampled maxima within a round, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LastGrowth {
    /// The median of the first half of the rounds.
    pub from: u64,
    /// At the end.
    pub to: u64,
    /// The number of the round in which it ended, from 1.
    pub round: usize,
    pub end: End,
}

/// What ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// A process crashed.
    Crash,
    /// The tree was killed at its memory limit.
    Limit,
    /// The process that held most of the memory ended.
    Loss,
}

/// Where a run lost a process, and the private memory of the tree just before, in bytes.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    phase: PhaseRef,
    private: u64,
    end: End,
}

impl Failure {
    /// The first failure of a run after which its tree is not what it was; `None` if there is none within a phase.
    pub fn first(summary: &Summary) -> Option<Failure> {
        if let Some(lost) = summary.processes.lost.first() {
            return Some(Failure {
                phase: lost.phase.clone()?,
                private: lost.private?.saturating_add(lost.rest.unwrap_or(0)),
                end: if lost.crashed() { End::Crash } else { End::Loss },
            });
        }
        let cut = summary.phases.last()?;
        if cut.checkpoint.is_some() {
            return None;
        }
        let (private, end) = match &summary.ending {
            Some(Ending::OverLimit { excess, .. }) => (excess.private, End::Limit),
            Some(Ending::Crashed { .. }) => (cut.private_peak?, End::Crash),
            _ => return None,
        };
        Some(Failure {
            phase: cut.phase.clone(),
            private,
            end,
        })
    }

    /// The growth up to this failure of a part with these complete rounds; `None` if the part does not contain it, or was
    /// largest in the earlier half of them.
    pub fn growth(&self, rounds: &[&[PhaseSummary]]) -> Option<LastGrowth> {
        let mut phases = rounds.iter().copied().flatten();
        if !phases.any(|phase| phase.phase.phase == self.phase.phase) {
            return None;
        }
        let rounds = &rounds[..self.place(rounds).unwrap_or(rounds.len())];
        let peaks: Vec<u64> = rounds.iter().map(|round| peak(round)).collect::<Option<_>>()?;
        if peaks.len() < LEAST_EARLIER {
            return None;
        }
        let mut early = peaks[..peaks.len().div_ceil(2)].to_vec();
        early.sort_unstable();
        let from = early[early.len() / 2];
        let (most_at, most) = peaks.iter().copied().enumerate().max_by_key(|(_, peak)| *peak)?;
        // A collector may have freed some of it just before: then the later half of the rounds had the most.
        let is_largest_late = self.private >= most || most_at * 2 >= peaks.len();
        let is_much_larger = self.private >= from.saturating_add((from / 2).max(LEAST));
        if !(is_largest_late && is_much_larger) {
            return None;
        }
        Some(LastGrowth {
            from,
            to: self.private,
            round: peaks.len() + 1,
            end: self.end,
        })
    }

    /// Place of the round in which it happened, if that is complete: a process that was replaced leaves it so.
    fn place(&self, rounds: &[&[PhaseSummary]]) -> Option<usize> {
        if self.end != End::Loss {
            return None;
        }
        rounds
            .iter()
            .position(|round| round.iter().any(|phase| phase.phase == self.phase))
    }
}

/// The most sampled private memory of a round.
fn peak(round: &[PhaseSummary]) -> Option<u64> {
    round.iter().filter_map(|phase| phase.private_peak).max()
}

/// True if nothing was missing at the checkpoints of a round.
pub(super) fn is_complete(round: &[PhaseSummary]) -> bool {
    round
        .iter()
        .all(|phase| phase.checkpoint.is_some() && !phase.incomplete)
}
