//! Copies a tree so that a server sees the same project: keeps links, rights and times, leaves out caches.

use std::fs::{self, File, FileTimes, Metadata};
use std::io;
#[cfg(target_os = "linux")]
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use super::WorkspaceError;
use crate::config::files::is_left_out;
use base::Cancel;
#[cfg(target_os = "linux")]
use record::regular_file;

/// The way in which file contents are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// Byte by byte, or as the system prefers.
    Copy,
    /// By sharing blocks; an error if that fails.
    Reflink,
}

/// Copies the directory `from` to `to`, which must not exist; ends early if it is cancelled.
pub(super) fn tree(from: &Path, to: &Path, method: Method, cancel: &Cancel) -> Result<(), WorkspaceError> {
    Copier {
        from,
        to,
        method,
        cancel,
    }
    .directory(Path::new(""))
}

/// Copies these files and links, relative to `from`, to `to`.
pub fn files(from: &Path, to: &Path, files: &[PathBuf]) -> Result<(), WorkspaceError> {
    let copier = Copier {
        from,
        to,
        method: Method::Copy,
        cancel: &Cancel::default(),
    };
    for relative in files {
        let directory = to.join(relative.parent().unwrap_or(Path::new("")));
        fs::create_dir_all(&directory).map_err(|error| WorkspaceError::io("create", &directory, error))?;
        if from.join(relative).is_symlink() {
            copier.link(relative)?;
        } else {
            copier.file(relative)?;
        }
    }
    Ok(())
}

struct Copier<'p> {
    from: &'p Path,
    to: &'p Path,
    method: Method,
    cancel: &'p Cancel,
}

impl Copier<'_> {
    fn directory(&self, relative: &Path) -> Result<(), WorkspaceError> {
        let (from, to) = (self.from.join(relative), self.to.join(relative));
        let unreadable = |error| WorkspaceError::io("read", &from, error);
        fs::create_dir(&to).map_err(|error| WorkspaceError::io("create", &to, error))?;
        for entry in fs::read_dir(&from).map_err(unreadable)? {
            if self.cancel.is_cancelled() {
                return Err(WorkspaceError::Stopped);
            }
            let entry = entry.map_err(unreadable)?;
            let kind = entry.file_type().map_err(unreadable)?;
            let inner = relative.join(entry.file_name());
            if is_left_out(&entry.path(), kind.is_dir()) {
                continue;
            }
            if kind.is_dir() {
                self.directory(&inner)?;
            } else if kind.is_symlink() {
                self.link(&inner)?;
            } else if kind.is_file() {
                self.file(&inner)?;
            }
            // Servers read no sockets, pipes or devices.
        }
        let meta = fs::metadata(&from).map_err(unreadable)?;
        keep_rights(&to, &meta).map_err(|error| WorkspaceError::io("set the rights of", &to, error))?;
        keep_times(&to, &meta);
        Ok(())
    }

    fn file(&self, relative: &Path) -> Result<(), WorkspaceError> {
        let (from, to) = (self.from.join(relative), self.to.join(relative));
        match self.method {
            Method::Copy => contents(&from, &to, self.cancel)?,
            Method::Reflink => reflink(&from, &to)?,
        }
        let meta = fs::metadata(&from).map_err(|error| WorkspaceError::io("read", &from, error))?;
        keep_rights(&to, &meta).map_err(|error| WorkspaceError::io("set the rights of", &to, error))?;
        keep_times(&to, &meta);
        Ok(())
    }

    /// A link inside the tree points into the copy; a link out of it keeps its target. No link points into the
    /// original.
    fn link(&self, relative: &Path) -> Result<(), WorkspaceError> {
        let (from, to) = (self.from.join(relative), self.to.join(relative));
        let goal = fs::read_link(&from).map_err(|error| WorkspaceError::io("read", &from, error))?;
        let goal = if goal.is_absolute() {
            goal.strip_prefix(self.from)
                .map(|inner| self.to.join(inner))
                .unwrap_or(goal)
        } else if leaves(relative, &goal) {
            let led_to = cleaned(&from.parent().unwrap_or(self.from).join(&goal));
            led_to
                .strip_prefix(self.from)
                .map(|inner| self.to.join(inner))
                .unwrap_or(led_to)
        } else {
            goal
        };
        symlink(&goal, &from, &to).map_err(|error| WorkspaceError::io("link", &to, error))
    }
}

/// True if a relative link at `relative` leads above the root.
fn leaves(relative: &Path, goal: &Path) -> bool {
    let mut depth = relative.components().count().saturating_sub(1);
    for component in goal.components() {
        match component {
            Component::ParentDir if depth == 0 => return true,
            Component::ParentDir => depth -= 1,
            Component::Normal(_) => depth += 1,
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    false
}

/// The path without `.` and `..`.
fn cleaned(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                clean.pop();
            }
            Component::CurDir => {}
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => clean.push(component),
        }
    }
    clean
}

/// Longest file copied in one go, in bytes.
#[cfg(target_os = "linux")]
const LONG: u64 = 1 << 20;

/// Copies the contents of a file. A long file shares its blocks if the file system supports that; otherwise holes are
/// kept, and copying may be cancelled in the middle.
#[cfg(target_os = "linux")]
fn contents(from: &Path, to: &Path, cancel: &Cancel) -> Result<(), WorkspaceError> {
    let failed = |error| WorkspaceError::io("copy", from, error);
    let (source, meta) = regular_file::open(from).map_err(failed)?;
    let mut target = File::create_new(to).map_err(|error| WorkspaceError::io("create", to, error))?;
    if meta.len() <= LONG {
        return io::copy(&mut source.take(LONG), &mut target).map(drop).map_err(failed);
    }
    if rustix::fs::ioctl_ficlone(&target, &source).is_ok() {
        return Ok(());
    }
    if keep_holes(&source, &target, meta.len(), cancel).map_err(failed)? {
        return Ok(());
    }
    Err(WorkspaceError::Stopped)
}

/// Copies the data between the holes of a file. Returns false if it stopped before the end.
#[cfg(target_os = "linux")]
fn keep_holes(source: &File, target: &File, length: u64, cancel: &Cancel) -> io::Result<bool> {
    use std::os::unix::fs::FileExt;

    use rustix::fs::{SeekFrom, seek};
    use rustix::io::Errno;

    let mut buffer = vec![0; LONG as usize];
    let mut at = 0;
    while at < length {
        // A file system without holes reports that everything is data.
        let data = match seek(source, SeekFrom::Data(at)) {
            Err(Errno::NXIO) => break,
            data => data.unwrap_or(at),
        };
        let hole = seek(source, SeekFrom::Hole(data)).unwrap_or(length).min(length);
        at = data;
        while at < hole {
            if cancel.is_cancelled() {
                return Ok(false);
            }
            let most = usize::try_from(hole - at).map_or(buffer.len(), |left| left.min(buffer.len()));
            match source.read_at(&mut buffer[..most], at)? {
                0 => return Ok(true),
                read => {
                    target.write_all_at(&buffer[..read], at)?;
                    at += read as u64;
                }
            }
        }
    }
    target.set_len(length)?;
    Ok(true)
}

#[cfg(not(target_os = "linux"))]
fn contents(from: &Path, to: &Path, _cancel: &Cancel) -> Result<(), WorkspaceError> {
    let copied = fs::copy(from, to);
    copied
        .map(drop)
        .map_err(|error| WorkspaceError::io("copy", from, error))
}

#[cfg(target_os = "linux")]
pub(super) fn reflink(from: &Path, to: &Path) -> Result<(), WorkspaceError> {
    use rustix::io::Errno;

    let (source, _) = regular_file::open(from).map_err(|error| WorkspaceError::io("read", from, error))?;
    let target = File::create_new(to).map_err(|error| WorkspaceError::io("create", to, error))?;
    rustix::fs::ioctl_ficlone(&target, &source).map_err(|errno| {
        let reason = match errno {
            Errno::XDEV => "they are on different file systems (set TMPDIR to one on the same)".to_owned(),
            Errno::OPNOTSUPP | Errno::INVAL | Errno::NOTTY => "the file system has no reflinks".to_owned(),
            other => other.to_string(),
        };
        WorkspaceError::Reflink {
            path: from.to_owned(),
            reason,
        }
    })
}

#[cfg(not(target_os = "linux"))]
pub(super) fn reflink(from: &Path, _to: &Path) -> Result<(), WorkspaceError> {
    let reason = "lsp-soak shares blocks only on Linux (on macOS every copy on APFS shares its blocks)".to_owned();
    Err(WorkspaceError::Reflink {
        path: from.to_owned(),
        reason,
    })
}

/// Copies the rights and adds the owner's write right: saving and removing must work in a copy of a read-only tree, for
/// example a module cache.
#[cfg(unix)]
fn keep_rights(to: &Path, meta: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let owner = if meta.is_dir() { 0o700 } else { 0o600 };
    fs::set_permissions(
        to,
        fs::Permissions::from_mode((meta.permissions().mode() & 0o777) | owner),
    )
}

#[cfg(not(unix))]
#[expect(
    clippy::permissions_set_readonly_false,
    reason = "this is the platform on which it means just that"
)]
fn keep_rights(to: &Path, _meta: &Metadata) -> io::Result<()> {
    let mut rights = fs::metadata(to)?.permissions();
    if rights.readonly() {
        rights.set_readonly(false);
        fs::set_permissions(to, rights)?;
    }
    Ok(())
}

/// Keeps the modification time where the system allows it: servers compare times, but none depends on them.
fn keep_times(to: &Path, meta: &Metadata) {
    if let (Ok(modified), Ok(file)) = (meta.modified(), File::open(to)) {
        let _ = file.set_times(FileTimes::new().set_modified(modified));
    }
}

#[cfg(unix)]
fn symlink(goal: &Path, _from: &Path, to: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(goal, to)
}

#[cfg(windows)]
fn symlink(goal: &Path, from: &Path, to: &Path) -> io::Result<()> {
    if from.is_dir() {
        std::os::windows::fs::symlink_dir(goal, to)
    } else {
        std::os::windows::fs::symlink_file(goal, to)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_copy_of_a_large_file_can_be_cancelled() {
        let directory = tempfile::tempdir().unwrap();
        let (from, to) = (directory.path().join("from"), directory.path().join("to"));
        fs::write(&from, vec![1; 3 << 20]).unwrap();
        let (source, target) = (File::open(&from).unwrap(), File::create(&to).unwrap());
        let cancel = Cancel::default();
        assert!(keep_holes(&source, &target, 3 << 20, &cancel).unwrap());
        assert_eq!(fs::read(&to).unwrap(), fs::read(&from).unwrap());
        cancel.cancel();
        let target = File::create(&to).unwrap();
        assert!(!keep_holes(&source, &target, 3 << 20, &cancel).unwrap());
        assert_eq!(
            target.metadata().unwrap().len(),
            0,
            "not even its first part was copied"
        );
    }
}
