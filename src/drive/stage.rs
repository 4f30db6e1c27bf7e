//! The interface between the driver and everything outside LSP: recording, and measurements of the process tree.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::Duration;

use record::{
    AllocatorFamily, Checkpoint, EndCause, Event, Nanos, PhaseRef, Release, Releaser, Resources, Rollup, Sample,
    Survivor,
};

/// Implemented by `soak` with the journal and the sampler. Clones share one stage.
pub trait Stage: Clone + Send + Sync + 'static {
    /// Nanoseconds since the first spawn.
    fn now(&self) -> Nanos;
    fn record(&self, event: Event);
    fn spawned(&self, pid: u32) -> std::io::Result<()>;
    /// Keeps a process of lsp-soak out of the tree of the next spawned process, although it shares a group with it.
    fn exclude_process(&self, pid: u32);
    /// The first process of the tree, not a server itself, that crashed since the server was started.
    fn crash(&self) -> Option<Crash>;
    /// True once the tree exceeded its memory limit and was killed.
    fn is_over_limit(&self) -> bool;
    /// Processor time and private memory of the tree, read now; `None` if the time is unknown.
    fn activity(&self) -> impl Future<Output = Option<Activity>> + Send;
    /// Private memory of the tree in bytes from the cheap counters, read now.
    fn private(&self) -> impl Future<Output = Option<u64>> + Send;
    /// Resident memory of the server's process in bytes, read now; `None` if there are several.
    fn resident(&self) -> impl Future<Output = Option<u64>> + Send;
    /// True if processes of this program have at least half of the tree's private memory, read now; `None` if unknown.
    fn leads(&self, program: &Path) -> impl Future<Output = Option<bool>> + Send;
    /// The program whose processes have the most private memory of the tree, read now. `None` if that is unknown, as on
    /// systems other than Linux.
    fn holder(&self, own: &Path) -> impl Future<Output = Option<MemoryHolder>> + Send;
    /// The paths of which a process of the tree watches the file or its directory by itself.
    fn watched(&self, paths: &[PathBuf]) -> Vec<bool>;
    /// Asks the allocators of all processes with the preloaded library to release memory; waits up to `patience` for
    /// each.
    fn release_memory(&self, patience: Duration) -> impl Future<Output = ReleaseResult>;
    /// Has the Java virtual machines of the tree collect their garbage and report what is live.
    fn collect(&self, patience: Duration) -> impl Future<Output = ReleaseResult>;
    /// Allows costly reads while nothing is in flight. After a call with false, no such read is running.
    fn quiet(&self, yes: bool) -> impl Future<Output = ()>;
    /// Records the exact counters of the tree, which costs a read of each process.
    fn exact(&self) -> impl Future<Output = ()>;
    /// Records a sample now, regardless of the sampling interval.
    fn sample(&self) -> impl Future<Output = ()>;
    /// Kills surviving processes of the tree when `patience` ends, and returns them.
    fn survivors(&self, patience: impl Future<Output = ()>) -> impl Future<Output = Vec<Survivor>>;
    /// Takes the settled values of a phase and records them with `frame`.
    fn checkpoint(&self, frame: Frame) -> impl Future<Output = ()>;
    /// Records the high-water marks of the ending phase, and resets them.
    fn peak(&self, phase: PhaseRef) -> impl Future<Output = ()>;
}

/// A process of the tree that crashed while its server was used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crash {
    pub name: String,
    pub pid: u32,
    pub cause: EndCause,
}

/// A program that has the most memory of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryHolder {
    pub program: PathBuf,
    /// The command line of its largest process.
    pub words: Vec<String>,
    /// The allocator or runtime found in it; `None` of the server's own program, and where it would be a guess.
    pub family: Option<AllocatorFamily>,
    /// True if it is the server's own program.
    pub is_own: bool,
}

/// Values that show if a tree does anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activity {
    pub at: Nanos,
    /// Processor time of the whole tree so far.
    pub used: Nanos,
    /// Private memory in bytes from the cheap counters; `None` if unknown.
    pub private: Option<u64>,
}

/// The result of asking allocators to release memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReleaseResult {
    pub used: Vec<Releaser>,
    /// The reason why some or all processes did not.
    pub missing: Vec<String>,
}

impl ReleaseResult {
    /// Forgets what processes reported: a part of them does not report what is live in all.
    pub fn forget_live(&mut self) {
        for releaser in &mut self.used {
            releaser.accounted = None;
        }
    }
}

/// A checkpoint without its values.
#[derive(Clone, Debug)]
pub struct Frame {
    pub phase: PhaseRef,
    /// True if the server became idle in time.
    pub settled: bool,
    pub waited: Nanos,
    /// The reason why it was not idle, for messages.
    pub unsettled: String,
    /// The forced release just before.
    pub released: Option<Release>,
}

impl Frame {
    pub fn with_samples(
        self,
        rounds: Vec<Vec<Sample>>,
        rollups: Vec<Rollup>,
        resources: Option<Resources>,
    ) -> Checkpoint {
        let Frame {
            phase,
            settled,
            waited,
            unsettled,
            released,
        } = self;
        Checkpoint {
            phase,
            settled,
            waited,
            unsettled,
            rounds,
            rollups,
            resources,
            released,
        }
    }
}
