//! The sampler as the driver sees it: a thread that takes commands and shows its latest figures.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::task::{Context, Poll};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::sync::oneshot;

use record::{AddressSpaceRule, Clock, Event, Nanos, PhaseRef, Resources, Rollup, Sample};

use super::platform::System;
use super::schedule::{self, SamplerCommand, Time, Wake};
use super::source::Source;
use super::watch::{Living, Watch};
use super::{Glance, Options, Pulse, Sink};

/// A running sampler. Dropping it stops it.
#[derive(Debug)]
pub struct Sampler {
    commands: Option<mpsc::Sender<SamplerCommand>>,
    thread: Option<JoinHandle<()>>,
    pulse: Pulse,
}

/// Resolves when the sampler has executed the command: to true, or to false if it stopped first.
#[derive(Debug)]
#[must_use = "what was asked for has happened when this is done"]
pub struct Done(oneshot::Receiver<()>);

impl Sampler {
    /// Starts to watch a server. It is no error if the server has ended already: then nothing is recorded.
    pub fn start(root_pid: u32, options: Options, clock: Clock, sink: Box<dyn Sink>) -> io::Result<Sampler> {
        let pulse = Pulse::default();
        let shown = pulse.clone();
        let mut own = System::own_ids()?;
        let mut source = System::new()?;
        if options.is_joined {
            own = own.beside(&source.open(root_pid)?.1.found);
        }
        let (commands, received) = mpsc::channel();
        let thread = thread::Builder::new().name("sampler".to_owned()).spawn(move || {
            let mut time = Waiting { clock, received };
            let mut watch = Watch::new(source, own, &options, shown, sink);
            watch.follow(root_pid, &|| clock.now());
            schedule::run(&mut watch, &mut time, &options);
        })?;
        Ok(Sampler {
            commands: Some(commands),
            thread: Some(thread),
            pulse,
        })
    }

    /// Watches one more server, started in place of the previous one, whose remaining processes are still watched.
    pub fn follow(&self, root_pid: u32) {
        self.send(SamplerCommand::Follow(root_pid));
    }

    /// Begins or ends a quiet window: only in one are exact reads allowed between checkpoints. Done when no forbidden
    /// read is under way any more.
    pub fn set_quiet(&self, yes: bool) -> Done {
        let (done, receiver) = oneshot::channel();
        self.send(SamplerCommand::Quiet(yes, done));
        Done(receiver)
    }

    /// Reads the exact counters now and writes them all. Only for moments when nothing is timed: the read delays the server.
    pub fn write_exact_counters(&self) -> Done {
        let (done, receiver) = oneshot::channel();
        self.send(SamplerCommand::Exact(done));
        Done(receiver)
    }

    /// Reads five rounds of samples, at most 50 ms apart, then the exact counters, and writes what `checkpoint` makes.
    pub fn checkpoint<F>(&self, checkpoint: F) -> Done
    where
        F: FnOnce(Vec<Vec<Sample>>, Vec<Rollup>, Option<Resources>) -> Event + Send + 'static,
    {
        let (done, receiver) = oneshot::channel();
        self.send(SamplerCommand::Checkpoint(Box::new(checkpoint), done));
        Done(receiver)
    }

    /// Writes the high-water marks of the phase that ends, then sets them back if that is allowed.
    pub fn peak(&self, phase: PhaseRef) -> Done {
        let (done, receiver) = oneshot::channel();
        self.send(SamplerCommand::Peak(phase, done));
        Done(receiver)
    }

    /// Writes what changed since the last sample, between deadlines too.
    pub fn sample(&self) -> Done {
        let (done, receiver) = oneshot::channel();
        self.send(SamplerCommand::Sample(done));
        Done(receiver)
    }

    /// The latest figures of the tree; the same ones for every call.
    pub fn pulse(&self) -> Pulse {
        self.pulse.clone()
    }

    /// Reads the cheap counters of the tree now, between deadlines too. The channel closes if the sampler has stopped.
    pub fn glance(&self) -> oneshot::Receiver<Glance> {
        let (answer, receiver) = oneshot::channel();
        self.send(SamplerCommand::Glance(answer));
        receiver
    }

    /// Looks for the live processes of the tree, without zombies.
    ///
    /// Waits for the sampler: some milliseconds, or until a running exact read ends.
    pub fn living_processes(&self) -> Vec<Living> {
        let (answer, receiver) = mpsc::channel();
        self.send(SamplerCommand::Alive(answer));
        receiver.recv().unwrap_or_default()
    }

    /// Executes the pending commands, reads once more and ends. An unfinished checkpoint is dropped.
    pub fn stop(mut self) {
        self.end();
    }

    /// A stopped sampler does not answer; its caller notices the closed channel.
    fn send(&self, command: SamplerCommand) {
        if let Some(commands) = &self.commands {
            let _ = commands.send(command);
        }
    }

    fn end(&mut self) {
        self.commands = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the sampler was printed when it happened; there is nothing to add.
            let _ = thread.join();
        }
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.end();
    }
}

impl Done {
    /// Waits outside of an asynchronous context.
    pub fn wait(self) -> bool {
        self.0.blocking_recv().is_ok()
    }
}

impl Future for Done {
    type Output = bool;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<bool> {
        Pin::new(&mut self.0).poll(context).map(|done| done.is_ok())
    }
}

/// The process with this id; `None` if there is none or it has ended.
pub fn living(pid: u32) -> Option<Living> {
    let (_held, opened) = System::new().ok()?.open(pid).ok()?;
    Some((pid, opened.started, opened.name))
}

/// Start time of a process, in the unit of [`Living`].
pub fn start_time(pid: u32) -> Option<u64> {
    living(pid).map(|(_, started, _)| started)
}

/// The current time, in the unit of [`Living`]; `None` where lsp-soak cannot be a subreaper and nothing needs it.
pub fn start_time_now() -> Option<u64> {
    System::moment()
}

/// The rule by which processes in one address space are known; `None` where lsp-soak cannot know them.
pub fn address_spaces() -> Option<AddressSpaceRule> {
    System::address_spaces()
}

/// The real clock and the driver's channel.
struct Waiting {
    clock: Clock,
    received: mpsc::Receiver<SamplerCommand>,
}

impl Time for Waiting {
    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn wait(&mut self, until: Nanos) -> Wake {
        let left = Duration::from_nanos(until.saturating_sub(self.now()));
        match self.received.recv_timeout(left) {
            Ok(command) => Wake::Command(command),
            Err(RecvTimeoutError::Timeout) => Wake::Due,
            Err(RecvTimeoutError::Disconnected) => Wake::Stop,
        }
    }
}
