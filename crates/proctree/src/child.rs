//! Started programs: in their own sessions, tied to this process, and their orphans.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

#[cfg_attr(unix, path = "child/unix.rs")]
#[cfg_attr(not(unix), path = "child/other.rs")]
mod platform;

pub use platform::{adopt_orphans, interrupt, kill_group};
#[cfg(unix)]
pub use platform::{end_with_parent, tie};

/// Longest time for killing new orphans.
const LONGEST: Duration = Duration::from_secs(5);

/// Where a stream of a program comes from, or goes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Stream {
    /// A pipe to this process.
    #[default]
    Piped,
    /// No input, or discarded output.
    Null,
    /// The stream of this process, shared.
    Inherit,
    File(PathBuf),
}

impl Stream {
    pub fn input(&self) -> io::Result<Stdio> {
        self.stdio(|path| File::open(path))
    }

    pub fn output(&self) -> io::Result<Stdio> {
        self.stdio(|path| File::create(path))
    }

    fn stdio(&self, open: impl FnOnce(&Path) -> io::Result<File>) -> io::Result<Stdio> {
        Ok(match self {
            Stream::Piped => Stdio::piped(),
            Stream::Null => Stdio::null(),
            Stream::Inherit => Stdio::inherit(),
            Stream::File(path) => open(path)?.into(),
        })
    }
}

/// The children whose end is awaited: nobody else may reap or kill them.
static AWAITED: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

fn awaited() -> MutexGuard<'static, BTreeSet<u32>> {
    AWAITED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A child that is awaited until this is dropped.
#[derive(Debug)]
pub struct Awaited(Option<u32>);

impl Awaited {
    /// Its process id; 0 if it ended before the id was known.
    pub fn process(&self) -> u32 {
        self.0.unwrap_or_default()
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        if let Some(pid) = self.0 {
            awaited().remove(&pid);
        }
    }
}

/// Starts a program that is then awaited.
pub fn start<C>(spawn: impl FnOnce() -> io::Result<C>, id: impl FnOnce(&C) -> Option<u32>) -> io::Result<(C, Awaited)> {
    // Locked during the start, or a reaper could take a child that ends before its id is known.
    let mut awaited = awaited();
    let child = spawn()?;
    let pid = id(&child);
    awaited.extend(pid);
    Ok((child, Awaited(pid)))
}

/// Adopted processes whose parents ended, including ended ones. Read at once, so that no process can escape by forking.
/// Excludes other children: they are in lsp-soak's process group, which no other session can join.
pub fn orphans() -> Vec<u32> {
    platform::orphans(&awaited())
}

/// Reaps the ended orphans.
pub fn reap_orphans() {
    let awaited = awaited();
    for pid in platform::orphans(&awaited) {
        platform::reap(pid);
    }
}

/// Kills orphans that are not in `before`, until two consecutive looks find none.
pub fn clear_orphans(before: &[u32]) {
    let begun = Instant::now();
    let mut empty = 0;
    while empty < 2 && begun.elapsed() < LONGEST {
        let awaited = awaited();
        let mut new = platform::orphans(&awaited);
        new.retain(|pid| !before.contains(pid));
        for pid in &new {
            platform::kill(*pid);
            platform::reap(*pid);
        }
        drop(awaited);
        // A reaped process has handed over its own children by then.
        empty = if new.is_empty() { empty + 1 } else { 0 };
        std::thread::yield_now();
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// Processes of lsp-soak's own group belong to no server, and are not killed as such.
    #[test]
    fn what_a_program_starts_cannot_join_our_group() {
        let mut command = Command::new("sh");
        command.args(["-c", "cut -d' ' -f6 /proc/$$/stat"]);
        command.stdout(Stdio::piped());
        tie(&mut command);
        let (child, awaited) = start(|| command.spawn(), |child| Some(child.id())).unwrap();
        let session = child.wait_with_output().unwrap().stdout;
        let session: u32 = String::from_utf8_lossy(&session).trim().parse().unwrap();
        assert_eq!(session, awaited.process());
    }
}
