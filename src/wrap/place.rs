//! Where the record of a session lies, and what stops it from growing.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Context;

use crate::resolve::{path_in_variable, which};
use record::Storage;

use super::platform;

/// Size of the largest record, in bytes.
pub const LARGEST: u64 = 64 << 20;
/// Size up to which messages are recorded; what follows it is memory, which says how a long session goes on.
const MESSAGES: u64 = 44 << 20;
/// Size up to which memory is recorded; the rest is for the end, and for what waits to be written.
const MEMORY: u64 = 56 << 20;

/// Bytes of a record that are on the disk.
#[derive(Clone, Debug, Default)]
pub struct Written(Arc<AtomicU64>);

impl Written {
    pub fn has_room_for_messages(&self) -> bool {
        self.0.load(Ordering::Relaxed) < MESSAGES
    }

    pub fn has_room_for_memory(&self) -> bool {
        self.0.load(Ordering::Relaxed) < MEMORY
    }
}

/// A file that counts what is written, and refuses to become larger than a record may be.
pub struct Limited {
    file: File,
    written: Written,
}

impl Limited {
    pub fn new(file: File, written: &Written) -> Limited {
        Limited {
            file,
            written: written.clone(),
        }
    }
}

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = LARGEST.saturating_sub(self.written.0.load(Ordering::Relaxed));
        let taken = usize::try_from(room).map_or(bytes.len(), |room| room.min(bytes.len()));
        if taken == 0 {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let written = self.file.write(&bytes[..taken])?;
        self.written.0.fetch_add(written as u64, Ordering::Relaxed);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Storage for Limited {
    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_all()
    }
}

/// The program as it is started. Windows starts scripts only by their whole name.
pub fn program(word: &OsStr) -> OsString {
    if cfg!(windows) {
        found(word).map_or_else(|| word.to_owned(), PathBuf::into_os_string)
    } else {
        word.to_owned()
    }
}

/// The file of the program.
pub fn found(word: &OsStr) -> Option<PathBuf> {
    which(None).command(word.to_str()?)
}

/// Creates the file of a record, named after what ran, when and as which process.
pub fn create(out: Option<&Path>, label: &str, started: &str, pid: u32) -> anyhow::Result<File> {
    let directory = match out {
        Some(directory) => directory.to_owned(),
        None => states().context("there is no home directory: set XDG_STATE_HOME, or use --out")?,
    };
    let time: String = started.chars().filter(char::is_ascii_digit).take(14).collect();
    let name = format!("{label}-{time}-{pid}.jsonl");
    let file = platform::create_private(&directory, &name);
    file.with_context(|| format!("cannot create `{}`", directory.join(name).display()))
}

/// A directory of ours among the user's states; `None` without a home.
fn states() -> Option<PathBuf> {
    let states = if cfg!(windows) {
        path_in_variable("LOCALAPPDATA")?
    } else if cfg!(target_os = "macos") {
        path_in_variable("HOME")?.join("Library/Application Support")
    } else if let Some(states) = path_in_variable("XDG_STATE_HOME") {
        states
    } else {
        path_in_variable("HOME")?.join(".local/state")
    };
    Some(states.join("lsp-soak"))
}
