//! Files that others name or change, such as those of a workspace while a server runs: only regular files are opened, no
//! link is followed, nothing is waited for, and reading has an end.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

use crate::units;

/// Opens a file to be read.
pub fn open(path: &Path) -> io::Result<(File, Metadata)> {
    regular(path, OpenOptions::new().read(true))
}

/// Reads a file that has at most so many bytes.
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

/// Writes a file anew, in its place: who has it open sees the change.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // It is cut only when it is known what it is.
    let options = &mut OpenOptions::new();
    let (mut file, _) = regular(path, options.write(true).create(true).truncate(false))?;
    file.set_len(0)?;
    file.write_all(bytes)
}

/// Whether a failure is that of the place where the workspace lies, and nothing that a server did to a file of it.
pub fn is_ours(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::ReadOnlyFilesystem
    )
}

/// What is said of anything else than a regular file.
pub fn other() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")
}

fn regular(path: &Path, options: &mut OpenOptions) -> io::Result<(File, Metadata)> {
    if std::fs::symlink_metadata(path).is_ok_and(|meta| !meta.is_file()) {
        return Err(other());
    }
    // Between the look and the opening anything may have come; a pipe would wait for its other end.
    guard(options);
    let file = options.open(path)?;
    let meta = file.metadata()?;
    match meta.is_file() {
        true => Ok((file, meta)),
        false => Err(other()),
    }
}

#[cfg(unix)]
fn guard(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt;
    options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY);
}

#[cfg(not(unix))]
fn guard(_options: &mut OpenOptions) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_no_regular_file_is_neither_read_nor_written_and_nothing_waits() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        rustix::fs::mknodat(
            rustix::fs::CWD,
            at("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RWXU,
            0,
        )
        .unwrap();
        std::os::unix::fs::symlink("/dev/zero", at("zero")).unwrap();
        fs::write(at("file"), "text").unwrap();
        std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
        fs::create_dir(at("dir")).unwrap();
        for name in ["pipe", "zero", "link", "dir"] {
            assert!(read(&at(name), 100).is_err(), "{name}");
            assert!(write(&at(name), b"x").is_err(), "{name}");
            // What comes between the look and the opening meets the flags alone.
            let mut options = OpenOptions::new();
            guard(options.read(true));
            let opened = options.open(at(name)).and_then(|file| file.metadata());
            assert!(!opened.is_ok_and(|meta| meta.is_file()), "{name}");
        }
        assert_eq!(fs::read(at("file")).unwrap(), b"text");
        assert_eq!(
            read(Path::new("/dev/zero"), 100).unwrap_err().kind(),
            io::ErrorKind::InvalidInput
        );
        assert_eq!(read(&at("nothing"), 100).unwrap_err().kind(), io::ErrorKind::NotFound);
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
