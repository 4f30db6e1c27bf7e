//! Rare reads: high-water marks at the ends of phases, and the exact counters.

use std::path::PathBuf;

use record::{Environment, Event, Libraries, PeakMark, PhaseRef, Resources, Rollup};

use super::super::member::News;
use super::super::source::{Effort, Source};
use super::{Now, Watch};

/// Readings until a process has loaded its libraries: one checkpoint's.
const ENOUGH: u64 = 5;

impl<S: Source> Watch<S> {
    /// Reads, writes and resets the high-water marks, process by process.
    pub fn peak(&mut self, phase: PhaseRef, now: Now) {
        self.look(Effort::CatchUp, now);
        let mut marks = Vec::with_capacity(self.members.len());
        let (mut reset, mut kept) = (false, Vec::new());
        for index in 0..self.members.len() {
            if self.observe(index, now).is_none() {
                continue;
            }
            // Resets right after the read, so that almost nothing can happen between.
            let member = &mut self.members[index];
            marks.push(member.sample());
            let done = match self.peak_reset {
                true => self.source.reset_peak(&member.process),
                false => Ok(false),
            };
            match done {
                Ok(true) => reset = true,
                Ok(false) => kept.push(member.number),
                Err(failure) => {
                    kept.push(member.number);
                    member.report(failure, &mut *self.sink, now());
                }
            }
        }
        // A failed reset is reported once, not per process.
        kept.retain(|_| reset);
        let mark = PeakMark {
            phase,
            marks,
            reset,
            kept,
        };
        self.sink.put(now(), Event::Peak(mark));
        self.bury(now);
    }

    /// Checks, once per program of a process, whether it mapped the preloaded libraries and started with the server's
    /// variables.
    fn inspect(&mut self, now: Now) {
        for member in self.members.iter_mut().filter(|member| member.readings >= ENOUGH) {
            let program = member.reading.kin.map(|kin| kin.program);
            let is_due = |looked: Option<u64>| program.is_some() && program != looked;
            if !self.libraries.is_empty()
                && is_due(member.searched)
                && let Some(mapped) = self.source.mapped(&member.process)
            {
                member.searched = program;
                let seen = searched(member.number, &self.libraries, &mapped);
                self.sink.put(now(), Event::Libraries(seen));
            }
            if !self.variables.is_empty()
                && is_due(member.asked)
                && let Some(environment) = self.source.environment(&member.process)
            {
                member.asked = program;
                let seen = compared(member.number, &self.variables, &environment);
                self.sink.put(now(), Event::Environment(seen));
            }
        }
    }

    /// Reads the exact counters of every process that has any.
    pub fn rollups(&mut self, now: Now) -> Vec<Rollup> {
        // A slow read is harmless here, and the process had time to load its libraries.
        self.inspect(now);
        let mut rollups = Vec::with_capacity(self.members.len());
        for member in &mut self.members {
            match self.source.rollup(&member.process, member.number) {
                Ok(Some(rollup)) => {
                    member.take_named(&rollup);
                    rollups.push(rollup);
                }
                Ok(None) => {}
                Err(failure) => member.report(failure, &mut *self.sink, now()),
            }
        }
        rollups
    }

    /// Counts what the tree holds beside memory; `None` where the system counts none of it.
    pub fn resources(&mut self) -> Option<Resources> {
        let parents: Vec<u32> = self.members.iter().map(|member| member.found.pid).collect();
        let zombies = self.source.zombies(&parents);
        let mut descriptors = if parents.is_empty() { None } else { Some(0) };
        for member in &self.members {
            let own = self.source.descriptors(&member.process);
            descriptors = descriptors.zip(own).map(|(sum, own)| sum + own);
        }
        if zombies.is_none() && descriptors.is_none() {
            return None;
        }
        Some(Resources { zombies, descriptors })
    }

    /// Reads and writes all exact counters, including unchanged ones.
    pub fn write_all_rollups(&mut self, now: Now) {
        for rollup in self.rollups(now) {
            let at = now();
            if let Some(member) = self.members.iter_mut().find(|member| member.number == rollup.process) {
                member.take_rollup(at, rollup, self.heartbeat);
            }
            self.sink.put(at, Event::Rollup(rollup));
        }
    }

    /// Reads the exact counters and writes changes: the process's own at once, those by other processes at most once
    /// per heartbeat. Returns whether any process changed its own.
    pub fn write_rollups(&mut self, now: Now) -> bool {
        let mut changed = false;
        for rollup in self.rollups(now) {
            let Some(member) = self.members.iter_mut().find(|member| member.number == rollup.process) else {
                continue;
            };
            let at = now();
            let news = member.take_rollup(at, rollup, self.heartbeat);
            changed |= news == News::Own;
            if news != News::None {
                self.sink.put(at, Event::Rollup(rollup));
            }
        }
        changed
    }
}

/// The libraries that are mapped.
fn searched(process: u32, libraries: &[PathBuf], mapped: &[PathBuf]) -> Libraries {
    let (mapped, missing): (Vec<&PathBuf>, Vec<&PathBuf>) = libraries.iter().partition(|path| mapped.contains(path));
    let shown = |paths: Vec<&PathBuf>| paths.iter().map(|path| path.display().to_string()).collect();
    Libraries {
        process,
        mapped: shown(mapped),
        missing: shown(missing),
    }
}

/// The variables whose values are unchanged in an environment; its other variables are not kept.
fn compared(process: u32, variables: &[(String, String)], environment: &[Vec<u8>]) -> Environment {
    let mut seen = Environment {
        process,
        ..Environment::default()
    };
    for (name, value) in variables {
        // Of duplicates the first counts, as in getenv(3).
        let text = environment.iter().find_map(|entry| {
            let rest = entry.strip_prefix(name.as_bytes())?;
            rest.strip_prefix(b"=")
        });
        match text {
            Some(text) if text == value.as_bytes() => seen.given.push(name.clone()),
            Some(text) => {
                let text = String::from_utf8_lossy(text).into_owned();
                seen.other.insert(name.clone(), text);
            }
            None => seen.missing.push(name.clone()),
        }
    }
    seen
}
