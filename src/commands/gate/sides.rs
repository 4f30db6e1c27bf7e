//! Assigns the driven servers' runs to sides, and checks that the sides can be compared.

use std::collections::BTreeSet;

use anyhow::bail;

use crate::resolve::is_lens_option;
use analysis::compare::{Played, doubts, is_counted, unconfirmed_settings};
use analysis::findings::setting;
use analysis::gate::{Role, Sides};
use analysis::summary::is_denied;
use base::lens::Lens;
use record::{KnobFacts, Preload, ServerFacts};
use report::comparison;

/// The text of each side's server, labelled with its role if it has no label. `preload` goes into the text, so that it does
/// not become part of a label.
pub fn server_texts(sides: &[(Role, Option<&str>)], preload: Option<&Preload>) -> Vec<String> {
    sides
        .iter()
        .filter_map(|(role, text)| Some(labelled(*role, (*text)?, preload)))
        .collect()
}

fn labelled(role: Role, text: &str, preload: Option<&Preload>) -> String {
    let spec: Result<crate::resolve::ServerSpec, _> = text.parse();
    // The text is parsed again where all mistakes are reported.
    let Ok(mut spec) = spec else {
        return text.to_owned();
    };
    spec.preload = spec.preload.or_else(|| preload.cloned());
    let label = spec.label.as_deref().unwrap_or(role.name());
    format!("{label}: {}", spec.unlabelled())
}

/// The error for `--anchor` without `--baseline`.
pub const NO_FIRST_BASELINE: &str =
    "--anchor names a second baseline, and there is no first one: name the first one with --baseline";

/// The runs of each side. `labels` has one for each server that was driven: baseline unless `is_alone`, candidate, anchor.
pub fn split(is_alone: bool, runs: &[Played], labels: &[String], anchor: Option<Vec<Played>>) -> Sides {
    let mut sides = labels.iter().map(|label| labelled_runs(runs, label));
    let baseline = if is_alone {
        None
    } else {
        Some(sides.next().unwrap_or_default())
    };
    Sides {
        baseline,
        candidate: sides.next().unwrap_or_default(),
        anchor: sides.next().or(anchor),
    }
}

pub fn labelled_runs(runs: &[Played], label: &str) -> Vec<Played> {
    runs.iter()
        .filter(|run| run.summary.header.server.label == label)
        .cloned()
        .collect()
}

/// Refuses sides whose allocators were purged in different ways.
pub fn require_one_allocator<'r>(lenses: impl Iterator<Item = (Lens, Option<&'r str>)>) -> anyhow::Result<()> {
    let purged = lenses.filter(|(lens, _)| *lens == Lens::Purged);
    let allocators: BTreeSet<&str> = purged.filter_map(|(_, allocator)| allocator).collect();
    if allocators.len() > 1 {
        bail!(
            "the purged lens compares versions of one server, and these use {}: compare them as shipped",
            allocators.into_iter().collect::<Vec<&str>>().join(" and ")
        );
    }
    Ok(())
}

/// The lens of a run, and the allocator that it is for.
pub fn lens_of(run: &Played) -> (Lens, Option<&str>) {
    let lens = &run.summary.header.server.lens;
    (lens.name, lens.allocator.as_deref())
}

/// The lenses that every side has runs through, whatever their result.
pub fn common(sides: &Sides) -> anyhow::Result<Vec<Lens>> {
    let all = sides.parties();
    let common: Vec<Lens> = Lens::ALL
        .into_iter()
        .filter(|lens| all.iter().all(|(_, runs)| has_lens(runs, *lens)))
        .collect();
    if !common.is_empty() {
        return Ok(common);
    }
    let mut lenses_by_side = Vec::new();
    for (role, runs) in &all {
        let lenses: Vec<&str> = Lens::ALL
            .into_iter()
            .filter(|lens| has_lens(runs, *lens))
            .map(Lens::name)
            .collect();
        lenses_by_side.push(format!("the {} {}", role.name(), lenses.join(" and ")));
    }
    bail!(
        "no lens covers every side: {}; record all sides with --lens both",
        lenses_by_side.join(", ")
    )
}

fn has_lens(runs: &[Played], lens: Lens) -> bool {
    runs.iter().any(|run| lens_of(run).0 == lens)
}

/// Refuses runs in which a setting or library was seen to be ineffective, or could not be confirmed where the run had
/// to. A verdict would be about another configuration. Memory that was not purged as planned is unknown and decides
/// nothing.
pub fn require_settings(sides: &Sides) -> anyhow::Result<()> {
    let mut messages: Vec<String> = Vec::new();
    for (_, side) in sides.parties() {
        // One run of each side is enough.
        let lacking = side.iter().find_map(|run| Some((run, first_lacking_setting(run)?)));
        if let Some((run, setting)) = lacking {
            let label = &run.summary.header.server.label;
            messages.push(format!("`{label}` in `{}`: {setting}", run.record));
        }
    }
    if messages.is_empty() {
        return Ok(());
    }
    bail!(
        "not judged, because servers ran without their settings: {}; name the program itself, or a wrapper that \
         passes environment and stderr on; preload jemalloc, mimalloc or tcmalloc, which report what they served",
        messages.join("; ")
    )
}

/// A setting or library that a run lacked. Settings that its lens added do not count; its libraries do.
fn first_lacking_setting(run: &Played) -> Option<String> {
    let server = &run.summary.header.server;
    for unset in &run.summary.allocator.unset {
        if unset.library || !server.lens.env.contains_key(&unset.variable) {
            return Some(unset.to_string());
        }
    }
    server
        .knobs
        .iter()
        .find(|knob| is_denied(knob) && !is_added_by_lens(server, knob))
        .map(setting)
}

fn is_added_by_lens(server: &ServerFacts, knob: &KnobFacts) -> bool {
    server.lens.env.contains_key(&knob.variable) && is_lens_option(knob)
}

/// Settings, libraries and purges that some run should have had and lacked, as notes to the verdict.
pub fn unseen_settings(sides: &Sides) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for (_, side) in sides.parties() {
        let runs: Vec<&Played> = side.iter().collect();
        let Some(first) = runs.first() else { continue };
        let label = &first.summary.header.server.label;
        let mut own: Vec<String> = Vec::new();
        for knob in unconfirmed_settings(&runs) {
            own.push(comparison::unseen(label, &knob));
        }
        let counting: Vec<&Played> = side.iter().filter(|run| is_counted(&run.summary)).collect();
        for text in doubts(&counting) {
            own.push(comparison::doubt(label, &text));
        }
        // Two sides may share a label.
        own.retain(|note| !notes.contains(note));
        notes.extend(own);
    }
    notes
}
