//! The values at the end of a phase, from the rounds of cheap counters and the exact ones that follow them.

use crate::record::{Checkpoint, Counters, Nanos, Rollup, Sample};

use super::latency::median;
use super::summary::CheckpointSummary;

/// The figures of a checkpoint. Medians, because a round may fall on a moment when something woke up.
pub(super) fn summarise(at: Nanos, checkpoint: &Checkpoint) -> CheckpointSummary {
    let rounds = &checkpoint.rounds;
    let rollups = &checkpoint.rollups;
    let last = rounds.last().map_or(&[][..], Vec::as_slice);
    let sampled_swap = sum(last, |counters| counters.swap);
    CheckpointSummary {
        at,
        settled: checkpoint.settled,
        waited: checkpoint.waited,
        unsettled: checkpoint.unsettled.clone(),
        private_exact: exact(rollups, Rollup::private),
        private_sampled: median_sum(rounds, |counters| counters.private),
        resident: median_sum(rounds, |counters| counters.resident),
        proportional: exact(rollups, |rollup| Some(rollup.proportional)),
        virtual_size: median_sum(rounds, |counters| counters.virtual_size),
        huge_pages: exact(rollups, |rollup| Some(rollup.huge_pages)),
        lazy_free: exact(rollups, |rollup| Some(rollup.lazy_free)),
        swap: exact(rollups, |rollup| Some(rollup.swap_proportional)).or(sampled_swap),
        threads: sum(last, |counters| counters.threads),
        processes: last.len() as u64,
        forked: last.iter().filter(|one| one.counters.forked == Some(true)).count() as u64,
    }
}

/// Processes that were there in the last round and have no exact counters.
pub(super) fn without_rollup(checkpoint: &Checkpoint) -> impl Iterator<Item = u32> {
    let last = checkpoint.rounds.last().map_or(&[][..], Vec::as_slice);
    let has = |process| checkpoint.rollups.iter().any(|rollup| rollup.process == process);
    last.iter()
        .map(|sample| sample.process)
        .filter(move |process| !has(*process))
}

/// The median over the rounds of the sum over the tree; a round in which a value is missing does not count.
fn median_sum(rounds: &[Vec<Sample>], value: fn(&Counters) -> Option<u64>) -> Option<u64> {
    median(rounds.iter().filter_map(|round| sum(round, value)).collect())
}

/// The sum over the tree; nothing of nobody, and nothing if a part is missing.
fn sum(round: &[Sample], value: fn(&Counters) -> Option<u64>) -> Option<u64> {
    if round.is_empty() {
        return None;
    }
    let values = round.iter().map(|sample| value(&sample.counters));
    add(values)
}

fn exact(rollups: &[Rollup], value: fn(&Rollup) -> Option<u64>) -> Option<u64> {
    if rollups.is_empty() {
        return None;
    }
    add(rollups.iter().map(value))
}

fn add(mut values: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    values.try_fold(0u64, |sum, value| Some(sum.saturating_add(value?)))
}
