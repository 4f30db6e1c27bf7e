//! Settings that did not reach the process with the memory, because a wrapper removed them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use base::units;
use record::variables::contains_options;
use record::{AllocatorFacts, Checkpoint, Environment, ServerFacts};

use super::tree::{Live, Tree};
use super::unpurged::{PurgeFailure, UnpurgedCheckpoint};

/// A setting that was not in force in much of the tree's memory at a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unset {
    pub variable: String,
    /// The value in that process; `None` if it was absent.
    pub value: Option<String>,
    /// Whether it is a library that was preloaded, and that the process had not mapped.
    pub library: bool,
    /// The short name of its program, the largest of them.
    pub program: String,
    /// Its private memory in bytes.
    pub private: u64,
    pub tree: u64,
    /// What a library that was mapped had of that at most, by its own account: too little to serve the process.
    pub held: Option<u64>,
}

impl Unset {
    /// Where it was not, as the end of a sentence: `the environment of `ty`, which holds 79.2 of 80.1 MiB`.
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
        match self.library {
            true => format!("what `{program}` has mapped, {size}"),
            false => format!("the environment of `{program}`, {size}"),
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
    let held: Option<Vec<(&Live, u64)>> = tree
        .held(checkpoint)
        .map(|(live, private)| Some((live, private?)))
        .collect();
    let held = held.unwrap_or_default();
    let all = sum(&mut held.iter());
    let mut changes = changed(&held, all);
    let library = server.preload.as_ref().map(|preload| &preload.path);
    let leader = held.iter().max_by_key(|(_, private)| *private);
    if let Some((path, (leader, private))) = library.zip(leader)
        && leader.without.contains(path)
    {
        let knob = server.knobs.iter().find(|knob| knob.requested == *path);
        changes.push(Unset {
            variable: knob.map_or("LD_PRELOAD", |knob| &knob.variable).to_owned(),
            value: None,
            library: true,
            program: leader.name.clone(),
            private: *private,
            tree: all,
            held: None,
        });
    }
    changes
}

/// The variables that more than a small share of the memory was without, each of the largest process that was.
fn changed(held: &[(&Live, u64)], tree: u64) -> Vec<Unset> {
    let seen = held.iter().filter_map(|(live, _)| live.environment.as_ref());
    let names: BTreeSet<&String> = seen
        .flat_map(|seen| seen.missing.iter().chain(seen.other.keys()))
        .collect();
    let one = |name: &String| {
        let lacks = |live: &Live| live.environment.as_ref().is_some_and(|seen| seen.lacks(name));
        let without = held.iter().filter(|(live, _)| lacks(live));
        let sum = sum(&mut without.clone());
        let (largest, private) = without.max_by_key(|(_, private)| *private)?;
        (sum > tree / SMALL_SHARE).then(|| Unset {
            variable: name.clone(),
            value: largest
                .environment
                .as_ref()
                .and_then(|seen| seen.other.get(name))
                .cloned(),
            library: false,
            program: largest.name.clone(),
            private: *private,
            tree,
            held: None,
        })
    };
    names.into_iter().filter_map(one).collect()
}

fn sum<'h>(held: &mut dyn Iterator<Item = &'h (&'h Live, u64)>) -> u64 {
    held.fold(0, |sum, (_, private)| sum.saturating_add(*private))
}

/// Takes a variable for given that holds all that it was given, with more that a wrapper added.
pub(super) fn accept_added(seen: &mut Environment, given: &BTreeMap<String, String>) {
    let is_added = |name: &String, value: &mut String| {
        given
            .get(name)
            .is_some_and(|asked| contains_options(name, asked, value))
    };
    let added = seen.other.extract_if(.., is_added);
    seen.given.extend(added.map(|(name, _)| name));
}

/// Adds new ones; of a known one the value from the larger tree stays.
pub(super) fn note(known: &mut Vec<Unset>, changes: Vec<Unset>) {
    for one in changes {
        match known.iter_mut().find(|seen| seen.variable == one.variable) {
            Some(seen) if seen.tree < one.tree => *seen = one,
            Some(_) => {}
            None => known.push(one),
        }
    }
}

/// A server's facts from before its run, corrected by those of the run.
pub(super) fn correct(server: &mut ServerFacts, unset: &[Unset], unpurged: &[UnpurgedCheckpoint]) {
    for knob in &mut server.knobs {
        if let Some(one) = unset.iter().find(|one| one.variable == knob.variable) {
            knob.effective.clone_from(&one.value);
            knob.seen = Some(one.place());
            knob.taken = Some(false);
        }
    }
    let told = |name: &String| server.lens.env.contains_key(name);
    let untold = |one: &UnpurgedCheckpoint| {
        one.processes
            .iter()
            .any(|process| matches!(process.why, PurgeFailure::Unset(_)))
    };
    if unset.iter().any(|one| told(&one.variable)) || unpurged.iter().any(untold) {
        server.lens.verified = Some(false);
    }
    if unset.iter().any(|one| one.library) {
        // Which allocator it has then was not looked for.
        (server.preload, server.allocator) = (None, Some(AllocatorFacts::default()));
    }
}
