//! Reads the memory of a process tree at fixed times and hands what changed to a sink; knows nothing of LSP.
//!
//! A [`Sampler`] is one operating system thread. At every deadline `t0 + n × interval` it looks for new processes
//! of the tree ([`tree`]), reads the cheap counters of each ([`source::Source::read`]) and writes a sample where
//! any differs from the last one written. Between deadlines it serves the driver: checkpoints, peaks, a new root.
//! What a system offers is in one file per system with the same names; reading `/proc` and making sense of its
//! text are apart ([`procfs`]).

mod duty;
mod holder;
mod maps;
mod member;
pub mod procfs;
mod pulse;
mod sampler;
mod schedule;
pub mod source;
pub mod tree;
mod unseen;
mod watch;

#[cfg(test)]
mod tests;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as platform;
#[cfg(target_os = "macos")]
#[expect(unsafe_code, reason = "libproc is C")]
mod macos;
#[cfg(target_os = "macos")]
use macos as platform;
#[cfg(windows)]
#[expect(unsafe_code, reason = "the Windows API is C")]
mod windows;
#[cfg(windows)]
use windows as platform;
#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
compile_error!("lsp-soak can read the memory of processes on Linux, macOS and Windows only");

pub use duty::Duty;
pub use holder::{Holder, holders, leader, share};
pub use maps::mapped;
pub use platform::System;
pub use pulse::{Glance, Pulse};
pub use sampler::{Done, Sampler, living, moment, started};
pub use schedule::{Command, Time, Wake, run};
pub use watch::{Living, Watch};

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::record::{Event, Journal, Nanos};

#[derive(Clone, Debug)]
pub struct Options {
    pub interval: Duration,
    /// Whether high-water marks may be reset; if not, nothing of the server is ever written to.
    pub peak_reset: bool,
    /// The share of time that exact reads may take in quiet windows.
    pub rollup_duty: f64,
    /// How long a process may go without a sample when nothing changes.
    pub heartbeat: Duration,
    /// The [`moment`] from which on new children of lsp-soak outside of its own process group are orphans of the tree
    /// that it adopted as a subreaper: one before the server was started, which may be gone before it is ever looked
    /// at. `None` if lsp-soak has other such children.
    pub orphans_since: Option<u64>,
    /// Processes that belong to lsp-soak, although they look like orphans of the tree.
    pub apart: Apart,
    /// Libraries that every process is looked at for, with links resolved: those that were preloaded.
    pub libraries: Vec<PathBuf>,
    /// Variables with their values that the environment of every process is looked at for: those that the server's
    /// allocator was given.
    pub variables: Vec<(String, String)>,
}

/// Process ids that are shared with the sampler, which may come to know of them at any time.
#[derive(Clone, Debug, Default)]
pub struct Apart(Arc<Mutex<BTreeSet<u32>>>);

impl Apart {
    pub fn add(&self, pid: u32) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(pid);
    }

    /// Whether it is one of them.
    pub fn has(&self, pid: u32) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(&pid)
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            interval: Duration::from_millis(50),
            peak_reset: true,
            rollup_duty: 0.01,
            heartbeat: Duration::from_secs(60),
            orphans_since: None,
            apart: Apart::default(),
            libraries: Vec::new(),
            variables: Vec::new(),
        }
    }
}

/// Where samples go. It must not block for long: the next deadline waits for it.
pub trait Sink: Send {
    /// Takes one event of that moment.
    fn put(&mut self, at: Nanos, event: Event);
}

impl Sink for Journal {
    fn put(&mut self, at: Nanos, event: Event) {
        self.write_at(at, event);
    }
}
