//! What is read seldom: high-water marks at the ends of phases, and the exact counters.

use std::path::PathBuf;

use crate::record::{Environment, Event, Libraries, PeakMark, PhaseRef, Rollup};

use super::super::member::News;
use super::super::source::{Effort, Source};
use super::{Now, Watch};

/// Readings of a process until it has loaded what it loads: those of one checkpoint.
const ENOUGH: u64 = 5;

impl<S: Source> Watch<S> {
    /// Reads the high-water marks, writes them and sets them back, one process after the other.
    pub fn peak(&mut self, phase: PhaseRef, now: Now) {
        self.look(Effort::CatchUp, now);
        let mut marks = Vec::with_capacity(self.members.len());
        let (mut reset, mut kept) = (false, Vec::new());
        for index in 0..self.members.len() {
            if self.observe(index, now).is_none() {
                continue;
            }
            // Right after its mark is read, so that hardly anything can happen between the two.
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
        // Without any reset that is said once, not of each.
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

    /// Looks, once for each program that a process runs, whether it has mapped the libraries that were preloaded and began
    /// with the variables that the server was given.
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
        // Here a read that takes long is in nobody's way, and a process has had time to load what it loads.
        self.inspect(now);
        let mut rollups = Vec::with_capacity(self.members.len());
        for member in &mut self.members {
            match self.source.rollup(&member.process, member.number) {
                Ok(rollup) => rollups.extend(rollup),
                Err(failure) => member.report(failure, &mut *self.sink, now()),
            }
        }
        rollups
    }

    /// Reads the exact counters and writes them all, so that a record has what they were at this moment.
    pub fn write_all_rollups(&mut self, now: Now) {
        for rollup in self.rollups(now) {
            let at = now();
            if let Some(member) = self.members.iter_mut().find(|member| member.number == rollup.process) {
                member.take_rollup(at, rollup, self.heartbeat);
            }
            self.sink.put(at, Event::Rollup(rollup));
        }
    }

    /// Reads the exact counters and writes those that changed: what the process did itself at once, what its
    /// neighbours did at most once per heartbeat. Tells whether any process did anything.
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

/// Which of these libraries are mapped.
fn searched(process: u32, libraries: &[PathBuf], mapped: &[PathBuf]) -> Libraries {
    let (mapped, missing): (Vec<&PathBuf>, Vec<&PathBuf>) = libraries.iter().partition(|path| mapped.contains(path));
    let shown = |paths: Vec<&PathBuf>| paths.iter().map(|path| path.display().to_string()).collect();
    Libraries {
        process,
        mapped: shown(mapped),
        missing: shown(missing),
    }
}

/// Which of these variables an environment has as they were given; of the others in it nothing is kept.
fn compared(process: u32, variables: &[(String, String)], environment: &[Vec<u8>]) -> Environment {
    let mut seen = Environment {
        process,
        ..Environment::default()
    };
    for (name, value) in variables {
        // Of one that is there twice the first counts, as for getenv(3).
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
