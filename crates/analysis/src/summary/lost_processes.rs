//! Processes of the tree that ended while the server was used, as far as that matters for the figures.
//!
//! What an end means may be known only later, when another process takes the place or none does. So ends are collected, and
//! judged when the record is over.

mod judge;

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use record::{Checkpoint, EndCause, Nanos, PhaseRef, Process, ProcessEnd};

use super::Summary;
use super::tree::{LiveProcess, Tree};

/// A process that crashed, or that held much of the tree's memory and ended although nobody asked for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LostProcess {
    /// Program, for an interpreter with its script: `node tsserver.js`.
    pub name: String,
    pub pid: u32,
    pub at: Nanos,
    /// The phase in which it ended.
    pub phase: Option<PhaseRef>,
    pub cause: EndCause,
    /// Private memory at its last sample, in bytes.
    pub private: Option<u64>,
    /// Private memory of the rest of the tree just after its end, in bytes.
    pub rest: Option<u64>,
    /// True if it held more than half of the tree's private memory at the last checkpoint or sample, alone or together with
    /// others that ended and that none replaced.
    pub held_most: bool,
    /// True if a process with the same name took its place.
    pub replaced: bool,
}

impl LostProcess {
    /// True if its end fails the run.
    pub fn crashed(&self) -> bool {
        self.cause.is_crash()
    }
}

/// The end of a process that nobody asked for, before it is judged.
#[derive(Debug)]
struct End {
    lost: LostProcess,
    parent: Option<u32>,
    /// True if it was there when the server was ready or at a checkpoint.
    rested: bool,
    /// Last known private memory of the rest of the tree, in bytes.
    rest: u64,
    /// Number of the process that took its place.
    successor: Option<u32>,
    /// True if its server was restarted since, so that the tree lacks nothing.
    is_past: bool,
}

/// A process that lives.
#[derive(Debug)]
struct Birth {
    at: Nanos,
    title: String,
    parent: Option<u32>,
    /// Place of the end whose successor it is.
    succeeds: Option<usize>,
}

/// Remembers what is needed to judge the ends of processes.
#[derive(Debug)]
pub(super) struct Losses {
    /// Pause between two samples.
    interval: Nanos,
    ends: Vec<End>,
    /// Place of the end of each process that has one.
    places: HashMap<u32, usize>,
    /// Places of ends without successor, by title.
    vacancies: HashMap<String, Vec<usize>>,
    births: HashMap<u32, Birth>,
    /// Number of processes so far, by title.
    seen: HashMap<String, u64>,
    phase: Option<PhaseRef>,
    shuts_down: bool,
    /// Process id that held most of the tree's memory at the last checkpoint.
    holder: Option<u32>,
    /// Numbers of the processes that were there when the server was ready or at a checkpoint. Others may be workers that
    /// end when their work is done, such as compilers.
    rested: HashSet<u32>,
    /// Phases with the places of the processes that were missing at their checkpoints.
    checkpoints: Vec<(PhaseRef, Vec<usize>)>,
}

impl Losses {
    pub fn new(interval: Nanos) -> Losses {
        Losses {
            interval,
            ends: Vec::new(),
            places: HashMap::new(),
            vacancies: HashMap::new(),
            births: HashMap::new(),
            seen: HashMap::new(),
            phase: None,
            shuts_down: false,
            holder: None,
            rested: HashSet::new(),
            checkpoints: Vec::new(),
        }
    }

    /// A server starts, with helpers of its own.
    pub fn spawned(&mut self) {
        self.shuts_down = false;
        self.vacancies.clear();
        for end in &mut self.ends {
            end.is_past = true;
        }
    }

    /// The server is ready with these processes.
    pub fn ready(&mut self, tree: &Tree) {
        self.rested.extend(tree.live().map(|(process, _)| process));
    }

    /// A process begins or runs another program, perhaps in the place of one that ended.
    pub fn appeared(&mut self, at: Nanos, process: &Process) {
        let title = process.title();
        let mut birth = match self.births.remove(&process.process) {
            // A process that is ending has no command line any more.
            Some(known) if known.title == title || process.command.is_empty() => {
                self.births.insert(process.process, known);
                return;
            }
            Some(known) => {
                self.vacate(known.succeeds);
                Birth { title, ..known }
            }
            None => Birth {
                at,
                title,
                parent: process.parent,
                succeeds: None,
            },
        };
        *self.seen.entry(birth.title.clone()).or_default() += 1;
        birth.succeeds = self.take_vacancy(&birth, process.process);
        self.births.insert(process.process, birth);
    }

    /// The latest end whose place this process takes.
    fn take_vacancy(&mut self, birth: &Birth, process: u32) -> Option<usize> {
        let vacant = self.vacancies.get_mut(&birth.title)?;
        let latest = vacant
            .iter()
            .rposition(|place| is_same_parent(self.ends[*place].parent, birth.parent))?;
        let place = vacant.remove(latest);
        self.ends[place].successor = Some(process);
        Some(place)
    }

    fn vacate(&mut self, place: Option<usize>) {
        let Some(place) = place else { return };
        let end = &mut self.ends[place];
        end.successor = None;
        if !end.is_past {
            self.vacancies.entry(end.lost.name.clone()).or_default().push(place);
        }
    }

    /// The process that took the place of another before the other's end was seen: one look of the sampler finds new
    /// processes before it finds that others are gone.
    fn early_successor(&self, at: Nanos, process: u32, title: &str, parent: Option<u32>) -> Option<u32> {
        self.births
            .iter()
            .filter(|(number, birth)| {
                let is_recent = birth.at.saturating_add(2 * self.interval) >= at;
                **number > process
                    && birth.succeeds.is_none()
                    && birth.title == title
                    && is_recent
                    && is_same_parent(birth.parent, parent)
            })
            .map(|(number, _)| *number)
            .min()
    }

    pub fn shutdown_began(&mut self) {
        self.shuts_down = true;
    }

    pub fn phase_started(&mut self, phase: &PhaseRef) {
        self.phase = Some(phase.clone());
    }

    pub fn checkpoint(&mut self, checkpoint: &Checkpoint, tree: &Tree) {
        self.ready(tree);
        let owners: Vec<(u32, u64)> = tree
            .owners(checkpoint)
            .filter_map(|(live, private)| Some((live.pid, private?)))
            .collect();
        let total = owners
            .iter()
            .fold(0_u64, |sum, (_, private)| sum.saturating_add(*private));
        self.holder = match owners.into_iter().max_by_key(|(_, private)| *private) {
            Some((pid, private)) if private > total / 2 => Some(pid),
            _ => None,
        };
        let missing = self.missing();
        if !missing.is_empty() {
            self.checkpoints.push((checkpoint.phase.clone(), missing));
        }
    }

    /// Notes the end of a process; `live` is its last state, and `tree` the other processes.
    pub fn ended(&mut self, at: Nanos, end: &ProcessEnd, live: &LiveProcess, tree: &Tree) {
        let birth = self.births.remove(&end.process);
        // Older records do not say how processes ended, nor when the shutdown began.
        let Some(cause) = end.cause else { return };
        if self.shuts_down || live.server {
            return;
        }
        // Before its exec a child may run in the memory of its parent.
        let private = if live.borrows { None } else { live.last_private };
        let rest = last_known(tree);
        let parent = birth.and_then(|birth| birth.parent);
        let place = self.ends.len();
        let successor = self.early_successor(at, end.process, &live.title, parent);
        match successor.and_then(|number| self.births.get_mut(&number)) {
            Some(birth) => birth.succeeds = Some(place),
            None => self.vacancies.entry(live.title.clone()).or_default().push(place),
        }
        self.places.insert(end.process, place);
        self.ends.push(End {
            lost: LostProcess {
                name: live.title.clone(),
                pid: live.pid,
                at,
                phase: self.phase.clone(),
                cause,
                private,
                rest: tree.sums().private.or(known_rest(tree)),
                // It may have grown since the checkpoint.
                held_most: self.holder == Some(live.pid) || private > Some(rest),
                replaced: false,
            },
            parent,
            rested: self.rested.contains(&end.process),
            rest,
            successor,
            is_past: false,
        });
    }
}

/// True unless both parents are known and differ.
fn is_same_parent(one: Option<u32>, other: Option<u32>) -> bool {
    one.zip(other).is_none_or(|(one, other)| one == other)
}

/// Removes memory from the idle windows of incomplete phases: what a lost process had was not released.
pub(super) fn forget_windows(summary: &mut Summary) {
    let incomplete: HashSet<&PhaseRef> = summary
        .phases
        .iter()
        .filter(|phase| phase.incomplete)
        .map(|phase| &phase.phase)
        .collect();
    for window in &mut summary.windows {
        if incomplete.contains(&window.phase) {
            window.forget_memory();
        }
    }
}

/// Private memory in bytes of all processes, each as it was last known: one that cannot be read now has not lost it.
fn last_known(tree: &Tree) -> u64 {
    last_samples(tree).flatten().fold(0, u64::saturating_add)
}

/// Private memory of what is left, at its last samples; `None` where a process has no sample yet.
fn known_rest(tree: &Tree) -> Option<u64> {
    last_samples(tree).try_fold(0, |sum: u64, private| Some(sum.saturating_add(private?)))
}

/// Private memory in bytes of each process of a tree at its last sample.
fn last_samples(tree: &Tree) -> impl Iterator<Item = Option<u64>> {
    let own = tree.live().filter(|(_, live)| !live.borrows);
    own.map(|(_, live)| live.last_private)
}
