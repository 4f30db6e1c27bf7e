//! The memory half of the journal: what the sampler saw of the server's processes.

use serde::{Deserialize, Serialize};

use super::Nanos;

/// A process of the server's tree appeared.
///
/// `process` is unique within a record, unlike a process id, which the system reuses. An exec writes the process
/// again with the same number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Process {
    /// Number of the process in this record, from 0. The server's own process is the first.
    pub process: u32,
    pub pid: u32,
    /// Number of the parent, when it is in the tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<u32>,
    /// Start time in the operating system's unit; unique on one boot together with `pid`.
    pub started: u64,
    pub name: String,
    /// The command line, as far as it is readable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Whether the process may have transparent huge pages: Linux `THP_enabled`, since 5.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub huge_pages: Option<bool>,
}

/// Programs that run a script, which says more than their own name.
const INTERPRETERS: [&str; 8] = ["bash", "bun", "deno", "node", "perl", "python", "ruby", "sh"];

/// Options of interpreters before a script that has no file.
const INLINE: [&str; 2] = ["-c", "-e"];

/// The name of a process for people: of an interpreter with the file of its script.
pub fn process_title(name: &str, command: &[String]) -> String {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let script = command
        .iter()
        .skip(1)
        .find(|word| !word.starts_with('-') || INLINE.contains(&word.as_str()));
    match script {
        Some(script) if INTERPRETERS.contains(&stem) && !INLINE.contains(&script.as_str()) => {
            let file = script.rsplit(['/', '\\']).next().unwrap_or(script);
            format!("{name} {file}")
        }
        Some(_) | None => name.to_owned(),
    }
}

impl Process {
    /// The name for people: of an interpreter with its script, `node tsserver.js`.
    pub fn title(&self) -> String {
        process_title(&self.name, &self.command)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessEnd {
    pub process: u32,
    /// Totals at its end. Linux keeps them until somebody waits for the process; for the server itself that is
    /// lsp-soak.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<Used>,
    /// `None` in records before format 1.9.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<EndCause>,
}

/// The exit status of a process, as its parent would read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EndCause {
    Exited {
        code: i32,
    },
    Signalled {
        signal: i32,
        /// True when the kernel counted an out-of-memory kill in lsp-soak's control group since the last such end.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        out_of_memory: bool,
    },
    /// The system did not say: Linux before 6.15 after another process reaped this one, macOS and Windows.
    Unknown,
}

/// The tree exceeded the memory limit of the run, and all its processes were killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Excess {
    /// Limit on private memory, in bytes.
    pub limit: u64,
    /// Private memory of the tree by the reading that decided, in bytes.
    pub private: u64,
    /// True if that reading was exact; false where the system has no exact counters.
    pub is_exact: bool,
    /// Growth over the last second, or since it began, in bytes per second; `None` if it was not growing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<u64>,
}

/// Signals that a process receives for its own fault: SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV and SIGSYS of
/// Linux on x86-64 and arm64 (signal(7)).
const FAULTS: [i32; 7] = [4, 5, 6, 7, 8, 11, 31];
const SIGKILL: i32 = 9;

impl EndCause {
    /// True for an end that no program asks for. SIGTERM, SIGINT, SIGHUP, SIGPIPE and other kills are not: launchers
    /// end their helpers by them.
    pub fn is_crash(self) -> bool {
        match self {
            EndCause::Signalled { signal, out_of_memory } => {
                FAULTS.contains(&signal) || (signal == SIGKILL && out_of_memory)
            }
            EndCause::Exited { .. } | EndCause::Unknown => false,
        }
    }
}

/// Faults and processor time of a process over its whole life. Its memory is no longer readable at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Used {
    pub minor_faults: u64,
    pub major_faults: u64,
    pub user: Nanos,
    pub system: Nanos,
    /// User and kernel time together, where the system counts finer than ticks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Nanos>,
}

/// The cheap counters of one process at one time. `None`: the system does not have the counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Counters {
    /// Resident memory: Linux `VmRSS`, macOS resident size, Windows working set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resident: Option<u64>,
    /// Private memory by the cheap counters: Linux `RssAnon + VmSwap` and `own_shared`, macOS `phys_footprint`, Windows
    /// `PrivateUsage`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private: Option<u64>,
    /// Resident shared memory that is in `private`: Linux `RssShmem` less the named files of a tmpfs that the last exact
    /// reading of the process saw. `None` in records before format 1.9, whose `private` has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_shared: Option<u64>,
    /// Resident pages of files, Linux `RssFile`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<u64>,
    /// Resident shared memory, Linux `RssShmem`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<u64>,
    /// Swapped out, Linux `VmSwap`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swap: Option<u64>,
    /// High-water mark of resident memory since the process began or the last reset: Linux `VmHWM`, Windows
    /// `PeakWorkingSetSize`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high_water: Option<u64>,
    /// High-water mark of private memory: macOS interval maximum of the footprint, Windows `PeakPagefileUsage`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private_high_water: Option<u64>,
    /// Size of the address space, Linux `VmSize`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub virtual_size: Option<u64>,
    /// Minor page faults so far; on Windows all faults, which it does not split.
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
    /// User and kernel time together, where the system counts finer than ticks. [`Counters::differs`] ignores it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Nanos>,
    /// Threads now; on Windows as of the last process list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u64>,
    /// Whether the process forked without an exec (yet): it may share its parent's pages. `None` when unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked: Option<bool>,
    /// The process, by its number, in whose address space this one runs, as after `vfork` or `CLONE_VM`: all its memory is
    /// of that process. `None` if it has its own, and in records before format 1.9.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_of: Option<u32>,
}

impl Counters {
    /// True if anything but `cpu` differs: an idle process uses a little of it all the time.
    pub fn differs(&self, other: &Counters) -> bool {
        *self
            != Counters {
                cpu: self.cpu,
                ..*other
            }
    }

    /// Counts resident shared memory as private, less `named` bytes of named files.
    pub fn count_shared(&mut self, named: u64) {
        let before = self.own_shared.unwrap_or(0);
        self.own_shared = self.shared.map(|shared| shared.saturating_sub(named));
        let now = self.own_shared.unwrap_or(0);
        self.private = self.private.map(|private| private.saturating_sub(before) + now);
    }

    /// These counters of a process that runs in the memory of another, to be added to that one's: without memory.
    pub fn without_memory(&self) -> Counters {
        Counters {
            resident: self.resident.map(|_| 0),
            private: self.private.map(|_| 0),
            own_shared: self.own_shared.map(|_| 0),
            file: self.file.map(|_| 0),
            shared: self.shared.map(|_| 0),
            swap: self.swap.map(|_| 0),
            virtual_size: self.virtual_size.map(|_| 0),
            forked: self.forked.map(|_| false),
            ..*self
        }
    }

    /// True if this process seems to run in the memory of `owner`: it forked without an exec, and all counters that tell
    /// address spaces apart are equal. A true fork looks alike in its anonymous pages, but has a mark of its own
    /// and few of the file pages. The two are read one after the other, so small differences do not count.
    pub fn is_like_memory_of(&self, owner: &Counters) -> bool {
        self.forked == Some(true)
            && are_near(self.private, owner.private)
            && are_near(self.file, owner.file)
            && are_near(self.high_water, owner.high_water)
            && are_near(self.virtual_size, owner.virtual_size)
    }
}

/// True if two sizes are known, within 2 % of each other, and not zero.
fn are_near(a: Option<u64>, b: Option<u64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a > 0 && a.abs_diff(b) <= a / 50,
        (Some(_) | None, Some(_) | None) => false,
    }
}

/// The rule by which lsp-soak knows that two processes run in one address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AddressSpaceRule {
    /// The kernel compares them: `kcmp(KCMP_VM)`.
    Kernel,
    /// Equal counters, where the kernel may not be asked: a fork that rewrote all its pages can look so too.
    EqualCounters,
}

/// A process's counters, written when they change and as a heartbeat.
///
/// They hold until the process's next sample or its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sample {
    pub process: u32,
    pub counters: Counters,
}

/// The exact counters of one process, read by a walk of its page tables: Linux `smaps_rollup`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rollup {
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
    /// `LazyFree`: released with `MADV_FREE`, taken by the kernel when it needs the pages.
    pub lazy_free: u64,
    /// `AnonHugePages`.
    pub huge_pages: u64,
    /// `Swap`.
    pub swap: u64,
    /// `SwapPss`.
    pub swap_proportional: u64,
    /// Its shared memory; `None` in records before format 1.9.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_memory: Option<SharedMemory>,
    pub cost: Nanos,
}

/// Shared memory of one process by what holds it, in bytes: Linux `smaps` and `status`. Own are memfd, System V and
/// `/dev/zero` mappings, which end with their processes; named are files on a tmpfs, which stay without them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SharedMemory {
    /// `Pss` of own mappings, less their anonymous pages: a page counts once, however often it is mapped.
    pub own: u64,
    /// `Rss` of own mappings, less their anonymous pages: a page counts once for each mapping.
    pub own_resident: u64,
    /// `Swap` of own mappings, which is neither in `SwapPss` nor in `VmSwap`.
    pub own_swap: u64,
    /// `RssShmem` less `own_resident`.
    pub named: u64,
}

impl SharedMemory {
    /// The part that counts as private.
    pub fn private(&self) -> u64 {
        self.own.saturating_add(self.own_swap)
    }
}

impl Rollup {
    /// Memory that only this tree needs and that the kernel cannot reclaim at once, at least 0: `Pss_Anon + SwapPss −
    /// LazyFree`, and own shared memory where the record has it. `None` where the kernel does not split `Pss`.
    pub fn private(&self) -> Option<u64> {
        let shared = self.shared_memory.as_ref().map_or(0, SharedMemory::private);
        let total = self.proportional_anonymous?.saturating_add(self.swap_proportional);
        Some(total.saturating_add(shared).saturating_sub(self.lazy_free))
    }

    /// The reading of a process that runs in the memory of another, to be added to that one's: of nothing.
    pub fn without_memory(&self) -> Rollup {
        Rollup {
            process: self.process,
            cost: self.cost,
            proportional_anonymous: self.proportional_anonymous.map(|_| 0),
            proportional_file: self.proportional_file.map(|_| 0),
            proportional_shared: self.proportional_shared.map(|_| 0),
            shared_memory: self.shared_memory.map(|_| SharedMemory::default()),
            ..Rollup::default()
        }
    }
}

/// Time that processes on the machine have waited for a resource since boot, in nanoseconds: the totals of Linux's
/// pressure stall information. Written at the start and the end of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pressure {
    /// Some processes waited for memory.
    pub memory_some: Option<Nanos>,
    /// All processes waited for memory.
    pub memory_full: Option<Nanos>,
    /// Some processes waited for a processor.
    pub cpu_some: Option<Nanos>,
    /// Some processes waited for a disk.
    pub io_some: Option<Nanos>,
    /// All processes waited for a disk.
    pub io_full: Option<Nanos>,
}

impl Pressure {
    pub fn since(&self, earlier: &Pressure) -> Pressure {
        Pressure {
            memory_some: difference(self.memory_some, earlier.memory_some),
            memory_full: difference(self.memory_full, earlier.memory_full),
            cpu_some: difference(self.cpu_some, earlier.cpu_some),
            io_some: difference(self.io_some, earlier.io_some),
            io_full: difference(self.io_full, earlier.io_full),
        }
    }
}

/// `None` if a total is unknown, or decreased.
fn difference(total: Option<Nanos>, earlier: Option<Nanos>) -> Option<Nanos> {
    total?.checked_sub(earlier?)
}

/// Processes that started and ended between two samples. Written when there are more than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unseen {
    /// Lower bound since the start of the run.
    pub total: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LateTicks {
    /// Whole deadlines missed.
    pub missed: u64,
    /// From the first missed deadline to the next sample.
    pub late: Nanos,
}

/// Sampling delays since the last entry of this kind: from a sample's deadline until the sampler woke up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Delays {
    /// Samples of the whole tree.
    pub samples: u64,
    pub sum: Nanos,
    pub most: Nanos,
}

/// First failure to read a counter, or to reset a mark, of a process that still exists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReadFailure {
    pub process: u32,
    /// The file: `status`, `stat`, `smaps_rollup`; or on a failed reset `clear_refs`.
    pub what: String,
    pub error: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interpreter_is_named_with_its_script() {
        let node: &[&str] = &["node", "--max-old-space-size=3072", "/lib/tsserver.js", "--stdio"];
        for (name, words, expected) in [
            ("node", node, "node tsserver.js"),
            ("python3.11", &["python3", "/bin/pylsp"], "python3.11 pylsp"),
            ("clangd", &["clangd", "x"], "clangd"),
            ("node", &["node"], "node"),
            ("sh", &["sh", "-c", "cargo check"], "sh"),
        ] {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(process_title(name, &words), expected, "{words:?}");
        }
    }

    #[test]
    fn own_shared_memory_is_private_and_named_files_are_not() {
        let mut rollup = Rollup {
            proportional_anonymous: Some(50),
            swap_proportional: 5,
            lazy_free: 10,
            ..Rollup::default()
        };
        assert_eq!(rollup.private(), Some(45), "as older records say it");
        rollup.shared_memory = Some(SharedMemory {
            own: 200,
            own_resident: 600,
            own_swap: 7,
            named: 30,
        });
        assert_eq!(rollup.private(), Some(252));
        assert_eq!(rollup.without_memory().private(), Some(0));
    }

    #[test]
    fn sampled_shared_memory_counts_less_the_named_files_seen_last() {
        let mut counters = Counters {
            private: Some(50),
            shared: Some(230),
            ..Counters::default()
        };
        counters.count_shared(0);
        assert_eq!((counters.private, counters.own_shared), (Some(280), Some(230)));
        counters.count_shared(30);
        assert_eq!((counters.private, counters.own_shared), (Some(250), Some(200)));
        counters.count_shared(500);
        assert_eq!(counters.private, Some(50), "the files may be gone by now");
    }

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
        assert!(child.is_like_memory_of(&parent()));
        let after_exec = Counters {
            forked: Some(false),
            ..child
        };
        assert!(!after_exec.is_like_memory_of(&parent()));
    }

    #[test]
    fn a_fork_with_pages_of_its_own_has_few_file_pages_and_a_mark_of_its_own() {
        let fork = Counters {
            file: Some(2 << 20),
            high_water: Some(1_900 << 20),
            forked: Some(true),
            ..parent()
        };
        assert!(!fork.is_like_memory_of(&parent()));
        let unknown = Counters {
            file: None,
            forked: Some(true),
            ..parent()
        };
        assert!(!unknown.is_like_memory_of(&parent()));
    }
}
