//! Notices when a process that the server started crashes: the server may live on, and show nothing of it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::drive::Crash;
use crate::host;
use crate::record::{EndCause, Event, Journal, Nanos, ProcessEnd};
use crate::sample::Sink;

const SIGKILL: i32 = 9;

/// Shared by the driver, which asks, and the sampler's sink, which answers.
#[derive(Clone, Debug, Default)]
pub struct Crashes(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    /// Process ids of the servers themselves: their ends are seen by other means.
    servers: Vec<u32>,
    /// Process id and short name by number in the record.
    processes: HashMap<u32, (u32, String)>,
    shuts_down: bool,
    first: Option<Crash>,
    /// Out-of-memory kills counted by the kernel at the last look.
    kills: Option<u64>,
}

impl Crashes {
    pub fn new() -> Crashes {
        let known = Known {
            kills: host::out_of_memory_kills(),
            ..Known::default()
        };
        Crashes(Arc::new(Mutex::new(known)))
    }

    /// The first crash since the server was started.
    pub fn first(&self) -> Option<Crash> {
        self.known().first.clone()
    }

    /// Takes notice of an event of the driver.
    pub fn note(&self, event: &Event) {
        let mut known = self.known();
        match event {
            Event::Spawned { pid, .. } => {
                known.servers.push(*pid);
                known.shuts_down = false;
            }
            Event::ShutdownBegan => known.shuts_down = true,
            _ => {}
        }
    }

    /// Takes notice of an event of the sampler, and adds what only the machine knows of an end.
    fn note_sampled(&self, event: &mut Event) {
        match event {
            Event::Process(process) => {
                let named = (process.pid, process.name.clone());
                self.known().processes.insert(process.process, named);
            }
            Event::ProcessEnded(end) => self.known().note_end(end),
            _ => {}
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
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
        if cause.is_crash() && !is_server && !self.shuts_down && self.first.is_none() {
            self.first = Some(Crash { name, pid, cause });
        }
    }
}

/// The journal as the sampler's sink, with an eye on ends.
pub struct Noticing {
    pub journal: Journal,
    pub crashes: Crashes,
}

impl Sink for Noticing {
    fn put(&mut self, at: Nanos, mut event: Event) {
        self.crashes.note_sampled(&mut event);
        self.journal.write_at(at, event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Process;

    const ABORTED: EndCause = EndCause::Signalled {
        signal: 6,
        out_of_memory: false,
    };

    fn with_server_and_helper() -> Crashes {
        let crashes = Crashes::default();
        crashes.note(&Event::Spawned { pid: 10, restarts: 0 });
        for (process, pid) in [(0, 10), (1, 11)] {
            crashes.note_sampled(&mut Event::Process(Process {
                process,
                pid,
                parent: None,
                started: 1,
                name: format!("program-{pid}"),
                command: Vec::new(),
                huge_pages: None,
            }));
        }
        crashes
    }

    fn end(crashes: &Crashes, process: u32, cause: EndCause) {
        crashes.note_sampled(&mut Event::ProcessEnded(ProcessEnd {
            process,
            used: None,
            cause: Some(cause),
        }));
    }

    #[test]
    fn a_helper_that_aborts_while_the_server_is_used_has_crashed() {
        let crashes = with_server_and_helper();
        end(&crashes, 1, ABORTED);
        let crash = crashes.first().unwrap();
        assert_eq!((crash.pid, crash.name.as_str()), (11, "program-11"));
    }

    #[test]
    fn a_helper_that_its_launcher_ends_has_not_crashed() {
        for signal in [1, 2, 9, 13, 15] {
            let crashes = with_server_and_helper();
            let cause = EndCause::Signalled {
                signal,
                out_of_memory: false,
            };
            end(&crashes, 1, cause);
            assert_eq!(crashes.first(), None, "{signal}");
        }
    }

    #[test]
    fn ends_during_the_shutdown_and_of_the_server_itself_do_not_count_here() {
        let crashes = with_server_and_helper();
        end(&crashes, 0, ABORTED);
        crashes.note(&Event::ShutdownBegan);
        end(&crashes, 1, ABORTED);
        assert_eq!(crashes.first(), None);
    }
}
