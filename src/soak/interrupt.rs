//! Counts how often a person asked to stop: once to end in good order, twice to end now.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use tokio::sync::watch;

use base::Cancel;
use base::exit::Exit;

#[derive(Clone, Debug)]
pub struct Interrupt {
    times: watch::Receiver<u32>,
    first: Cancel,
    second: Cancel,
    heeded: Arc<AtomicBool>,
    runs: Arc<AtomicUsize>,
}

/// A live run. It acts on a second press itself: it kills the server and ends the record.
#[derive(Debug)]
pub struct Running(Arc<AtomicUsize>);

impl Interrupt {
    /// Starts to listen on its own thread, so that presses work while all others are busy. Until a run takes over, the
    /// first press calls `early`, which ends the program. The second one ends it unless a run handles it.
    pub fn listen(early: fn() -> !) -> io::Result<Interrupt> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let mut stops = runtime.block_on(async { Stops::new() })?;
        let (count, times) = watch::channel(0);
        let heeded = Arc::new(AtomicBool::new(false));
        let is_heeded = Arc::clone(&heeded);
        let runs = Arc::new(AtomicUsize::new(0));
        let running = Arc::clone(&runs);
        let (first, second) = (Cancel::default(), Cancel::default());
        let (at_first, at_second) = (first.clone(), second.clone());
        let listening = async move {
            loop {
                stops.next().await;
                if !is_heeded.load(Ordering::SeqCst) {
                    early();
                }
                // Counted before it cancels, so that whoever is cancelled finds it pressed.
                count.send_modify(|times| *times += 1);
                at_first.cancel();
                if *count.borrow() > 1 {
                    // Beside a run there is only what can be made again from its record.
                    if running.load(Ordering::SeqCst) == 0 {
                        std::process::exit(Exit::Interrupted.code().into());
                    }
                    at_second.cancel();
                }
            }
        };
        thread::Builder::new()
            .name("interrupt".to_owned())
            .spawn(move || runtime.block_on(listening))?;
        Ok(Interrupt {
            times,
            first,
            second,
            heeded,
            runs,
        })
    }

    /// From now on presses are counted.
    pub fn heed(&self) {
        self.heeded.store(true, Ordering::SeqCst);
    }

    /// From now on the first press ends the program again, as before [`Interrupt::heed`].
    pub fn stop_heeding(&self) {
        self.heeded.store(false, Ordering::SeqCst);
    }

    /// A run goes on until this is dropped.
    pub fn running(&self) -> Running {
        self.runs.fetch_add(1, Ordering::SeqCst);
        Running(Arc::clone(&self.runs))
    }

    /// Waits until it was pressed this often, counted from the start.
    pub async fn pressed(&self, times: u32) {
        let mut seen = self.times.clone();
        // The sender lives as long as the program; without it no press can come.
        if seen.wait_for(|pressed| *pressed >= times).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Cancelled by the first press.
    pub fn first_press(&self) -> &Cancel {
        &self.first
    }

    /// Cancelled by the second press.
    pub fn second_press(&self) -> &Cancel {
        &self.second
    }

    /// True if it was pressed this often.
    pub fn is_pressed(&self, times: u32) -> bool {
        *self.times.borrow() >= times
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(unix)]
struct Stops {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    /// `None` under `nohup`: listening would undo it.
    hangup: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Stops {
    fn new() -> io::Result<Stops> {
        use tokio::signal::unix::{SignalKind, signal};
        let hangup = if proctree::process::ignores_signal(rustix::process::Signal::HUP.as_raw()) {
            None
        } else {
            Some(signal(SignalKind::hangup())?)
        };
        Ok(Stops {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            Some(()) = received(self.hangup.as_mut()) => {}
        }
    }
}

#[cfg(unix)]
async fn received(signal: Option<&mut tokio::signal::unix::Signal>) -> Option<()> {
    match signal {
        Some(signal) => signal.recv().await,
        None => std::future::pending().await,
    }
}

#[cfg(windows)]
struct Stops {
    interrupt: tokio::signal::windows::CtrlC,
}

#[cfg(windows)]
impl Stops {
    fn new() -> io::Result<Stops> {
        Ok(Stops {
            interrupt: tokio::signal::windows::ctrl_c()?,
        })
    }

    async fn next(&mut self) {
        self.interrupt.recv().await;
    }
}
