//! From a record to its numbers: one pass over the entries, in memory that does not grow with them.
//!
//! Nothing here opens files, asks the time or looks at the environment; `clippy.toml` says why and enforces it.

pub mod calls;
mod checkpoint;
mod collect;
pub mod common_time;
mod curves;
pub mod decay;
mod departure;
mod epoch;
mod exit;
mod groups;
mod histogram;
mod holder;
mod jemalloc_settings;
mod latency;
mod lost_processes;
mod messages;
mod phases;
mod preload_share;
pub mod release;
mod totals;
mod traffic;
mod tree;
mod unmeasured;
mod unpurged;
mod unset_settings;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::Serialize;

use base::band;
use record::{Ending, Header, Nanos, PhaseRef, Pressure, SystemCalls, WarningKind};

use self::decay::Window;

pub use checkpoint::counters_at_rest;
pub use collect::{read, read_with, summarise};
pub use curves::{Curves, Quantity, columns, grid, requests};
pub use departure::{Departure, departures, last_words, last_words_of_run};
pub use exit::exit_of_run;
pub use groups::{AllocatorFindings, Lifecycle, Log, Processes, Traffic, TreeMemory, Unread};
pub use histogram::Histogram;
pub use jemalloc_settings::is_denied;
pub use latency::quantile;
pub use lost_processes::LostProcess;
pub use preload_share::Partly;
pub use unmeasured::{why_unmeasured, without_invalid_counters, without_invalid_figures};
pub use unpurged::{PurgeFailure, UnpurgedCheckpoint, UnpurgedProcess};
pub use unset_settings::Unset;

/// Requests of the server of one method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServerRequests {
    /// How many.
    pub count: u64,
    /// How many were answered with an error.
    pub refused: u64,
}

/// Everything that a record says about its run.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The record's first line: server, host, scenario, settings.
    pub header: Header,
    /// Starts and ends of the server, or of the command.
    pub lifecycle: Lifecycle,
    /// The end of the run; `None` if the record was cut short before it.
    pub ending: Option<Ending>,
    /// From the first spawn to the last entry.
    pub duration: Nanos,
    /// Memory of the process tree over the whole run.
    pub memory: TreeMemory,
    /// The phases in order, each round of a repeat separately.
    pub phases: Vec<PhaseSummary>,
    /// Idle windows, and the release in each.
    pub windows: Vec<Window>,
    pub processes: Processes,
    pub traffic: Traffic,
    /// Effects and settings of the allocator, as they were seen.
    pub allocator: AllocatorFindings,
    /// Memory calls by phase, if the run was traced.
    pub system_calls: Vec<SystemCalls>,
    pub log: Log,
    pub sampling: SamplingSummary,
    /// Pressure stalls of the machine during the run.
    pub pressure: Option<Pressure>,
    pub unread: Unread,
}

impl Summary {
    /// Of a run with nothing but a header.
    fn empty(header: Header) -> Summary {
        Summary {
            header,
            lifecycle: Lifecycle::default(),
            ending: None,
            duration: 0,
            memory: TreeMemory::default(),
            phases: Vec::new(),
            windows: Vec::new(),
            processes: Processes::default(),
            traffic: Traffic::default(),
            allocator: AllocatorFindings::default(),
            system_calls: Vec::new(),
            log: Log::default(),
            sampling: SamplingSummary::default(),
            pressure: None,
            unread: Unread::default(),
        }
    }
}

/// A process without the preloaded library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unloaded {
    pub program: String,
    pub libraries: Vec<String>,
}

/// The two quantities called resident. One run uses one of them throughout, and so do runs that are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResidentMetric {
    /// `VmRSS`, of a server that was a single process at every checkpoint.
    #[default]
    Resident,
    /// Σ `Pss`, of a tree: its resident sizes would count shared pages more than once.
    Proportional,
}

/// The two quantities called private. One run uses one of them throughout, since they must never be mixed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PrivateMetric {
    /// `Pss_Anon + SwapPss − LazyFree` and own shared memory, from the exact counters of every process.
    Exact,
    /// The median of the cheap counters, summed over the tree: an upper bound where pages are shared or lazily freed.
    #[default]
    Sampled,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseSummary {
    #[serde(flatten)]
    pub phase: PhaseRef,
    /// When it began.
    pub started: Nanos,
    /// When its steps were done and settling began.
    pub driven: Option<Nanos>,
    /// When its checkpoint was taken, or the record or the run ended.
    pub ended: Nanos,
    /// The settled values; `None` when it was not reached.
    pub checkpoint: Option<CheckpointSummary>,
    /// Private memory of the tree at the checkpoint, in the metric of the run.
    pub private: Option<u64>,
    /// The same where every process has exact counters, whatever the metric of the run.
    #[serde(skip)]
    pub exact: Option<u64>,
    /// This checkpoint's private memory less that of the last one before it; `None` for the first.
    pub increment: Option<i64>,
    /// Peak of resident memory within the phase.
    pub peak: Option<Peak>,
    /// Highest sampled private memory within the phase, a lower bound of its peak.
    pub private_peak: Option<u64>,
    /// The release by its end.
    #[serde(flatten)]
    pub returned: Returned,
    /// Minor page faults of the tree.
    pub minor_faults: Option<u64>,
    /// Major page faults of the tree.
    pub major_faults: Option<u64>,
    /// Processor time.
    pub cpu: Option<Nanos>,
    /// Requests that the server kept open in it: of earlier phases, and pulls of the imitated editor.
    #[serde(skip)]
    pub kept_open: u64,
    /// Commands sent at its checkpoint.
    #[serde(skip)]
    pub commands: u64,
    /// True if a process was missing at its checkpoint that had crashed, or had held most of the memory and ended: its
    /// figures are of the rest.
    pub incomplete: bool,
    /// Its steps.
    pub steps: Vec<StepSummary>,
    /// Requests that the imitated editor sent by itself and that ended in this phase.
    pub editor_requests: u64,
    /// Requests of the server that the imitated editor answered in this phase, as far as the record has them.
    #[serde(skip)]
    pub server_requests: u64,
}

/// The settled values at the end of a phase, all for the whole tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckpointSummary {
    /// When.
    pub at: Nanos,
    /// Whether the server settled in time.
    pub settled: bool,
    /// How long that took.
    pub waited: Nanos,
    /// Figures that were still changing; empty when settled.
    pub unsettled: String,
    /// How fast sampled private memory grew from the end of the steps until here, in bytes per second, if it did not settle;
    /// or over the second half of the silent window with which the phase ended, if it grew in all parts of that. `None` when
    /// it did not grow by more than the band.
    pub growing: Option<u64>,
    /// Private memory from exact counters: Σ `Pss_Anon + SwapPss − LazyFree`, and own shared memory. A page that is forked
    /// or mapped several times counts once.
    pub private_exact: Option<u64>,
    /// Private memory from cheap counters: the median over the rounds of Σ `RssAnon + VmSwap` and own shared memory.
    pub private_sampled: Option<u64>,
    /// The median over the rounds of Σ `VmRSS`: exact for one process, and for several an upper bound that counts a
    /// shared page once for each of them.
    pub resident: Option<u64>,
    /// Σ `Pss`: resident memory, with each shared page divided among the processes that share it.
    pub proportional: Option<u64>,
    /// The median over the rounds of Σ `VmSize`.
    pub virtual_size: Option<u64>,
    /// Anonymous huge pages.
    pub huge_pages: Option<u64>,
    /// Lazily freed: the kernel has not reclaimed it yet.
    pub lazy_free: Option<u64>,
    /// Swapped out; a shared page counted once where exact counters are there.
    pub swap: Option<u64>,
    /// Own shared memory in exact private memory: memfd, System V and `/dev/zero` mappings, resident and swapped. `null`
    /// in records before format 1.9, which count none.
    pub own_shared: Option<u64>,
    /// Bytes that sampled sums count more than exact ones because own shared memory is mapped several times.
    pub shared_again: Option<u64>,
    /// Swapped own shared memory, which is in no sampled figure.
    pub shared_swapped: Option<u64>,
    /// Resident files of a tmpfs, which count in no private figure.
    pub named_shared: Option<u64>,
    /// Shared memory of any kind in records before format 1.9, where none of it counts as private.
    pub uncounted_shared: Option<u64>,
    /// Threads.
    pub threads: Option<u64>,
    /// Processes.
    pub processes: u64,
    /// Processes that ended and were not reaped; `None` in records without them and where the system cannot tell.
    pub zombies: Option<u64>,
    /// Open descriptors of all processes; `None` likewise.
    pub descriptors: Option<u64>,
    /// Of them, those that were forked and run no program of their own: the sampled sums may count pages of theirs twice.
    pub forked: u64,
}

impl CheckpointSummary {
    /// Removes all memory figures. The address space stays, since it is no memory.
    pub(super) fn without_memory(self) -> CheckpointSummary {
        CheckpointSummary {
            private_exact: None,
            private_sampled: None,
            resident: None,
            proportional: None,
            huge_pages: None,
            lazy_free: None,
            swap: None,
            own_shared: None,
            shared_again: None,
            shared_swapped: None,
            named_shared: None,
            uncounted_shared: None,
            ..self
        }
    }

    /// Private memory from cheap counters, where no page can be in it twice.
    pub fn private_once(&self) -> Option<u64> {
        let private = self.private_sampled?;
        let is_mapped_again = self.shared_again.unwrap_or(0) > band::tolerated_difference(private);
        if self.forked > 0 || is_mapped_again {
            return None;
        }
        Some(private)
    }
}

/// The highest resident memory of a tree within some time, as far as it can be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(into = "KnownPeak")]
pub struct Peak {
    /// It was at least this.
    pub lower: u64,
    /// It was at most this; `None` where nothing bounds it.
    pub upper: Option<u64>,
    /// A process ended inside, and may have held more in its last moments than was seen: `upper` may be too low.
    pub unseen: bool,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct KnownPeak {
    /// At least this.
    lower: u64,
    /// At most this; `null` where nothing bounds it.
    upper: Option<u64>,
    /// Known to the page.
    exact: bool,
    /// A process ended inside and may have had more, so that `upper` may be too low.
    unseen: bool,
}

impl From<Peak> for KnownPeak {
    fn from(peak: Peak) -> KnownPeak {
        let exact = peak.is_exact();
        let Peak { lower, upper, unseen } = peak;
        KnownPeak {
            lower,
            upper,
            exact,
            unseen,
        }
    }
}

impl Peak {
    /// True if the peak is known to the page.
    pub fn is_exact(&self) -> bool {
        self.upper == Some(self.lower) && !self.unseen
    }

    /// The peak of two stretches of time together.
    pub fn or(self, other: Peak) -> Peak {
        Peak {
            lower: self.lower.max(other.lower),
            upper: self.upper.zip(other.upper).map(|(a, b)| a.max(b)),
            unseen: self.unseen || other.unseen,
        }
    }
}

/// `(peak − retained) / (peak − base)`, each within one metric: `base` is the lowest checkpoint so far, `peak` the
/// highest, `retained` this one.
///
/// `None` if one of the three is unknown, at the first checkpoint, and below 1 MiB of growth, where a share says
/// nothing. Sampled sums that may count pages twice are unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Returned {
    /// Of resident memory, by `VmHWM` and `VmRSS`. Only for a tree that never had more than one process, since a
    /// sum of `VmRSS` counts shared pages twice and a sum of marks is of no one moment.
    #[serde(rename = "returned_resident")]
    pub resident: Option<f64>,
    /// Of private memory, by the sampled curve.
    #[serde(rename = "returned_private")]
    pub private: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepSummary {
    #[serde(skip)]
    pub step: u32,
    /// Its name as in the scenario.
    pub name: String,
    /// The method that the scenario names, of a `request` or `notification`.
    pub method: Option<String>,
    /// How long it took; `None` when it did not end.
    pub took: Option<Nanos>,
    /// Requests that expect a result; `None` when it did not end.
    pub requests: Option<u64>,
    /// Requests with a non-empty result.
    pub hits: Option<u64>,
    /// Requests with a result, empty or not: neither errors nor timeouts.
    pub answered: Option<u64>,
    /// Notifications sent.
    pub notifications: Option<u64>,
    /// What else reached the server: light traffic, requests that stayed open, files changed on disk, commands that
    /// release or report memory.
    pub others: Option<u64>,
    /// Changed files that the server watches by itself; `null` of a step that changed none, and in older records.
    pub files_watched: Option<u64>,
    /// Of these, requests that stayed open, so that nothing came of them.
    pub parked: Option<u64>,
    /// Skipped, because the server does not offer it and the scenario allows that.
    pub skipped: bool,
    /// The kind of place that it did not find, so that it asked nothing; `None` if it asked, or the record does not
    /// say.
    #[serde(skip)]
    pub looked_for: Option<String>,
}

/// All processes of the tree that run one program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProgramSummary {
    /// Short name.
    pub name: String,
    /// Command line of the first one.
    pub command: Vec<String>,
    /// How many.
    pub count: u64,
    /// How many of them went away before the server was shut down.
    pub ended: u64,
    /// When the first was seen.
    pub first_seen: Nanos,
    /// Most resident memory that one of them had, by its high-water mark where it has one.
    pub peak: Option<u64>,
    /// Private memory of them all at the last checkpoint, in the metric of the run.
    pub private: Option<u64>,
    /// Processor time of them all.
    pub cpu: Option<Nanos>,
    /// Whether any of them may have transparent huge pages; `None` where that is not known of any.
    pub huge_pages: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MethodSummary {
    /// The method.
    pub method: String,
    /// How many.
    pub count: u64,
    /// With something in the result.
    pub hits: u64,
    /// With an empty list.
    pub empty: u64,
    /// With `null`.
    pub null: u64,
    /// With an error.
    pub errors: u64,
    /// Given up by the server when the scenario cancelled them.
    pub cancelled: u64,
    /// Without an answer by the deadline.
    pub timeouts: u64,
    /// Long polls that were still open.
    pub parked: u64,
    /// Ended by the end of the connection.
    pub lost: u64,
    /// Sent again.
    pub retries: u64,
    /// Bytes of all results.
    pub bytes: u64,
    /// Elements of all results that are lists.
    pub items: u64,
    /// The commonest error, as `code: message`.
    pub error: Option<CommonestError>,
    /// How many latencies the following three stand on.
    pub answered: u64,
    /// Median latency, by Hyndman and Fan's type 7 as the next.
    pub p50: Option<Nanos>,
    /// The 95th percentile by the estimator of [`quantile`]; `None` of fewer than 20 answers.
    pub p95: Option<Nanos>,
    /// The longest.
    pub max: Option<Nanos>,
    #[serde(skip)]
    pub distribution: Histogram,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct CommonestError {
    /// As `code: message`.
    pub text: String,
    #[serde(skip)]
    pub count: u64,
}

/// A warning and its number of occurrences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarningSummary {
    pub kind: WarningKind,
    pub text: String,
    pub count: u64,
}

/// A log message of the server and its number of occurrences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerMessage {
    /// LSP message type: 1 error, 2 warning.
    pub level: u8,
    pub text: String,
    pub count: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SamplingSummary {
    /// Samples in the record.
    pub samples: u64,
    /// Exact readings in the record, those of checkpoints aside.
    pub rollups: u64,
    /// Deadlines at which the whole tree was sampled.
    pub ticks: u64,
    /// By how much those samples were late, all together.
    #[serde(skip)]
    pub delay: Nanos,
    /// Deadlines that passed before the sampler woke up.
    pub missed: u64,
    /// The latest that a sample was.
    pub latest: Nanos,
    /// Least number of processes that began and ended between two samples.
    pub unseen: u64,
    /// Reads and resets that failed: of how many processes.
    pub failures: BTreeMap<String, FailedReads>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct FailedReads {
    pub processes: u64,
    /// The system's words for the first.
    #[serde(skip)]
    pub error: String,
}

impl SamplingSummary {
    /// Mean delay of the samples.
    pub fn mean_delay(&self) -> Option<Nanos> {
        self.delay.checked_div(self.ticks)
    }
}
