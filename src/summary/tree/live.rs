//! A process that is there now, and whether its memory is its own.

use crate::record::{Counters, Environment, Nanos};

/// A process in view, by the last that was read of it.
#[derive(Clone, Debug)]
pub struct Live {
    pub pid: u32,
    pub name: String,
    /// The name for people: of an interpreter with its script, `node tsserver.js`.
    pub title: String,
    /// Whether it is the server's own process.
    pub server: bool,
    pub counters: Counters,
    /// Private memory when it was last known: a process that is ending has lost it.
    pub last_private: Option<u64>,
    /// Whether it was ever read: a process that began and ended between two samples is in no sum.
    pub read: bool,
    /// Most resident memory sampled in this epoch.
    pub resident_max: u64,
    /// From when on it may have been there: the last look before it was seen.
    pub since: Nanos,
    /// The libraries that were preloaded and that it does not have.
    pub without: Vec<String>,
    /// How far it has the variables that the server was given; `None` where that is not known of its program.
    pub environment: Option<Environment>,
    /// Whether it runs in the memory of another process, as a child does from `vfork` to `exec`.
    pub borrows: bool,
    /// What its high-water mark must exceed to belong to this epoch; `None` after a reset and for a new process.
    pub mark_floor: Option<u64>,
}

impl Live {
    /// The high-water mark, if it was reached in this epoch.
    pub fn mark(&self) -> Option<u64> {
        self.counters
            .high_water
            .filter(|mark| self.mark_floor.is_none_or(|floor| *mark > floor))
    }
}

/// Whether a forked process runs in the memory of `owner`. A true fork looks alike in its anonymous pages, but has a mark
/// of its own and few of the file pages. The two are read one after the other, so small differences do not count.
pub(super) fn same_memory(forked: &Counters, owner: &Counters) -> bool {
    let parts: [fn(&Counters) -> Option<u64>; 4] = [
        |one| one.private,
        |one| one.file,
        |one| one.high_water,
        |one| one.virtual_size,
    ];
    let near = |(a, b): (u64, u64)| a > 0 && a.abs_diff(b) <= a / 50;
    forked.forked == Some(true) && parts.iter().all(|part| part(forked).zip(part(owner)).is_some_and(near))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parent() -> Counters {
        Counters {
            private: Some(1_900 << 20),
            file: Some(36 << 20),
            high_water: Some(1_980 << 20),
            virtual_size: Some(5_000 << 20),
            forked: Some(false),
            ..Counters::default()
        }
    }

    #[test]
    fn a_child_before_its_exec_runs_in_the_memory_of_its_parent() {
        let child = Counters {
            private: Some(1_901 << 20),
            forked: Some(true),
            ..parent()
        };
        assert!(same_memory(&child, &parent()));
        let after_exec = Counters {
            forked: Some(false),
            ..child
        };
        assert!(!same_memory(&after_exec, &parent()));
    }

    #[test]
    fn a_fork_with_pages_of_its_own_has_few_file_pages_and_a_mark_of_its_own() {
        let fork = Counters {
            file: Some(2 << 20),
            high_water: Some(1_900 << 20),
            forked: Some(true),
            ..parent()
        };
        assert!(!same_memory(&fork, &parent()));
        let unknown = Counters {
            file: None,
            forked: Some(true),
            ..parent()
        };
        assert!(!same_memory(&unknown, &parent()));
    }
}
