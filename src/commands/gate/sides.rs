//! Whose runs are which: of servers that are driven here, and of records.

use std::path::Path;

use anyhow::bail;

use crate::analyse::compare::{Played, unseen};
use crate::analyse::gate::{Role, Sides};
use crate::cli;
use crate::commands::show;
use crate::config;
use crate::lens::Lens;
use crate::report;

/// The servers that are driven here, each with the name of its part unless it was given one.
pub fn driven(options: &cli::Gate, anchor: Option<&str>) -> Vec<String> {
    let sides = [
        (Role::Baseline, options.baseline.as_deref()),
        (Role::Candidate, options.candidate.as_deref()),
        (Role::Anchor, anchor),
    ];
    let servers = sides.iter().filter_map(|(role, text)| Some(labelled(*role, (*text)?)));
    servers.collect()
}

fn labelled(role: Role, text: &str) -> String {
    let spec: Result<config::ServerSpec, _> = text.parse();
    match spec {
        Ok(config::ServerSpec { label: None, .. }) => format!("{}: {text}", role.name()),
        // What is wrong with it is told with everything else that is.
        Ok(_) | Err(_) => text.to_owned(),
    }
}

/// The runs of each side by the labels of the baseline, the candidate and the anchor.
pub fn split(runs: &[Played], labels: &[String], anchor: Option<Vec<Played>>) -> Sides {
    let of = |label: &String| labelled_runs(runs, label);
    let mut sides = labels.iter().map(of);
    Sides {
        baseline: sides.next().unwrap_or_default(),
        candidate: sides.next().unwrap_or_default(),
        anchor: sides.next().or(anchor),
    }
}

fn labelled_runs(runs: &[Played], label: &str) -> Vec<Played> {
    let own = runs.iter().filter(|run| run.summary.header.server.label == label);
    own.cloned().collect()
}

/// Whether this names records rather than a server.
pub fn is_records(text: &str) -> bool {
    let path = Path::new(text);
    path.is_dir() || path.extension().is_some_and(|extension| extension == "jsonl")
}

pub fn read(path: impl AsRef<Path>) -> anyhow::Result<Vec<Played>> {
    show::all_played(&[path.as_ref().to_owned()])
}

/// The sides of the records that were named.
pub fn recorded(options: &cli::Gate) -> anyhow::Result<Sides> {
    let sources: Vec<Vec<Played>> = options.from.iter().map(read).collect::<anyhow::Result<_>>()?;
    let (baseline, candidate) = (options.baseline.as_deref(), options.candidate.as_deref());
    let sources = joined(
        sources,
        baseline.unwrap_or(Role::Baseline.name()),
        candidate.unwrap_or(Role::Candidate.name()),
    );
    let anchor = match options.anchor.as_deref() {
        Some(anchor) if is_records(anchor) => Some(read(anchor)?),
        Some(label) => Some(one(&sources[0], Some(label), Role::Anchor)?),
        None => None,
    };
    match sources.as_slice() {
        [both] => {
            let own = labelled_runs(both, Role::Anchor.name());
            Ok(Sides {
                baseline: one(both, baseline.or(Some(Role::Baseline.name())), Role::Baseline)?,
                candidate: one(both, candidate.or(Some(Role::Candidate.name())), Role::Candidate)?,
                anchor: anchor.or(Some(own).filter(|own| !own.is_empty())),
            })
        }
        [a, b, ..] => Ok(Sides {
            baseline: one(a, baseline, Role::Baseline)?,
            candidate: one(b, candidate, Role::Candidate)?,
            anchor,
        }),
        [] => bail!("--from names no records; name a directory"),
    }
}

/// Records that are parts of one plan, as one source: more than two are, and two that each have both servers.
fn joined(sources: Vec<Vec<Played>>, baseline: &str, candidate: &str) -> Vec<Vec<Played>> {
    let has = |runs: &[Played], label: &str| runs.iter().any(|run| run.summary.header.server.label == label);
    let both = |runs: &Vec<Played>| has(runs, baseline) && has(runs, candidate);
    match sources.len() {
        2 if baseline == candidate || !sources.iter().all(both) => sources,
        _ => vec![sources.concat()],
    }
}

/// The runs of one server: the one with this label, or the only one there is.
fn one(runs: &[Played], label: Option<&str>, role: Role) -> anyhow::Result<Vec<Played>> {
    let mut labels: Vec<&str> = runs
        .iter()
        .map(|run| run.summary.header.server.label.as_str())
        .collect();
    labels.sort_unstable();
    labels.dedup();
    let all = labels.join(", ");
    let role = role.name();
    match (label, labels.as_slice()) {
        (Some(label), labels) if labels.contains(&label) => Ok(labelled_runs(runs, label)),
        (None, [_]) => Ok(runs.to_vec()),
        (Some(label), _) => {
            bail!("no record is of a server called `{label}`: there are {all}; say which with --{role} LABEL")
        }
        (None, _) => bail!("the records of the {role} are of several servers: {all}; say which with --{role} LABEL"),
    }
}

/// Refuses allocators that were told to purge in different ways.
pub fn alike<'r>(runs: impl Iterator<Item = &'r Played>) -> anyhow::Result<()> {
    let lenses = runs.map(|run| &run.summary.header.server.lens);
    let mut allocators: Vec<&str> = lenses
        .filter(|lens| lens.name == Lens::Purged)
        .filter_map(|lens| lens.allocator.as_deref())
        .collect();
    allocators.sort_unstable();
    allocators.dedup();
    match allocators.len() {
        0 | 1 => Ok(()),
        _ => bail!(
            "the purged lens compares versions of one server, and these use {}: compare them as shipped",
            allocators.join(" and ")
        ),
    }
}

/// The settings that some run did not see in force, so that nobody takes the verdict for one on them.
pub fn unseen_settings(sides: &Sides) -> Vec<String> {
    let all = [&sides.baseline, &sides.candidate]
        .into_iter()
        .chain(sides.anchor.as_ref());
    let mut notes = Vec::new();
    for run in all.flatten() {
        let label = &run.summary.header.server.label;
        for knob in unseen(&[run]) {
            let note = report::comparison::unseen(label, &knob);
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    notes
}
