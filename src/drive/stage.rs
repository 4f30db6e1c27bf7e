//! What the driver needs of the world outside LSP: a place to say what happened, and the tree's processor time.

use std::future::Future;
use std::path::Path;
use std::time::Duration;

use crate::record::{Checkpoint, Event, Nanos, PhaseRef, Release, Releaser, Survivor};

/// The far side of the driver; clones are the same stage. `soak` implements it with the journal and the sampler.
pub trait Stage: Clone + Send + Sync + 'static {
    /// Nanoseconds since the first spawn.
    fn now(&self) -> Nanos;
    fn tell(&self, event: Event);
    fn spawned(&self, pid: u32) -> std::io::Result<()>;
    /// Processor time of the tree, read now, whatever the sampling interval; `None` when it cannot be known.
    fn cpu(&self) -> impl Future<Output = Option<Cpu>> + Send;
    /// Private memory of the tree as the cheap counters know it, read now likewise.
    fn private(&self) -> impl Future<Output = Option<u64>> + Send;
    /// Resident memory of the server's process, read now likewise; `None` where there are several.
    fn resident(&self) -> impl Future<Output = Option<u64>> + Send;
    /// Whether processes of this program have at least half of the tree's private memory, read now likewise; `None` where
    /// that is not known.
    fn leads(&self, program: &Path) -> impl Future<Output = Option<bool>> + Send;
    /// Tells the allocators of all processes in which the preloaded library listens to give memory back, and waits for
    /// each at most so long.
    fn give_back(&self, patience: Duration) -> impl Future<Output = Given>;
    /// Whether costly reads are welcome: nothing is in flight. When it returns, none that is not welcome is under way.
    fn quiet(&self, yes: bool) -> impl Future<Output = ()>;
    /// Writes the exact counters of the tree as they are now, which costs a read of each process.
    fn exact(&self) -> impl Future<Output = ()>;
    /// Writes what the tree has now, whatever the sampling interval.
    fn sample(&self) -> impl Future<Output = ()>;
    /// Kills what is left of the tree after its server when `patience` ends, and says what it was.
    fn survivors(&self, patience: impl Future<Output = ()>) -> impl Future<Output = Vec<Survivor>>;
    /// Takes the settled values of a phase and writes them with `frame`.
    fn checkpoint(&self, frame: Frame) -> impl Future<Output = ()>;
    /// Writes the high-water marks of the phase that ends, and resets them.
    fn peak(&self, phase: PhaseRef) -> impl Future<Output = ()>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpu {
    pub at: Nanos,
    /// Used until then by the whole tree.
    pub used: Nanos,
}

/// What came of telling allocators to give memory back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    pub used: Vec<Releaser>,
    /// Why others, or all, did not.
    pub missing: Vec<String>,
}

/// A checkpoint before its values are in it.
#[derive(Clone, Debug)]
pub struct Frame {
    pub phase: PhaseRef,
    /// Whether the server came to rest in time.
    pub settled: bool,
    pub waited: Nanos,
    /// What was still moving, for people.
    pub unsettled: String,
    /// What was given back by force just before.
    pub released: Option<Release>,
}

impl Frame {
    pub fn with(self, rounds: Vec<Vec<crate::record::Sample>>, rollups: Vec<crate::record::Rollup>) -> Checkpoint {
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
            released,
        }
    }
}
