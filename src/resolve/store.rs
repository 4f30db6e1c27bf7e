//! The cache: one directory for each package and version and each pinned workspace, which only one process fills.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

/// The file that makes an entry whole. Written last; its time is that of the last use.
const ENTRY: &str = "entry.json";

/// The kind of entries that have the files of a workspace.
pub const WORKSPACE: &str = "workspace";

/// Characters of the longest name of a directory.
const LONGEST: usize = 80;

/// Digits of a hash that a list shows.
const SHORT: usize = 12;

/// The entries that this process uses, by their locks.
static USED: Mutex<Vec<File>> = Mutex::new(Vec::new());

#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
}

/// What an entry is of.
#[derive(Clone, Copy, Debug)]
pub struct Key<'k> {
    pub kind: &'k str,
    pub name: &'k str,
    pub version: &'k str,
    /// More packages beside it.
    pub with: &'k [String],
    /// The command that prepares it.
    pub setup: Option<&'k str>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub kind: String,
    pub name: String,
    pub version: String,
    #[serde(default)]
    pub with: Vec<String>,
    #[serde(default)]
    pub setup: Option<String>,
    pub sha256: Option<String>,
    #[serde(skip)]
    pub directory: PathBuf,
    #[serde(skip)]
    pub used: Option<SystemTime>,
}

/// The place of an entry, locked against other processes.
#[derive(Debug)]
struct Slot {
    directory: PathBuf,
    lock: File,
    entry: Entry,
}

impl Store {
    pub fn at(root: PathBuf) -> Store {
        Store { root }
    }

    /// `LSP_SOAK_CACHE_DIR`, or a directory of ours in the user's cache; `None` without a home.
    pub fn usual() -> Option<Store> {
        let set = |name: &str| {
            std::env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        if let Some(root) = set("LSP_SOAK_CACHE_DIR") {
            return Some(Store { root });
        }
        let caches = match () {
            () if cfg!(windows) => set("LOCALAPPDATA"),
            () if cfg!(target_os = "macos") => set("HOME").map(|home| home.join("Library/Caches")),
            () => set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache"))),
        };
        caches.map(|caches| Store {
            root: caches.join("lsp-soak"),
        })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Locks the place of an entry, and waits while another process fills it. What is not whole is removed. A whole entry is only
    /// shared, so that this process may claim it again.
    fn claim(&self, key: &Key<'_>) -> io::Result<Slot> {
        let Key {
            kind,
            name,
            version,
            with,
            setup,
        } = key;
        let mut own = (*version).to_owned();
        with.iter().for_each(|more| own.push_str(&format!("+{more}")));
        let directory = self.root.join(kind).join(safe(name)).join(safe(&own));
        fs::create_dir_all(directory.parent().unwrap_or(&self.root))?;
        let lock = File::options().create(true).append(true).open(lock_of(&directory))?;
        lock.lock_shared()?;
        if read(&directory).is_none() {
            lock.unlock()?;
            lock.lock()?;
        }
        let slot = Slot {
            entry: Entry {
                kind: (*kind).to_owned(),
                name: (*name).to_owned(),
                version: (*version).to_owned(),
                with: with.to_vec(),
                setup: setup.map(str::to_owned),
                sha256: None,
                directory: directory.clone(),
                used: None,
            },
            directory,
            lock,
        };
        if slot.entry().is_none() {
            match fs::remove_dir_all(&slot.directory) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => fs::create_dir_all(&slot.directory)?,
            }
        }
        Ok(slot)
    }

    /// The entry; where there is none, `make` fills its directory and returns a hash of it. Nothing is kept of what `make` leaves
    /// when it fails.
    pub fn fill<E>(
        &self,
        key: &Key<'_>,
        unusable: &dyn Fn(io::Error) -> E,
        make: impl FnOnce(&Path) -> Result<Option<String>, E>,
    ) -> Result<Entry, E> {
        let slot = self.claim(key).map_err(unusable)?;
        let entry = match slot.entry() {
            Some(entry) => entry,
            None => match make(&slot.directory) {
                Ok(sha256) => slot.finish(sha256).map_err(unusable)?,
                Err(error) => {
                    // What stays is removed by the next one.
                    let _ = fs::remove_dir_all(&slot.directory);
                    return Err(error);
                }
            },
        };
        slot.keep().map_err(unusable)?;
        Ok(entry)
    }

    /// Every whole entry, by kind, name and version.
    pub fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for kind in below(&self.root)? {
            for name in below(&kind)? {
                entries.extend(below(&name)?.iter().filter_map(|directory| read(directory)));
            }
        }
        entries.sort_by(|a, b| (&a.kind, &a.name, &a.directory).cmp(&(&b.kind, &b.name, &b.directory)));
        Ok(entries)
    }

    /// Removes an entry, unless a process uses it; returns whether it did.
    pub fn remove(&self, entry: &Entry) -> io::Result<bool> {
        let path = lock_of(&entry.directory);
        let lock = File::options().create(true).append(true).open(&path)?;
        if lock.try_lock().is_err() {
            return Ok(false);
        }
        fs::remove_dir_all(&entry.directory)?;
        fs::remove_file(path)?;
        Ok(true)
    }
}

impl Entry {
    /// What it is called: `ty@0.0.104`, or the origin of a workspace.
    pub fn title(&self) -> String {
        match self.kind == WORKSPACE {
            true => self.name.clone(),
            false => format!("{}@{}", self.name, self.version),
        }
    }

    /// The title in two parts, name and version; of a hash only the first digits.
    pub fn parts(&self) -> (String, String) {
        let title = self.title();
        let end = title
            .rfind('#')
            .or_else(|| title.find("=="))
            .or_else(|| title.rfind('@'));
        let (name, version) = title.split_at(end.unwrap_or(title.len()));
        let version = match version.strip_prefix('#') {
            Some(hash) => format!(
                "#{}",
                hash.trim_start_matches("sha256=")
                    .chars()
                    .take(SHORT)
                    .collect::<String>()
            ),
            None => version.to_owned(),
        };
        (name.to_owned(), version)
    }

    /// Bytes of its files.
    pub fn size(&self) -> u64 {
        size(&self.directory)
    }
}

impl Slot {
    fn entry(&self) -> Option<Entry> {
        read(&self.directory)
    }

    /// Makes the entry whole.
    fn finish(&self, sha256: Option<String>) -> io::Result<Entry> {
        let entry = Entry {
            sha256,
            ..self.entry.clone()
        };
        fs::write(self.directory.join(ENTRY), serde_json::to_string_pretty(&entry)?)?;
        Ok(entry)
    }

    /// Keeps others from removing the entry until this process ends, and lets them use it.
    fn keep(self) -> io::Result<()> {
        self.lock.unlock()?;
        self.lock.lock_shared()?;
        File::options()
            .append(true)
            .open(self.directory.join(ENTRY))?
            .set_modified(SystemTime::now())?;
        USED.lock().unwrap_or_else(PoisonError::into_inner).push(self.lock);
        Ok(())
    }
}

fn lock_of(directory: &Path) -> PathBuf {
    let mut name = directory.file_name().unwrap_or_default().to_owned();
    name.push(".lock");
    directory.with_file_name(name)
}

fn read(directory: &Path) -> Option<Entry> {
    let path = directory.join(ENTRY);
    let entry: Entry = serde_json::from_str(&fs::read_to_string(&path).ok()?).ok()?;
    Some(Entry {
        directory: directory.to_owned(),
        used: path.metadata().and_then(|meta| meta.modified()).ok(),
        ..entry
    })
}

/// A name as one part of a path, cut to what every file system takes: versions and hashes tell names apart.
fn safe(name: &str) -> String {
    let known = |c: char| c.is_alphanumeric() || "@._-+=!".contains(c);
    let parts = name.chars().map(|c| if known(c) { c } else { '+' });
    parts.take(LONGEST).collect()
}

fn below(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut directories: Vec<PathBuf> = paths.collect::<io::Result<_>>()?;
    directories.retain(|path| path.is_dir());
    Ok(directories)
}

fn size(path: &Path) -> u64 {
    let Ok(meta) = fs::symlink_metadata(path) else { return 0 };
    match meta.is_dir() {
        true => fs::read_dir(path).map_or(0, |entries| entries.flatten().map(|entry| size(&entry.path())).sum()),
        false => meta.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key<'_> = Key {
        kind: "npm",
        name: "@scope/server",
        version: "1.2.3",
        with: &[],
        setup: None,
    };

    #[test]
    fn what_was_not_finished_is_made_anew_and_what_was_is_kept() {
        let root = tempfile::tempdir().unwrap();
        let store = Store::at(root.path().join("cache"));
        assert_eq!(store.entries().unwrap(), []);
        let slot = store.claim(&KEY).unwrap();
        fs::write(slot.directory.join("half"), "x").unwrap();
        drop(slot);
        let slot = store.claim(&KEY).unwrap();
        assert!(slot.entry().is_none() && !slot.directory.join("half").exists());
        fs::write(slot.directory.join("program"), "12345").unwrap();
        slot.finish(Some("abc".to_owned())).unwrap();
        drop(slot);
        let slot = store.claim(&KEY).unwrap();
        assert_eq!(slot.entry().unwrap().sha256.as_deref(), Some("abc"));
        let entry = &store.entries().unwrap()[0];
        assert_eq!(
            (entry.name.as_str(), entry.version.as_str()),
            ("@scope/server", "1.2.3")
        );
        assert!(entry.size() > 5 && entry.directory.join("program").exists());
        assert!(!store.remove(entry).unwrap(), "it is in use");
        drop(slot);
        assert!(store.remove(entry).unwrap() && store.entries().unwrap().is_empty());
    }

    #[test]
    fn a_title_has_a_name_and_a_version() {
        let parts = |kind: &str, name: &str, version: &str| {
            let entry = Entry {
                kind: kind.to_owned(),
                name: name.to_owned(),
                version: version.to_owned(),
                with: Vec::new(),
                setup: None,
                sha256: None,
                directory: PathBuf::new(),
                used: None,
            };
            let (name, version) = entry.parts();
            format!("{name} {version}")
        };
        for (kind, name, shown) in [
            ("npm", "@scope/server", "@scope/server @1.2.3"),
            (WORKSPACE, "npm:@scope/server@4.5.6", "npm:@scope/server @4.5.6"),
            (WORKSPACE, "pypi:prefect==3.9.1", "pypi:prefect ==3.9.1"),
            (
                WORKSPACE,
                "git:git@example.org:a#0123456789abcdef",
                "git:git@example.org:a #0123456789ab",
            ),
            (
                WORKSPACE,
                "archive:/a.tgz#sha256=0123456789abcdef",
                "archive:/a.tgz #0123456789ab",
            ),
        ] {
            assert_eq!(parts(kind, name, "1.2.3"), shown);
        }
    }

    #[test]
    fn only_one_fills_an_entry() {
        let root = tempfile::tempdir().unwrap();
        let store = Store::at(root.path().to_owned());
        let filled = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let slot = store.claim(&KEY).unwrap();
                    if slot.entry().is_none() {
                        filled.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                        slot.finish(None).unwrap();
                    }
                });
            }
        });
        assert_eq!(filled.into_inner(), 1);
    }
}
