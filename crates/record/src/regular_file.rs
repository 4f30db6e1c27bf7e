//! Access to files that others control, such as those of a workspace. Only regular files are opened, no link is
//! followed, no call blocks, and reads are bounded. Paths are canonical: no part may be a link.

use std::fs::{File, Metadata};
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::SystemTime;

use base::units;

pub fn open(path: &Path) -> io::Result<(File, Metadata)> {
    open_for(Access::Read, path)
}

/// Reads a file of at most `most` bytes.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let (file, meta) = open(path)?;
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len().min(most)).unwrap_or(0));
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let long = format!("it has over {}", units::bytes(most));
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, long));
    }
    Ok(bytes)
}

/// Overwrites a file in place, so programs that have it open see the change.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // Truncate only after the check that this is a regular file.
    let (mut file, _) = open_for(Access::Write, path)?;
    file.set_len(0)?;
    file.write_all(bytes)
}

/// True if the error comes from the disk of the workspace and not from the server.
pub fn is_disk_error(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::ReadOnlyFilesystem
    )
}

/// The error for anything but a regular file.
pub fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")
}

pub fn remove(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    let removed = below::remove(path);
    #[cfg(not(unix))]
    let removed = std::fs::remove_file(path);
    removed
}

/// Gives a regular file another path on the same file system, in place of what is there.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    open(from)?;
    #[cfg(unix)]
    let renamed = below::rename(from, to);
    #[cfg(not(unix))]
    let renamed = std::fs::rename(from, to);
    renamed
}

/// Sets the time of the last change of a regular file.
pub fn set_modified(path: &Path, time: SystemTime) -> io::Result<()> {
    let (file, _) = open_for(Access::Write, path)?;
    file.set_modified(time)
}

/// Creates the missing directories of `path` below `root`.
pub fn create_directories(root: &Path, path: &Path) -> io::Result<()> {
    let below = path.strip_prefix(root).map_err(io::Error::other)?;
    let mut directory = root.to_owned();
    for part in below {
        directory.push(part);
        #[cfg(unix)]
        let created = below::create_directory(&directory);
        #[cfg(not(unix))]
        let created = std::fs::create_dir(&directory);
        match created {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    /// Creates a missing file.
    Write,
}

fn open_for(access: Access, path: &Path) -> io::Result<(File, Metadata)> {
    #[cfg(unix)]
    let file = below::open(path, access)?;
    #[cfg(not(unix))]
    let file = File::options()
        .read(access == Access::Read)
        .write(access == Access::Write)
        .create(access == Access::Write)
        .open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(not_regular());
    }
    Ok((file, meta))
}

/// Path lookup without links: a link in place of a directory could lead to other people's files.
#[cfg(unix)]
mod below {
    use std::ffi::OsStr;
    use std::fs::File;
    use std::io;
    use std::os::fd::OwnedFd;
    use std::path::{Component, Path};

    use rustix::fs::{AtFlags, FileType, Mode, OFlags, mkdirat, openat, renameat, statat, unlinkat};
    use rustix::io::Errno;

    /// Opens a directory for lookup. Linux does not need read permission for that.
    #[cfg(target_os = "linux")]
    const PASS: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
    #[cfg(not(target_os = "linux"))]
    const PASS: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

    pub(super) fn open(path: &Path, access: super::Access) -> io::Result<File> {
        let (directory, name) = directory(path)?;
        let kind =
            statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| FileType::from_raw_mode(stat.st_mode));
        if kind.is_ok_and(|kind| kind != FileType::RegularFile) {
            return Err(super::not_regular());
        }
        let access = match access {
            super::Access::Write => OFlags::WRONLY | OFlags::CREATE,
            super::Access::Read => OFlags::RDONLY,
        };
        // The file may have changed since the check: opening a pipe would block.
        let guard = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        Ok(openat(&directory, name, access | guard, Mode::from_raw_mode(0o666))?.into())
    }

    pub(super) fn remove(path: &Path) -> io::Result<()> {
        let (directory, name) = directory(path)?;
        Ok(unlinkat(&directory, name, AtFlags::empty())?)
    }

    pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
        let (from_directory, from_name) = directory(from)?;
        let (to_directory, to_name) = directory(to)?;
        Ok(renameat(&from_directory, from_name, &to_directory, to_name)?)
    }

    pub(super) fn create_directory(path: &Path) -> io::Result<()> {
        let (directory, name) = directory(path)?;
        Ok(mkdirat(&directory, name, Mode::from_raw_mode(0o777))?)
    }

    /// The open directory of a path, and the file name.
    fn directory(path: &Path) -> io::Result<(OwnedFd, &OsStr)> {
        let (above, name) = path.parent().zip(path.file_name()).ok_or_else(super::not_regular)?;
        let start = if path.is_absolute() { "/" } else { "." };
        let mut directory = rustix::fs::open(start, PASS, Mode::empty())?;
        for part in above.components() {
            if let Component::Normal(_) | Component::ParentDir = part {
                directory = openat(&directory, part.as_os_str(), PASS | OFlags::NOFOLLOW, Mode::empty())
                    .map_err(no_directory)?;
            }
        }
        Ok((directory, name))
    }

    fn no_directory(error: Errno) -> io::Error {
        match error {
            Errno::NOTDIR | Errno::LOOP => {
                io::Error::new(io::ErrorKind::NotADirectory, "a directory above it is a link or a file")
            }
            error => error.into(),
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_no_regular_file_is_neither_read_nor_written_and_nothing_waits() {
        let temporary = tempfile::tempdir().unwrap();
        let dir = temporary.path();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            dir.join("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RWXU,
            0,
        )
        .unwrap();
        std::os::unix::fs::symlink("/dev/zero", dir.join("zero")).unwrap();
        fs::write(dir.join("file"), "text").unwrap();
        std::os::unix::fs::symlink(dir.join("file"), dir.join("link")).unwrap();
        fs::create_dir(dir.join("dir")).unwrap();
        for name in ["pipe", "zero", "link", "dir"] {
            assert!(read(&dir.join(name), 100).is_err(), "{name}");
            assert!(write(&dir.join(name), b"x").is_err(), "{name}");
        }
        assert_eq!(fs::read(dir.join("file")).unwrap(), b"text");
        assert_eq!(
            read(Path::new("/dev/zero"), 100).unwrap_err().kind(),
            io::ErrorKind::InvalidInput
        );
        assert_eq!(
            read(&dir.join("nothing"), 100).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
    }

    #[test]
    fn no_directory_of_a_path_may_be_a_link() {
        let temporary = tempfile::tempdir().unwrap();
        let dir = temporary.path();
        fs::create_dir_all(dir.join("theirs/deep")).unwrap();
        fs::write(dir.join("theirs/deep/file"), "text").unwrap();
        std::os::unix::fs::symlink(dir.join("theirs"), dir.join("ours")).unwrap();
        let path = dir.join("ours/deep/file");
        assert_eq!(read(&path, 100).unwrap_err().kind(), io::ErrorKind::NotADirectory);
        assert!(write(&path, b"x").is_err() && write(&dir.join("ours/deep/new"), b"x").is_err());
        assert!(remove(&path).is_err());
        assert_eq!(fs::read(dir.join("theirs/deep/file")).unwrap(), b"text");
        assert!(!dir.join("theirs/deep/new").exists());
        remove(&dir.join("theirs/deep/file")).unwrap();
        assert!(!dir.join("theirs/deep/file").exists());
    }

    #[test]
    fn a_file_is_read_up_to_a_length_and_written_in_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "12345").unwrap();
        assert_eq!(read(&path, 5).unwrap(), b"12345");
        assert_eq!(read(&path, 4).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        write(&path, b"ab").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"ab");
        write(&dir.path().join("new"), b"c").unwrap();
        assert_eq!(fs::read(dir.path().join("new")).unwrap(), b"c");
    }
}
