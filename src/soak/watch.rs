//! Samples a server that somebody else started, until its end, for a time, or until a person stops it.

use std::future;
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::drive::Frame;
use crate::progress::{self, Status};
use base::units;
use proctree::{Options, Pulse, Running, Sampler, host, start_time};
use record::{Clock, Ending, Event, Header, Journal, PhaseRef, Warning, WarningKind};

use super::incidents::{Incidents, Noticing};
use super::{Interrupt, SoakError};

/// Pause between two looks for the end of the process.
const LOOK: Duration = Duration::from_millis(200);

/// Looks between two pictures of the progress.
const PICTURE: u32 = 5;

/// Data that no record of a watched server has.
const MISSING: &str = "watched from outside: requests, latencies, idle windows, the start and the shutdown are not in this \
                       record, and nothing waited for the server to settle; its peak may be from before";

/// A server to watch.
pub struct Watched {
    pub process: Running,
    pub header: Header,
    /// Name of the only phase.
    pub phase: &'static str,
    /// Time after which the watch ends; `None` for no limit.
    pub time: Option<Duration>,
    pub interval: Duration,
    pub is_quiet: bool,
}

/// The reason that a watch ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stopped {
    /// The time was up, or a person pressed ctrl-c.
    Asked,
    ProcessEnded {
        /// Private memory of the tree when it was last read.
        private: Option<u64>,
    },
}

/// Watches a server and writes the record to `path`, which must not exist.
pub async fn watch(mut watched: Watched, path: &Path, interrupt: &Interrupt) -> Result<(), SoakError> {
    let clock = Clock::start();
    watched.header.started = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string();
    let (journal, end) = Journal::create(path, &watched.header, clock)?;
    let phase = PhaseRef {
        phase: 0,
        cycle: 0,
        name: watched.phase.to_owned(),
    };
    journal.write(warning(MISSING.to_owned()));
    tell_pressure(&journal);
    journal.write(Event::PhaseStarted(phase.clone()));
    let incidents = Incidents::new();
    let sampler = start(&watched, clock, &journal, &incidents).map_err(|error| SoakError::Failed {
        what: format!("watch process {}", watched.process.pid),
        error,
    });
    let sampler = match sampler {
        Ok(sampler) => sampler,
        Err(error) => {
            // A record without a sample says nothing.
            drop(end);
            let _ = std::fs::remove_file(path);
            return Err(error);
        }
    };
    let _running = interrupt.running();
    let stopped = tokio::select! {
        biased;
        () = interrupt.pressed(1) => Stopped::Asked,
        () = until(watched.time) => Stopped::Asked,
        private = ended(&watched, sampler.pulse()) => Stopped::ProcessEnded { private },
    };
    journal.write(Event::PhaseDriven(phase.clone()));
    if stopped == Stopped::Asked {
        let frame = Frame {
            phase: phase.clone(),
            settled: true,
            waited: 0,
            unsettled: String::new(),
            released: None,
        };
        sampler
            .checkpoint(move |rounds, rollups, resources| {
                Event::Checkpoint(frame.with_samples(rounds, rollups, resources))
            })
            .await;
        sampler.peak(phase).await;
    }
    sampler.stop();
    tell_pressure(&journal);
    journal.write(Event::Ended(ending(&watched.process, stopped, &incidents, &journal)));
    drop(journal);
    end.finish()?;
    Ok(())
}

fn start(watched: &Watched, clock: Clock, journal: &Journal, incidents: &Incidents) -> io::Result<Sampler> {
    let process = &watched.process;
    if start_time(process.pid) != Some(process.started) {
        return Err(io::Error::new(io::ErrorKind::NotFound, "it has ended"));
    }
    journal.write(Event::Spawned {
        pid: process.pid,
        restarts: 0,
        window: 0,
    });
    let options = Options {
        interval: watched.interval,
        // The kernel's marks are its owner's.
        peak_reset: false,
        is_joined: true,
        ..Options::default()
    };
    let sink = Noticing {
        journal: journal.clone(),
        incidents: incidents.clone(),
    };
    Sampler::start(process.pid, options, clock, Box::new(sink))
}

async fn until(time: Option<Duration>) {
    match time {
        Some(time) => tokio::time::sleep(time).await,
        None => future::pending().await,
    }
}

/// Waits for the end of the process, and shows its memory meanwhile. Returns the private memory that it had last.
async fn ended(watched: &Watched, pulse: Pulse) -> Option<u64> {
    let (process, status, mut last) = (&watched.process, Status::default(), None);
    if !watched.is_quiet {
        progress::say(&format!(
            "watching {} (process {}): ctrl-c ends and reports",
            process.title, process.pid
        ));
    }
    let mut looks: u32 = 0;
    while start_time(process.pid) == Some(process.started) {
        last = pulse.private().or(last);
        if !watched.is_quiet && looks.is_multiple_of(PICTURE) {
            let since = units::duration(LOOK * looks);
            status.show(&format!("{} private, {since}", units::or_unknown(last, units::bytes)));
        }
        tokio::time::sleep(LOOK).await;
        looks += 1;
    }
    last
}

/// The result. The exit code of a process is its parent's, so its end is a failure only if the system says so.
fn ending(process: &Running, stopped: Stopped, incidents: &Incidents, journal: &Journal) -> Ending {
    let Stopped::ProcessEnded { private } = stopped else {
        return Ending::Completed;
    };
    match incidents.crash() {
        Some(crash) if crash.pid == process.pid => Ending::ProcessCrashed {
            name: crash.name,
            pid: crash.pid,
            cause: crash.cause,
            during: "the watch".to_owned(),
        },
        Some(_) | None => {
            journal.write(warning(format!(
                "process {} ended while it was watched, so there is no checkpoint; its tree last had {} private",
                process.pid,
                units::or_unknown(private, units::bytes)
            )));
            Ending::Completed
        }
    }
}

fn warning(text: String) -> Event {
    Event::Warning(Warning {
        kind: WarningKind::Scenario,
        text,
    })
}

fn tell_pressure(journal: &Journal) {
    if let Some(pressure) = host::pressure() {
        journal.write(Event::Pressure(pressure));
    }
}
