//! Which files of a workspace a scenario may open, in an order that is the same on every system.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use sha2::{Digest, Sha256};

use super::{WorkspaceError, copy};
use crate::config::glob::Glob;
use crate::drive::language;

/// A file that may be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its path in the workspace, with `/` between the parts on every system.
    pub relative: String,
    /// Its bytes.
    pub size: u64,
    /// Its language id.
    pub language: String,
}

/// The files that a pattern selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Sorted by their path in the workspace.
    pub files: Vec<SourceFile>,
    /// Their bytes together.
    pub bytes: u64,
    /// SHA-256 over their paths and contents, in hexadecimal.
    pub sha256: String,
}

/// Directories of other people's code: servers need them, but nobody edits there. A pattern that names one enters it.
const FOREIGN: &[&str] = &[
    "bower_components",
    "node_modules",
    "site-packages",
    "venv",
    "virtualenv",
];

/// Finds the files under `root` that match `pattern` and none of `exclude`; to find none is an error.
pub fn select(root: &Path, pattern: &Glob, exclude: &[Glob], language: &str) -> Result<Selection, WorkspaceError> {
    let root_owned = root.to_owned();
    let named: Vec<String> = pattern.as_str().split('/').map(str::to_owned).collect();
    let walk = WalkBuilder::new(root)
        .standard_filters(false)
        .filter_entry(move |entry| {
            let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
            entry.path() == root_owned || !is_dir || enters(entry.path(), &named)
        })
        .build();
    let mut files = Vec::new();
    let mut others: BTreeMap<String, u64> = BTreeMap::new();
    for entry in walk {
        let entry = entry.map_err(|error| walk_error(root, error))?;
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            continue;
        }
        let Some(relative) = relative(root, entry.path()) else {
            continue;
        };
        if !pattern.matches(Path::new(&relative)) {
            let extension = entry
                .path()
                .extension()
                .map(|extension| format!(".{}", extension.display()));
            *others
                .entry(extension.unwrap_or_else(|| "without extension".to_owned()))
                .or_default() += 1;
            continue;
        }
        if exclude.iter().any(|glob| glob.matches(Path::new(&relative))) {
            continue;
        }
        let size = entry.metadata().map_err(|error| walk_error(root, error))?.len();
        let language = language::id_of(entry.path(), language);
        files.push(SourceFile {
            path: entry.into_path(),
            relative,
            size,
            language,
        });
    }
    if files.is_empty() {
        return Err(WorkspaceError::NoMatch {
            path: root.to_owned(),
            pattern: pattern.as_str().to_owned(),
            seen: describe(&others),
        });
    }
    files.sort_by(|a, b| a.relative.cmp(&b.relative));
    let bytes = files.iter().map(|file| file.size).sum();
    let sha256 = hash(&files)?;
    Ok(Selection { files, bytes, sha256 })
}

/// Whether files are looked for in a directory.
fn enters(dir: &Path, named: &[String]) -> bool {
    let Some(name) = dir.file_name().and_then(|name| name.to_str()) else {
        return true;
    };
    if named.iter().any(|part| part == name) {
        return true;
    }
    let foreign = name.starts_with('.')
        || FOREIGN.contains(&name)
        || dir.join("pyvenv.cfg").exists()
        || (name == "vendor" && dir.join("modules.txt").exists());
    !foreign && !copy::is_left_out(dir, true)
}

/// The path below `root`, with `/`; `None` for a name that is not Unicode, which no URI in a scenario could name.
fn relative(root: &Path, path: &Path) -> Option<String> {
    let below = path.strip_prefix(root).ok()?;
    let parts: Option<Vec<&str>> = below.iter().map(|part| part.to_str()).collect();
    parts.map(|parts| parts.join("/"))
}

/// `12 files seen: 7 .ts, 5 .json`, most frequent first.
fn describe(others: &BTreeMap<String, u64>) -> String {
    let total: u64 = others.values().sum();
    let mut kinds: Vec<(&String, &u64)> = others.iter().collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let named: Vec<String> = kinds
        .iter()
        .take(4)
        .map(|(kind, count)| format!("{count} {kind}"))
        .collect();
    match total {
        0 => "it holds no files".to_owned(),
        _ => format!("{total} files seen: {}", named.join(", ")),
    }
}

fn hash(files: &[SourceFile]) -> Result<String, WorkspaceError> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    for file in files {
        let failed = |error| WorkspaceError::io("read", &file.path, error);
        // Lengths first, so that no two different trees feed the same bytes.
        hasher.update((file.relative.len() as u64).to_le_bytes());
        hasher.update(file.relative.as_bytes());
        hasher.update(file.size.to_le_bytes());
        let mut contents = File::open(&file.path).map_err(failed)?;
        loop {
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

fn walk_error(root: &Path, error: ignore::Error) -> WorkspaceError {
    let text = error.to_string();
    WorkspaceError::io(
        "read",
        root,
        error.into_io_error().unwrap_or_else(|| io::Error::other(text)),
    )
}
