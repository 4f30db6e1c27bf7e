//! The processes that are there now, and sums over them.

mod live;
mod sums;

use std::collections::BTreeMap;

use crate::summary::ProgramSummary;
use crate::summary::tree::live::borrows;
use base::band;
use record::{AddressSpaceRule, Checkpoint, Counters, Environment, Nanos, Process, Rollup, Sample, Used};

use super::totals::Totals;

pub(super) use crate::summary::tree::live::LiveProcess;
pub(super) use crate::summary::tree::sums::Sums;

#[derive(Debug, Default)]
struct Program {
    summary: ProgramSummary,
    /// Usage of its processes that have ended.
    used: Option<Totals>,
    /// Number of its processes that had ended when the current epoch began.
    ended_before: u64,
}

#[derive(Debug, Default)]
pub(super) struct Tree {
    /// The rule by which processes in one address space are known; `None` if the record does not say which are.
    rule: Option<AddressSpaceRule>,
    live: BTreeMap<u32, LiveProcess>,
    /// Sum over processes that have ended.
    ended: Option<Totals>,
    programs: BTreeMap<String, Program>,
    /// Most processes that were in view at once.
    most: u64,
    /// Time of the last look for new processes.
    looked_at: Nanos,
    /// True if a server ended in this epoch after its last sample, so that its usage since then is unknown.
    lost: bool,
}

impl Tree {
    pub fn new(rule: Option<AddressSpaceRule>) -> Tree {
        Tree {
            rule,
            ..Tree::default()
        }
    }

    /// The short name of a process.
    pub fn program(&self, process: u32) -> String {
        let live = self.live.get(&process);
        live.map_or_else(|| format!("process {process}"), |live| live.name.clone())
    }

    /// Sets the preloaded libraries that a process does not have. It may run another program by now.
    pub fn set_missing_libraries(&mut self, process: u32, missing: &[String]) {
        if let Some(live) = self.live.get_mut(&process) {
            live.missing_libraries = missing.to_vec();
        }
    }

    /// Sets the variables of a process, which may run another program by now.
    pub fn set_environment(&mut self, environment: Environment) {
        if let Some(live) = self.live.get_mut(&environment.process) {
            live.environment = Some(environment);
        }
    }

    /// The processes with memory of their own at a checkpoint, each with its private memory in bytes; `None` where that is not
    /// known. A child before its exec has nothing of its own.
    pub fn owners<'t>(&'t self, checkpoint: &'t Checkpoint) -> impl Iterator<Item = (&'t LiveProcess, Option<u64>)> {
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
        let (name, title) = (process.name.clone(), process.title());
        if let Some(live) = self.live.get_mut(&process.process) {
            // A process that is ending has no command line any more.
            let is_ending = process.command.is_empty() && live.has_command;
            if is_ending || live.title == title {
                return; // The same program with other arguments.
            }
            live.has_command |= !process.command.is_empty();
            let before = std::mem::replace(&mut live.title, title.clone());
            if live.name != name {
                live.name = name;
                (live.missing_libraries, live.environment) = (Vec::new(), None);
            }
            self.leave(&before);
        } else {
            let counters = Counters::default();
            self.live.insert(
                process.process,
                LiveProcess {
                    pid: process.pid,
                    title: title.clone(),
                    has_command: !process.command.is_empty(),
                    name,
                    server: server == Some(process.pid),
                    counters,
                    last_private: None,
                    read: false,
                    resident_max: 0,
                    since: self.looked_at,
                    missing_libraries: Vec::new(),
                    environment: None,
                    borrows: false,
                    shares_once: false,
                    mark_floor: None,
                },
            );
            self.most = self.most.max(self.live.len() as u64);
        }
        let program = self.programs.entry(title.clone()).or_insert_with(|| Program {
            summary: ProgramSummary {
                name: title,
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

    /// A process ends after `used`. Returns its last state.
    pub fn vanish(&mut self, process: u32, used: Option<Used>) -> Option<LiveProcess> {
        let mut live = self.live.remove(&process)?;
        self.lost |= live.server && used.is_none();
        // Its use after the last sample is not known in nanoseconds.
        live.counters.cpu = used.and_then(|used| used.cpu);
        if let Some(used) = used {
            live.counters.minor_faults = Some(used.minor_faults);
            live.counters.major_faults = Some(used.major_faults);
            (live.counters.user, live.counters.system) = (Some(used.user), Some(used.system));
        }
        self.retire(&live);
        if let Some(program) = self.programs.get_mut(&live.title) {
            program.summary.ended += 1;
        }
        Some(live)
    }

    /// Moves what a process has used to the sums that outlive it.
    fn retire(&mut self, live: &LiveProcess) {
        if !live.read {
            return;
        }
        let totals = Totals::from_counters(&live.counters);
        self.ended = Some(totals.added_to(self.ended));
        if let Some(Program { summary, used, .. }) = self.programs.get_mut(&live.title) {
            summary.peak = summary
                .peak
                .max(live.counters.high_water)
                .max(non_zero(live.resident_max));
            *used = Some(totals.added_to(*used));
        }
    }

    /// Adds the reading of a process.
    pub fn update(&mut self, sample: &Sample) {
        let owners = self
            .live
            .iter()
            .filter(|(process, live)| **process != sample.process && !live.borrows)
            .map(|(_, live)| &live.counters);
        let borrows = borrows(self.rule, &sample.counters, owners);
        let Some(live) = self.live.get_mut(&sample.process) else {
            return;
        };
        live.counters = sample.counters;
        live.last_private = sample.counters.private.or(live.last_private);
        live.read = true;
        live.borrows = borrows;
        if borrows {
            return;
        }
        live.resident_max = live.resident_max.max(sample.counters.resident.unwrap_or(0));
        if let Some(Program { summary, .. }) = self.programs.get_mut(&live.title) {
            let Counters {
                high_water, resident, ..
            } = sample.counters;
            summary.peak = summary.peak.max(high_water).max(resident);
        }
    }

    /// True if a process runs in the memory of another one, whose figures have all of it.
    pub fn borrows(&self, process: u32) -> bool {
        self.live.get(&process).is_some_and(|live| live.borrows)
    }

    /// Adds an exact reading, which shows how often shared memory is mapped.
    pub fn update_exact(&mut self, rollup: &Rollup) {
        if let (Some(live), Some(shared)) = (self.live.get_mut(&rollup.process), rollup.shared_memory) {
            live.shares_once = shared.own_resident <= shared.own.saturating_add(band::tolerated_difference(shared.own));
        }
    }

    /// Sets the time of the last look for new processes.
    pub fn set_looked_at(&mut self, at: Nanos) {
        self.looked_at = at;
    }

    /// Begins an epoch: maxima start over, and marks count from here. `was_reset` names the processes whose mark was
    /// reset.
    pub fn start_over(&mut self, was_reset: impl Fn(u32) -> bool) {
        self.lost = false;
        for program in self.programs.values_mut() {
            program.ended_before = program.summary.ended;
        }
        for (process, live) in &mut self.live {
            live.resident_max = 0;
            live.mark_floor = live.counters.high_water;
            if was_reset(*process) {
                // The value after the reset; the next sample has it, but the process may end before.
                live.counters.high_water = live.counters.resident;
                live.mark_floor = None;
            }
        }
    }

    pub fn live(&self) -> impl Iterator<Item = (u32, &LiveProcess)> {
        self.live.iter().map(|(process, live)| (*process, live))
    }

    pub fn count(&self) -> u64 {
        self.live.len() as u64
    }

    /// The most that ever were in view at once.
    pub fn most_processes(&self) -> u64 {
        self.most
    }

    /// Counts all processes so far.
    pub fn count_all(&self) -> u64 {
        self.programs.values().map(|program| program.summary.count).sum()
    }

    /// Totals of all processes so far; unknown if none was read.
    pub fn totals(&self) -> Totals {
        let mut sum = self.ended;
        for live in self.live.values().filter(|live| live.read) {
            sum = Some(Totals::from_counters(&live.counters).added_to(sum));
        }
        sum.unwrap_or_default()
    }

    /// Totals at a moment that may be after a server's end; unknown if its usage after the last sample is.
    pub fn totals_at_end(&self) -> Totals {
        if self.lost { Totals::default() } else { self.totals() }
    }

    /// Totals as a starting value: zero before the first process.
    pub fn totals_before(&self) -> Totals {
        if self.most == 0 { Totals::ZERO } else { self.totals() }
    }

    /// Sums over the processes in view.
    pub fn sums(&self) -> Sums {
        let read = self.live.values().filter(|live| live.read && !live.borrows);
        Sums::new(read.map(|live| (&live.counters, live.shares_once)))
    }

    /// The programs at the end of the run. Those that ended after the last phase ended with the server, unless a phase was
    /// `cut` short.
    pub fn into_programs(mut self, cut: bool) -> Vec<ProgramSummary> {
        for live in std::mem::take(&mut self.live).into_values() {
            self.retire(&live);
        }
        let mut programs: Vec<ProgramSummary> = self
            .programs
            .into_values()
            .map(|program| ProgramSummary {
                cpu: program.used.and_then(Totals::cpu),
                ended: if cut {
                    program.summary.ended
                } else {
                    program.ended_before
                },
                ..program.summary
            })
            .collect();
        programs.sort_by_key(|program| program.first_seen);
        programs
    }
}

fn non_zero(value: u64) -> Option<u64> {
    if value > 0 { Some(value) } else { None }
}
