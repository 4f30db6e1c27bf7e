//! Keeps a copy that no server changed for the next run: creating thousands of files just after removing as many takes
//! ext4 a second, since it does not give their numbers again at once.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::{Workspace, WorkspaceError, canonical};
use crate::config::Isolation;

/// The copy of the last run, if it is as it was made. Dropping the last clone removes the copy.
#[derive(Clone, Debug, Default)]
pub struct Kept(Arc<Mutex<Option<Workspace>>>);

impl Kept {
    /// The kept copy of `source`, or else what [`Workspace::open`] makes.
    pub fn open(
        &self,
        source: &Path,
        isolation: Isolation,
        scratch: &Path,
        stop: &dyn Fn() -> bool,
    ) -> Result<Workspace, WorkspaceError> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let same = |kept: &Workspace| {
            kept.isolation == isolation
                && canonical(source).is_ok_and(|source| source == kept.source)
                && kept.is_as_made()
        };
        match kept.filter(same) {
            Some(kept) => Ok(kept),
            None => Workspace::open(source, isolation, scratch, stop),
        }
    }

    /// Keeps a copy that is as it was made, without what lies beside it, and removes any other stand-in.
    pub fn close(&self, workspace: Workspace) -> Result<(), WorkspaceError> {
        let Some(scratch) = workspace.scratch.as_ref().filter(|_| workspace.is_as_made()) else {
            return workspace.close();
        };
        scratch.clear_beside(&workspace.root)?;
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(workspace);
        Ok(())
    }
}

/// Every entry of a tree with all that changes when anything writes to it. Reading changes nothing.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Listing(BTreeMap<PathBuf, Entry>);

#[derive(Debug, PartialEq, Eq)]
struct Entry {
    inode: u64,
    mode: u32,
    bytes: u64,
    /// Seconds and nanoseconds. Unlike the time of modification, no program can set it.
    changed: (i64, i64),
}

impl Listing {
    /// `None` if an entry cannot be read, or on systems without a time of change.
    pub(super) fn of(root: &Path) -> Option<Listing> {
        let mut entries = BTreeMap::new();
        add(root, &mut entries).ok()?;
        Some(Listing(entries))
    }
}

fn add(path: &Path, entries: &mut BTreeMap<PathBuf, Entry>) -> io::Result<()> {
    let meta = fs::symlink_metadata(path)?;
    entries.insert(path.to_owned(), entry(&meta)?);
    if meta.is_dir() {
        for inner in fs::read_dir(path)? {
            add(&inner?.path(), entries)?;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn entry(meta: &fs::Metadata) -> io::Result<Entry> {
    use std::os::unix::fs::MetadataExt;
    Ok(Entry {
        inode: meta.ino(),
        mode: meta.mode(),
        bytes: meta.len(),
        changed: (meta.ctime(), meta.ctime_nsec()),
    })
}

#[cfg(not(unix))]
fn entry(_: &fs::Metadata) -> io::Result<Entry> {
    Err(io::ErrorKind::Unsupported.into())
}
