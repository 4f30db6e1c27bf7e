//! Sums over the processes of a tree at one moment, in which nothing is counted twice that is called a lower bound.

use base::band;
use record::Counters;

use super::known;

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
    /// What the tree had resident at the least. Anonymous pages of processes that were exec'd separately are never
    /// shared, so they add up; of file and of shared pages only the largest part of one process is sure.
    pub resident_lower: Option<u64>,
}

impl Sums {
    /// Sums over processes with memory of their own, by the last reading of each, and whether its own shared memory is
    /// mapped once.
    pub fn of<'c>(processes: impl Iterator<Item = (&'c Counters, bool)> + Clone) -> Sums {
        let read = || processes.clone().map(|(counters, _)| counters);
        let own = || processes.clone().filter(|(counters, _)| counters.forked != Some(true));
        let anonymous = own()
            .filter_map(|(counters, _)| anonymous(counters))
            .fold(0, u64::saturating_add);
        let private = add(read().map(|one| one.private));
        let forked = read().any(|counters| counters.forked == Some(true));
        let mapped_again = processes
            .clone()
            .any(|(counters, once)| !once && is_much_shared(counters));
        let most = |part: fn(&Counters) -> Option<u64>| read().filter_map(part).max().unwrap_or(0);
        let files = most(|one| one.file).saturating_add(most(|one| one.shared));
        let resident_lower = files.saturating_add(most_anonymous(anonymous, read()));
        Sums {
            private,
            private_once: if forked || mapped_again { None } else { private },
            private_lower: add(own()
                .map(|(counters, once)| private_lower(counters, once))
                .filter(Option::is_some)),
            resident: add(read().map(|one| one.resident)),
            shared: read().filter_map(uncounted_shared).max(),
            resident_lower: known(resident_lower.max(most(|one| one.resident))),
        }
    }
}

/// Resident shared memory in bytes that is no part of private memory: named files of a tmpfs, and all of it in records
/// before format 1.9.
fn uncounted_shared(counters: &Counters) -> Option<u64> {
    let counted = counters.own_shared.unwrap_or(0);
    Some(counters.shared?.saturating_sub(counted))
}

/// True if shared memory is more than noise beside all private memory.
fn is_much_shared(counters: &Counters) -> bool {
    counters.own_shared.unwrap_or(0) > band::around(counters.private.unwrap_or(0))
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

/// Where the system does not split resident memory, the private figure is no part of it and says nothing here.
fn most_anonymous<'c>(anonymous: u64, mut counters: impl Iterator<Item = &'c Counters>) -> u64 {
    if counters.all(|one| one.file.is_some() || one.resident.is_none()) {
        anonymous
    } else {
        0
    }
}

/// The sum of values if all are known; `None` without any.
fn add(mut values: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    values
        .try_fold(0u64, |sum, value| Some(sum.saturating_add(value?)))
        .and_then(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_memory_that_private_memory_counts_is_not_counted_again() {
        let counters = |own_shared| Counters {
            shared: Some(100),
            own_shared,
            ..Counters::default()
        };
        let shared = |own_shared| {
            let counters = counters(own_shared);
            Sums::of(std::iter::once((&counters, true))).shared
        };
        assert_eq!(shared(Some(80)), Some(20));
        assert_eq!(shared(None), Some(100), "as in records before format 1.9");
    }
}
