//! The processes that are there now, and sums over them.

use std::collections::BTreeMap;

use crate::record::{Checkpoint, Counters, Environment, Nanos, Process, Rollup, Sample, Used};

use super::summary::ProgramSummary;
use super::totals::Totals;

/// A process in view, by the last that was read of it.
#[derive(Clone, Debug)]
pub(super) struct Live {
    /// Its process id.
    pub pid: u32,
    /// Its program's short name.
    pub name: String,
    /// Whether it is the server's own process.
    server: bool,
    /// The last counters.
    pub counters: Counters,
    /// Whether it was read at all: one that came and went between two looks never was, and is in no sum.
    pub read: bool,
    /// Most resident memory sampled in this epoch.
    pub resident_max: u64,
    /// From when on it may have been there: the last look before it was seen.
    pub since: Nanos,
    /// The libraries that were preloaded and that it does not have.
    pub without: Vec<String>,
    /// How far it has the variables that the server was given; `None` where that is not known of its program.
    pub environment: Option<Environment>,
    /// Whether it runs in the memory of another process, as a child does from `vfork` to `exec`.
    pub borrows: bool,
    /// What its high-water mark must exceed to belong to this epoch; `None` after a reset and for a new process.
    pub mark_floor: Option<u64>,
}

impl Live {
    /// The high-water mark, if it was reached in this epoch.
    pub fn mark(&self) -> Option<u64> {
        self.counters
            .high_water
            .filter(|mark| self.mark_floor.is_none_or(|floor| *mark > floor))
    }
}

/// Sums over the tree at one moment. A lower bound leaves out what is not known; the others are not known then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    /// Private memory of all processes: the curve, an upper bound.
    pub private: Option<u64>,
    /// The same, where no process shares pages with the one that it was forked from: those would count twice.
    pub private_once: Option<u64>,
    /// Private memory of those that share no pages with a parent: a lower bound.
    pub private_lower: Option<u64>,
    /// Resident memory of all processes: an upper bound.
    pub resident: Option<u64>,
    /// What the tree had resident at the least. Anonymous pages of processes that were exec'd separately are never
    /// shared, so they add up; of file and of shared pages only the largest part of one process is sure.
    pub resident_lower: Option<u64>,
}

/// A program of the tree.
#[derive(Debug, Default)]
struct Program {
    summary: ProgramSummary,
    /// What those of its processes that are gone have used.
    used: Option<Totals>,
    /// How many were gone when an epoch last began.
    ended_before: u64,
}

/// The tree as it changes.
#[derive(Debug, Default)]
pub(super) struct Tree {
    live: BTreeMap<u32, Live>,
    /// Sum over processes that are gone.
    gone: Option<Totals>,
    programs: BTreeMap<String, Program>,
    most: u64,
    /// When the processes were last looked at.
    looked: Nanos,
    /// Whether a server ended in this epoch whose last sample is all that is known of what it used.
    lost: bool,
}

impl Tree {
    /// The short name of a process.
    pub fn program(&self, process: u32) -> String {
        let live = self.live.get(&process);
        live.map_or_else(|| format!("process {process}"), |live| live.name.clone())
    }

    /// A process, which may run another program by now, was looked at for what was preloaded.
    pub fn lacks(&mut self, process: u32, without: &[String]) {
        if let Some(live) = self.live.get_mut(&process) {
            live.without = without.to_vec();
        }
    }

    /// A process, which may run another program by now, was looked at for the variables that the server was given.
    pub fn has(&mut self, environment: Environment) {
        if let Some(live) = self.live.get_mut(&environment.process) {
            live.environment = Some(environment);
        }
    }

    /// Those that hold memory of their own at a checkpoint, each with its private memory in bytes; `None` where that is not
    /// known. A child before its exec has nothing of its own.
    pub fn held<'t>(&'t self, checkpoint: &'t Checkpoint) -> impl Iterator<Item = (&'t Live, Option<u64>)> {
        let last = checkpoint.rounds.last().map_or(&[][..], Vec::as_slice);
        self.live()
            .filter(|(_, live)| !live.borrows)
            .filter_map(|(process, live)| {
                let sample = last.iter().find(|sample| sample.process == process)?;
                let rollup = checkpoint.rollups.iter().find(|rollup| rollup.process == process);
                Some((live, rollup.and_then(Rollup::private).or(sample.counters.private)))
            })
    }

    /// A process comes into view, or one that is there runs another program now. `server` is the server's own process id.
    pub fn appear(&mut self, at: Nanos, process: &Process, server: Option<u32>) {
        let name = process.name.clone();
        if let Some(live) = self.live.get_mut(&process.process) {
            if live.name == name {
                return; // The same program with other arguments.
            }
            let before = std::mem::replace(&mut live.name, name);
            (live.without, live.environment) = (Vec::new(), None);
            self.leave(&before);
        } else {
            let counters = Counters::default();
            self.live.insert(
                process.process,
                Live {
                    pid: process.pid,
                    name,
                    server: server == Some(process.pid),
                    counters,
                    read: false,
                    resident_max: 0,
                    since: self.looked,
                    without: Vec::new(),
                    environment: None,
                    borrows: false,
                    mark_floor: None,
                },
            );
            self.most = self.most.max(self.live.len() as u64);
        }
        let program = self.programs.entry(process.name.clone()).or_insert_with(|| Program {
            summary: ProgramSummary {
                name: process.name.clone(),
                command: process.command.clone(),
                first_seen: at,
                ..ProgramSummary::default()
            },
            ..Program::default()
        });
        program.summary.count += 1;
        program.summary.huge_pages = program.summary.huge_pages.max(process.huge_pages);
    }

    /// One process fewer runs this program, and if it was the only one it was never meant to be listed: that is how
    /// a forked process looks before it begins its own program.
    fn leave(&mut self, program: &str) {
        if let Some(known) = self.programs.get_mut(program) {
            known.summary.count -= 1;
            if known.summary.count == 0 {
                self.programs.remove(program);
            }
        }
    }

    /// A process goes away, having `used` that much. What it was by then is handed back.
    pub fn vanish(&mut self, process: u32, used: Option<Used>) -> Option<Live> {
        let mut live = self.live.remove(&process)?;
        self.lost |= live.server && used.is_none();
        if let Some(used) = used {
            live.counters.minor_faults = Some(used.minor_faults);
            live.counters.major_faults = Some(used.major_faults);
            (live.counters.user, live.counters.system) = (Some(used.user), Some(used.system));
        }
        self.retire(&live);
        if let Some(program) = self.programs.get_mut(&live.name) {
            program.summary.ended += 1;
        }
        Some(live)
    }

    /// Moves what a process has used to the sums that outlive it.
    fn retire(&mut self, live: &Live) {
        if !live.read {
            return;
        }
        let totals = Totals::of(&live.counters);
        self.gone = Some(totals.after(self.gone));
        if let Some(Program { summary, used, .. }) = self.programs.get_mut(&live.name) {
            summary.peak = summary.peak.max(live.counters.high_water).max(known(live.resident_max));
            *used = Some(totals.after(*used));
        }
    }

    /// Takes in what was read of a process.
    pub fn update(&mut self, sample: &Sample) {
        let owners = || {
            self.live
                .iter()
                .filter(|(process, live)| **process != sample.process && !live.borrows)
        };
        let borrows = owners().any(|(_, live)| same_memory(&sample.counters, &live.counters));
        let Some(live) = self.live.get_mut(&sample.process) else {
            return;
        };
        live.counters = sample.counters;
        live.read = true;
        live.borrows = borrows;
        if borrows {
            return;
        }
        live.resident_max = live.resident_max.max(sample.counters.resident.unwrap_or(0));
        if let Some(Program { summary, .. }) = self.programs.get_mut(&live.name) {
            let Counters {
                high_water, resident, ..
            } = sample.counters;
            summary.peak = summary.peak.max(high_water).max(resident);
        }
    }

    /// All processes were looked at.
    pub fn looked(&mut self, at: Nanos) {
        self.looked = at;
    }

    /// Begins an epoch: maxima start over, and marks count from here. `was_reset` tells whose mark was reset.
    pub fn start_over(&mut self, was_reset: impl Fn(u32) -> bool) {
        self.lost = false;
        for program in self.programs.values_mut() {
            program.ended_before = program.summary.ended;
        }
        for (process, live) in &mut self.live {
            live.resident_max = 0;
            live.mark_floor = live.counters.high_water;
            if was_reset(*process) {
                // What it is set back to; the next sample says so, but the process may end before it.
                live.counters.high_water = live.counters.resident;
                live.mark_floor = None;
            }
        }
    }

    /// The processes in view.
    pub fn live(&self) -> impl Iterator<Item = (u32, &Live)> {
        self.live.iter().map(|(process, live)| (*process, live))
    }

    /// How many are in view.
    pub fn count(&self) -> u64 {
        self.live.len() as u64
    }

    /// The most that ever were in view at once.
    pub fn most(&self) -> u64 {
        self.most
    }

    /// What all processes have used so far; nothing is known where none was read.
    pub fn totals(&self) -> Totals {
        let living = self.live.values().filter(|live| live.read);
        let living = living.map(|live| Totals::of(&live.counters));
        let all = living.fold(self.gone, |sum, totals| Some(totals.after(sum)));
        all.unwrap_or_default()
    }

    /// The same where the server may have ended without a checkpoint, at which all that it used was read: nothing is known
    /// of what it used after its last sample.
    pub fn totals_at_end(&self) -> Totals {
        match self.lost {
            true => Totals::default(),
            false => self.totals(),
        }
    }

    /// The same as something to count from: before the first process came, nothing had been used.
    pub fn totals_before(&self) -> Totals {
        match self.most {
            0 => Totals::ZERO,
            _ => self.totals(),
        }
    }

    /// Sums over the processes in view.
    pub fn sums(&self) -> Sums {
        let read = || {
            let read = self.live.values().filter(|live| live.read && !live.borrows);
            read.map(|live| &live.counters)
        };
        let own = || read().filter(|counters| counters.forked != Some(true));
        let held = |one: &Counters| Some(one.private?.saturating_sub(one.swap.unwrap_or(0)));
        let anonymous = own().filter_map(held).fold(0, u64::saturating_add);
        let private = add(read().map(|one| one.private));
        let forked = read().any(|counters| counters.forked == Some(true));
        let most = |part: fn(&Counters) -> Option<u64>| read().filter_map(part).max().unwrap_or(0);
        let files = most(|one| one.file).saturating_add(most(|one| one.shared));
        let resident_lower = files.saturating_add(most_anonymous(anonymous, read()));
        Sums {
            private,
            private_once: private.filter(|_| !forked),
            private_lower: add(own().map(|one| one.private).filter(Option::is_some)),
            resident: add(read().map(|one| one.resident)),
            resident_lower: known(resident_lower.max(most(|one| one.resident))),
        }
    }

    /// The programs at the end of the run. Those that ended after the last phase ended with the server, unless a phase was
    /// `cut` short.
    pub fn into_programs(mut self, cut: bool) -> Vec<ProgramSummary> {
        for live in std::mem::take(&mut self.live).into_values() {
            self.retire(&live);
        }
        let finish = |program: Program| ProgramSummary {
            cpu: program.used.and_then(|used| used.cpu),
            ended: if cut {
                program.summary.ended
            } else {
                program.ended_before
            },
            ..program.summary
        };
        let mut programs: Vec<ProgramSummary> = self.programs.into_values().map(finish).collect();
        programs.sort_by_key(|program| program.first_seen);
        programs
    }
}

/// Whether a forked process runs in the memory of `owner`. A true fork looks alike in its anonymous pages, but has a mark
/// of its own and few of the file pages. The two are read one after the other, so small differences do not count.
fn same_memory(forked: &Counters, owner: &Counters) -> bool {
    let parts: [fn(&Counters) -> Option<u64>; 4] = [
        |one| one.private,
        |one| one.file,
        |one| one.high_water,
        |one| one.virtual_size,
    ];
    let near = |(a, b): (u64, u64)| a > 0 && a.abs_diff(b) <= a / 50;
    forked.forked == Some(true) && parts.iter().all(|part| part(forked).zip(part(owner)).is_some_and(near))
}

/// Where the system does not split resident memory, the private figure is no part of it and says nothing here.
fn most_anonymous<'c>(anonymous: u64, mut counters: impl Iterator<Item = &'c Counters>) -> u64 {
    if counters.all(|one| one.file.is_some() || one.resident.is_none()) {
        anonymous
    } else {
        0
    }
}

/// The sum of values that are all known; nothing of nobody.
fn add(mut values: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    values
        .try_fold(0u64, |sum, value| Some(sum.saturating_add(value?)))
        .and_then(known)
}

/// Zero stands for nothing seen.
fn known(value: u64) -> Option<u64> {
    (value > 0).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parent() -> Counters {
        Counters {
            private: Some(1_900 << 20),
            file: Some(36 << 20),
            high_water: Some(1_980 << 20),
            virtual_size: Some(5_000 << 20),
            forked: Some(false),
            ..Counters::default()
        }
    }

    #[test]
    fn a_child_before_its_exec_runs_in_the_memory_of_its_parent() {
        let child = Counters {
            private: Some(1_901 << 20),
            forked: Some(true),
            ..parent()
        };
        assert!(same_memory(&child, &parent()));
        let after_exec = Counters {
            forked: Some(false),
            ..child
        };
        assert!(!same_memory(&after_exec, &parent()));
    }

    #[test]
    fn a_fork_with_pages_of_its_own_has_few_file_pages_and_a_mark_of_its_own() {
        let fork = Counters {
            file: Some(2 << 20),
            high_water: Some(1_900 << 20),
            forked: Some(true),
            ..parent()
        };
        assert!(!same_memory(&fork, &parent()));
        let unknown = Counters {
            file: None,
            forked: Some(true),
            ..parent()
        };
        assert!(!same_memory(&unknown, &parent()));
    }
}
