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
            let is_reset = if self.peak_reset {
                self.source.reset_peak(&member.process)
            } else {
                Ok(false)
            };
            match is_reset {
                Ok(true) => reset = true,
                Ok(false) => kept.push(member.number),
                Err(failure) => {
                    kept.push(member.number);
                    member.report(failure, &mut *self.sink, now());
                }
            }
        }
        // If all were kept, `reset` says so.
        if !reset {
            kept.clear();
        }
        let mark = PeakMark {
            phase,
            marks,
            reset,
            kept,
        };
        self.sink.put(now(), Event::Peak(mark));
        self.bury(now);
    }

    /// Writes, once per program of a process, which of the preloaded libraries it mapped and with which of the server's
    /// variables it started.
    fn inspect(&mut self, now: Now) {
        for member in self.members.iter_mut().filter(|member| member.readings >= ENOUGH) {
            let program = member.reading.kin.map(|kin| kin.program);
            if program.is_none() {
                continue;
            }
            if !self.libraries.is_empty()
                && member.searched != program
                && let Some(mapped) = self.source.mapped(&member.process)
            {
                member.searched = program;
                let libraries = find_libraries(member.number, &self.libraries, &mapped);
                self.sink.put(now(), Event::Libraries(libraries));
            }
            if !self.variables.is_empty()
                && member.asked != program
                && let Some(environment) = self.source.environment(&member.process)
            {
                member.asked = program;
                let variables = compare_environment(member.number, &self.variables, &environment);
                self.sink.put(now(), Event::Environment(variables));
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
            descriptors = match (descriptors, own) {
                (Some(sum), Some(own)) => Some(sum + own),
                (Some(_) | None, Some(_) | None) => None,
            };
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

/// Divides the preloaded libraries into those that the process mapped and those that it did not.
fn find_libraries(process: u32, libraries: &[PathBuf], mapped: &[PathBuf]) -> Libraries {
    let mut found = Libraries {
        process,
        mapped: Vec::new(),
        missing: Vec::new(),
    };
    for path in libraries {
        let name = path.display().to_string();
        if mapped.contains(path) {
            found.mapped.push(name);
        } else {
            found.missing.push(name);
        }
    }
    found
}

/// The variables whose values are unchanged in an environment; its other variables are not kept.
fn compare_environment(process: u32, variables: &[(String, String)], environment: &[Vec<u8>]) -> Environment {
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
