//! Calibrations on disk: written to `calibrations/` and matched by circumstances.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use analysis::compare::calibration::{ApplicableCalibration, LEAST_RUNS, pooled};
use analysis::compare::{Played, are_versions, circumstances, differing_circumstances, is_counted};
use analysis::gate::{Calibrations, Sides};
use base::lens::Lens;
use record::{CALIBRATION_FORMAT, Calibration, Header};

use super::files;

/// Relative to the working directory.
const DIRECTORY: &str = "calibrations";

pub enum FoundCalibration {
    /// All that hold as one, and the file of the newest.
    Fits(PathBuf, Box<ApplicableCalibration>),
    /// A calibration of the same scenario and server, with these circumstances changed.
    Differs(PathBuf, Vec<&'static str>),
    Nothing,
}

pub fn store(calibration: &Calibration) -> anyhow::Result<PathBuf> {
    store_in(Path::new(DIRECTORY), calibration)
}

fn store_in(directory: &Path, calibration: &Calibration) -> anyhow::Result<PathBuf> {
    let is_new = !directory.exists();
    fs::create_dir_all(directory)
        .with_context(|| format!("cannot create `{}`, call lsp-soak elsewhere", directory.display()))?;
    if is_new {
        // They hold for one machine. Without the file only `git status` is longer.
        let _ = fs::write(directory.join(files::IGNORED), files::IGNORES_ALL);
    }
    let stamp: String = calibration.made.chars().filter(char::is_ascii_alphanumeric).collect();
    let Calibration {
        scenario, server, lens, ..
    } = calibration;
    let name = format!("{stamp}-{scenario}-{server}-{lens}.json");
    let path = directory.join(name);
    let text = format!("{}\n", serde_json::to_string_pretty(calibration)?);
    files::write(&path, &text, "make room, and calibrate again")?;
    Ok(path)
}

/// The calibrations that match this header, whatever its server's name: those of its version if they have enough runs,
/// else also those of other versions of the same profile. Otherwise the newest of the same scenario and of the same server
/// name or program.
pub fn find(header: &Header) -> FoundCalibration {
    find_without(header, &BTreeSet::new())
}

/// All calibrations that match this header, as one.
pub fn pooled_for(header: &Header) -> Option<Calibration> {
    match find(header) {
        FoundCalibration::Fits(_, held) => Some(held.calibration),
        FoundCalibration::Differs(..) | FoundCalibration::Nothing => None,
    }
}

/// As [`find`], without calibrations of the runs that started then: they would be judged by themselves.
fn find_without(header: &Header, judged: &BTreeSet<&str>) -> FoundCalibration {
    find_among(stored(Path::new(DIRECTORY)), header, judged)
}

fn find_among(stored: Vec<(PathBuf, Calibration)>, header: &Header, judged: &BTreeSet<&str>) -> FoundCalibration {
    let stored = apart_from(stored, judged);
    let stored = stored
        .into_iter()
        .filter(|(_, one)| one.scenario == header.scenario.name && one.lens == header.server.lens.name);
    let (own, others): (Vec<_>, Vec<_>) =
        stored.partition(|(_, one)| differing_circumstances(&one.circumstances, header).is_empty());
    if runs(&own) < LEAST_RUNS {
        let versions = others.iter().filter(|(_, one)| is_version(one, header));
        let all: Vec<_> = own.iter().chain(versions).cloned().collect();
        if runs(&all) >= LEAST_RUNS
            && let Some(found) = fitting(&all, header)
        {
            return found;
        }
    }
    if let Some(found) = fitting(&own, header) {
        return found;
    }
    let now = circumstances(header);
    let same =
        |one: &Calibration| one.server == header.server.label || one.circumstances.get("program") == now.get("program");
    match others.iter().find(|(_, one)| same(one)) {
        Some((path, one)) => {
            FoundCalibration::Differs(path.clone(), differing_circumstances(&one.circumstances, header))
        }
        None => FoundCalibration::Nothing,
    }
}

/// The calibrations, the newest first, without those of judged runs and those of runs that a newer one has.
fn apart_from(mut stored: Vec<(PathBuf, Calibration)>, judged: &BTreeSet<&str>) -> Vec<(PathBuf, Calibration)> {
    stored.sort_by(|(_, a), (_, b)| b.made.cmp(&a.made));
    let mut taken: BTreeSet<String> = judged.iter().map(|started| (*started).to_owned()).collect();
    let mut apart = Vec::new();
    for (path, one) in stored {
        if one.started.iter().all(|started| !taken.contains(started)) {
            taken.extend(one.started.iter().cloned());
            apart.push((path, one));
        }
    }
    apart
}

fn runs(calibrations: &[(PathBuf, Calibration)]) -> u64 {
    calibrations.iter().map(|(_, one)| one.runs).sum()
}

/// True if the calibration is of another version of this header's server.
fn is_version(calibration: &Calibration, header: &Header) -> bool {
    let profile = &header.server.profile;
    profile.is_some()
        && *profile == calibration.profile
        && are_versions(&differing_circumstances(&calibration.circumstances, header))
}

fn fitting(calibrations: &[(PathBuf, Calibration)], header: &Header) -> Option<FoundCalibration> {
    let (path, _) = calibrations.first()?;
    let all: Vec<Calibration> = calibrations.iter().map(|(_, one)| one.clone()).collect();
    let is_other_version = all
        .iter()
        .any(|one| !differing_circumstances(&one.circumstances, header).is_empty());
    let calibration = pooled(&all)?;
    Some(FoundCalibration::Fits(
        path.clone(),
        Box::new(ApplicableCalibration {
            calibration,
            is_other_version,
        }),
    ))
}

/// The calibrations for these runs, one per lens and machine; none for a lens with an uncalibrated machine. `judged` are all
/// runs that are judged by them.
pub fn for_runs<'r>(runs: impl Iterator<Item = &'r Played>, judged: &BTreeSet<&str>) -> Vec<ApplicableCalibration> {
    let mut machines: BTreeMap<(Lens, String), &Header> = BTreeMap::new();
    for run in runs.filter(|run| is_counted(&run.summary)) {
        let header = &run.summary.header;
        machines
            .entry((header.server.lens.name, run.machine()))
            .or_insert(header);
    }
    let each = Lens::ALL.into_iter().flat_map(|lens| {
        let own = machines.iter().filter(|((through, _), _)| *through == lens);
        let each = own.map(|(_, header)| match find_without(header, judged) {
            FoundCalibration::Fits(_, held) => Some(*held),
            FoundCalibration::Differs(..) | FoundCalibration::Nothing => None,
        });
        each.collect::<Option<Vec<ApplicableCalibration>>>().unwrap_or_default()
    });
    each.collect()
}

/// The calibrations for each side of a gate.
pub fn for_sides(sides: &Sides) -> Calibrations {
    let judged = starts(sides.runs());
    let each = sides.parties().into_iter();
    Calibrations {
        of_sides: each
            .map(|(role, runs)| (role, for_runs(runs.iter(), &judged)))
            .collect(),
    }
}

/// When each of these runs started.
pub fn starts<'r>(runs: impl Iterator<Item = &'r Played>) -> BTreeSet<&'r str> {
    runs.map(|run| run.summary.header.started.as_str()).collect()
}

/// The calibrations in a format that this lsp-soak reads.
fn stored(directory: &Path) -> Vec<(PathBuf, Calibration)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let text = fs::read_to_string(&path).unwrap_or_default();
        if let Ok(calibration) = serde_json::from_str::<Calibration>(&text)
            && calibration.format.major == CALIBRATION_FORMAT.major
        {
            all.push((path, calibration));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(at: &str, started: &[&str]) -> (PathBuf, Calibration) {
        let calibration = Calibration {
            format: CALIBRATION_FORMAT,
            tool: String::new(),
            made: at.to_owned(),
            scenario: "goto".to_owned(),
            server: "ty".to_owned(),
            profile: None,
            lens: Lens::Purged,
            circumstances: BTreeMap::new(),
            runs: started.len() as u64,
            started: started.iter().map(|start| (*start).to_owned()).collect(),
            noise: Vec::new(),
            recommended_runs: None,
        };
        (PathBuf::from(at), calibration)
    }

    #[test]
    fn a_run_counts_once_and_never_in_its_own_judgement() {
        let stored = || {
            vec![
                made("1", &["a", "b"]),
                made("2", &["a", "b", "c"]),
                made("3", &["d", "e"]),
                // Of a version that did not name the runs.
                made("0", &[]),
            ]
        };
        let kept = |judged: &[&str]| {
            let judged = judged.iter().copied().collect();
            let apart = apart_from(stored(), &judged).into_iter();
            apart
                .map(|(path, _)| path.display().to_string())
                .collect::<Vec<String>>()
        };
        assert_eq!(
            kept(&[]),
            ["3", "2", "0"],
            "a gate that went on has stored its first runs twice"
        );
        assert_eq!(kept(&["d", "e", "f"]), ["2", "0"]);
        assert_eq!(kept(&["c"]), ["3", "1", "0"]);
    }

    #[test]
    fn a_new_directory_is_ignored_by_git_and_an_old_one_is_left_alone() {
        let project = tempfile::tempdir().unwrap();
        let directory = project.path().join("calibrations");
        let (_, calibration) = made("2026-11-26T12:00:00Z", &["a"]);
        store_in(&directory, &calibration).unwrap();
        let ignored = directory.join(files::IGNORED);
        assert_eq!(fs::read_to_string(&ignored).unwrap(), "*\n");
        assert_eq!(stored(&directory).len(), 1);
        // Whoever commits calibrations removes it.
        fs::remove_file(&ignored).unwrap();
        store_in(&directory, &calibration).unwrap();
        assert!(!ignored.exists());
    }
}
