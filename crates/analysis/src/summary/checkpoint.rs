//! The values at the end of a phase, from the rounds of cheap counters and the exact ones that follow them.

use crate::summary::CheckpointSummary;
use base::{band, units};
use record::{Checkpoint, Counters, Nanos, Rollup, Sample};

use super::latency::median;

/// The figures of a checkpoint. Medians, because a round may fall on a moment when something woke up. Where memory was
/// on its way, nothing was at rest: then all figures are of the last round, which the exact counters follow at once,
/// since the middle of a fall is of another moment than they are.
pub(super) fn summarise(at: Nanos, checkpoint: &Checkpoint) -> CheckpointSummary {
    let (rounds, drift) = counted_rounds(&checkpoint.rounds);
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

/// The rounds that figures are made of, and how far memory went in them where it was not at rest.
fn counted_rounds(all: &[Vec<Sample>]) -> (&[Vec<Sample>], Option<(u64, u64)>) {
    match drift(all) {
        Some(drift) => (&all[all.len() - 1..], Some(drift)),
        None => (all, None),
    }
}

/// The counters of one process at a checkpoint, each the median of its rounds as in the figures of the tree.
pub fn at_rest(checkpoint: &Checkpoint, process: u32) -> Counters {
    let samples = counted_rounds(&checkpoint.rounds).0.iter().flatten();
    let own: Vec<Counters> = samples
        .filter(|sample| sample.process == process)
        .map(|sample| sample.counters)
        .collect();
    let middle = |value: fn(&Counters) -> Option<u64>| median(own.iter().filter_map(value).collect());
    Counters {
        resident: middle(|now| now.resident),
        private: middle(|now| now.private),
        own_shared: middle(|now| now.own_shared),
        file: middle(|now| now.file),
        shared: middle(|now| now.shared),
        swap: middle(|now| now.swap),
        high_water: middle(|now| now.high_water),
        private_high_water: middle(|now| now.private_high_water),
        virtual_size: middle(|now| now.virtual_size),
        minor_faults: middle(|now| now.minor_faults),
        major_faults: middle(|now| now.major_faults),
        user: middle(|now| now.user),
        system: middle(|now| now.system),
        cpu: middle(|now| now.cpu),
        threads: middle(|now| now.threads),
        forked: own.last().and_then(|now| now.forked),
        memory_of: own.last().and_then(|now| now.memory_of),
    }
}

/// Private memory in the first round and in the last, where it went further than memory at rest does in a window.
fn drift(rounds: &[Vec<Sample>]) -> Option<(u64, u64)> {
    let private = |round: &Vec<Sample>| sum(round, |counters| counters.private);
    let (first, last) = (private(rounds.first()?)?, private(rounds.last()?)?);
    (first.abs_diff(last) > band::around(first.max(last))).then_some((first, last))
}

/// What was still changing: seen by the settling, or memory while it was read.
fn unsettled(seen: &str, drift: Option<(u64, u64)>) -> String {
    let drift = drift.map(|(first, last)| {
        format!(
            "private memory was still {}, from {} to {} MiB while it was read",
            if last < first { "falling" } else { "growing" },
            units::mib(first),
            units::mib(last)
        )
    });
    let seen = Some(seen.to_owned()).filter(|seen| !seen.is_empty());
    seen.into_iter().chain(drift).collect::<Vec<String>>().join("; ")
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

    /// A checkpoint of one process with this private memory in its rounds, in tenths of a MiB, and 20 MiB more resident.
    fn taken(tenths: &[u64]) -> CheckpointSummary {
        let round = |tenths: &u64| {
            vec![Sample {
                process: 0,
                counters: Counters {
                    private: Some(tenths * MIB / 10),
                    resident: Some(tenths * MIB / 10 + 20 * MIB),
                    ..Counters::default()
                },
            }]
        };
        let checkpoint = Checkpoint {
            phase: PhaseRef {
                phase: 0,
                cycle: 0,
                name: "close".to_owned(),
            },
            settled: true,
            waited: 0,
            unsettled: String::new(),
            rounds: tenths.iter().map(round).collect(),
            rollups: Vec::new(),
            resources: None,
            released: None,
        };
        summarise(0, &checkpoint)
    }

    #[test]
    fn memory_that_falls_while_it_is_read_is_not_settled_and_all_figures_are_of_its_last_round() {
        let taken = taken(&[186, 186, 116, 116, 30]);
        assert!(!taken.settled);
        let words = "private memory was still falling, from 18.6 to 3.0 MiB while it was read";
        assert_eq!(taken.unsettled, words);
        assert_eq!(taken.private_sampled, Some(3 * MIB));
        assert_eq!(taken.resident, Some(23 * MIB));
    }

    #[test]
    fn a_round_in_which_something_woke_up_is_passed_over() {
        let taken = taken(&[186, 186, 230, 187, 186]);
        assert!(taken.settled, "{}", taken.unsettled);
        assert_eq!(taken.private_sampled, Some(186 * MIB / 10));
    }
}
