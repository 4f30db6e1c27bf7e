//! An idle server makes a small record, also on a busy machine.

use std::cell::Cell;
use std::io;

use proctree::source::{Effort, Failure, Found, Kin, Opened, Program, Reading, Source};
use proctree::tree::Own;
use proctree::{Options, Pulse, SamplerCommand, Time, Wake, Watch};
use record::{Clock, Counters, Event, Header, Journal, Nanos, Rollup};

use tokio::sync::oneshot;

use crate::soak::{START, Soak};

const SECOND: Nanos = 1_000_000_000;
const DAY: Nanos = 24 * 3600 * SECOND;
const MOST: u64 = 5 << 20;
/// The server, its child and its grandchild.
const TREE: [u32; 3] = [100, 200, 300];

/// An idle server on a busy machine: a neighbour maps or unmaps a shared library every second, and a timer costs a
/// clock tick every half minute.
struct Idle<'t> {
    now: &'t Cell<Nanos>,
    looked: bool,
}

impl Source for Idle<'_> {
    type Process = u32;

    fn look(&mut self, _now: Nanos, _effort: Effort, found: &mut Vec<Found>) -> io::Result<()> {
        if !std::mem::replace(&mut self.looked, true) {
            found.extend(TREE.into_iter().map(found_process));
        }
        Ok(())
    }

    fn open(&mut self, pid: u32) -> io::Result<(u32, Opened)> {
        let opened = Opened {
            found: found_process(pid),
            started: u64::from(pid),
            name: "server".to_owned(),
        };
        Ok((pid, opened))
    }

    fn read(&mut self, process: &mut u32, _failures: &mut Vec<Failure>) -> Option<Reading> {
        let ticks = self.now.get() / (30 * SECOND);
        let counters = Counters {
            resident: Some(1 << 30),
            private: Some(900 << 20),
            file: Some(100 << 20),
            shared: Some(0),
            swap: Some(0),
            high_water: Some(1 << 30),
            virtual_size: Some(3 << 30),
            minor_faults: Some(300_000),
            major_faults: Some(12),
            user: Some(5 * SECOND + if *process == TREE[0] { ticks * 10_000_000 } else { 0 }),
            system: Some(SECOND),
            threads: Some(12),
            forked: Some(false),
            ..Counters::default()
        };
        let kin = Kin {
            parent: found_process(*process).parent,
            group: Some(TREE[0]),
            session: Some(5),
            reaped: Some(0),
            program: 1,
        };
        Some(Reading {
            counters,
            kin: Some(kin),
        })
    }

    fn describe(&mut self, _process: &u32) -> Option<Program> {
        Some(Program {
            name: "server".to_owned(),
            command: vec!["server".to_owned(), "--stdio".to_owned()],
            huge_pages: Some(true),
        })
    }

    fn rollup(&mut self, _process: &u32, number: u32) -> Result<Option<Rollup>, Failure> {
        // A walk of a large process takes time, which exercises the duty limit.
        self.now.set(self.now.get() + 5_000_000);
        let neighbours = self.now.get() / SECOND % 7;
        Ok(Some(Rollup {
            process: number,
            resident: 1 << 30,
            proportional: (900 << 20) + (100 << 20) / (1 + neighbours),
            proportional_anonymous: Some(900 << 20),
            proportional_file: Some((100 << 20) / (1 + neighbours)),
            proportional_shared: Some(0),
            unique: (900 << 20) + (50 << 20) / (1 + neighbours),
            anonymous: 900 << 20,
            cost: 5_000_000 + neighbours,
            ..Rollup::default()
        }))
    }

    fn reset_peak(&mut self, _process: &u32) -> Result<bool, Failure> {
        Ok(true)
    }
}

fn found_process(pid: u32) -> Found {
    Found {
        pid,
        parent: TREE.iter().rev().copied().find(|parent| *parent < pid).unwrap_or(10),
        group: Some(TREE[0]),
        session: Some(5),
        started: Some(u64::from(pid)),
    }
}

/// A day of simulated time, in one long quiet window.
struct Fast<'t> {
    now: &'t Cell<Nanos>,
    begun: bool,
}

impl Time for Fast<'_> {
    fn now(&self) -> Nanos {
        self.now.get()
    }

    fn wait(&mut self, until: Nanos) -> Wake {
        if !std::mem::replace(&mut self.begun, true) {
            return Wake::Command(SamplerCommand::Quiet(true, oneshot::channel().0));
        }
        if until >= DAY {
            return Wake::Stop;
        }
        self.now.set(self.now.get().max(until));
        Wake::Due
    }
}

#[test]
fn a_day_beside_busy_neighbours_fits_in_five_mebibytes() {
    let directory = tempfile::tempdir().expect("there is a place for temporary files");
    let path = directory.path().join("day.jsonl");
    let (journal, end) = Journal::create(&path, &Header::default(), Clock::start()).expect("the directory is ours");
    let now = Cell::new(0);
    let source = Idle {
        now: &now,
        looked: false,
    };
    let own = Own {
        pid: 10,
        group: Some(10),
        session: Some(5),
    };
    let (options, pulse) = (Options::default(), Pulse::default());
    let mut watch = Watch::new(source, own, &options, pulse.clone(), Box::new(journal));
    watch.follow(TREE[0], &|| now.get());
    let mut time = Fast {
        now: &now,
        begun: false,
    };
    proctree::run(&mut watch, &mut time, &options);
    drop(watch);
    end.finish().expect("the disk takes it");

    let size = std::fs::metadata(&path).expect("it was written").len();
    assert!(size < MOST, "{size} bytes");
    assert!(
        pulse.ticks() > DAY / (60 * 1_000_000),
        "every round was read: {}",
        pulse.ticks()
    );
    let (mut samples, mut rollups) = ([0u64; 3], [0u64; 3]);
    for entry in record::open(&path).expect("it is a record") {
        match entry.expect("every line is whole").event {
            Event::Sample(sample) => samples[sample.process as usize] += 1,
            Event::Rollup(rollup) => rollups[rollup.process as usize] += 1,
            _ => {}
        }
    }
    // The record is small although sampling went on: a heartbeat per minute and process, and every clock tick.
    assert!(samples.iter().all(|count| *count >= 24 * 60 - 1), "{samples:?}");
    assert!(samples[0] >= 2 * 24 * 60, "{samples:?}");
    assert!(
        rollups.iter().all(|count| (24 * 40..=24 * 61).contains(count)),
        "{rollups:?}"
    );
}

#[test]
fn an_idle_server_writes_next_to_nothing() {
    // Too short for heartbeats and delays, which come once a minute; `idle` in the bench `soak` measures ten minutes.
    const WINDOW: Nanos = 25 * SECOND;
    let phases = "[[phase]]\nname = \"idle\"\nsteps = [{ open = { files = 3 } }, { idle = { for = \"31s\" } }]";
    let outcome = Soak::new(&format!("{START}{phases}")).run();
    outcome.passed();
    let entries = outcome.entries();
    let started = entries
        .iter()
        .find(|entry| matches!(&entry.event, Event::StepStarted(step) if step.name == "idle"))
        .expect("the step was played");
    // The first seconds still have effects of earlier phases.
    let from = started.at + 5 * SECOND;
    let text = std::fs::read_to_string(&outcome.record).expect("the record is there");
    let bytes: usize = text
        .lines()
        .skip(1)
        .zip(&entries)
        .filter(|(_, entry)| (from..from + WINDOW).contains(&entry.at))
        .map(|(line, _)| line.len() + 1)
        .sum();
    let day = bytes as u64 * (DAY / WINDOW);
    assert!(day < MOST, "{bytes} bytes in {} s, {day} in a day", WINDOW / SECOND);
}
