//! A process that is there now, and whether its memory is its own.

use record::{AddressSpaceRule, Counters, Environment, Nanos};

/// A process in view, by the last that was read of it.
#[derive(Clone, Debug)]
pub struct LiveProcess {
    pub pid: u32,
    pub name: String,
    /// The name for people: of an interpreter with its script, `node tsserver.js`.
    pub title: String,
    /// True once its command line was seen.
    pub has_command: bool,
    /// True for the server's own process.
    pub server: bool,
    pub counters: Counters,
    /// Private memory when it was last known: a process that is ending has lost it.
    pub last_private: Option<u64>,
    /// True once it was read: a process that began and ended between two samples is in no sum.
    pub read: bool,
    /// Most resident memory sampled in this epoch.
    pub resident_max: u64,
    /// Earliest time at which it may have begun: the last look before it was seen.
    pub since: Nanos,
    /// Preloaded libraries that it has not mapped.
    pub missing_libraries: Vec<String>,
    /// State of the server's variables in this process; `None` where it is unknown for its program.
    pub environment: Option<Environment>,
    /// True while it runs in the memory of another process, as a child does from `vfork` to `exec`.
    pub borrows: bool,
    /// True if the last exact reading saw its own shared memory mapped once, so that samples count it once.
    pub shares_once: bool,
    /// A high-water mark of this epoch exceeds this; `None` after a reset and for a new process.
    pub mark_floor: Option<u64>,
}

impl LiveProcess {
    /// The high-water mark, if it was reached in this epoch.
    pub fn high_water_in_epoch(&self) -> Option<u64> {
        self.counters
            .high_water
            .filter(|mark| self.mark_floor.is_none_or(|floor| *mark > floor))
    }
}

/// True if a process runs in the memory of one of `owners`: by what the sampler decided, else by its counters.
pub(super) fn borrows<'l>(
    rule: Option<AddressSpaceRule>,
    counters: &Counters,
    mut owners: impl Iterator<Item = &'l Counters>,
) -> bool {
    match rule {
        Some(AddressSpaceRule::Kernel | AddressSpaceRule::EqualCounters) => counters.memory_of.is_some(),
        None => owners.any(|owner| counters.is_like_memory_of(owner)),
    }
}
