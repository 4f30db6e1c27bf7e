//! Selects the files that a scenario may open, in an order that is the same on every system.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::{WorkspaceError, canonical};
use crate::config::files;
use crate::config::glob::Glob;
use crate::drive::language;
use base::Cancel;
use record::regular_file;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    pub path: PathBuf,
    /// Path relative to the workspace, with `/` on every system.
    pub relative: String,
    /// In bytes.
    pub size: u64,
    pub language: String,
}

impl SourceFile {
    /// Most bytes read: the file may grow after it was listed.
    pub fn most(&self) -> u64 {
        const LEAST: u64 = 1 << 20;
        /// More than the line that `touch` adds.
        const LINE: u64 = 256;
        self.size.saturating_add(LINE).max(LEAST)
    }
}

/// The files that a pattern selects.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Selection {
    /// Sorted by relative path.
    pub files: Vec<SourceFile>,
    /// Sum of their sizes.
    pub bytes: u64,
    /// SHA-256 over their paths and contents, in hexadecimal.
    pub sha256: String,
    /// Files that match but are larger than `largest`.
    pub too_large: u64,
    /// Size limit in bytes.
    pub largest: u64,
}

/// Finds the files under `root` that match `pattern`, match none of `exclude` and have at most `largest` bytes. Finding
/// none is an error. Reading may take long, so `cancel` is checked between files.
pub fn select(
    root: &Path,
    pattern: &Glob,
    exclude: &[Glob],
    language: &str,
    largest: u64,
    cancel: &Cancel,
) -> Result<Selection, WorkspaceError> {
    let root = &canonical(root)?;
    let listing = files::find(root, pattern, exclude).map_err(|error| WorkspaceError::io("read", root, error))?;
    let mut files = Vec::with_capacity(listing.files.len());
    let mut too_large = 0;
    for below in &listing.files {
        let Some(relative) = relative(below) else { continue };
        let path = root.join(below);
        let size = fs::metadata(&path)
            .map_err(|error| WorkspaceError::io("read", &path, error))?
            .len();
        if size > largest {
            too_large += 1;
            continue;
        }
        let language = language::id_of(&path, language);
        files.push(SourceFile {
            path,
            relative,
            size,
            language,
        });
    }
    if files.is_empty() {
        let (path, pattern) = (root.to_owned(), pattern.as_str().to_owned());
        return Err(WorkspaceError::NoMatch {
            path,
            pattern,
            seen: listing.others(),
        });
    }
    files.sort_by(|a, b| a.relative.cmp(&b.relative));
    let bytes = files.iter().map(|file| file.size).sum();
    let sha256 = hash(&files, largest, cancel)?;
    Ok(Selection {
        files,
        bytes,
        sha256,
        too_large,
        largest,
    })
}

/// The path with `/`; `None` if it is not Unicode, because no URI in a scenario could name it.
fn relative(below: &Path) -> Option<String> {
    let parts: Option<Vec<&str>> = below.iter().map(|part| part.to_str()).collect();
    parts.map(|parts| parts.join("/"))
}

fn hash(files: &[SourceFile], largest: u64, cancel: &Cancel) -> Result<String, WorkspaceError> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    for file in files {
        let failed = |error| WorkspaceError::io("read", &file.path, error);
        // Lengths first, so that different trees never feed the same bytes.
        hasher.update((file.relative.len() as u64).to_le_bytes());
        hasher.update(file.relative.as_bytes());
        hasher.update(file.size.to_le_bytes());
        let (contents, _) = regular_file::open(&file.path).map_err(failed)?;
        let mut contents = contents.take(largest);
        loop {
            if cancel.is_cancelled() {
                return Err(WorkspaceError::Stopped);
            }
            match contents.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => hasher.update(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
