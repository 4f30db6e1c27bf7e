//! The cache: one directory for each package and version and each pinned workspace, which only one process fills.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The file that makes an entry whole. Written last; its time is that of the last use.
const ENTRY: &str = "entry.json";

/// The kind of entries that have the files of a workspace.
pub const WORKSPACE: &str = "workspace";

/// Characters of the longest name of a directory.
const LONGEST: usize = 80;

/// Digits of the hash that tells keys apart whose names of directories are equal.
const DIGITS: usize = 16;

/// Digits of a hash that a list shows.
const SHORT: usize = 12;

/// The entries that this process uses, by their locks.
static USED: Mutex<Vec<File>> = Mutex::new(Vec::new());

#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
}

/// The reason why an entry could not be filled.
#[derive(Debug)]
pub enum FillError<E> {
    /// The cache itself cannot be used.
    Store(io::Error),
    /// What was to fill the entry failed.
    Make(E),
}

impl<E> From<io::Error> for FillError<E> {
    fn from(error: io::Error) -> FillError<E> {
        FillError::Store(error)
    }
}

/// The identity of an entry.
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

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// It is being filled, or whoever filled or removed it was interrupted. Its name is that of its directory.
    #[serde(skip)]
    pub incomplete: bool,
}

/// The place of an entry, locked against other processes.
#[derive(Debug)]
struct Slot {
    directory: PathBuf,
    lock: File,
    entry: Entry,
}

impl Store {
    pub fn new(root: PathBuf) -> Store {
        Store { root }
    }

    /// `LSP_SOAK_CACHE_DIR`, or a directory of ours in the user's cache; `None` without a home.
    pub fn usual() -> Option<Store> {
        if let Some(root) = path_in_variable("LSP_SOAK_CACHE_DIR") {
            return Some(Store { root });
        }
        let caches = if cfg!(windows) {
            path_in_variable("LOCALAPPDATA")?
        } else if cfg!(target_os = "macos") {
            path_in_variable("HOME")?.join("Library/Caches")
        } else if let Some(caches) = path_in_variable("XDG_CACHE_HOME") {
            caches
        } else {
            path_in_variable("HOME")?.join(".cache")
        };
        Some(Store {
            root: caches.join("lsp-soak"),
        })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Locks the place of an entry, and waits while another process fills it. What is not whole is removed. A whole entry is only
    /// shared, so that this process may claim it again.
    fn claim(&self, key: &Key<'_>, say: fn(&str)) -> io::Result<Slot> {
        let directory = self.root.join(key.kind).join(safe(key.name)).join(key.directory());
        fs::create_dir_all(directory.parent().unwrap_or(&self.root))?;
        let lock = open_lock(&directory)?;
        let waiting = format!("waiting for another lsp-soak, which fills `{}`", directory.display());
        let mut has_said = false;
        if is_held_by_another(lock.try_lock_shared())? {
            say(&waiting);
            has_said = true;
            lock.lock_shared()?;
        }
        if read(&directory).is_none() {
            lock.unlock()?;
            if is_held_by_another(lock.try_lock())? {
                if !has_said {
                    say(&waiting);
                }
                lock.lock()?;
            }
        }
        let slot = Slot {
            entry: Entry {
                kind: key.kind.to_owned(),
                name: key.name.to_owned(),
                version: key.version.to_owned(),
                with: key.with.to_vec(),
                setup: key.setup.map(str::to_owned),
                directory: directory.clone(),
                ..Entry::default()
            },
            directory,
            lock,
        };
        if slot.entry().is_none() {
            ignore_absent(fs::remove_dir_all(&slot.directory))?;
            fs::create_dir_all(&slot.directory)?;
        }
        Ok(slot)
    }

    /// The entry; where there is none, `make` fills its directory and returns a hash of it. Nothing is kept of what `make` leaves
    /// when it fails. `say` is called before another process is waited for.
    pub fn fill<E>(
        &self,
        key: &Key<'_>,
        say: fn(&str),
        make: impl FnOnce(&Path) -> Result<Option<String>, E>,
    ) -> Result<Entry, FillError<E>> {
        let slot = self.claim(key, say)?;
        let entry = match slot.entry() {
            Some(entry) => entry,
            None => match make(&slot.directory) {
                Ok(sha256) => slot.finish(sha256)?,
                Err(error) => {
                    // What stays is removed by the next one.
                    let _ = fs::remove_dir_all(&slot.directory);
                    return Err(FillError::Make(error));
                }
            },
        };
        slot.keep()?;
        Ok(entry)
    }

    /// Every entry, also incomplete ones, by kind, name and version.
    pub fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for kind in below(&self.root)? {
            for name in below(&kind)? {
                for directory in below(&name)? {
                    entries.extend(read(&directory).or_else(|| incomplete(&directory)));
                }
            }
        }
        entries.sort_by(|a, b| (&a.kind, &a.name, &a.directory).cmp(&(&b.kind, &b.name, &b.directory)));
        Ok(entries)
    }

    /// Removes an entry, unless a process uses it; returns whether it did.
    pub fn remove(&self, entry: &Entry) -> io::Result<bool> {
        // The lock stays: a process that opened it before would lock a file that excludes nobody.
        let lock = open_lock(&entry.directory)?;
        if lock.try_lock().is_err() {
            return Ok(false);
        }
        // First, so that no entry counts as whole of which only a part is left.
        ignore_absent(fs::remove_file(entry.directory.join(ENTRY)))?;
        ignore_absent(fs::remove_dir_all(&entry.directory))?;
        Ok(true)
    }
}

impl Key<'_> {
    /// The name of its directory: the version to read, and a hash of everything that makes it another entry.
    fn directory(&self) -> String {
        let mut hasher = Sha256::new();
        let parts = [self.name, self.version, self.setup.unwrap_or_default()];
        for part in parts.into_iter().chain(self.with.iter().map(String::as_str)) {
            hasher.update(part);
            hasher.update([0]);
        }
        let digest: String = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        match self.version {
            "" => digest[..DIGITS].to_owned(),
            version => format!("{}-{}", safe(version), &digest[..DIGITS]),
        }
    }
}

impl Entry {
    /// Its name for people: `ty@0.0.104`, or the origin of a workspace.
    pub fn title(&self) -> String {
        if self.kind == WORKSPACE {
            self.name.clone()
        } else {
            format!("{}@{}", self.name, self.version)
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
            Some(hash) => {
                let digits: String = hash.trim_start_matches("sha256=").chars().take(SHORT).collect();
                format!("#{digits}")
            }
            None => version.to_owned(),
        };
        (name.to_owned(), version)
    }

    /// True if the text is its name, its title, or the form in which it is listed.
    pub fn is_named(&self, text: &str) -> bool {
        let (name, version) = self.parts();
        let names = [self.title(), format!("{name}{version}"), name];
        names
            .iter()
            .any(|own| own == text || self.incomplete && *own == safe(text))
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

/// The result, but for a file that is not there.
fn ignore_absent(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

fn is_held_by_another(tried: Result<(), TryLockError>) -> io::Result<bool> {
    match tried {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// The path that a variable of the environment has, if it has one.
pub fn path_in_variable(name: &str) -> Option<PathBuf> {
    let value = std::env::var_os(name)?;
    if value.is_empty() {
        None
    } else {
        Some(PathBuf::from(value))
    }
}

fn open_lock(directory: &Path) -> io::Result<File> {
    File::options().create(true).append(true).open(lock_of(directory))
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

/// The entry of a directory that has a lock of ours and no [`ENTRY`]. Other directories are somebody else's.
fn incomplete(directory: &Path) -> Option<Entry> {
    let meta = lock_of(directory).metadata().ok().filter(fs::Metadata::is_file)?;
    let name = directory.parent()?;
    let own = file_name(directory)?;
    Some(Entry {
        kind: file_name(name.parent()?)?,
        name: file_name(name)?,
        version: own.rsplit_once('-').map_or("", |(version, _)| version).to_owned(),
        directory: directory.to_owned(),
        used: meta.modified().ok(),
        incomplete: true,
        ..Entry::default()
    })
}

fn file_name(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_string_lossy().into_owned())
}

/// A name as one part of a path, cut to what every file system takes: the hash in [`Key::directory`] tells names apart.
fn safe(name: &str) -> String {
    let mut safe = String::new();
    for c in name.chars().take(LONGEST) {
        let is_safe = c.is_alphanumeric() || "@._-+=!".contains(c);
        safe.push(if is_safe { c } else { '+' });
    }
    safe
}

fn below(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut directories = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            directories.push(path);
        }
    }
    Ok(directories)
}

fn size(path: &Path) -> u64 {
    let Ok(meta) = fs::symlink_metadata(path) else { return 0 };
    if !meta.is_dir() {
        return meta.len();
    }
    let Ok(entries) = fs::read_dir(path) else { return 0 };
    entries.flatten().map(|entry| size(&entry.path())).sum()
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
        let store = Store::new(root.path().join("cache"));
        assert_eq!(store.entries().unwrap(), []);
        let slot = store.claim(&KEY, |_| {}).unwrap();
        fs::write(slot.directory.join("half"), "x").unwrap();
        drop(slot);
        let slot = store.claim(&KEY, |_| {}).unwrap();
        assert!(slot.entry().is_none() && !slot.directory.join("half").exists());
        fs::write(slot.directory.join("program"), "12345").unwrap();
        slot.finish(Some("abc".to_owned())).unwrap();
        drop(slot);
        let slot = store.claim(&KEY, |_| {}).unwrap();
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

    /// A whole entry of this key, which nobody uses.
    fn filled(store: &Store, key: &Key<'_>) -> Entry {
        let slot = store.claim(key, |_| {}).unwrap();
        assert!(slot.entry().is_none(), "it is another's entry");
        slot.finish(None).unwrap()
    }

    #[test]
    fn whoever_opened_a_lock_before_an_entry_was_removed_still_waits_for_the_next_owner() {
        let root = tempfile::tempdir().unwrap();
        let store = Store::new(root.path().to_owned());
        let entry = filled(&store, &KEY);
        let early = open_lock(&entry.directory).unwrap();
        assert!(store.remove(&entry).unwrap());
        let _slot = store.claim(&KEY, |_| {}).unwrap();
        assert!(early.try_lock().is_err());
    }

    #[test]
    fn what_was_interrupted_is_listed_and_removed_unless_it_is_locked_or_not_ours() {
        let root = tempfile::tempdir().unwrap();
        let store = Store::new(root.path().to_owned());
        let foreign = root.path().join("npm").join("of").join("another");
        fs::create_dir_all(&foreign).unwrap();
        let slot = store.claim(&KEY, |_| {}).unwrap();
        fs::write(slot.directory.join("half"), "12345").unwrap();
        let entries = store.entries().unwrap();
        let [entry] = &entries[..] else { panic!("{entries:?}") };
        assert!(entry.incomplete && entry.is_named("@scope/server@1.2.3") && entry.size() == 5);
        assert!(!store.remove(entry).unwrap(), "it is being filled");
        drop(slot);
        assert!(store.remove(entry).unwrap());
        assert!(store.entries().unwrap().is_empty() && foreign.exists());
    }

    #[test]
    fn keys_that_look_alike_as_directories_have_entries_of_their_own() {
        let root = tempfile::tempdir().unwrap();
        let store = Store::new(root.path().to_owned());
        let long = "x".repeat(LONGEST);
        let (one, other) = (format!("{long}1"), format!("{long}2"));
        let with = ["a".to_owned()];
        let all = [
            Key { name: "a/b", ..KEY },
            Key { name: "a+b", ..KEY },
            Key { version: &one, ..KEY },
            Key { version: &other, ..KEY },
            Key { version: "1+a", ..KEY },
            Key {
                version: "1",
                with: &with,
                ..KEY
            },
        ];
        for key in &all {
            filled(&store, key);
        }
        assert_eq!(store.entries().unwrap().len(), all.len());
    }

    static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());

    fn note(text: &str) {
        SAID.lock().unwrap().push(text.to_owned());
    }

    fn said() -> Vec<String> {
        SAID.lock().unwrap().clone()
    }

    #[test]
    fn a_process_says_once_that_it_waits_for_another() {
        let root = tempfile::tempdir().unwrap();
        let store = Store::new(root.path().to_owned());
        let slot = store.claim(&KEY, |_| {}).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| store.claim(&KEY, note).unwrap().entry().unwrap());
            while said().is_empty() {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            slot.finish(None).unwrap();
            drop(slot);
            assert_eq!(waiting.join().unwrap().name, KEY.name);
        });
        let [text] = &said()[..] else { panic!("{:?}", said()) };
        assert!(
            text.starts_with("waiting for another lsp-soak, which fills `"),
            "{text}"
        );
    }

    #[test]
    fn a_title_has_a_name_and_a_version() {
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
            let entry = Entry {
                kind: kind.to_owned(),
                name: name.to_owned(),
                version: "1.2.3".to_owned(),
                ..Entry::default()
            };
            let (name, version) = entry.parts();
            assert_eq!(format!("{name} {version}"), shown);
        }
    }

    #[test]
    fn only_one_fills_an_entry() {
        let root = tempfile::tempdir().unwrap();
        let store = Store::new(root.path().to_owned());
        let filled = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let slot = store.claim(&KEY, |_| {}).unwrap();
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
