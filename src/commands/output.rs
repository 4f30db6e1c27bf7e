//! What is written: the directories of records, all made before the first run and none used twice, and files, each whole or
//! not at all.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::config::Loaded;

/// Writes a file, or leaves what is there as it was, also on a full disk. `cure` says what to do then.
pub fn write(path: &Path, text: &str, cure: &str) -> anyhow::Result<()> {
    replace(path, text).with_context(|| format!("cannot write `{}`, which is left as it was; {cure}", path.display()))
}

/// The text goes to a file beside, which takes the name when all of it is on the disk, and is removed otherwise.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    // A link stays one.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let directory = path.parent().filter(|directory| *directory != Path::new(""));
    let mut beside = tempfile::Builder::new();
    beside.prefix(".lsp-soak-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Without those that the umask takes away, as of every new file.
        beside.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut file = beside.tempfile_in(directory.unwrap_or(Path::new(".")))?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(&path).map(drop).map_err(|kept| kept.error)
}

/// Makes the directory for the records of each scenario. Nothing is ever overwritten.
pub fn directories(out: Option<&Path>, scenarios: &[Loaded]) -> anyhow::Result<Vec<PathBuf>> {
    let names = unlike(scenarios.iter().map(|scenario| scenario.scenario.name.as_str()));
    match (out, names.len()) {
        (Some(out), 1) => Ok(vec![chosen(out.to_owned())?]),
        (Some(out), _) => names.iter().map(|name| chosen(out.join(name))).collect(),
        (None, _) => {
            let now = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S").to_string();
            let reports = Path::new("reports");
            names
                .iter()
                .map(|name| fresh(reports, &format!("{now}-{name}")))
                .collect()
        }
    }
}

/// Those of the directories that were asked for that hold something already.
pub fn taken(out: &Path, scenarios: &[Loaded]) -> Vec<PathBuf> {
    let names = unlike(scenarios.iter().map(|scenario| scenario.scenario.name.as_str()));
    let wanted = match names.len() {
        0 | 1 => vec![out.to_owned()],
        _ => names.iter().map(|name| out.join(name)).collect(),
    };
    wanted.into_iter().filter(|path| is_taken(path)).collect()
}

/// Whether something is there that is not an empty directory.
fn is_taken(path: &Path) -> bool {
    match fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) => error.kind() == io::ErrorKind::NotADirectory,
    }
}

/// The names, with a number after each that was there before. Case does not tell directories apart everywhere.
fn unlike<'n>(names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let mut taken = HashSet::new();
    let first = |name: &str| {
        let mut candidates = numbered(name);
        candidates.find(|candidate| taken.insert(candidate.to_lowercase()))
    };
    names.filter_map(first).collect()
}

/// `name`, `name-2`, `name-3` and so on without end.
fn numbered(name: &str) -> impl Iterator<Item = String> {
    let more = (2_u64..).map(move |number| format!("{name}-{number}"));
    std::iter::once(name.to_owned()).chain(more)
}

/// The directory that was asked for, which may be there but must be empty.
fn chosen(out: PathBuf) -> anyhow::Result<PathBuf> {
    if is_taken(&out) {
        bail!(
            "`{}` is not empty, and records are never overwritten: name a new directory",
            out.display()
        );
    }
    fs::create_dir_all(&out)
        .with_context(|| format!("cannot create `{}`, name another directory with --out", out.display()))?;
    Ok(out)
}

/// A new directory under `parent`; another lsp-soak may be making one in the same second.
fn fresh(parent: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let about = |path: &Path| format!("cannot create `{}`, name another directory with --out", path.display());
    fs::create_dir_all(parent).with_context(|| about(parent))?;
    for candidate in numbered(name) {
        let path = parent.join(candidate);
        match fs::create_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|()| path.clone()).with_context(|| about(&path)),
        }
    }
    bail!("every name for a directory under `{}` is taken", parent.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_are_numbered() {
        let names = unlike(["a", "b", "A", "a-2", "a"].into_iter());
        assert_eq!(names, ["a", "b", "A-2", "a-2-2", "a-3"]);
    }

    #[test]
    fn a_directory_that_is_there_is_left_alone() {
        let parent = tempfile::tempdir().expect("there is a place for temporary files");
        let made: Vec<PathBuf> = (0..3)
            .map(|_| fresh(parent.path(), "now").expect("the directory is ours"))
            .collect();
        assert_eq!(made, ["now", "now-2", "now-3"].map(|name| parent.path().join(name)));
    }

    #[test]
    fn a_chosen_directory_must_be_empty() {
        let parent = tempfile::tempdir().expect("there is a place for temporary files");
        let out = chosen(parent.path().join("out")).expect("it is new");
        fs::write(out.join("run.jsonl"), "").expect("the directory is ours");
        assert!(chosen(out).is_err());
    }
}
