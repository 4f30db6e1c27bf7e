//! Finds programs the way a shell does, in a search path that is handed in.

use std::cmp::Reverse;
use std::ffi::{OsStr, OsString};
use std::fs::{self, FileType};
use std::path::{Path, PathBuf};

use super::script::first_line;

/// A search path.
#[derive(Clone, Debug, Default)]
pub struct Which {
    path: OsString,
    endings: Option<OsString>,
}

impl Which {
    /// `path` is what PATH holds; `endings` what PATHEXT holds on Windows, `None` elsewhere.
    pub fn new(path: impl Into<OsString>, endings: Option<OsString>) -> Which {
        let path = path.into();
        Which { path, endings }
    }

    /// The first program of this name.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        std::env::split_paths(&self.path)
            .filter(|directory| !directory.as_os_str().is_empty())
            .find_map(|directory| self.path(&directory.join(name)))
    }

    /// The program at this path, made absolute. Links are not resolved: a Python environment is found through them.
    pub fn path(&self, path: &Path) -> Option<PathBuf> {
        let candidate = self.candidates(path).into_iter().find(|path| is_executable(path))?;
        std::path::absolute(candidate).ok()
    }

    /// The program of a command: by its path, else by its name.
    pub fn command(&self, word: &str) -> Option<PathBuf> {
        if word.contains(['/', '\\']) {
            self.path(Path::new(word))
        } else {
            self.program(word)
        }
    }

    /// The type of the file at a path that is no program; `None` if nothing is there.
    pub fn kind(&self, path: &Path) -> Option<FileType> {
        fs::metadata(path).ok().map(|meta| meta.file_type())
    }

    /// The newest of the programs called `name-VERSION`, as Debian calls clangd.
    pub fn versioned(&self, name: &str) -> Option<PathBuf> {
        let mut versions = Vec::new();
        for (order, directory) in std::env::split_paths(&self.path).enumerate() {
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                let file = entry.file_name();
                if let Some(version) = file.to_str().and_then(|file| version(file, name))
                    && is_executable(&entry.path())
                {
                    versions.push((version, Reverse(order), entry.path()));
                }
            }
        }
        let (.., newest) = versions.into_iter().max()?;
        std::path::absolute(newest).ok()
    }

    fn candidates(&self, path: &Path) -> Vec<PathBuf> {
        let Some(endings) = self.endings.as_deref().and_then(OsStr::to_str) else {
            return vec![path.to_path_buf()];
        };
        let lower = path.to_string_lossy().to_ascii_lowercase();
        let mut candidates = Vec::new();
        for ending in endings.split(';').filter(|ending| !ending.is_empty()) {
            let ending = ending.to_ascii_lowercase();
            if lower.ends_with(&ending) {
                return vec![path.to_path_buf()];
            }
            let mut name = path.as_os_str().to_owned();
            name.push(ending);
            candidates.push(PathBuf::from(name));
        }
        candidates
    }
}

/// Where programs are: on the search path that a server was given, or on ours.
pub fn which(path: Option<OsString>) -> Which {
    let path = path.or_else(|| std::env::var_os("PATH")).unwrap_or_default();
    // Linux under Windows passes PATHEXT on, and means nothing by it.
    let endings = if cfg!(windows) {
        std::env::var_os("PATHEXT")
    } else {
        None
    };
    Which::new(path, endings)
}

/// `clangd-16` of `clangd` → `[16]`.
fn version(file: &str, name: &str) -> Option<Vec<u32>> {
    let file = file.strip_suffix(".exe").unwrap_or(file);
    let version = file.strip_prefix(name)?.strip_prefix('-')?;
    version.split('.').map(|part| part.parse().ok()).collect()
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

/// For a program that exists and still cannot be started: the loader or interpreter that is missing, and the cure. `None` if
/// the program itself is missing.
pub fn unrunnable(program: &Path) -> Option<String> {
    let line = first_line(program)?;
    let line = String::from_utf8_lossy(&line);
    let Some(rest) = line.strip_prefix("#!") else {
        return Some("its loader is missing: was it built for another system or C library?".to_owned());
    };
    // As the kernel reads it: a carriage return is a part of the name.
    let named = rest.trim_matches([' ', '\t', '\n']).split([' ', '\t']).next()?;
    Some(match named.strip_suffix('\r') {
        Some(named) => {
            format!(
                "its first line ends in CR LF, so the interpreter `{named}` gets a CR at its end: save the file \
                     with LF"
            )
        }
        None => format!(
            "its first line names the interpreter `{named}`, which does not exist: install it, or correct the line"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn programs(root: &Path, names: &[&str]) {
        for name in names {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt;
                fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            }
        }
    }

    #[test]
    fn the_first_directory_of_the_path_wins() {
        let root = tempfile::tempdir().unwrap();
        programs(root.path(), &["a/ty", "b/ty", "b/ruff"]);
        let path = std::env::join_paths([root.path().join("a"), root.path().join("b")]).unwrap();
        let which = Which::new(&path, None);
        assert_eq!(which.program("ty"), Some(root.path().join("a/ty")));
        assert_eq!(which.program("ruff"), Some(root.path().join("b/ruff")));
        assert_eq!(which.program("gopls"), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_may_not_be_run_is_passed_over() {
        let root = tempfile::tempdir().unwrap();
        programs(root.path(), &["b/ty"]);
        fs::create_dir_all(root.path().join("a")).unwrap();
        fs::write(root.path().join("a/ty"), "").unwrap();
        let path = std::env::join_paths([root.path().join("a"), root.path().join("b")]).unwrap();
        assert_eq!(Which::new(&path, None).program("ty"), Some(root.path().join("b/ty")));
    }

    #[test]
    fn endings_are_tried_in_order_unless_one_is_written() {
        let root = tempfile::tempdir().unwrap();
        programs(root.path(), &["ty.exe", "ty.cmd", "pyright.cmd"]);
        let which = Which::new(root.path().as_os_str(), Some(".COM;.EXE;.CMD".into()));
        assert_eq!(which.program("ty"), Some(root.path().join("ty.exe")));
        assert_eq!(which.program("ty.cmd"), Some(root.path().join("ty.cmd")));
        assert_eq!(which.program("pyright"), Some(root.path().join("pyright.cmd")));
    }

    #[test]
    fn the_newest_version_is_found_by_number() {
        let root = tempfile::tempdir().unwrap();
        programs(
            root.path(),
            &[
                "clangd-9", "clangd-16", "clangd-16.1", "clangd-indexer-20", "clangdx-21",
            ],
        );
        let which = Which::new(root.path().as_os_str(), None);
        assert_eq!(which.versioned("clangd"), Some(root.path().join("clangd-16.1")));
        assert_eq!(which.versioned("gopls"), None);
    }

    #[test]
    fn a_program_that_is_there_and_cannot_be_run_lacks_what_runs_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("server");
        for (text, words) in [
            (
                "#! /no/interp -x\necho\n",
                "names the interpreter `/no/interp`, which does not exist",
            ),
            (
                "#!/no/interp",
                "names the interpreter `/no/interp`, which does not exist",
            ),
            (
                "#!/bin/sh\r\necho\r\n",
                "ends in CR LF, so the interpreter `/bin/sh` gets a CR",
            ),
            ("\u{7f}ELF", "its loader is missing"),
        ] {
            std::fs::write(&path, text).unwrap();
            let why = unrunnable(&path).unwrap();
            assert!(why.contains(words), "{text:?}: {why}");
        }
        assert_eq!(unrunnable(&directory.path().join("nothing")), None);
    }
}
