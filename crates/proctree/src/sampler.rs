//! The sampler as the driver sees it: a thread that is told what to do and shows its latest figures.

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
use super::schedule::{self, Command, Time, Wake};
use super::source::Source;
use super::watch::{Living, Watch};
use super::{Glance, Options, Pulse, Sink};

/// A running sampler. Dropping it stops it.
#[derive(Debug)]
pub struct Sampler {
    commands: Option<mpsc::Sender<Command>>,
    thread: Option<JoinHandle<()>>,
    pulse: Pulse,
}

/// Comes true when the sampler has done what it was asked to; false if it stopped first.
#[derive(Debug)]
#[must_use = "what was asked for has happened when this is done"]
pub struct Done(oneshot::Receiver<()>);

impl Sampler {
    /// Starts to watch a server. A server that is gone already is watched all the same: there is nothing to see.
    pub fn start(root_pid: u32, options: Options, clock: Clock, sink: Box<dyn Sink>) -> io::Result<Sampler> {
        let pulse = Pulse::default();
        let shown = pulse.clone();
        let own = System::own()?;
        let source = System::new()?;
        let (commands, received) = mpsc::channel();
        let body = move || {
            let mut time = Waiting { clock, received };
            let mut watch = Watch::new(source, own, &options, shown, sink);
            watch.follow(root_pid, &|| clock.now());
            schedule::run(&mut watch, &mut time, &options);
        };
        let thread = thread::Builder::new().name("sampler".to_owned()).spawn(body)?;
        Ok(Sampler {
            commands: Some(commands),
            thread: Some(thread),
            pulse,
        })
    }

    /// Watches one more server, started in place of the one before; what is left of that is still watched.
    pub fn follow(&self, root_pid: u32) {
        self.tell(Command::Follow(root_pid));
    }

    /// A quiet window begins or ends: only in one are exact reads allowed between checkpoints. Done when no read is under
    /// way any more that is not allowed.
    pub fn quiet(&self, yes: bool) -> Done {
        let (done, waited) = oneshot::channel();
        self.tell(Command::Quiet(yes, done));
        Done(waited)
    }

    /// Reads the exact counters now and writes them all. It is for moments at which nothing is timed.
    pub fn exact(&self) -> Done {
        let (done, waited) = oneshot::channel();
        self.tell(Command::Exact(done));
        Done(waited)
    }

    /// Reads five rounds of samples, at most 50 ms apart, then the exact counters, and writes what `checkpoint` makes.
    pub fn checkpoint<F>(&self, checkpoint: F) -> Done
    where
        F: FnOnce(Vec<Vec<Sample>>, Vec<Rollup>, Option<Resources>) -> Event + Send + 'static,
    {
        let (done, waited) = oneshot::channel();
        self.tell(Command::Checkpoint(Box::new(checkpoint), done));
        Done(waited)
    }

    /// Writes the high-water marks of the phase that ends, then sets them back if that is allowed.
    pub fn peak(&self, phase: PhaseRef) -> Done {
        let (done, waited) = oneshot::channel();
        self.tell(Command::Peak(phase, done));
        Done(waited)
    }

    /// Writes what changed since the last sample, between deadlines too.
    pub fn sample(&self) -> Done {
        let (done, waited) = oneshot::channel();
        self.tell(Command::Sample(done));
        Done(waited)
    }

    /// The latest figures of the tree; the same ones for every call.
    pub fn pulse(&self) -> Pulse {
        self.pulse.clone()
    }

    /// Reads the cheap counters of the tree now, between deadlines too; gives nothing once the sampler has stopped.
    pub fn glance(&self) -> oneshot::Receiver<Glance> {
        let (answer, answered) = oneshot::channel();
        self.tell(Command::Glance(answer));
        answered
    }

    /// A fresh look at which processes of the tree are there, zombies left out.
    ///
    /// Waits for the sampler: some milliseconds, or as long as the exact read takes that it is at.
    pub fn alive(&self) -> Vec<Living> {
        let (answer, answered) = mpsc::channel();
        self.tell(Command::Alive(answer));
        answered.recv().unwrap_or_default()
    }

    /// Serves what was asked for before, reads once more and ends. A checkpoint in the making is given up.
    pub fn stop(mut self) {
        self.end();
    }

    /// A sampler that has stopped answers nothing: whoever waits for it learns that from the closed channel.
    fn tell(&self, command: Command) {
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

/// The process of that id; `None` when there is none, or it is over.
pub fn living(pid: u32) -> Option<Living> {
    let (_held, opened) = System::new().ok()?.open(pid).ok()?;
    Some((pid, opened.started, opened.name))
}

/// When it started, in the unit of [`Living`].
pub fn started(pid: u32) -> Option<u64> {
    living(pid).map(|(_, started, _)| started)
}

/// Now, in the unit of [`Living`]; `None` where lsp-soak can be no subreaper, and nobody needs to know.
pub fn moment() -> Option<u64> {
    System::moment()
}

/// The rule by which processes in one address space are known; `None` where lsp-soak cannot know them.
pub fn address_spaces() -> Option<AddressSpaceRule> {
    System::address_spaces()
}

/// The real clock and the driver's channel.
struct Waiting {
    clock: Clock,
    received: mpsc::Receiver<Command>,
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
