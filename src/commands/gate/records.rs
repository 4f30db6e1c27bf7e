//! The sides of a gate from records: which runs are of which server, each on one side only.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::bail;

use crate::commands::show;
use analysis::compare::{Played, labels};
use analysis::gate::{Role, Sides};
use base::text::nearest;
use record::is_record;

use super::sides::{NO_FIRST_BASELINE, labelled_runs};

/// The records of an anchor: `RECORDS`, or `LABEL: RECORDS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named<'t> {
    label: Option<&'t str>,
    path: &'t str,
}

impl<'t> Named<'t> {
    /// `None` where this names a server.
    pub fn parse(text: &'t str) -> Option<Named<'t>> {
        if is_records(text) {
            return Some(Named {
                label: None,
                path: text,
            });
        }
        let (label, path) = text.split_once(':')?;
        let named = Named {
            label: Some(label.trim()),
            path: path.trim(),
        };
        if is_records(named.path) { Some(named) } else { None }
    }

    /// The runs of the one server that is meant.
    pub fn read(self) -> anyhow::Result<Vec<Played>> {
        runs_of_server(&read(self.path)?, self.label, Role::Anchor)
    }
}

fn is_records(text: &str) -> bool {
    let path = Path::new(text);
    path.is_dir() || is_record(path)
}

fn read(path: impl AsRef<Path>) -> anyhow::Result<Vec<Played>> {
    show::all_played(&[path.as_ref().to_owned()])
}

/// How the command line names each side: by its label, and an anchor also by its records.
pub struct NamedSides<'t> {
    pub baseline: Option<&'t str>,
    pub candidate: Option<&'t str>,
    pub anchor: Option<&'t str>,
}

/// The sides of these records. Only with limits can a candidate be judged alone.
pub fn recorded(from: &[PathBuf], named: &NamedSides<'_>, has_limits: bool) -> anyhow::Result<Sides> {
    let sources: Vec<Vec<Played>> = from.iter().map(read).collect::<anyhow::Result<_>>()?;
    let (baseline, candidate) = (named.baseline, named.candidate);
    let sources = joined(
        sources,
        baseline.unwrap_or(Role::Baseline.name()),
        candidate.unwrap_or(Role::Candidate.name()),
    );
    let anchor = match named.anchor {
        Some(text) => Some(match Named::parse(text) {
            Some(named) => named.read()?,
            None => runs_of_server(&sources[0], Some(text), Role::Anchor)?,
        }),
        None => None,
    };
    let sides = match sources.as_slice() {
        [all] if has_limits && is_candidate_alone(named, all) => {
            if anchor.is_some() {
                bail!("{NO_FIRST_BASELINE}");
            }
            Sides {
                baseline: None,
                candidate: runs_of_server(all, candidate, Role::Candidate)?,
                anchor: None,
            }
        }
        [both] => {
            let labelled_anchor = labelled_runs(both, Role::Anchor.name());
            let anchor = match anchor {
                None if !labelled_anchor.is_empty() => Some(labelled_anchor),
                anchor => anchor,
            };
            Sides {
                baseline: Some(runs_of_server(
                    both,
                    baseline.or(Some(Role::Baseline.name())),
                    Role::Baseline,
                )?),
                candidate: runs_of_server(both, candidate.or(Some(Role::Candidate.name())), Role::Candidate)?,
                anchor,
            }
        }
        [a, b, ..] => Sides {
            baseline: Some(runs_of_server(a, baseline, Role::Baseline)?),
            candidate: runs_of_server(b, candidate, Role::Candidate)?,
            anchor,
        },
        [] => bail!("--from names no records; name a directory"),
    };
    refuse_shared_runs(&sides)?;
    let compared = sides.baseline.iter().chain([&sides.candidate]);
    require_one_scenario(compared.flatten())?;
    Ok(sides)
}

/// True if neither the options nor the records name a baseline. Runs of several servers may have one that was not named.
fn is_candidate_alone(named: &NamedSides<'_>, runs: &[Played]) -> bool {
    let labels = labels(runs);
    let is_named = named.candidate.is_some() || labels.len() == 1;
    is_named && named.baseline.is_none() && !labels.contains(Role::Baseline.name())
}

/// Refuses runs of several scenarios, or of commands in several projects.
fn require_one_scenario<'r>(runs: impl Iterator<Item = &'r Played>) -> anyhow::Result<()> {
    let names: BTreeSet<&str> = runs.map(|run| run.summary.header.scenario.name.as_str()).collect();
    if names.len() <= 1 {
        return Ok(());
    }
    let names: Vec<&str> = names.into_iter().collect();
    bail!(
        "a gate judges one scenario or project, and these records are of {}: name the directory of one of them",
        names.join(", ")
    )
}

/// Records that are parts of one plan, as one source: more than two are, and two that each have both servers.
fn joined(sources: Vec<Vec<Played>>, baseline: &str, candidate: &str) -> Vec<Vec<Played>> {
    let have_both = sources
        .iter()
        .all(|runs| has_label(runs, baseline) && has_label(runs, candidate));
    if sources.len() == 2 && (baseline == candidate || !have_both) {
        return sources;
    }
    vec![show::drop_copies(sources.concat())]
}

fn has_label(runs: &[Played], label: &str) -> bool {
    runs.iter().any(|run| run.summary.header.server.label == label)
}

/// The runs of one server: the one with this label, or the only one there is.
fn runs_of_server(runs: &[Played], label: Option<&str>, role: Role) -> anyhow::Result<Vec<Played>> {
    let labels: Vec<&str> = labels(runs).into_iter().collect();
    let all = labels.join(", ");
    let cure = match role {
        Role::Anchor => "--anchor 'LABEL: RECORDS'".to_owned(),
        Role::Baseline | Role::Candidate => format!("--{} LABEL", role.name()),
    };
    match (label, labels.as_slice()) {
        (Some(label), labels) if labels.contains(&label) => Ok(labelled_runs(runs, label)),
        (None, [_]) => Ok(runs.to_vec()),
        (Some(label), labels) => {
            let meant = nearest(label, labels.iter().copied());
            let meant = meant.map_or_else(String::new, |near| format!("did you mean `{near}`? "));
            bail!("no record belongs to a server called `{label}`: {meant}there are {all}; choose with {cure}")
        }
        (None, _) => bail!(
            "the records of the {} belong to several servers: {all}; choose with {cure}",
            role.name()
        ),
    }
}

/// Refuses a run that the candidate would be compared with itself by: that always passes.
fn refuse_shared_runs(sides: &Sides) -> anyhow::Result<()> {
    for (role, runs) in sides.parties() {
        if role == Role::Candidate {
            continue;
        }
        for run in runs {
            let Some(own) = sides.candidate.iter().find(|own| own.is_copy_of(run)) else {
                continue;
            };
            let records = if own.record == run.record {
                format!("`{}` is", run.record)
            } else {
                format!("`{}` and `{}` are one run, which is", run.record, own.record)
            };
            bail!(
                "{records} of the {} and of the candidate: name other records, or another server with --baseline and \
                 --candidate",
                role.name()
            );
        }
    }
    Ok(())
}
