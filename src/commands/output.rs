//! Output: record directories, all created before the first run and none used twice, and files, each written whole or
//! not at all.

use std::collections::HashSet;
use std::fs;
use std::io::{self};
use std::ops::Deref;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::campaign::files::{self, IGNORED, IGNORES_ALL};
use crate::campaign::invocation::{self, Invocation};
use crate::cli;
use crate::config::Loaded;
use crate::drive::workspace::lock::{self, Lock};

/// The file that keeps other processes out.
const LOCK: &str = "in-use.lock";
/// Files that a directory without a record may have.
const OURS: [&str; 3] = [LOCK, IGNORED, invocation::FILE];
/// The directory for records if none is named.
const REPORTS: &str = "reports";

/// A directory for records. No other process writes there until this is dropped; one that was made for runs without a single
/// record is removed then.
pub struct Directory {
    path: PathBuf,
    /// `None` where the file system has no locks.
    lock: Option<Lock>,
    made: bool,
    /// The directories above that were made for this one, the nearest first.
    made_above: Vec<PathBuf>,
    /// True if lsp-soak chose the name.
    is_unnamed: bool,
}

impl Directory {
    /// Takes the directory of a campaign that is gone on with.
    pub fn take_resumed(path: PathBuf) -> anyhow::Result<Directory> {
        Directory::claim(path, false)
    }

    /// The directory that the process which started this one holds.
    pub fn take_shared(path: PathBuf) -> anyhow::Result<Directory> {
        Ok(Directory {
            path,
            lock: None,
            made: false,
            made_above: Vec::new(),
            is_unnamed: false,
        })
    }

    fn claim(path: PathBuf, made: bool) -> anyhow::Result<Directory> {
        let lock = match Lock::lock_file(path.join(LOCK)) {
            Ok(Some(mut lock)) => {
                lock.sign();
                Some(lock)
            }
            Ok(None) => {
                let (title, cure) = in_use(&path);
                bail!("{title}: {cure}");
            }
            // Where writing is impossible, the first writer reports it.
            Err(_) => None,
        };
        Ok(Directory {
            path,
            lock,
            made,
            made_above: Vec::new(),
            is_unnamed: false,
        })
    }

    /// Removes the records, so that the directory goes too. A directory that the user named keeps them; then `false`.
    pub fn discard(&self) -> io::Result<bool> {
        if !self.is_unnamed {
            return Ok(false);
        }
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            if !is_ours(&entry) {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(true)
    }
}

impl Deref for Directory {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        self.lock = None;
        if self.made && !is_taken(&self.path) {
            // A leftover disturbs nothing.
            for name in OURS {
                let _ = fs::remove_file(self.path.join(name));
            }
            let _ = fs::remove_dir(&self.path);
            for above in &self.made_above {
                let _ = fs::remove_dir(above);
            }
        }
    }
}

/// The subcommand that began the campaign of a directory; `None` where there is none that can be resumed.
pub fn begun_subcommand(out: &Path) -> Option<String> {
    cli::subcommand(&Invocation::read(out).ok()?.command_line)
}

/// Makes the directory for the records of each scenario. Nothing is ever overwritten.
pub fn directories(out: Option<&Path>, scenarios: &[Loaded]) -> anyhow::Result<Vec<Directory>> {
    let names = distinct_names(scenarios.iter().map(|scenario| scenario.scenario.name.as_str()));
    match (out, names.len()) {
        (Some(out), 1) => Ok(vec![claim_named(out.to_owned())?]),
        (Some(out), _) => names.iter().map(|name| claim_named(out.join(name))).collect(),
        (None, _) => names.iter().map(|name| claim_unnamed(name)).collect(),
    }
}

/// Makes the directory for the only record of a command.
pub fn directory(out: Option<&Path>, name: &str) -> anyhow::Result<Directory> {
    match out {
        Some(out) => claim_named(out.to_owned()),
        None => claim_unnamed(name),
    }
}

fn claim_unnamed(name: &str) -> anyhow::Result<Directory> {
    let now = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S").to_string();
    claim_new(Path::new(REPORTS), &format!("{now}-{name}"))
}

/// The directory of each scenario below `out`, as `called` made them: gone on with where it is there, else made again.
pub fn resumed_directories(out: &Path, scenarios: &[Loaded], called: &Invocation) -> anyhow::Result<Vec<Directory>> {
    let names = distinct_names(scenarios.iter().map(|scenario| scenario.scenario.name.as_str()));
    let mut begun = Vec::new();
    for (scenario, name) in names.iter().enumerate() {
        begun.push(holds_scenario(&out.join(name), scenario)?);
    }
    if !begun.contains(&true) {
        bail!(
            "`{}` is not the directory of one campaign: resume the directories below it one by one",
            out.display()
        );
    }
    let mut directories = Vec::new();
    for (scenario, (name, is_begun)) in names.iter().zip(begun).enumerate() {
        if is_begun {
            directories.push(Directory::take_resumed(out.join(name))?);
            continue;
        }
        let new = claim_named(out.join(name))?;
        called.for_scenario(scenario).save(&new)?;
        directories.push(new);
    }
    Ok(directories)
}

/// True if the directory has an invocation, and it is that of this scenario.
fn holds_scenario(path: &Path, scenario: usize) -> anyhow::Result<bool> {
    if !path.join(invocation::FILE).exists() {
        return Ok(false);
    }
    Ok(Invocation::read(path)?.scenario == scenario)
}

/// A message and its cure for each directory that cannot be used, of those that scenarios below `out` would take.
pub fn refusals(out: &Path, scenarios: &[Loaded]) -> Vec<(String, String)> {
    let names = distinct_names(scenarios.iter().map(|scenario| scenario.scenario.name.as_str()));
    let wanted = match names.len() {
        0 | 1 => vec![out.to_owned()],
        _ => names.iter().map(|name| out.join(name)).collect(),
    };
    wanted.iter().filter_map(|path| refusal(path, out)).collect()
}

/// `whole` is what would be resumed.
fn refusal(path: &Path, whole: &Path) -> Option<(String, String)> {
    let lock = path.join(LOCK);
    if lock.exists() && matches!(Lock::lock_file(lock), Ok(None)) {
        return Some(in_use(path));
    }
    if !is_taken(path) {
        return None;
    }
    let title = format!("`{}` is not empty, and records are never overwritten", path.display());
    let new = "name a new directory with --out";
    let cure = match begun_subcommand(path) {
        Some(command) => format!(
            "if its runs were interrupted, use `lsp-soak {command} --resume {}`, else {new}",
            whole.display()
        ),
        None => new.to_owned(),
    };
    Some((title, cure))
}

fn in_use(path: &Path) -> (String, String) {
    let holder = lock::holder(&path.join(LOCK));
    let process = holder.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"));
    (
        format!(
            "`{}` is in use: lsp-soak ({process}) writes records there",
            path.display()
        ),
        "wait until it ends, end it with ctrl-c, or name another directory with --out".to_owned(),
    )
}

fn is_ours(entry: &fs::DirEntry) -> bool {
    OURS.iter().any(|name| entry.file_name() == *name)
}

/// True if the path is anything but an empty directory. Leftovers of a campaign without a record do not count.
fn is_taken(path: &Path) -> bool {
    match fs::read_dir(path) {
        Ok(mut entries) => entries.any(|entry| !entry.is_ok_and(|entry| is_ours(&entry))),
        Err(error) => error.kind() == io::ErrorKind::NotADirectory,
    }
}

/// The names, with a number after each that was there before. Case does not tell directories apart everywhere.
fn distinct_names<'n>(names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let mut taken = HashSet::new();
    let mut distinct = Vec::new();
    for name in names {
        let mut candidates = files::numbered(name);
        distinct.extend(candidates.find(|candidate| taken.insert(candidate.to_lowercase())));
    }
    distinct
}

/// The directory that was asked for, which may be there but must hold no record.
fn claim_named(out: PathBuf) -> anyhow::Result<Directory> {
    refuse_taken(&out)?;
    let (made, made_above) = (!out.exists(), missing_above(&out));
    fs::create_dir_all(&out).with_context(|| cannot_create(&out))?;
    let mut directory = Directory::claim(out, made)?;
    directory.made_above = made_above;
    // Since the first look another process may have come and gone.
    if is_taken(&directory) {
        refuse_taken(&directory)?;
    }
    Ok(directory)
}

fn refuse_taken(path: &Path) -> anyhow::Result<()> {
    match refusal(path, path) {
        Some((title, cure)) => bail!("{title}: {cure}"),
        None => Ok(()),
    }
}

/// A new directory under `parent`; another lsp-soak may be making one in the same second.
fn claim_new(parent: &Path, name: &str) -> anyhow::Result<Directory> {
    let made_above = missing_above(&parent.join(name));
    fs::create_dir_all(parent).with_context(|| cannot_create(parent))?;
    for candidate in files::numbered(name) {
        let path = parent.join(candidate);
        match fs::create_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error).with_context(|| cannot_create(&path)),
            Ok(()) => {
                let mut directory = Directory::claim(path, true)?;
                directory.made_above = made_above;
                directory.is_unnamed = true;
                // Without it only `git status` is longer.
                let _ = fs::write(directory.join(IGNORED), IGNORES_ALL);
                return Ok(directory);
            }
        }
    }
    bail!("every name for a directory under `{}` is taken", parent.display())
}

/// The directories above a path that are not there, the nearest first.
fn missing_above(path: &Path) -> Vec<PathBuf> {
    let above = path.ancestors().skip(1);
    let missing = above.take_while(|above| !above.as_os_str().is_empty() && !above.exists());
    missing.map(Path::to_owned).collect()
}

fn cannot_create(path: &Path) -> String {
    format!("cannot create `{}`, name another directory with --out", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write_empty(file: &Path) {
        fs::write(file, "").expect("the directory is ours");
    }

    #[test]
    fn equal_names_are_numbered() {
        let names = distinct_names(["a", "b", "A", "a-2", "a"].into_iter());
        assert_eq!(names, ["a", "b", "A-2", "a-2-2", "a-3"]);
    }

    #[test]
    fn a_directory_that_is_there_is_left_alone() {
        let parent = tempfile::tempdir().expect("there is a place for temporary files");
        let made: Vec<Directory> = (0..3)
            .map(|_| claim_new(parent.path(), "now").expect("the directory is ours"))
            .collect();
        let made: Vec<&Path> = made.iter().map(|directory| &**directory).collect();
        assert_eq!(made, ["now", "now-2", "now-3"].map(|name| parent.path().join(name)));
    }

    #[test]
    fn records_in_a_project_are_ignored_by_git_and_a_failed_start_leaves_nothing() {
        let project = tempfile::tempdir().expect("there is a place for temporary files");
        let reports = project.path().join(REPORTS);
        let made = claim_new(&reports, "now").expect("the directory is ours");
        let ignored = fs::read_to_string(made.join(IGNORED)).expect("it was written");
        assert_eq!(ignored, "*\n");
        drop(made);
        assert!(!reports.exists(), "nothing was recorded");
        fs::create_dir(&reports).expect("the directory is ours");
        drop(claim_new(&reports, "now").expect("the directory is ours"));
        assert!(reports.exists(), "it was there before");
        let kept = claim_new(&reports, "now").expect("the directory is ours");
        fs::write(kept.join("run.jsonl"), "").expect("the directory is ours");
        drop(kept);
        assert!(reports.join("now").join(IGNORED).exists());
    }

    #[test]
    fn records_are_discarded_only_where_nobody_named_their_directory() {
        let parent = tempfile::tempdir().expect("there is a place for temporary files");
        let unnamed = claim_new(&parent.path().join(REPORTS), "now").expect("the directory is ours");
        let named = claim_named(parent.path().join("out")).expect("it is new");
        for (directory, is_discarded) in [(unnamed, true), (named, false)] {
            let path = directory.to_owned();
            fs::write(path.join("run.jsonl"), "").expect("the directory is ours");
            assert_eq!(directory.discard().expect("the directory is ours"), is_discarded);
            drop(directory);
            assert_eq!(path.exists(), !is_discarded);
        }
        assert!(!parent.path().join(REPORTS).exists());
    }

    #[test]
    fn a_chosen_directory_must_hold_no_record_and_goes_without_one() {
        let parent = tempfile::tempdir().expect("there is a place for temporary files");
        let out = parent.path().join("out");
        let first = claim_named(out.clone()).expect("it is new");
        write_empty(&out.join(invocation::FILE));
        let error = claim_named(out.clone()).err().expect("it is held").to_string();
        let own = format!("process {}", std::process::id());
        assert!(
            error.contains("is in use") && error.contains(&own) && error.contains("--out"),
            "{error}"
        );
        drop(first);
        assert!(!out.exists(), "nothing was recorded");
        drop(claim_named(parent.path().join("a/b/c")).expect("it is new"));
        assert!(!parent.path().join("a").exists(), "nothing was recorded");
        // One that was killed before its first record leaves this.
        fs::create_dir(&out).expect("the directory is ours");
        write_empty(&out.join(invocation::FILE));
        write_empty(&out.join(LOCK));
        let second = claim_named(out.clone()).expect("it holds no record");
        write_empty(&out.join("run.jsonl"));
        drop(second);
        assert!(out.join("run.jsonl").exists() && !out.join(LOCK).exists());
        // Those records can be gone on with, whatever stood before the subcommand.
        let words = ["lsp-soak", "--color", "never", "run", "a.toml", "--server", "ty"];
        let begun = serde_json::json!({
            "format": 1, "directory": "/", "scenario": 0, "command_line": words.map(std::ffi::OsString::from),
        });
        fs::write(out.join(invocation::FILE), begun.to_string()).expect("the directory is ours");
        let error = claim_named(out.clone()).err().expect("it holds a record").to_string();
        let resume = format!("`lsp-soak run --resume {}`", out.display());
        assert!(error.contains(&resume), "{error}");
    }
}
