//! The state of one process of the tree.

use record::{Counters, Event, Nanos, Process, ReadFailure, Rollup, Sample, SharedMemory};

use super::Sink;
use super::source::{Failure, Found, Program, Reading};

/// One process of the tree, open, with its last readings and records.
pub(super) struct Member<P> {
    pub process: P,
    pub number: u32,
    pub found: Found,
    pub started: u64,
    pub runs: Program,
    /// The program that `runs` belongs to; `None` until a command line was read with it.
    pub program: Option<u64>,
    /// The program that was searched for libraries.
    pub searched: Option<u64>,
    /// The program whose environment was searched.
    pub asked: Option<u64>,
    pub readings: u64,
    /// Reads of the command line since the program changed.
    pub command_tries: u8,
    pub reading: Reading,
    /// Highest processor time read.
    pub cpu: Option<Nanos>,
    /// Known children that ended and may not be reaped yet.
    pub owed: u32,
    /// True if it reaped a child since the last check.
    pub reaped: bool,
    /// True if a read found it ended.
    pub over: bool,
    /// The last written sample and its time.
    pub written: Option<(Nanos, Counters)>,
    /// Resident files of a tmpfs that its last exact reading saw, in bytes.
    named: u64,
    /// The process in whose address space it runs, if any, with the `members_version` of [`super::Watch`] for which the kernel said so.
    pub owner: Option<(u64, Option<u32>)>,
    /// The last written rollup and its time.
    rollup: Option<(Nanos, Rollup)>,
    reported: Vec<&'static str>,
}

/// The changes in an exact reading since the last written one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// No changes, or none that is to be written yet.
    None,
    /// Only other processes changed something, in shared pages.
    Foreign,
    Own,
}

impl<P> Member<P> {
    pub fn new(process: P, number: u32, found: Found, started: u64, runs: Program) -> Member<P> {
        Member {
            process,
            number,
            found,
            started,
            runs,
            program: None,
            searched: None,
            asked: None,
            readings: 0,
            command_tries: 0,
            reading: Reading::default(),
            cpu: None,
            owed: 0,
            reaped: false,
            over: false,
            written: None,
            named: 0,
            owner: None,
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
            name: self.runs.name.clone(),
            command: self.runs.command.clone(),
            huge_pages: self.runs.huge_pages,
        }
    }

    /// True if it runs in the address space of another process, whose figures have all of its memory.
    pub fn borrows(&self) -> bool {
        self.reading.counters.memory_of.is_some()
    }

    /// Replaces the previous reading; true if it runs another program now.
    pub fn take_reading(&mut self, reading: Reading) -> bool {
        self.readings += 1;
        if let Some(kin) = reading.kin {
            // A new process has reaped none: the first reading includes all that it reaped.
            let before = self.reading.kin.map_or(Some(0), |kin| kin.reaped);
            if let (Some(before), Some(after)) = (before, kin.reaped) {
                self.reaped |= after > before;
            }
        }
        let is_other_program = match (reading.kin, self.reading.kin) {
            (Some(now), Some(before)) => now.program != before.program,
            (Some(_) | None, Some(_) | None) => false,
        };
        if is_other_program {
            self.named = 0;
        }
        let mut counters = reading.counters;
        counters.count_shared(self.named);
        self.reading = Reading {
            counters,
            kin: reading.kin.or(self.reading.kin),
        };
        if let (Some(user), Some(system)) = (reading.counters.user, reading.counters.system) {
            self.cpu = self.cpu.max(Some(user + system));
        }
        is_other_program
    }

    /// Learns from an exact reading how much of the shared memory is of named files.
    pub fn take_named(&mut self, rollup: &Rollup) {
        if let Some(shared) = rollup.shared_memory {
            self.named = shared.named;
        }
    }

    /// Counts the shared memory of a sample by the latest exact reading.
    pub fn count_shared_exactly(&self, sample: &mut Sample) {
        sample.counters.count_shared(self.named);
    }

    /// Takes an exact reading, which is written if it is news.
    ///
    /// Some counters change whenever another process maps or unmaps a shared library. On a busy machine that is every
    /// second, and would write 30 MB a day for an idle server. So changes by other processes are news only once per
    /// heartbeat.
    pub fn take_rollup(&mut self, at: Nanos, rollup: Rollup, heartbeat: Nanos) -> News {
        let news = match self.rollup {
            None => News::Own,
            Some((_, last)) if own_counters(last) != own_counters(rollup) => News::Own,
            Some((written, last)) => {
                let cost = rollup.cost;
                let differs = rollup != Rollup { cost, ..last };
                if differs && at.saturating_sub(written) >= heartbeat {
                    News::Foreign
                } else {
                    News::None
                }
            }
        };
        if news != News::None {
            self.rollup = Some((at, rollup));
        }
        news
    }

    /// Writes a failure once per kind: repetitions add nothing.
    pub fn report(&mut self, failure: Failure, sink: &mut dyn Sink, at: Nanos) {
        if self.reported.contains(&failure.what) {
            return;
        }
        self.reported.push(failure.what);
        let (process, what, error) = (self.number, failure.what.to_owned(), failure.error.to_string());
        sink.put(at, Event::ReadFailed(ReadFailure { process, what, error }));
    }
}

/// A rollup without the counters that other processes can change.
fn own_counters(rollup: Rollup) -> Rollup {
    let shared_memory = rollup.shared_memory.map(|shared| SharedMemory { named: 0, ..shared });
    Rollup {
        shared_memory,
        proportional: 0,
        proportional_file: None,
        proportional_shared: None,
        unique: 0,
        cost: 0,
        ..rollup
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanos = 1_000_000_000;

    #[test]
    fn what_the_neighbours_do_is_news_once_per_heartbeat() {
        let found = Found {
            pid: 1,
            parent: 0,
            group: None,
            session: None,
            started: Some(0),
        };
        let mut member = Member::new((), 0, found, 0, Program::default());
        for (second, anonymous, proportional_file, cost, news) in [
            (0, 5, 9, 1, News::Own),
            (1, 5, 8, 1, News::None),
            (2, 6, 8, 1, News::Own),
            // 59 s after the last one.
            (61, 6, 7, 1, News::None),
            (62, 6, 7, 1, News::Foreign),
            // The cost alone.
            (200, 6, 7, 2, News::None),
        ] {
            let rollup = Rollup {
                anonymous,
                proportional_file: Some(proportional_file),
                cost,
                ..Rollup::default()
            };
            let taken = member.take_rollup(second * SECOND, rollup, 60 * SECOND);
            assert_eq!(taken, news, "at second {second}");
        }
    }
}
