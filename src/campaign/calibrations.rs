//! Calibrations on disk: written to `calibrations/` and matched by circumstances.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::compare::calibration::{Held, LEAST_RUNS, pooled};
use crate::compare::{Played, are_versions, circumstances, counts, unlike};
use crate::gate::{Calibrations, Role, Sides};
use crate::lens::Lens;
use crate::record::{CALIBRATION_FORMAT, Calibration, Header};

use super::files;

/// Relative to the working directory.
const DIRECTORY: &str = "calibrations";

pub enum Found {
    /// All that hold as one, and the file of the newest.
    Fits(PathBuf, Held),
    /// A calibration of the same scenario and server, with these circumstances changed.
    Differs(PathBuf, Vec<&'static str>),
    Nothing,
}

pub fn store(calibration: &Calibration) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(DIRECTORY).with_context(|| format!("cannot create `{DIRECTORY}`, call lsp-soak elsewhere"))?;
    let stamp: String = calibration.made.chars().filter(char::is_ascii_alphanumeric).collect();
    let Calibration {
        scenario, server, lens, ..
    } = calibration;
    let name = format!("{stamp}-{scenario}-{server}-{lens}.json");
    let path = Path::new(DIRECTORY).join(name);
    let text = format!("{}\n", serde_json::to_string_pretty(calibration)?);
    files::write(&path, &text, "make room, and calibrate again")?;
    Ok(path)
}

/// The calibrations that match this header, whatever its server's name: those of its version if they have enough runs,
/// else also those of other versions of the same profile. Otherwise the newest of the same scenario and of the same server
/// name or program.
pub fn find(header: &Header) -> Found {
    let mut stored: Vec<(PathBuf, Calibration)> = stored()
        .filter(|(_, one)| one.scenario == header.scenario.name && one.lens == header.server.lens.name)
        .collect();
    stored.sort_by(|(_, a), (_, b)| b.made.cmp(&a.made));
    let (own, others): (Vec<_>, Vec<_>) = stored
        .into_iter()
        .partition(|(_, one)| unlike(&one.circumstances, header).is_empty());
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
        Some((path, one)) => Found::Differs(path.clone(), unlike(&one.circumstances, header)),
        None => Found::Nothing,
    }
}

fn runs(calibrations: &[(PathBuf, Calibration)]) -> u64 {
    calibrations.iter().map(|(_, one)| one.runs).sum()
}

/// True if the calibration is of another version of this header's server.
fn is_version(calibration: &Calibration, header: &Header) -> bool {
    let profile = &header.server.profile;
    profile.is_some() && *profile == calibration.profile && are_versions(&unlike(&calibration.circumstances, header))
}

fn fitting(calibrations: &[(PathBuf, Calibration)], header: &Header) -> Option<Found> {
    let (path, _) = calibrations.first()?;
    let all: Vec<Calibration> = calibrations.iter().map(|(_, one)| one.clone()).collect();
    let is_other_version = all.iter().any(|one| !unlike(&one.circumstances, header).is_empty());
    let calibration = pooled(&all)?;
    Some(Found::Fits(
        path.clone(),
        Held {
            calibration,
            is_other_version,
        },
    ))
}

/// The calibrations for these runs, one per lens and machine; none for a lens with an uncalibrated machine.
pub fn for_runs<'r>(runs: impl Iterator<Item = &'r Played>) -> Vec<Held> {
    let mut machines: BTreeMap<(Lens, String), &Header> = BTreeMap::new();
    for run in runs.filter(|run| counts(&run.summary)) {
        let header = &run.summary.header;
        machines
            .entry((header.server.lens.name, run.machine()))
            .or_insert(header);
    }
    let each = Lens::ALL.into_iter().flat_map(|lens| {
        let own = machines.iter().filter(|((through, _), _)| *through == lens);
        let each = own.map(|(_, header)| match find(header) {
            Found::Fits(_, held) => Some(held),
            Found::Differs(..) | Found::Nothing => None,
        });
        each.collect::<Option<Vec<Held>>>().unwrap_or_default()
    });
    each.collect()
}

/// The calibrations for each side of a gate.
pub fn for_sides(sides: &Sides) -> Calibrations {
    let all = [(Role::Baseline, &sides.baseline), (Role::Candidate, &sides.candidate)];
    let anchor = sides.anchor.as_ref().map(|anchor| (Role::Anchor, anchor));
    let all = all.into_iter().chain(anchor);
    Calibrations {
        of_sides: all.map(|(role, runs)| (role, for_runs(runs.iter()))).collect(),
    }
}

/// The calibrations in a format that this lsp-soak reads.
fn stored() -> impl Iterator<Item = (PathBuf, Calibration)> {
    let entries = fs::read_dir(DIRECTORY).into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let path = entry.path();
        let calibration: Calibration = serde_json::from_str(&fs::read_to_string(&path).ok()?).ok()?;
        (calibration.format.major == CALIBRATION_FORMAT.major).then_some((path, calibration))
    })
}
