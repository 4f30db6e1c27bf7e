//! The directory in which a program is asked for its version: a new one, so that nothing is written beside the user's
//! files or into the workspace of a run.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// Files by which version managers choose the program that they start.
const TOOLCHAIN_FILES: [&str; 9] = [
    ".go-version", ".java-version", ".node-version", ".nvmrc", ".python-version", ".ruby-version", ".tool-versions",
    "rust-toolchain", "rust-toolchain.toml",
];

/// Longest toolchain file, in bytes: far above any real one.
const LONGEST: u64 = 64 << 10;

/// The toolchain files of a project, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Toolchain(BTreeMap<&'static str, Vec<u8>>);

impl Toolchain {
    /// The files of `project`. Unreadable ones are left out.
    pub fn read(project: &Path) -> Toolchain {
        let mut files = BTreeMap::new();
        for name in TOOLCHAIN_FILES {
            let path = project.join(name);
            let is_short_file = fs::metadata(&path).is_ok_and(|meta| meta.is_file() && meta.len() <= LONGEST);
            if is_short_file && let Ok(text) = fs::read(&path) {
                files.insert(name, text);
            }
        }
        Toolchain(files)
    }
}

/// A new directory with nothing but toolchain files, and caches beside it. Dropping it removes both.
#[derive(Debug)]
pub struct ProbeDirectory {
    base: TempDir,
}

impl ProbeDirectory {
    pub fn new(toolchain: &Toolchain) -> io::Result<ProbeDirectory> {
        let base = tempfile::Builder::new().prefix("lsp-soak-probe-").tempdir()?;
        let directory = ProbeDirectory { base };
        fs::create_dir(directory.place())?;
        for (name, text) in &toolchain.0 {
            fs::write(directory.place().join(name), text)?;
        }
        Ok(directory)
    }

    /// The directory without caches.
    fn place(&self) -> PathBuf {
        self.base.path().join("empty")
    }

    /// Makes the command start here. Its caches are new too: `caches` has their directories by variable.
    pub fn enter(&self, command: &mut Command, caches: &BTreeMap<String, String>) -> io::Result<()> {
        command.current_dir(self.place());
        let beside = self.base.path().join("cache");
        command.env("XDG_CACHE_HOME", &beside);
        for (variable, name) in caches {
            let cache = beside.join(name);
            fs::create_dir_all(&cache)?;
            command.env(variable, cache);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_choose_a_toolchain_come_along() {
        let project = tempfile::tempdir().unwrap();
        fs::write(project.path().join("rust-toolchain.toml"), "[toolchain]\n").unwrap();
        fs::write(project.path().join("main.rs"), "fn main() {}\n").unwrap();
        fs::create_dir(project.path().join(".nvmrc")).unwrap();
        let directory = ProbeDirectory::new(&Toolchain::read(project.path())).unwrap();
        let names: Vec<_> = fs::read_dir(directory.place())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, ["rust-toolchain.toml"]);
    }

    #[test]
    fn the_directory_and_its_caches_are_removed() {
        let directory = ProbeDirectory::new(&Toolchain::default()).unwrap();
        let mut command = Command::new("program");
        let caches = BTreeMap::from([("HOME".to_owned(), "home".to_owned())]);
        directory.enter(&mut command, &caches).unwrap();
        let place = command.get_current_dir().unwrap().to_owned();
        let home = command.get_envs().find(|(name, _)| *name == "HOME").unwrap().1.unwrap();
        let home = PathBuf::from(home);
        assert!(place.is_dir() && home.is_dir());
        assert_eq!(fs::read_dir(&place).unwrap().count(), 0);
        drop(directory);
        assert!(!place.exists() && !home.exists());
    }
}
