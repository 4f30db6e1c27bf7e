//! Locks: a file beside the place that it is for. A lock removes its file when it is dropped, so that they do not accumulate.

use std::fs::{self, DirEntry, File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::WorkspaceError;

const EXTENSION: &str = "lock";

/// Age below which a lock file is not cleaned up: another run may have created it and be about to lock it. While
/// the cleaner holds the lock, that run, and its server, would choose another path.
const YOUNG: Duration = Duration::from_secs(60);

/// A held lock. If lsp-soak is killed, the system releases it and the file remains until a later run removes it.
#[derive(Debug)]
pub struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Opens and locks the place's lock file; `None` while another run holds it.
    pub(super) fn lock_place(dir: &Path) -> Result<Option<Lock>, WorkspaceError> {
        Lock::lock_file(dir.with_extension(EXTENSION))
    }

    /// Opens and locks `path`; `None` while another process holds it.
    pub fn lock_file(path: PathBuf) -> Result<Option<Lock>, WorkspaceError> {
        loop {
            let file = File::options().create(true).truncate(false).write(true).open(&path);
            let file = file.map_err(|error| WorkspaceError::io("create", &path, error))?;
            match file.try_lock() {
                Ok(()) if is_at(&file, &path) => return Ok(Some(Lock { file, path })),
                Err(TryLockError::WouldBlock) if is_at(&file, &path) => return Ok(None),
                // The previous holder removed the file after it was opened here: it excludes nobody.
                Ok(()) | Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(WorkspaceError::io("lock", &path, error)),
            }
        }
    }

    /// Writes the holder's process id, for messages. The lock works without it.
    pub fn sign(&mut self) {
        let written = self.file.set_len(0);
        let _ = written.and_then(|()| write!(self.file, "{}", std::process::id()));
    }
}

/// The process that signed the lock of this file.
pub fn holder(path: &Path) -> Option<u32> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

impl Drop for Lock {
    /// Removes the file while it is still locked: a process that opened it before sees that its path is gone.
    fn drop(&mut self) {
        // Not on Windows, where the name of a removed file stays reserved until it is closed.
        if cfg!(unix) && is_at(&self.file, &self.path) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// True if a file may be the lock of a killed run.
pub(super) fn may_be_abandoned(entry: &DirEntry) -> bool {
    let is_lock = entry.path().extension().is_some_and(|extension| extension == EXTENSION);
    cfg!(unix) && is_lock && age(entry).is_some_and(|age| age >= YOUNG)
}

fn age(entry: &DirEntry) -> Option<Duration> {
    entry.metadata().ok()?.modified().ok()?.elapsed().ok()
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let (Ok(own), Ok(there)) = (file.metadata(), fs::symlink_metadata(path)) else {
        return false;
    };
    (own.dev(), own.ino()) == (there.dev(), there.ino())
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

#[cfg(all(test, unix))]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Mutex;
    use std::time::SystemTime;

    use super::super::scratch::{self, Scratch};
    use super::super::{Isolation, Workspace};
    use super::*;
    use base::Cancel;

    #[test]
    fn a_lock_keeps_others_out_and_leaves_nothing() {
        let home = tempfile::tempdir().unwrap();
        let place = home.path().join("place-0");
        let held = Lock::lock_place(&place).unwrap().unwrap();
        assert!(Lock::lock_place(&place).unwrap().is_none());
        drop(held);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
        assert!(Lock::lock_place(&place).unwrap().is_some());
    }

    #[test]
    fn a_lock_that_was_removed_after_it_was_opened_is_none() {
        let home = tempfile::tempdir().unwrap();
        let place = home.path().join("place-0");
        let first = Lock::lock_place(&place).unwrap().unwrap();
        let opened = File::options().write(true).open(&first.path).unwrap();
        let path = first.path.clone();
        drop(first);
        assert!(!is_at(&opened, &path), "it is at no path any more");
        opened.lock().unwrap();
        let second = Lock::lock_place(&place).unwrap().expect("another file is there by now");
        // Dropping a lock whose file has no path removes no other lock.
        drop(Lock { file: opened, path });
        assert!(is_at(&second.file, &second.path));
    }

    #[test]
    fn no_two_ever_have_one_place_while_locks_come_and_go() {
        let home = tempfile::tempdir().unwrap();
        let held = Mutex::new(BTreeSet::new());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        let scratch = Scratch::claim(home.path(), "place").unwrap();
                        let place = scratch.path().to_owned();
                        assert!(held.lock().unwrap().insert(place.clone()), "{place:?} is held twice");
                        fs::write(place.join("file"), "text").unwrap();
                        assert!(held.lock().unwrap().remove(&place));
                        scratch.clear().unwrap();
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_next_run_removes_the_locks_that_nobody_holds() {
        let (source, scratch) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let home = scratch::user_directory(scratch.path()).unwrap();
        let open = || Workspace::open(source.path(), Isolation::Copy, scratch.path(), &Cancel::default()).unwrap();
        for left in ["0123456789abcdef-0.lock", "shim-0.lock"] {
            let file = File::create(home.join(left)).unwrap();
            file.set_modified(SystemTime::now() - YOUNG).unwrap();
        }
        let held = File::open(home.join("shim-0.lock")).unwrap();
        held.lock().unwrap();
        let workspace = open();
        assert!(!home.join("0123456789abcdef-0.lock").exists() && home.join("shim-0.lock").exists());
        assert_eq!(
            fs::read_dir(&home).unwrap().count(),
            3,
            "a place, its lock, and the one that is held"
        );
        drop(held);
        workspace.close().unwrap();
        open().close().unwrap();
        assert_eq!(fs::read_dir(&home).unwrap().count(), 0);
    }

    #[test]
    fn locks_of_killed_runs_are_found_and_young_ones_left_alone() {
        let home = tempfile::tempdir().unwrap();
        let file = File::create(home.path().join("place-0.lock")).unwrap();
        let entry = || fs::read_dir(home.path()).unwrap().next().unwrap().unwrap();
        assert!(!may_be_abandoned(&entry()));
        file.set_modified(SystemTime::now() - YOUNG).unwrap();
        assert!(may_be_abandoned(&entry()));
        fs::rename(entry().path(), home.path().join("place-0.other")).unwrap();
        assert!(!may_be_abandoned(&entry()));
    }
}
