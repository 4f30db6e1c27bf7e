//! A place for a stand-in under the scratch directory: claimed by a lock, cleaned of leftovers, removed at the end.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::lock::{self, Lock};
#[cfg(unix)]
use super::removal;
use super::{WorkspaceError, canonical, overlay};

/// Most runs that use stand-ins of one workspace at the same time.
const SLOTS: usize = 16;

/// A claimed place. The lock is held until this is dropped; the system releases it if lsp-soak is killed.
#[derive(Debug)]
pub struct Scratch {
    dir: PathBuf,
    _lock: Lock,
    /// Of the places before this one, what could not be removed.
    leftovers: Vec<WorkspaceError>,
}

/// The directory of this user's places under `base`. Other users can neither read nor create it, because servers read
/// its contents.
pub fn user_directory(base: &Path) -> Result<PathBuf, WorkspaceError> {
    let home = base.join(name());
    match create_private(&home) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => make_ours(&home)?,
        made => made.map_err(|error| WorkspaceError::io("create", &home, error))?,
    }
    canonical(&home)
}

impl Scratch {
    /// Claims the first free place called `name` in this user's `home` and empties it. One that cannot be emptied is
    /// passed over. Their paths are equally long, because servers store them.
    pub fn claim(home: &Path, name: &str) -> Result<Scratch, WorkspaceError> {
        let mut leftovers = Vec::new();
        for slot in 0..SLOTS {
            let dir = home.join(format!("{name}-{slot:x}"));
            let Some(lock) = Lock::lock_place(&dir)? else { continue };
            if let Err(leftover) = remove(&dir) {
                leftovers.push(leftover);
                continue;
            }
            create_private(&dir).map_err(|error| WorkspaceError::io("create", &dir, error))?;
            return Ok(Scratch {
                dir,
                _lock: lock,
                leftovers,
            });
        }
        Err(leftovers
            .into_iter()
            .next()
            .unwrap_or_else(|| WorkspaceError::Busy(SLOTS, home.to_owned())))
    }

    /// Leftovers of earlier runs that could not be removed.
    pub fn leftovers(&self) -> &[WorkspaceError] {
        &self.leftovers
    }

    /// Claims the first free place for stand-ins of `source`, and removes leftovers of killed runs.
    pub(super) fn claim_for(base: &Path, source: &Path) -> Result<Scratch, WorkspaceError> {
        let home = user_directory(base)?;
        if home.starts_with(source) {
            return Err(WorkspaceError::Nested {
                scratch: home,
                workspace: source.to_owned(),
            });
        }
        sweep(&home);
        let digest = Sha256::digest(source.as_os_str().as_encoded_bytes());
        let name: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Scratch::claim(&home, &name)
    }

    pub fn path(&self) -> &Path {
        &self.dir
    }

    /// The path of the stand-in. Its name is constant, because servers print and store it.
    pub(super) fn root(&self) -> PathBuf {
        self.dir.join("workspace")
    }

    /// Where an overlay stores its changes.
    pub(super) fn overlay(&self) -> PathBuf {
        self.dir.join("overlay")
    }

    pub fn clear(&self) -> Result<(), WorkspaceError> {
        remove(&self.dir)
    }

    /// Removes everything in this place but `kept`.
    pub(super) fn clear_beside(&self, kept: &Path) -> Result<(), WorkspaceError> {
        let unreadable = |error| WorkspaceError::io("read", &self.dir, error);
        for entry in fs::read_dir(&self.dir).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let path = entry.path();
            if path == kept {
                continue;
            }
            if entry.file_type().map_err(unreadable)?.is_dir() {
                remove(&path)?;
            } else {
                fs::remove_file(&path).map_err(|error| WorkspaceError::io("remove", &path, error))?;
            }
        }
        Ok(())
    }
}

/// Removes the places of killed runs, and their locks. Ignores failures: leftovers only use disk space.
fn sweep(home: &Path) {
    let Ok(entries) = fs::read_dir(home) else { return };
    for entry in entries.flatten() {
        let dir = match entry.file_type() {
            Ok(kind) if kind.is_dir() => entry.path(),
            Ok(_) if lock::may_be_abandoned(&entry) => entry.path().with_extension(""),
            Ok(_) | Err(_) => continue,
        };
        if let Ok(Some(_lock)) = Lock::lock_place(&dir) {
            let _ = remove(&dir);
        }
    }
}

/// Each user has a directory, even where all users share one for temporary files.
#[cfg(unix)]
fn name() -> String {
    format!("lsp-soak-{}", rustix::process::geteuid().as_raw())
}

/// The directory for temporary files already belongs to the user.
#[cfg(not(unix))]
fn name() -> String {
    "lsp-soak".to_owned()
}

/// Checks that `home` is a directory of this user and not a link, and makes it private.
#[cfg(unix)]
fn make_ours(home: &Path) -> Result<(), WorkspaceError> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let failed = |error| WorkspaceError::io("read", home, error);
    let meta = fs::symlink_metadata(home).map_err(failed)?;
    if !meta.is_dir() || meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(WorkspaceError::NotOurs(home.to_owned()));
    }
    if meta.mode() & 0o777 != 0o700 {
        fs::set_permissions(home, fs::Permissions::from_mode(0o700)).map_err(failed)?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn make_ours(home: &Path) -> Result<(), WorkspaceError> {
    match fs::symlink_metadata(home) {
        Ok(meta) if meta.is_dir() => Ok(()),
        Ok(_) => Err(WorkspaceError::NotOurs(home.to_owned())),
        Err(error) => Err(WorkspaceError::io("read", home, error)),
    }
}

fn create_private(dir: &Path) -> io::Result<()> {
    if let Some(parent) = dir.parent() {
        fs::create_dir_all(parent)?;
    }
    make_private(dir)
}

#[cfg(unix)]
fn make_private(dir: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().mode(0o700).create(dir)
}

/// A user's temporary directory is already private.
#[cfg(not(unix))]
fn make_private(dir: &Path) -> io::Result<()> {
    fs::create_dir(dir)
}

/// Removes a place and its contents. Unmounts an overlay first, so that nothing is deleted through it.
fn remove(dir: &Path) -> Result<(), WorkspaceError> {
    overlay::unmount(&dir.join("workspace"))?;
    remove_all(dir)
}

#[cfg(unix)]
fn remove_all(dir: &Path) -> Result<(), WorkspaceError> {
    removal::remove(dir).map_err(|obstacle| {
        let (reason, cure) = match obstacle.error.kind() {
            io::ErrorKind::CrossesDevices | io::ErrorKind::ResourceBusy => {
                ("it is a mount".to_owned(), "unmount it, then remove the directory")
            }
            io::ErrorKind::PermissionDenied => (
                obstacle.error.to_string(),
                "run `chattr -i` on it if it is immutable, then remove the directory",
            ),
            _ => (obstacle.error.to_string(), "remove the directory"),
        };
        WorkspaceError::Stays {
            place: dir.to_owned(),
            path: obstacle.path,
            reason,
            cure,
        }
    })
}

#[cfg(not(unix))]
fn remove_all(dir: &Path) -> Result<(), WorkspaceError> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(WorkspaceError::Stays {
            cure: "remove the directory",
            place: dir.to_owned(),
            path: dir.to_owned(),
            reason: error.to_string(),
        }),
        Ok(()) | Err(_) => Ok(()),
    }
}
