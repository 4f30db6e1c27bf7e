//! Lazily freed memory of a tree, from exact counters.

use std::collections::BTreeMap;

use record::{Nanos, Rollup};

/// Lazily freed memory, as far as the record was read.
#[derive(Debug, Default)]
pub(super) struct Lazy {
    /// Bytes of each process when its exact counters were last read.
    bytes: BTreeMap<u32, u64>,
    /// Time of the last reading of any process.
    at: Nanos,
    /// True if the server has done nothing since all processes were read.
    fresh: bool,
}

impl Lazy {
    /// Exact counters of a process were read.
    pub fn add_rollup(&mut self, at: Nanos, rollup: &Rollup) {
        self.at = at;
        self.bytes.insert(rollup.process, rollup.lazy_free);
    }

    /// Exact counters of all processes were read.
    pub fn mark_fresh(&mut self) {
        self.fresh = true;
    }

    /// The server begins to do something else than to release memory.
    pub fn mark_stale(&mut self) {
        self.fresh = false;
    }

    pub fn remove(&mut self, process: u32) {
        self.bytes.remove(&process);
    }

    pub fn last_read(&self) -> Nanos {
        self.at
    }

    /// Bytes when counters were last read; `None` where they never were.
    pub fn last(&self) -> Option<u64> {
        if self.bytes.is_empty() {
            return None;
        }
        Some(self.bytes.values().copied().fold(0, u64::saturating_add))
    }

    /// Bytes at this moment; `None` where counters were not read since the server last did something.
    pub fn now(&self) -> Option<u64> {
        if self.fresh { self.last() } else { None }
    }
}
