//! Notices what the sampler sees and the driver must know: a process of the tree crashed while the server lives on, or the
//! tree exceeded its memory limit.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::drive::Crash;
use proctree::Sink;
use proctree::host;
use record::{EndCause, Ending, Event, Excess, Journal, MOST_REQUESTS, Nanos, Outcome, ProcessEnd, Request};

const SIGKILL: i32 = 9;

/// Shared by the driver, which asks, and the sampler's sink, which answers.
#[derive(Clone, Debug, Default)]
pub struct Incidents(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    /// Process ids of the servers themselves: their ends are seen by other means.
    servers: Vec<u32>,
    /// Process id and name for people by number in the record.
    processes: HashMap<u32, (u32, String)>,
    shuts_down: bool,
    crash: Option<Crash>,
    excess: Option<Excess>,
    /// Methods of the requests that were answered last, before any excess.
    answered: VecDeque<String>,
    /// Methods of the requests that an excess cut off.
    cut_off: Vec<String>,
    /// Out-of-memory kills counted by the kernel at the last look.
    kills: Option<u64>,
}

impl Incidents {
    pub fn new() -> Incidents {
        let known = Known {
            kills: host::out_of_memory_kills(),
            ..Known::default()
        };
        Incidents(Arc::new(Mutex::new(known)))
    }

    /// The first crash.
    pub fn crash(&self) -> Option<Crash> {
        self.lock_known().crash.clone()
    }

    /// True once the tree was killed for its memory.
    pub fn is_over_limit(&self) -> bool {
        self.lock_known().excess.is_some()
    }

    /// The ending of a run whose tree was killed for its memory.
    pub fn over_limit(&self, during: &str) -> Option<Ending> {
        let known = self.lock_known();
        Some(Ending::OverLimit {
            excess: known.excess?,
            during: during.to_owned(),
            in_flight: known.cut_off.clone(),
            before: known.answered.iter().cloned().collect(),
        })
    }

    /// Takes notice of an event of the driver.
    pub fn note(&self, event: &Event) {
        let mut known = self.lock_known();
        match event {
            Event::Spawned { pid, .. } => {
                known.servers.push(*pid);
                known.shuts_down = false;
            }
            Event::ShutdownBegan => known.shuts_down = true,
            Event::Request(request) => known.note_request(request),
            _ => {}
        }
    }

    /// Takes notice of an event of the sampler, and adds what only the machine knows of an end.
    fn note_sampled(&self, event: &mut Event) {
        match event {
            Event::Process(process) => {
                let named = (process.pid, process.title());
                let mut known = self.lock_known();
                // A process that is ending has no command line any more.
                if !process.command.is_empty() || !known.processes.contains_key(&process.process) {
                    known.processes.insert(process.process, named);
                }
            }
            Event::ProcessEnded(end) => self.lock_known().note_end(end),
            Event::OverLimit(excess) => self.lock_known().excess = Some(*excess),
            _ => {}
        }
    }

    fn lock_known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn note_request(&mut self, request: &Request) {
        let is_answered = !matches!(request.outcome, Outcome::Lost | Outcome::TimedOut | Outcome::Parked);
        if is_answered && self.excess.is_none() {
            self.answered.push_back(request.method.clone());
            if self.answered.len() > MOST_REQUESTS {
                self.answered.pop_front();
            }
        } else if self.excess.is_some() && self.cut_off.len() < MOST_REQUESTS {
            self.cut_off.push(request.method.clone());
        }
    }

    fn note_end(&mut self, end: &mut ProcessEnd) {
        let process = self.processes.remove(&end.process);
        if let Some(EndCause::Signalled { signal, out_of_memory }) = &mut end.cause
            && *signal == SIGKILL
        {
            let kills = host::out_of_memory_kills();
            *out_of_memory = kills > self.kills && self.kills.is_some();
            self.kills = kills;
        }
        let (Some(cause), Some((pid, name))) = (end.cause, process) else {
            return;
        };
        let is_server = self.servers.contains(&pid);
        // After an excess lsp-soak itself kills.
        let is_asked = self.shuts_down || self.excess.is_some();
        if cause.is_crash() && !is_server && !is_asked && self.crash.is_none() {
            self.crash = Some(Crash { name, pid, cause });
        }
    }
}

/// The journal as the sampler's sink, with an eye on ends.
pub struct Noticing {
    pub journal: Journal,
    pub incidents: Incidents,
}

impl Sink for Noticing {
    fn put(&mut self, at: Nanos, mut event: Event) {
        self.incidents.note_sampled(&mut event);
        self.journal.write_at(at, event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Process;

    const ABORTED: EndCause = EndCause::Signalled {
        signal: 6,
        out_of_memory: false,
    };

    fn with_server_and_helper() -> Incidents {
        let incidents = Incidents::default();
        incidents.note(&Event::Spawned {
            pid: 10,
            restarts: 0,
            window: 0,
        });
        for (process, pid) in [(0, 10), (1, 11)] {
            incidents.note_sampled(&mut Event::Process(Process {
                process,
                pid,
                parent: None,
                started: 1,
                name: format!("program-{pid}"),
                command: Vec::new(),
                huge_pages: None,
            }));
        }
        incidents
    }

    fn end(incidents: &Incidents, process: u32, cause: EndCause) {
        incidents.note_sampled(&mut Event::ProcessEnded(ProcessEnd {
            process,
            used: None,
            cause: Some(cause),
        }));
    }

    #[test]
    fn a_helper_that_aborts_while_the_server_is_used_has_crashed() {
        let incidents = with_server_and_helper();
        end(&incidents, 1, ABORTED);
        let crash = incidents.crash().unwrap();
        assert_eq!((crash.pid, crash.name.as_str()), (11, "program-11"));
    }

    #[test]
    fn a_helper_that_its_launcher_ends_has_not_crashed() {
        for signal in [1, 2, 9, 13, 15] {
            let incidents = with_server_and_helper();
            let cause = EndCause::Signalled {
                signal,
                out_of_memory: false,
            };
            end(&incidents, 1, cause);
            assert_eq!(incidents.crash(), None, "{signal}");
        }
    }

    #[test]
    fn ends_during_the_shutdown_and_of_the_server_itself_do_not_count_here() {
        let incidents = with_server_and_helper();
        end(&incidents, 0, ABORTED);
        incidents.note(&Event::ShutdownBegan);
        end(&incidents, 1, ABORTED);
        assert_eq!(incidents.crash(), None);
    }
}
