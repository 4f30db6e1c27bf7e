#![doc = include_str!("../README.md")]

pub mod child;
pub mod host;
pub mod process;

mod duty;
mod guard;
mod holder;
mod inotify;
mod maps;
mod member;
pub mod procfs;
mod pulse;
mod running;
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
pub use inotify::{inode_at, watched_inodes};
pub use maps::mapped_files;
pub use platform::System;
pub use pulse::{Glance, Pulse};
pub use running::{Running, running, running_called};
pub use sampler::{Done, Sampler, address_spaces, living, start_time, start_time_now};
pub use schedule::{SamplerCommand, Time, Wake, run};
pub use watch::{Living, Watch};

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use record::{Event, Journal, Nanos};

#[derive(Clone, Debug)]
pub struct Options {
    pub interval: Duration,
    /// True if high-water marks may be reset; if not, nothing is written to the server's `/proc` files.
    pub peak_reset: bool,
    /// Private memory of the tree in bytes above which all its processes are killed.
    pub memory_limit: Option<u64>,
    /// Share of time that exact reads may take in quiet windows.
    pub rollup_duty: f64,
    /// Longest time without a sample of a process when nothing changes.
    pub heartbeat: Duration,
    /// The [`start_time_now`] after which new children of lsp-soak outside its process group are orphans of the tree, adopted
    /// as a subreaper. It is before the server's start, because the server may end before the first look. `None` if
    /// lsp-soak has other such children.
    pub orphans_since: Option<u64>,
    /// True if the first server was started by another program: then the group and the session that both have in common are
    /// not the server's.
    pub is_joined: bool,
    /// Processes of lsp-soak that look like orphans or members of the tree.
    pub apart: ExcludedPids,
    /// Preloaded libraries to look for in every process, with links resolved.
    pub libraries: Vec<PathBuf>,
    /// Allocator variables, with values, to look for in the environment of every process.
    pub variables: Vec<(String, String)>,
}

/// Process ids shared with the sampler; more may be added at any time.
#[derive(Clone, Debug, Default)]
pub struct ExcludedPids(Arc<Mutex<BTreeSet<u32>>>);

impl ExcludedPids {
    pub fn add(&self, pid: u32) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(pid);
    }

    pub fn contains(&self, pid: u32) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(&pid)
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            interval: Duration::from_millis(50),
            peak_reset: true,
            memory_limit: None,
            rollup_duty: 0.01,
            heartbeat: Duration::from_secs(60),
            orphans_since: None,
            is_joined: false,
            apart: ExcludedPids::default(),
            libraries: Vec::new(),
            variables: Vec::new(),
        }
    }
}

/// Receives samples. It must not block for long, because the next deadline waits.
pub trait Sink: Send {
    fn put(&mut self, at: Nanos, event: Event);
}

impl Sink for Journal {
    fn put(&mut self, at: Nanos, event: Event) {
        self.write_at(at, event);
    }
}
