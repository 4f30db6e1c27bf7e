//! Finds the files that a scenario may open, and excludes directories without the project's own code.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ignore::{Walk, WalkBuilder};

use super::glob::Glob;
use base::units::Size;

/// Directories of third-party code: servers need them, but nobody edits there. A pattern that names one enters it.
const FOREIGN: &[&str] = &[
    "bower_components", "node_modules", "site-packages", "venv", "virtualenv",
];

/// Directories that no server needs: histories, and caches that would make the second run start warmer.
const LEFT_OUT: &[&str] = &[
    ".cache", ".git", ".hg", ".jj", ".mypy_cache", ".nox", ".pytest_cache", ".ruff_cache", ".svn", ".tox",
    ".zig-cache", "__pycache__", "zig-cache", "zig-out",
];

/// Larger files are not opened by default: editors treat them differently too.
pub const LARGEST: Size = Size(4 << 20);

/// The result of a search under a root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundFiles {
    /// The matching files, relative to the root, sorted.
    pub files: Vec<PathBuf>,
    /// The number of other files, by kind.
    others: BTreeMap<String, u64>,
}

/// The files under `root` that match `pattern` and none of `exclude`. Does not follow symbolic links, so that nothing
/// outside is touched.
pub fn find(root: &Path, pattern: &Glob, exclude: &[Glob]) -> io::Result<FoundFiles> {
    let top = root.to_owned();
    let named: Vec<String> = pattern.as_str().split('/').map(str::to_owned).collect();
    let walk = WalkBuilder::new(root)
        .standard_filters(false)
        .filter_entry(move |entry| {
            let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
            entry.path() == top || !is_dir || enters(entry.path(), &named)
        })
        .build();
    let mut listing = FoundFiles::default();
    for entry in walk {
        let entry = entry.map_err(io::Error::other)?;
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            continue;
        }
        let Ok(path) = entry.path().strip_prefix(root) else {
            continue;
        };
        if !pattern.matches(path) {
            let extension = path.extension().map(|extension| format!(".{}", extension.display()));
            *listing
                .others
                .entry(extension.unwrap_or_else(|| "without extension".to_owned()))
                .or_default() += 1;
        } else if !exclude.iter().any(|glob| glob.matches(path)) {
            listing.files.push(path.to_owned());
        }
    }
    listing.files.sort();
    Ok(listing)
}

/// Everything under `root` that a copy of it has.
pub fn walk_copied(root: &Path) -> Walk {
    let top = root.to_owned();
    WalkBuilder::new(root)
        .standard_filters(false)
        .filter_entry(move |entry| {
            let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
            entry.path() == top || !is_left_out(entry.path(), is_dir)
        })
        .build()
}

/// The files under `root` that a copy has, each with what changes when it is written to.
pub fn snapshot(root: &Path) -> io::Result<BTreeMap<PathBuf, FileState>> {
    let mut files = BTreeMap::new();
    for entry in walk_copied(root) {
        let entry = entry.map_err(io::Error::other)?;
        let meta = entry.metadata().map_err(io::Error::other)?;
        if meta.is_file() {
            let state = FileState {
                length: meta.len(),
                written: meta.modified().ok(),
            };
            files.insert(entry.into_path(), state);
        }
    }
    Ok(files)
}

/// The length in bytes and the time of the last change of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileState {
    length: u64,
    written: Option<SystemTime>,
}

/// The directories under `root` that match a pattern, relative to it, sorted, each once. Does not follow symbolic links.
pub fn directories(root: &Path, patterns: &[Glob]) -> io::Result<Vec<PathBuf>> {
    let top = root.to_owned();
    let named: Vec<String> = patterns
        .iter()
        .flat_map(|pattern| pattern.as_str().split('/').map(str::to_owned))
        .collect();
    let walk = WalkBuilder::new(root)
        .standard_filters(false)
        .filter_entry(move |entry| {
            let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
            entry.path() == top || (is_dir && enters(entry.path(), &named))
        })
        .build();
    let mut found = Vec::new();
    for entry in walk {
        let entry = entry.map_err(io::Error::other)?;
        let Ok(below) = entry.path().strip_prefix(root) else {
            continue;
        };
        if below != Path::new("") && patterns.iter().any(|pattern| pattern.matches(below)) {
            found.push(below.to_owned());
        }
    }
    found.sort();
    Ok(found)
}

/// The excluded directories under `root` that contain matching files, relative to it; the one with most matches first.
pub fn passed_over(root: &Path, pattern: &Glob, exclude: &[Glob]) -> Vec<PathBuf> {
    let named: Vec<String> = pattern.as_str().split('/').map(str::to_owned).collect();
    let matches = |file: &Path| {
        let below = file.strip_prefix(root);
        below.is_ok_and(|below| pattern.matches(below) && !exclude.iter().any(|glob| glob.matches(below)))
    };
    let matching = |dir: &Path| {
        let all = WalkBuilder::new(dir).standard_filters(false).build().flatten();
        let files = all.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
        files.filter(|file| matches(file.path())).count()
    };
    let mut passed = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            let path = entry.path();
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            if enters(&path, &named) {
                open.push(path);
            } else if let Ok(below) = path.strip_prefix(root) {
                passed.push((Reverse(matching(&path)), below.to_owned()));
            }
        }
    }
    passed.retain(|(matching, _)| matching.0 > 0);
    passed.sort();
    passed.into_iter().map(|(_, dir)| dir).collect()
}

impl FoundFiles {
    /// `12 files seen: 7 .ts, 5 .json`, most frequent first.
    pub fn others(&self) -> String {
        let total: u64 = self.others.values().sum();
        let mut kinds: Vec<(&String, &u64)> = self.others.iter().collect();
        kinds.sort_by_key(|(_, count)| Reverse(**count));
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
}

/// True if a copy excludes an entry.
pub fn is_left_out(path: &Path, is_dir: bool) -> bool {
    let Some(name) = path.file_name() else { return false };
    if LEFT_OUT.iter().any(|left_out| name == *left_out) {
        return true;
    }
    if is_dir
        && path.join("invocation.json").exists()
        && path.parent().is_some_and(|parent| parent.ends_with("reports"))
    {
        // lsp-soak's own records, which grow from run to run.
        return true;
    }
    // The tag that cargo and others put into caches. uv puts it into virtual environments too, which servers need.
    is_dir && path.join("CACHEDIR.TAG").exists() && !path.join("pyvenv.cfg").exists()
}

/// True if a directory is searched for files.
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
    !foreign && !is_left_out(dir, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tools_made_and_what_is_excluded_is_left_out() {
        let root = tempfile::tempdir().unwrap();
        for path in [
            "b.py", "a/c.py", "a/t_test.py", "node_modules/x.py", ".venv/y.py", "__pycache__/z.py", "a.txt",
        ] {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let listing = find(
            root.path(),
            &"**/*.py".parse().unwrap(),
            &["**/*_test.py".parse().unwrap()],
        )
        .unwrap();
        assert_eq!(listing.files, [Path::new("a/c.py"), Path::new("b.py")]);
    }

    #[test]
    fn records_of_runs_are_no_part_of_the_project() {
        let root = tempfile::tempdir().unwrap();
        let runs = root.path().join("reports/20261121-120000-soak");
        fs::create_dir_all(&runs).unwrap();
        assert!(!is_left_out(&runs, true));
        fs::write(runs.join("invocation.json"), "{}").unwrap();
        assert!(is_left_out(&runs, true));
        assert!(!is_left_out(&root.path().join("reports"), true));
    }

    #[test]
    fn what_is_passed_over_is_told_where_it_would_match() {
        let root = tempfile::tempdir().unwrap();
        for path in [
            "lib/python3.11/site-packages/shop/a.py",
            "lib/python3.11/site-packages/b.py",
            ".venv/c.py",
            "node_modules/d.js",
            ".git/HEAD",
            "e.txt",
            "vendor/t_test.py",
        ] {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let passed = |pattern: &str| {
            passed_over(
                root.path(),
                &pattern.parse().unwrap(),
                &["**/*_test.py".parse().unwrap()],
            )
        };
        let all = ["lib/python3.11/site-packages", ".venv"].map(PathBuf::from);
        assert_eq!(passed("**/*.py"), all);
        assert_eq!(passed("lib/python3.11/site-packages/**/*.py"), [] as [PathBuf; 0]);
        assert_eq!(passed("*.py"), [] as [PathBuf; 0]);
    }
}
