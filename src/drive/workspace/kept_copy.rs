//! Keeps a copy in which nothing was written for the next run: ext4 does not reuse inode numbers at once, so that thousands of
//! files made just after as many were removed take a second.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest, Sha256};

use super::{Workspace, WorkspaceError, canonical};
use crate::config::Isolation;
use crate::config::files::is_left_out;
use base::Cancel;

/// The copy of the last run, if nothing was written in it. Dropping the last clone removes the copy.
#[derive(Clone, Debug, Default)]
pub struct KeptCopy(Arc<Mutex<Option<Workspace>>>);

impl KeptCopy {
    /// The kept copy of `source`, or else what [`Workspace::open`] makes.
    pub fn open(
        &self,
        source: &Path,
        isolation: Isolation,
        scratch: &Path,
        cancel: &Cancel,
    ) -> Result<Workspace, WorkspaceError> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(kept) = kept {
            let is_source = canonical(source).is_ok_and(|source| source == kept.source);
            if kept.isolation == isolation && is_source && kept.is_as_made() {
                return Ok(kept);
            }
        }
        Workspace::open(source, isolation, scratch, cancel)
    }

    /// Keeps a copy in which nothing was written, without what lies beside it, and removes any other stand-in.
    pub fn close(&self, workspace: Workspace) -> Result<(), WorkspaceError> {
        let Some(scratch) = &workspace.scratch else {
            return workspace.close();
        };
        if !workspace.is_as_made() {
            return workspace.close();
        }
        scratch.clear_beside(&workspace.root)?;
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(workspace);
        Ok(())
    }
}

/// SHA-256 over the entries of a tree, each with its path and what changes when anything is written to it.
pub(super) type Stamp = [u8; 32];

pub(super) fn stamp_of_copy(root: &Path) -> Option<Stamp> {
    stamp(root, |_, _| false)
}

/// A digest of the tree without what a copy leaves out.
pub(super) fn stamp_of_original(root: &Path) -> Option<Stamp> {
    stamp(root, is_left_out)
}

/// `None` if an entry cannot be read, or on systems that do not tell when an entry changed.
fn stamp(root: &Path, skips: fn(&Path, bool) -> bool) -> Option<Stamp> {
    let mut hasher = Sha256::new();
    add_entry(root, skips, &mut hasher)?;
    Some(hasher.finalize().into())
}

fn add_entry(path: &Path, skips: fn(&Path, bool) -> bool, hasher: &mut Sha256) -> Option<()> {
    let meta = fs::symlink_metadata(path).ok()?;
    hasher.update(path.as_os_str().as_encoded_bytes());
    for mark in marks(&meta)? {
        hasher.update(mark.to_le_bytes());
    }
    if meta.is_dir() {
        let mut entries: Vec<(PathBuf, bool)> = Vec::new();
        for entry in fs::read_dir(path).ok()? {
            let entry = entry.ok()?;
            entries.push((entry.path(), entry.file_type().ok()?.is_dir()));
        }
        entries.sort_unstable();
        for (inner, is_dir) in entries {
            if !skips(&inner, is_dir) {
                add_entry(&inner, skips, hasher)?;
            }
        }
    }
    Some(())
}

/// Inode, rights, bytes, and the seconds and nanoseconds of the last change, which no program can set.
#[cfg(unix)]
fn marks(meta: &fs::Metadata) -> Option<[i64; 5]> {
    use std::os::unix::fs::MetadataExt;
    let bytes = i64::try_from(meta.len()).ok()?;
    let inode = meta.ino().cast_signed();
    Some([inode, meta.mode().into(), bytes, meta.ctime(), meta.ctime_nsec()])
}

#[cfg(not(unix))]
fn marks(_: &fs::Metadata) -> Option<[i64; 5]> {
    None
}
