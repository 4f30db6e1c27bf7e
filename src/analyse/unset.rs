//! Settings that the server was given and that did not reach the process which has the memory: a wrapper kept them.

use std::fmt;

use crate::record::{AllocatorFacts, Checkpoint, ServerFacts};
use crate::units;

use super::tree::Tree;
use super::untrimmed::{Deaf, Untrimmed};

/// A setting that was not in force in the process that led the tree's memory at a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unset {
    /// The variable.
    pub variable: String,
    /// What it was in that process; `None` where it was not there.
    pub value: Option<String>,
    /// Whether it is a library that was preloaded, and that the process had not mapped.
    pub library: bool,
    /// Its program's short name.
    pub program: String,
    /// Its private memory in bytes.
    pub private: u64,
    /// That of the whole tree.
    pub tree: u64,
}

impl Unset {
    /// Where it was not, as the end of a sentence: `the environment of `ty`, which holds 79.2 of 80.1 MiB`.
    pub fn place(&self) -> String {
        let Unset {
            program, private, tree, ..
        } = self;
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
            None => write!(f, "{variable} was asked for, and is not in {place}"),
            Some(value) => write!(
                f,
                "{variable} was asked for with another value than the {value} in {place}"
            ),
        }
    }
}

/// The settings that the process with the most memory did not have; none where that is not known.
pub(super) fn unset(checkpoint: &Checkpoint, tree: &Tree, server: &ServerFacts) -> Vec<Unset> {
    let held: Option<Vec<_>> = tree
        .held(checkpoint)
        .map(|(live, private)| Some((live, private?)))
        .collect();
    let held = held.unwrap_or_default();
    let Some((leader, private)) = held.iter().max_by_key(|(_, private)| *private) else {
        return Vec::new();
    };
    let one = |variable: &str, value: Option<&String>, library: bool| Unset {
        variable: variable.to_owned(),
        value: value.cloned(),
        library,
        program: leader.name.clone(),
        private: *private,
        tree: held.iter().map(|(_, private)| private).sum(),
    };
    let environment = leader.environment.iter();
    let mut found: Vec<Unset> = environment
        .flat_map(|seen| {
            let missing = seen.missing.iter().map(|name| one(name, None, false));
            missing.chain(seen.other.iter().map(|(name, value)| one(name, Some(value), false)))
        })
        .collect();
    let library = server.preload.as_ref().map(|preload| &preload.path);
    if let Some(path) = library.filter(|path| leader.without.contains(path)) {
        let knob = server.knobs.iter().find(|knob| knob.requested == *path);
        let variable = knob.map_or("LD_PRELOAD", |knob| &knob.variable);
        found.push(one(variable, None, true));
    }
    found
}

/// Adds what is new; of one that is known that of the larger tree stays.
pub(super) fn note(known: &mut Vec<Unset>, found: Vec<Unset>) {
    for one in found {
        match known.iter_mut().find(|seen| seen.variable == one.variable) {
            Some(seen) if seen.tree < one.tree => *seen = one,
            Some(_) => {}
            None => known.push(one),
        }
    }
}

/// What is known of a server before its run, less what the run has shown not to be so.
pub(super) fn correct(server: &mut ServerFacts, unset: &[Unset], untrimmed: &[Untrimmed]) {
    for knob in &mut server.knobs {
        if let Some(one) = unset.iter().find(|one| one.variable == knob.variable) {
            knob.effective.clone_from(&one.value);
            knob.seen = Some(one.place());
            knob.taken = Some(false);
        }
    }
    let told = |name: &String| server.lens.env.contains_key(name);
    let untold = |one: &Untrimmed| {
        one.processes
            .iter()
            .any(|process| matches!(process.why, Deaf::Unset(_)))
    };
    if unset.iter().any(|one| told(&one.variable)) || untrimmed.iter().any(untold) {
        server.lens.verified = Some(false);
    }
    if unset.iter().any(|one| one.library) {
        // Which allocator it has then was not looked for.
        (server.preload, server.allocator) = (None, Some(AllocatorFacts::default()));
    }
}
