//! What is remembered of one process of the tree.

use crate::record::{Counters, Event, Nanos, Process, ReadFailure, Rollup, Sample};

use super::Sink;
use super::source::{Failure, Found, Reading};

/// One process of the tree, held open, and what was last seen and written of it.
pub(super) struct Member<P> {
    pub process: P,
    /// Our number for it.
    pub number: u32,
    pub found: Found,
    pub started: u64,
    pub name: String,
    pub command: Vec<String>,
    /// The program that `command` belongs to; `None` until a command line was read together with it.
    pub program: Option<u64>,
    /// How often the command line was asked for since the program changed.
    pub command_tries: u8,
    pub reading: Reading,
    /// The most processor time seen.
    pub cpu: Option<Nanos>,
    /// Known children that ended and that it may not have waited for yet.
    pub owed: u32,
    /// Whether it waited for a child since that was last asked.
    pub reaped: bool,
    /// Whether a read found it gone.
    pub over: bool,
    /// The sample written last, and when.
    pub written: Option<(Nanos, Counters)>,
    /// The rollup written last.
    pub rollup: Option<Rollup>,
    reported: Vec<&'static str>,
}

impl<P> Member<P> {
    pub fn new(process: P, number: u32, found: Found, started: u64, program: (String, Vec<String>)) -> Member<P> {
        Member {
            process,
            number,
            found,
            started,
            name: program.0,
            command: program.1,
            program: None,
            command_tries: 0,
            reading: Reading::default(),
            cpu: None,
            owed: 0,
            reaped: false,
            over: false,
            written: None,
            rollup: None,
            reported: Vec::new(),
        }
    }

    pub fn sample(&self) -> Sample {
        Sample {
            process: self.number,
            counters: self.reading.counters,
        }
    }

    pub fn event(&self, parent: Option<u32>) -> Process {
        Process {
            process: self.number,
            pid: self.found.pid,
            parent,
            started: self.started,
            name: self.name.clone(),
            command: self.command.clone(),
        }
    }

    /// Takes a reading over from the one before.
    pub fn take(&mut self, reading: Reading) {
        if let Some(kin) = reading.kin {
            // A process begins with none: what the first reading shows came and went before it.
            let before = self.reading.kin.map_or(Some(0), |kin| kin.reaped);
            self.reaped |= before.zip(kin.reaped).is_some_and(|(before, after)| after > before);
        }
        self.reading = Reading {
            counters: reading.counters,
            kin: reading.kin.or(self.reading.kin),
        };
        if let (Some(user), Some(system)) = (reading.counters.user, reading.counters.system) {
            self.cpu = self.cpu.max(Some(user + system));
        }
    }

    /// Writes a failure once per kind: the next thousand of the same say nothing new.
    pub fn report(&mut self, failure: Failure, sink: &mut dyn Sink, at: Nanos) {
        if self.reported.contains(&failure.what) {
            return;
        }
        self.reported.push(failure.what);
        let (process, what, error) = (self.number, failure.what.to_owned(), failure.error.to_string());
        sink.put(at, Event::ReadFailed(ReadFailure { process, what, error }));
    }
}
