//! Keeps a copy that no server changed for the next run: creating thousands of files just after removing as many takes
//! ext4 a second, since it does not give their numbers again at once.

use std::collections::BTreeMap;
use std::fs;
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
pub(super) struct Listing(BTreeMap<PathBuf, Marks>);

/// Inode, rights, bytes, and the seconds and nanoseconds of the last change, which no program can set.
type Marks = [i64; 5];

impl Listing {
    /// `None` if an entry cannot be read, or on systems without a time of change.
    pub(super) fn of(root: &Path) -> Option<Listing> {
        let mut entries = BTreeMap::new();
        add(root, &mut entries)?;
        Some(Listing(entries))
    }
}

fn add(path: &Path, entries: &mut BTreeMap<PathBuf, Marks>) -> Option<()> {
    let meta = fs::symlink_metadata(path).ok()?;
    entries.insert(path.to_owned(), marks(&meta)?);
    if meta.is_dir() {
        for inner in fs::read_dir(path).ok()? {
            add(&inner.ok()?.path(), entries)?;
        }
    }
    Some(())
}

#[cfg(unix)]
fn marks(meta: &fs::Metadata) -> Option<Marks> {
    use std::os::unix::fs::MetadataExt;
    let bytes = i64::try_from(meta.len()).ok()?;
    let inode = meta.ino().cast_signed();
    Some([inode, meta.mode().into(), bytes, meta.ctime(), meta.ctime_nsec()])
}

#[cfg(not(unix))]
fn marks(_: &fs::Metadata) -> Option<Marks> {
    None
}
