//! What a tree has freed lazily, as far as exact counters tell it of a moment.

use std::collections::BTreeMap;

use record::{Nanos, Rollup};

/// Lazily freed memory, as far as the record was read.
#[derive(Debug, Default)]
pub(super) struct Lazy {
    /// What each process had when its exact counters were last read.
    of: BTreeMap<u32, u64>,
    /// When the last of these were read.
    at: Nanos,
    /// Whether the server has done nothing since.
    fresh: bool,
}

impl Lazy {
    /// Exact counters of a process were read.
    pub fn exact(&mut self, at: Nanos, rollup: &Rollup) {
        self.at = at;
        self.of.insert(rollup.process, rollup.lazy_free);
    }

    /// Those of all processes were read.
    pub fn looked(&mut self) {
        self.fresh = true;
    }

    /// The server begins to do something else than to give memory back.
    pub fn worked(&mut self) {
        self.fresh = false;
    }

    pub fn gone(&mut self, process: u32) {
        self.of.remove(&process);
    }

    pub fn at(&self) -> Nanos {
        self.at
    }

    /// Bytes when counters were last read; `None` where they never were.
    pub fn last(&self) -> Option<u64> {
        let known = !self.of.is_empty();
        known.then(|| self.of.values().copied().fold(0, u64::saturating_add))
    }

    /// Bytes at this moment; `None` where counters were not read since the server last did something.
    pub fn now(&self) -> Option<u64> {
        self.last().filter(|_| self.fresh)
    }
}
