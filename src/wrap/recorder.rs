//! The thread that records a session. Nobody waits for it, and it may fail at any time.

use std::fs::File;
use std::io::Write;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use anyhow::Context;

use proctree::{Options, Sampler};
use record::{Clock, Event, Journal, JournalEnd, Warning, WarningKind};

use super::WrapPlan;
use super::departure::Departure;
use super::header::{self, INTERVAL};
use super::params::Salt;
use super::place::{self, Limited, Written};
use super::private::{KnownPrograms, PublicSink};
use super::tap::{Batch, Part, Taken, Tap};
use super::traffic::Traffic;

/// Longest time that the last messages are read for the record; the editor waits for this process.
const LONGEST_REST: Duration = Duration::from_secs(2);
/// Longest wait for the disk before the record ends.
const PATIENCE: Duration = Duration::from_secs(5);

/// A running recorder.
pub struct Recorder {
    /// Closed by the end of the thread.
    ended: Receiver<()>,
}

/// A record that is being written, and its sources.
struct Recording {
    journal: Journal,
    end: JournalEnd,
    written: Written,
    sampler: Option<Sampler>,
    traffic: Traffic,
    is_full: bool,
}

impl Recorder {
    /// Starts to record. Without a record one line on `errors` says why.
    pub fn start(tap: &Arc<Tap>, plan: WrapPlan, pid: u32, clock: Clock, errors: File) -> Recorder {
        let (sender, ended) = mpsc::channel();
        let own = Arc::clone(tap);
        let thread = thread::Builder::new().name("recorder".to_owned());
        let started = thread.spawn(move || {
            let _ends_with_thread: mpsc::Sender<()> = sender;
            if let Some(text) = run_guarded(&own, || record(&own, &plan, pid, clock)) {
                let mut errors = errors;
                // Without stderr nobody can be told.
                let _ = writeln!(errors, "lsp-soak: {text}");
            }
        });
        if started.is_err() {
            tap.close();
        }
        Recorder { ended }
    }

    /// Waits for the end of the record.
    pub fn finish(&self, patience: Duration) {
        // It ends by an error, for nothing is ever sent.
        let _ = self.ended.recv_timeout(patience);
    }
}

/// Does the work of the recorder and returns why it failed. Whatever happens, nothing is copied for it afterwards.
fn run_guarded(tap: &Tap, work: impl FnOnce() -> anyhow::Result<()>) -> Option<String> {
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    tap.close();
    match done {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(format!("nothing more is recorded of this session: {error:#}")),
        // Its words may quote what passed by.
        Err(_) => Some("nothing more is recorded of this session, because of a mistake in lsp-soak".to_owned()),
    }
}

fn record(tap: &Tap, plan: &WrapPlan, pid: u32, clock: Clock) -> anyhow::Result<()> {
    let mut recording = Recording::begin(plan, pid, clock)?;
    let mut batch = Batch::default();
    loop {
        let taken = tap.take(&mut batch);
        for part in batch.parts() {
            if tap.has_ended_for(LONGEST_REST) {
                recording.traffic.count_unwritten();
            } else {
                recording.take(&part);
            }
        }
        if let Taken::End(departure) = taken {
            return recording.finish(Some(&departure));
        }
        if recording.journal.failed() {
            return recording.finish(None);
        }
    }
}

impl Recording {
    fn begin(plan: &WrapPlan, pid: u32, clock: Clock) -> anyhow::Result<Recording> {
        let salt = Salt::draw().context("the system has no random numbers")?;
        let started = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string();
        let known = KnownPrograms::read();
        let header = header::header(plan, &known, started);
        let file = place::create(plan.out.as_deref(), &header.server.label, &header.started, pid)?;
        let written = Written::default();
        let storage = Limited::new(file, &written);
        let (journal, end) = Journal::with_storage(storage, &header, clock, PATIENCE)?;
        journal.write_at(
            0,
            Event::Spawned {
                pid,
                restarts: 0,
                window: 0,
            },
        );
        journal.write_at(0, Event::PhaseStarted(header::phase()));
        let sink = PublicSink {
            inner: journal.clone(),
            known,
            written: written.clone(),
        };
        let options = Options {
            interval: INTERVAL,
            peak_reset: false,
            ..Options::default()
        };
        let sampler = Sampler::start(pid, options, clock, Box::new(sink));
        if let Err(error) = &sampler {
            journal.write(Event::Warning(Warning {
                kind: WarningKind::Counters,
                text: format!("memory is not recorded: {error}"),
            }));
        }
        Ok(Recording {
            journal,
            end,
            written,
            sampler: sampler.ok(),
            traffic: Traffic::new(salt, plan.contents),
            is_full: false,
        })
    }

    fn take(&mut self, part: &Part<'_>) {
        for (at, event) in self.traffic.take(part) {
            if self.written.has_room_for_messages() {
                self.journal.write_at(at, event);
            } else {
                self.traffic.count_unwritten();
                self.tell_full();
            }
        }
    }

    fn tell_full(&mut self) {
        if !std::mem::replace(&mut self.is_full, true) {
            self.journal.write(Event::Warning(Warning {
                kind: WarningKind::Record,
                text: "the record is full: later messages are counted and not recorded, and memory is for as long as \
                       there is room"
                    .to_owned(),
            }));
        }
    }

    /// Ends the record; without a departure it could not be written any more.
    fn finish(mut self, departure: Option<&Departure>) -> anyhow::Result<()> {
        if let Some(sampler) = self.sampler.take() {
            sampler.stop();
        }
        if let Some(departure) = departure {
            for event in self.traffic.end(departure) {
                self.journal.write(event);
            }
        }
        drop(self.journal);
        Ok(self.end.finish()?)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::super::pump::{Progress, Pump};
    use super::*;
    use record::Side;

    /// Bytes that a pump passes on beside this tap.
    fn pumped(tap: &Arc<Tap>, bytes: &[u8]) -> Vec<u8> {
        let mut passed = Vec::new();
        let progress = Arc::<Progress>::default();
        Pump::new(&progress, tap, Some(Side::Client)).run(Cursor::new(bytes), &mut passed);
        assert!(progress.is_done() && progress.is_source_ended());
        passed
    }

    #[test]
    fn a_recorder_that_panics_costs_the_record_and_no_byte() {
        let tap = Arc::new(Tap::new(Clock::start()));
        let said = run_guarded(&tap, || panic!("with the words of a document"));
        assert!(said.is_some_and(|text| !text.contains("document")));
        let bytes = vec![7; 40 << 20];
        assert!(pumped(&tap, &bytes) == bytes);
    }

    #[test]
    fn a_recorder_that_never_comes_costs_the_record_and_no_byte() {
        let tap = Arc::new(Tap::new(Clock::start()));
        let bytes = vec![7; 40 << 20];
        assert!(pumped(&tap, &bytes) == bytes);
        let mut batch = Batch::default();
        assert!(matches!(tap.take(&mut batch), Taken::Bytes));
        let lost: u64 = batch.parts().map(|part| part.lost).sum();
        let kept: usize = batch.parts().map(|part| part.bytes.len()).sum();
        assert!(lost > 0 && lost + kept as u64 == 40 << 20);
    }
}
