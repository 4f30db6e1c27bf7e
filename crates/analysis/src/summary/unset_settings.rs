//! Settings that did not reach the process with the memory, because a wrapper removed them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use base::units;
use record::variables::contains_options;
use record::{AllocatorFacts, Checkpoint, Environment, ServerFacts};

use super::tree::{LiveProcess, Tree};
use super::unpurged::{PurgeFailure, UnpurgedCheckpoint};

/// A setting that was not in force in much of the tree's memory at a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unset {
    pub variable: String,
    /// The value in that process; `None` if it was absent.
    pub value: Option<String>,
    /// True for a preloaded library that did not serve the process.
    pub library: bool,
    /// The short name of the largest process without the setting.
    pub program: String,
    /// Private memory of that process in bytes.
    pub private: u64,
    /// Private memory of the whole tree in bytes.
    pub tree: u64,
    /// Most bytes that a mapped library served by its own account, too few for the process; `None` if it was not mapped.
    pub held: Option<u64>,
}

impl Unset {
    /// The place where it was missing, as the end of a sentence: `the environment of `ty`, which holds 79.2 of 80.1 MiB`.
    pub fn place(&self) -> String {
        let Unset {
            program,
            private,
            tree,
            held,
            ..
        } = self;
        if let Some(held) = held {
            let (held, private) = (units::mib(*held), units::mib(*private));
            return format!("use by `{program}`: it had at most {held} of the {private} MiB");
        }
        let size = format!("which holds {} of {} MiB", units::mib(*private), units::mib(*tree));
        if self.library {
            format!("what `{program}` has mapped, {size}")
        } else {
            format!("the environment of `{program}`, {size}")
        }
    }
}

impl fmt::Display for Unset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (variable, place) = (&self.variable, self.place());
        match &self.value {
            None => write!(f, "{variable} was set, but is not in {place}"),
            Some(value) => write!(f, "{variable} was set to another value than the {value} in {place}"),
        }
    }
}

/// Of the tree's private memory, the part that may be without a setting: a tenth. A helper with less hardly moves the
/// figure, whereas a small server under the interpreter of its wrapper has more.
const SMALL_SHARE: u64 = 10;

/// The settings that were missing at a checkpoint: variables missing from more than a small share of the memory, and
/// preloads missing from the largest process, since helpers may be unable to load them. Empty unless memory is known
/// for every process.
pub(super) fn unset(checkpoint: &Checkpoint, tree: &Tree, server: &ServerFacts) -> Vec<Unset> {
    let owners: Option<Vec<(&LiveProcess, u64)>> = tree
        .owners(checkpoint)
        .map(|(live, private)| Some((live, private?)))
        .collect();
    let owners = owners.unwrap_or_default();
    let tree_total = total(&owners);
    let mut unset = unset_variables(&owners, tree_total);
    unset.extend(unset_preload(&owners, tree_total, server));
    unset
}

/// The preloaded library, if the process with the most memory lacks it.
fn unset_preload(owners: &[(&LiveProcess, u64)], tree_total: u64, server: &ServerFacts) -> Option<Unset> {
    let path = &server.preload.as_ref()?.path;
    let (leader, private) = owners.iter().max_by_key(|(_, private)| *private)?;
    if !leader.missing_libraries.contains(path) {
        return None;
    }
    let knob = server.knobs.iter().find(|knob| knob.requested == *path);
    Some(Unset {
        variable: knob.map_or("LD_PRELOAD", |knob| &knob.variable).to_owned(),
        value: None,
        library: true,
        program: leader.name.clone(),
        private: *private,
        tree: tree_total,
        held: None,
    })
}

/// The variables that are missing from more than a small share of the memory.
fn unset_variables(owners: &[(&LiveProcess, u64)], tree_total: u64) -> Vec<Unset> {
    let names: BTreeSet<&String> = owners
        .iter()
        .filter_map(|(live, _)| live.environment.as_ref())
        .flat_map(|seen| seen.missing.iter().chain(seen.other.keys()))
        .collect();
    names
        .into_iter()
        .filter_map(|name| unset_variable(name, owners, tree_total))
        .collect()
}

/// A variable with the largest process that lacks it; `None` if only a small share of the memory is without it.
fn unset_variable(name: &String, owners: &[(&LiveProcess, u64)], tree_total: u64) -> Option<Unset> {
    let lacking: Vec<(&LiveProcess, u64)> = owners
        .iter()
        .copied()
        .filter(|(live, _)| live.environment.as_ref().is_some_and(|seen| seen.lacks(name)))
        .collect();
    if total(&lacking) <= tree_total / SMALL_SHARE {
        return None;
    }
    let (largest, private) = lacking.into_iter().max_by_key(|(_, private)| *private)?;
    let seen = largest.environment.as_ref()?;
    Some(Unset {
        variable: name.clone(),
        value: seen.other.get(name).cloned(),
        library: false,
        program: largest.name.clone(),
        private,
        tree: tree_total,
        held: None,
    })
}

fn total(owners: &[(&LiveProcess, u64)]) -> u64 {
    owners.iter().fold(0, |sum, (_, private)| sum.saturating_add(*private))
}

/// Counts a variable as given if it holds all requested options, and others that a wrapper added.
pub(super) fn accept_added(seen: &mut Environment, requested: &BTreeMap<String, String>) {
    let accepted = seen.other.extract_if(.., |name, value| {
        requested
            .get(name)
            .is_some_and(|requested| contains_options(name, requested, value))
    });
    seen.given.extend(accepted.map(|(name, _)| name));
}

/// Adds the settings that were missing at a checkpoint. If one was missing before, the entry with the larger tree stays.
pub(super) fn add(known: &mut Vec<Unset>, found: Vec<Unset>) {
    for unset in found {
        match known.iter_mut().find(|known| known.variable == unset.variable) {
            Some(known) if known.tree < unset.tree => *known = unset,
            Some(_) => {}
            None => known.push(unset),
        }
    }
}

/// Corrects a server's facts from before its run by what was missing in the run.
pub(super) fn correct(server: &mut ServerFacts, all_unset: &[Unset], unpurged: &[UnpurgedCheckpoint]) {
    for knob in &mut server.knobs {
        if let Some(unset) = all_unset.iter().find(|unset| unset.variable == knob.variable) {
            knob.effective.clone_from(&unset.value);
            knob.seen = Some(unset.place());
            knob.taken = Some(false);
        }
    }
    let lacks_lens_variable = all_unset
        .iter()
        .any(|unset| server.lens.env.contains_key(&unset.variable));
    let mut unpurged_processes = unpurged.iter().flat_map(|checkpoint| &checkpoint.processes);
    if lacks_lens_variable || unpurged_processes.any(|process| matches!(process.why, PurgeFailure::Unset(_))) {
        server.lens.verified = Some(false);
    }
    if all_unset.iter().any(|unset| unset.library) {
        // Which allocator it has then was not looked for.
        (server.preload, server.allocator) = (None, Some(AllocatorFacts::default()));
    }
}
