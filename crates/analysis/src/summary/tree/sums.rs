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
    pub fn new<'c>(processes: impl Iterator<Item = (&'c Counters, bool)>) -> Sums {
        let (mut private, mut resident) = (Some(0), Some(0));
        let (mut private_lower_sum, mut anonymous_sum) = (0u64, 0u64);
        let (mut most_file, mut most_shared, mut most_resident) = (0, 0, 0);
        let mut shared = None;
        let mut counts_twice = false;
        // Where the system does not split resident memory, the private figure is no part of it.
        let mut is_resident_split = true;
        for (counters, shares_once) in processes {
            private = sum_if_known(private, counters.private);
            resident = sum_if_known(resident, counters.resident);
            most_file = most_file.max(counters.file.unwrap_or(0));
            most_shared = most_shared.max(counters.shared.unwrap_or(0));
            most_resident = most_resident.max(counters.resident.unwrap_or(0));
            shared = shared.max(uncounted_shared(counters));
            is_resident_split &= counters.file.is_some() || counters.resident.is_none();
            counts_twice |= !shares_once && is_much_shared(counters);
            if counters.forked == Some(true) {
                counts_twice = true;
            } else {
                anonymous_sum = anonymous_sum.saturating_add(anonymous(counters).unwrap_or(0));
                let lower = private_lower(counters, shares_once).unwrap_or(0);
                private_lower_sum = private_lower_sum.saturating_add(lower);
            }
        }
        let private = private.and_then(non_zero);
        let mut resident_lower = most_file.saturating_add(most_shared);
        if is_resident_split {
            resident_lower = resident_lower.saturating_add(anonymous_sum);
        }
        Sums {
            private,
            private_once: if counts_twice { None } else { private },
            private_lower: non_zero(private_lower_sum),
            resident: resident.and_then(non_zero),
            shared,
            resident_lower: non_zero(resident_lower.max(most_resident)),
        }
    }
}

fn sum_if_known(sum: Option<u64>, part: Option<u64>) -> Option<u64> {
    Some(sum?.saturating_add(part?))
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
