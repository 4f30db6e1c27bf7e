//! The memory half of the journal: what the sampler saw of the server's processes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Nanos;

/// One process of the server's tree came into view.
///
/// `process` is a number of our own, never given twice in one record, so that a reused process id cannot be mistaken.
/// The same process is written again, with the same number, when it runs another program than before (an exec).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Process {
    /// Our number for it, from 0, the server's own process first.
    pub process: u32,
    /// The operating system's process id.
    pub pid: u32,
    /// Our number for the parent, when the parent is in the tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<u32>,
    /// Start time in the operating system's own unit; with `pid` it is unique on one boot.
    pub started: u64,
    /// Short name of the program.
    pub name: String,
    /// The command line as far as it could be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Whether it may have transparent huge pages at all: Linux `THP_enabled`, since 5.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub huge_pages: Option<bool>,
}

/// One process of the tree went away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessEnd {
    /// Our number for it.
    pub process: u32,
    /// What it had used in the end, where the system still said so: Linux does until somebody has waited for it, which for
    /// the server's own process is lsp-soak.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<Used>,
}

/// What a process had used from its beginning to its end. Nothing of its memory is left to be read by then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Used {
    /// Minor page faults.
    pub minor_faults: u64,
    /// Major page faults.
    pub major_faults: u64,
    /// Processor time in user mode, in nanoseconds.
    pub user: Nanos,
    /// Processor time in the kernel, in nanoseconds.
    pub system: Nanos,
    /// Both together, where the system counts them finer than in ticks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Nanos>,
}

/// The cheap counters of one process at one moment. What the system does not say is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Counters {
    /// Resident memory: Linux `VmRSS`, macOS resident size, Windows working set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resident: Option<u64>,
    /// Private memory as far as cheap counters know it: Linux `RssAnon + VmSwap` (an upper bound),
    /// macOS `phys_footprint`, Windows `PrivateUsage`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private: Option<u64>,
    /// Resident pages of files, Linux `RssFile`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<u64>,
    /// Resident shared memory, Linux `RssShmem`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<u64>,
    /// Swapped out, Linux `VmSwap`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swap: Option<u64>,
    /// High-water mark of resident memory since the process began or the last reset: Linux `VmHWM`,
    /// Windows `PeakWorkingSetSize`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high_water: Option<u64>,
    /// High-water mark of private memory: macOS interval maximum of the footprint, Windows `PeakPagefileUsage`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private_high_water: Option<u64>,
    /// Size of the address space, Linux `VmSize`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub virtual_size: Option<u64>,
    /// Minor page faults so far; on Windows all of them, which it does not tell apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minor_faults: Option<u64>,
    /// Major page faults so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub major_faults: Option<u64>,
    /// Processor time in user mode so far, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<Nanos>,
    /// Processor time in the kernel so far, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<Nanos>,
    /// Both together, where the system counts them finer than in ticks. It alone makes no sample differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Nanos>,
    /// Threads now; on Windows at the last look at the list of processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u64>,
    /// Forked and not (yet) exec'd: its pages may be its parent's. `None` when unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked: Option<bool>,
}

impl Counters {
    /// Whether anything differs but processor time below a tick: an idle process uses some of it all the time.
    pub fn differs(&self, other: &Counters) -> bool {
        *self
            != Counters {
                cpu: self.cpu,
                ..*other
            }
    }
}

/// Counters of one process that differ from those of its last sample, or a heartbeat.
///
/// Until its next sample, or its end, all counters of a process are what its last sample says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// Our number for the process.
    pub process: u32,
    /// What was read.
    pub counters: Counters,
}

/// The exact counters of one process, which cost a walk of its page tables: Linux `smaps_rollup`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rollup {
    /// Our number for the process.
    pub process: u32,
    /// `Rss`.
    pub resident: u64,
    /// `Pss`: shared pages divided by the number of processes that map them.
    pub proportional: u64,
    /// `Pss_Anon`; `None` before Linux 5.9.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proportional_anonymous: Option<u64>,
    /// `Pss_File`; `None` before Linux 5.9.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proportional_file: Option<u64>,
    /// `Pss_Shmem`; `None` before Linux 5.9.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proportional_shared: Option<u64>,
    /// `Private_Clean + Private_Dirty`, also called USS.
    pub unique: u64,
    /// `Anonymous`.
    pub anonymous: u64,
    /// `LazyFree`: given back with `MADV_FREE`, taken by the kernel when it needs it.
    pub lazy_free: u64,
    /// `AnonHugePages`.
    pub huge_pages: u64,
    /// `Swap`.
    pub swap: u64,
    /// `SwapPss`.
    pub swap_proportional: u64,
    /// How long the read took, in nanoseconds.
    pub cost: Nanos,
}

impl Rollup {
    /// `Pss_Anon + SwapPss − LazyFree`, at least 0: what only this tree pays for and cannot be had back for nothing.
    /// `None` where the kernel does not split `Pss`.
    pub fn private(&self) -> Option<u64> {
        let held = self.proportional_anonymous?.saturating_add(self.swap_proportional);
        Some(held.saturating_sub(self.lazy_free))
    }
}

/// How long something on the machine has waited for a resource since it was started, in nanoseconds: the totals of
/// Linux's pressure stall information. Written when a run begins and when it ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pressure {
    /// Something waited for memory.
    pub memory_some: Option<Nanos>,
    /// Everything waited for memory.
    pub memory_full: Option<Nanos>,
    /// Something waited for a processor.
    pub cpu_some: Option<Nanos>,
    /// Something waited for a disk.
    pub io_some: Option<Nanos>,
    /// Everything waited for a disk.
    pub io_full: Option<Nanos>,
}

impl Pressure {
    /// What has been added since `earlier`.
    pub fn since(&self, earlier: &Pressure) -> Pressure {
        let added = |of: fn(&Pressure) -> Option<Nanos>| of(self)?.checked_sub(of(earlier)?);
        Pressure {
            memory_some: added(|one| one.memory_some),
            memory_full: added(|one| one.memory_full),
            cpu_some: added(|one| one.cpu_some),
            io_some: added(|one| one.io_some),
            io_full: added(|one| one.io_full),
        }
    }
}

/// Processes of the tree that came and went between two looks, told when there are more than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unseen {
    /// At least so many since the run began.
    pub total: u64,
}

/// Sampling deadlines that passed before the sampler woke up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LateTicks {
    /// How many whole deadlines were missed.
    pub missed: u64,
    /// From the first of them to the sample after them, in nanoseconds.
    pub late: Nanos,
}

/// How late the samples were since the last such entry: from each one's deadline until the sampler woke up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Delays {
    /// How many samples of the whole tree.
    pub samples: u64,
    /// All their delays, in nanoseconds.
    pub sum: Nanos,
    /// The longest, in nanoseconds.
    pub most: Nanos,
}

/// The first time that something of a process could not be read, or its mark not be reset, though it was still there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadFailure {
    /// Our number for the process.
    pub process: u32,
    /// What was read: `status`, `stat`, `smaps_rollup`; or written: `clear_refs`.
    pub what: String,
    /// The operating system's words.
    pub error: String,
}
