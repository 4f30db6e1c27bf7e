//! The values at the end of a phase, from the rounds of cheap counters and the exact ones that follow them.

use crate::summary::CheckpointSummary;
use base::{band, units};
use record::{Checkpoint, Counters, Nanos, Rollup, Sample};

use super::latency::median;

/// The figures of a checkpoint. Medians, because a round may fall on a moment when something woke up. Where memory was
/// on its way, nothing was at rest: then all figures are of the last round, which the exact counters follow at once,
/// since the middle of a fall is of another moment than they are.
pub(super) fn summarise(at: Nanos, checkpoint: &Checkpoint) -> CheckpointSummary {
    let drift = drift(&checkpoint.rounds);
    let rounds = counted_rounds(&checkpoint.rounds);
    let rollups = &checkpoint.rollups;
    let last = rounds.last().map_or(&[][..], Vec::as_slice);
    let sampled_swap = sum(last, |counters| counters.swap);
    CheckpointSummary {
        at,
        settled: checkpoint.settled && drift.is_none(),
        waited: checkpoint.waited,
        unsettled: unsettled(&checkpoint.unsettled, drift),
        growing: None,
        private_exact: exact(rollups, Rollup::private),
        private_sampled: median_sum(rounds, |counters| counters.private),
        resident: median_sum(rounds, |counters| counters.resident),
        proportional: exact(rollups, |rollup| Some(rollup.proportional)),
        virtual_size: median_sum(rounds, |counters| counters.virtual_size),
        huge_pages: exact(rollups, |rollup| Some(rollup.huge_pages)),
        lazy_free: exact(rollups, |rollup| Some(rollup.lazy_free)),
        swap: exact(rollups, |rollup| Some(rollup.swap_proportional)).or(sampled_swap),
        threads: sum(last, |counters| counters.threads),
        own_shared: exact(rollups, |rollup| Some(rollup.shared_memory?.private()))
            .or_else(|| sum(last, |counters| counters.own_shared)),
        shared_again: exact(rollups, |rollup| {
            let shared = rollup.shared_memory?;
            Some(shared.own_resident.saturating_sub(shared.own))
        }),
        shared_swapped: exact(rollups, |rollup| Some(rollup.shared_memory?.own_swap)),
        named_shared: exact(rollups, |rollup| Some(rollup.shared_memory?.named)),
        uncounted_shared: uncounted_shared(rollups, last),
        processes: last.len() as u64,
        zombies: checkpoint.resources.and_then(|resources| resources.zombies),
        descriptors: checkpoint.resources.and_then(|resources| resources.descriptors),
        forked: last.iter().filter(|one| one.counters.forked == Some(true)).count() as u64,
    }
}

/// Shared memory in bytes of which older records do not say what holds it; `None` where the record does.
fn uncounted_shared(rollups: &[Rollup], last: &[Sample]) -> Option<u64> {
    let is_exact = rollups.iter().any(|rollup| rollup.shared_memory.is_some());
    let is_sampled = last.iter().any(|sample| sample.counters.own_shared.is_some());
    if is_exact || is_sampled {
        return None;
    }
    exact(rollups, |rollup| rollup.proportional_shared).or_else(|| sum(last, |counters| counters.shared))
}

/// The rounds that count: all, or the last one alone if memory was not at rest.
fn counted_rounds(rounds: &[Vec<Sample>]) -> &[Vec<Sample>] {
    if drift(rounds).is_some() {
        &rounds[rounds.len() - 1..]
    } else {
        rounds
    }
}

/// The counters of one process at a checkpoint, each the median of its rounds as in the figures of the tree.
pub fn counters_at_rest(checkpoint: &Checkpoint, process: u32) -> Counters {
    let own: Vec<Counters> = counted_rounds(&checkpoint.rounds)
        .iter()
        .flatten()
        .filter(|sample| sample.process == process)
        .map(|sample| sample.counters)
        .collect();
    Counters {
        resident: median_of(&own, |counters| counters.resident),
        private: median_of(&own, |counters| counters.private),
        own_shared: median_of(&own, |counters| counters.own_shared),
        file: median_of(&own, |counters| counters.file),
        shared: median_of(&own, |counters| counters.shared),
        swap: median_of(&own, |counters| counters.swap),
        high_water: median_of(&own, |counters| counters.high_water),
        private_high_water: median_of(&own, |counters| counters.private_high_water),
        virtual_size: median_of(&own, |counters| counters.virtual_size),
        minor_faults: median_of(&own, |counters| counters.minor_faults),
        major_faults: median_of(&own, |counters| counters.major_faults),
        user: median_of(&own, |counters| counters.user),
        system: median_of(&own, |counters| counters.system),
        cpu: median_of(&own, |counters| counters.cpu),
        threads: median_of(&own, |counters| counters.threads),
        forked: own.last().and_then(|last| last.forked),
        memory_of: own.last().and_then(|last| last.memory_of),
    }
}

/// The median of one counter over the readings that know it.
fn median_of(readings: &[Counters], value: fn(&Counters) -> Option<u64>) -> Option<u64> {
    median(readings.iter().filter_map(value).collect())
}

/// Private memory in the first and in the last round, if they differ by more than noise.
fn drift(rounds: &[Vec<Sample>]) -> Option<(u64, u64)> {
    let first = sum(rounds.first()?, |counters| counters.private)?;
    let last = sum(rounds.last()?, |counters| counters.private)?;
    if first.abs_diff(last) <= band::tolerated_difference(first.max(last)) {
        return None;
    }
    Some((first, last))
}

/// Names the figures that were still changing while the server settled, and memory if it was still changing while it was
/// read.
fn unsettled(while_settling: &str, drift: Option<(u64, u64)>) -> String {
    let mut parts = Vec::new();
    if !while_settling.is_empty() {
        parts.push(while_settling.to_owned());
    }
    if let Some((first, last)) = drift {
        parts.push(format!(
            "private memory was still {}, from {} to {} MiB while it was read",
            if last < first { "falling" } else { "growing" },
            units::mib(first),
            units::mib(last)
        ));
    }
    parts.join("; ")
}

/// Processes that were there in the last round and have no exact counters.
pub(super) fn without_rollup(checkpoint: &Checkpoint) -> impl Iterator<Item = u32> {
    let last = checkpoint.rounds.last().map_or(&[][..], Vec::as_slice);
    last.iter()
        .map(|sample| sample.process)
        .filter(|process| !checkpoint.rollups.iter().any(|rollup| rollup.process == *process))
}

/// The median over the rounds of the sum over the tree; a round in which a value is missing does not count.
fn median_sum(rounds: &[Vec<Sample>], value: fn(&Counters) -> Option<u64>) -> Option<u64> {
    median(rounds.iter().filter_map(|round| sum(round, value)).collect())
}

/// The sum over the tree; `None` without processes, or if a part is missing.
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

#[cfg(test)]
mod tests {
    use super::*;
    use record::PhaseRef;

    const MIB: u64 = 1 << 20;

    /// A round with one process of this private memory, in tenths of a MiB, and 20 MiB more resident.
    fn round(tenths: u64) -> Vec<Sample> {
        vec![Sample {
            process: 0,
            counters: Counters {
                private: Some(tenths * MIB / 10),
                resident: Some(tenths * MIB / 10 + 20 * MIB),
                ..Counters::default()
            },
        }]
    }

    /// A checkpoint with these [`round`]s.
    fn checkpoint_of(tenths: &[u64]) -> CheckpointSummary {
        let checkpoint = Checkpoint {
            phase: PhaseRef {
                phase: 0,
                cycle: 0,
                name: "close".to_owned(),
            },
            settled: true,
            waited: 0,
            unsettled: String::new(),
            rounds: tenths.iter().copied().map(round).collect(),
            rollups: Vec::new(),
            resources: None,
            released: None,
        };
        summarise(0, &checkpoint)
    }

    #[test]
    fn memory_that_falls_while_it_is_read_is_not_settled_and_all_figures_are_of_its_last_round() {
        let taken = checkpoint_of(&[186, 186, 116, 116, 30]);
        assert!(!taken.settled);
        let words = "private memory was still falling, from 18.6 to 3.0 MiB while it was read";
        assert_eq!(taken.unsettled, words);
        assert_eq!(taken.private_sampled, Some(3 * MIB));
        assert_eq!(taken.resident, Some(23 * MIB));
    }

    #[test]
    fn a_round_in_which_something_woke_up_is_passed_over() {
        let taken = checkpoint_of(&[186, 186, 230, 187, 186]);
        assert!(taken.settled, "{}", taken.unsettled);
        assert_eq!(taken.private_sampled, Some(186 * MIB / 10));
    }
}
