//! What earlier runs of a campaign left.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};

use crate::config::Loaded;
use crate::drive::workspace::KeptCopy;
use crate::resolve::ServerChoice;
use analysis::compare::{Played, changes};
use record::{CellFacts, Ending, Header};

use super::{files, read_played};

/// Characters shown of a changed value: enough to distinguish hashes.
const SHOWN: usize = 60;

#[derive(Debug, Default)]
pub struct EarlierRuns {
    /// In the order of the runs.
    pub headers: Vec<Header>,
    pub took: Duration,
    /// The copy of the project that the last run left.
    pub copy: KeptCopy,
}

impl EarlierRuns {
    pub fn add(&mut self, played: &Played) {
        self.headers.push(played.summary.header.clone());
        self.took += Duration::from_nanos(played.summary.duration);
    }

    /// The first header of this server and lens.
    pub fn first(&self, choice: &ServerChoice) -> Option<&Header> {
        self.headers
            .iter()
            .find(|header| header.server.label == choice.label && header.server.lens.name == choice.lens.lens)
    }
}

/// Fails if the server or the project changed since the first run.
pub fn require_unchanged(before: &Header, now: &Header, choice: &ServerChoice) -> anyhow::Result<()> {
    let changed: Vec<String> = changes(before, now)
        .into_iter()
        .map(|(name, then, now)| format!("{name} was `{}` and is `{}`", beginning(&then), beginning(&now)))
        .collect();
    if !changed.is_empty() {
        bail!(
            "`{}` changed since the first run: {}; put it back, or start anew, because the runs could not be compared",
            choice.label,
            changed.join(", ")
        );
    }
    Ok(())
}

fn beginning(value: &str) -> String {
    value.chars().take(SHOWN).collect()
}

/// An existing complete run.
///
/// An interrupted record is renamed, so that no report reads it. A record of another scenario or sweep is an error.
pub fn complete_run(path: &Path, scenario: &Loaded, cell: Option<&CellFacts>) -> anyhow::Result<Option<Played>> {
    if !path.exists() {
        return Ok(None);
    }
    let whole = read_played(path).ok().filter(|played| match played.summary.ending {
        None | Some(Ending::Interrupted) => false,
        Some(_) => true,
    });
    let Some(played) = whole else {
        put_aside(path).with_context(|| format!("cannot put `{}` aside", path.display()))?;
        return Ok(None);
    };
    if played.summary.header.scenario.sha256 != scenario.sha256 {
        bail!(
            "`{}` was recorded with another text of the scenario `{}`: start anew, because the runs could not be \
             compared",
            path.display(),
            scenario.scenario.name
        );
    }
    let before = cells_of_sweep(played.summary.header.plan.cell.as_ref());
    if before.is_some() && before != cells_of_sweep(cell) {
        bail!(
            "`{}` belongs to a sweep of other settings: the grid, the server or what is installed changed since; put \
             it back, or start anew with another --out",
            path.display()
        );
    }
    Ok(Some(played))
}

fn cells_of_sweep(cell: Option<&CellFacts>) -> Option<&str> {
    Some(&cell?.sweep.as_ref()?.cells)
}

/// Renames an interrupted record to the first free `cut-off` name.
fn put_aside(path: &Path) -> std::io::Result<()> {
    let mut names = files::numbered("cut-off").map(|extension| path.with_extension(extension));
    names
        .find(|aside| !aside.exists())
        .map_or(Ok(()), |aside| fs::rename(path, aside))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_is_cut_off_twice_keeps_both_records() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run-001-x.jsonl");
        for text in ["first", "second"] {
            fs::write(&path, text).unwrap();
            put_aside(&path).unwrap();
        }
        let read = |name: &str| fs::read_to_string(directory.path().join(name)).unwrap();
        assert_eq!(read("run-001-x.cut-off"), "first");
        assert_eq!(read("run-001-x.cut-off-2"), "second");
    }
}
