//! Sums over the processes of a tree at one moment, in which nothing is counted twice that is called a lower bound.

use base::band;
use record::Counters;

use super::non_zero;

/// Sums over the tree at one moment. A lower bound leaves out unknown parts; the other sums are `None` then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Private memory of all processes: the curve, an upper bound.
    pub private: Option<u64>,
    /// Private memory of all processes if no page can count twice: no process shares pages with the one that it was
    /// forked from, and shared memory is mapped once.
    pub private_once: Option<u64>,
    /// Private memory of those that share no pages with a parent: a lower bound.
    pub private_lower: Option<u64>,
    /// Resident memory of all processes: an upper bound.
    pub resident: Option<u64>,
    /// Resident shared memory (`MAP_SHARED`, System V) that private memory leaves out, of the process with the most: the
    /// others may have the same pages.
    pub shared: Option<u64>,
    /// A lower bound of resident memory. Anonymous pages of processes that were exec'd separately are never shared, so
    /// they add up; of file and of shared pages only the largest part of one process is sure.
    pub resident_lower: Option<u64>,
}

impl Sums {
    /// Sums over processes with memory of their own, by the last reading of each, and whether its own shared memory is
    /// mapped once.
    pub fn new<'c>(processes: impl Iterator<Item = (&'c Counters, bool)> + Clone) -> Sums {
        let all = processes.clone().map(|(counters, _)| counters);
        let unforked = processes.clone().filter(|(counters, _)| counters.forked != Some(true));
        let is_any_forked = all.clone().any(|counters| counters.forked == Some(true));
        let is_mapped_again = processes
            .clone()
            .any(|(counters, shares_once)| !shares_once && is_much_shared(counters));
        let private = add(all.clone().map(|counters| counters.private));
        let anonymous = unforked
            .clone()
            .filter_map(|(counters, _)| anonymous(counters))
            .fold(0, u64::saturating_add);
        let most_file = largest(all.clone().map(|counters| counters.file));
        let most_shared = largest(all.clone().map(|counters| counters.shared));
        let most_resident = largest(all.clone().map(|counters| counters.resident));
        let resident_lower = most_file
            .saturating_add(most_shared)
            .saturating_add(certain_anonymous(anonymous, all.clone()));
        Sums {
            private,
            private_once: if is_any_forked || is_mapped_again {
                None
            } else {
                private
            },
            private_lower: add(unforked
                .map(|(counters, shares_once)| private_lower(counters, shares_once))
                .filter(Option::is_some)),
            resident: add(all.clone().map(|counters| counters.resident)),
            shared: all.filter_map(uncounted_shared).max(),
            resident_lower: non_zero(resident_lower.max(most_resident)),
        }
    }
}

/// The largest known value; 0 if none is known.
fn largest(values: impl Iterator<Item = Option<u64>>) -> u64 {
    values.flatten().max().unwrap_or(0)
}

/// Resident shared memory in bytes that is no part of private memory: named files of a tmpfs, and all of it in records
/// before format 1.9.
fn uncounted_shared(counters: &Counters) -> Option<u64> {
    let counted = counters.own_shared.unwrap_or(0);
    Some(counters.shared?.saturating_sub(counted))
}

/// True if shared memory is more than noise beside all private memory.
fn is_much_shared(counters: &Counters) -> bool {
    counters.own_shared.unwrap_or(0) > band::tolerated_difference(counters.private.unwrap_or(0))
}

/// Anonymous memory in bytes: private memory that is neither swapped nor shared.
fn anonymous(counters: &Counters) -> Option<u64> {
    let rest = counters.swap.unwrap_or(0) + counters.own_shared.unwrap_or(0);
    Some(counters.private?.saturating_sub(rest))
}

/// Private memory in bytes that is there for certain: shared memory that may be mapped several times, here or in another
/// process, is left out.
fn private_lower(counters: &Counters, shares_once: bool) -> Option<u64> {
    let shared = counters.own_shared.unwrap_or(0);
    let uncertain = if shares_once { 0 } else { shared };
    Some(counters.private?.saturating_sub(uncertain))
}

/// Anonymous memory, if it is certain to be resident: where the system does not split resident memory, the private figure
/// is no part of it.
fn certain_anonymous<'c>(anonymous: u64, mut processes: impl Iterator<Item = &'c Counters>) -> u64 {
    if processes.all(|counters| counters.file.is_some() || counters.resident.is_none()) {
        anonymous
    } else {
        0
    }
}

/// The sum of values if all are known; `None` without any.
fn add(mut values: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    values
        .try_fold(0u64, |sum, value| Some(sum.saturating_add(value?)))
        .and_then(non_zero)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_memory_that_private_memory_counts_is_not_counted_again() {
        for (own_shared, uncounted) in [
            (Some(80), 20),
            // As in records before format 1.9.
            (None, 100),
        ] {
            let counters = Counters {
                shared: Some(100),
                own_shared,
                ..Counters::default()
            };
            let sums = Sums::new(std::iter::once((&counters, true)));
            assert_eq!(sums.shared, Some(uncounted), "{own_shared:?}");
        }
    }
}
