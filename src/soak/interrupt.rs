//! Counts how often a person asked to stop: once to end in good order, twice to end now.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tokio::sync::watch;

/// Counts ctrl-c, SIGTERM and SIGHUP.
#[derive(Clone, Debug)]
pub struct Interrupt {
    times: watch::Receiver<u32>,
    heeded: Arc<AtomicBool>,
}

impl Interrupt {
    /// Begins to listen, on a thread of its own: also while all others are busy. Until somebody heeds the presses, the first
    /// calls `early`, which is to end the program.
    pub fn listen(early: fn() -> !) -> io::Result<Interrupt> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let mut stops = runtime.block_on(async { Stops::new() })?;
        let (count, times) = watch::channel(0);
        let heeded = Arc::new(AtomicBool::new(false));
        let is_heeded = Arc::clone(&heeded);
        let listening = async move {
            loop {
                stops.next().await;
                if !is_heeded.load(Ordering::SeqCst) {
                    early();
                }
                count.send_modify(|times| *times += 1);
            }
        };
        thread::Builder::new()
            .name("interrupt".to_owned())
            .spawn(move || runtime.block_on(listening))?;
        Ok(Interrupt { times, heeded })
    }

    /// From now on presses are counted.
    pub fn heed(&self) {
        self.heeded.store(true, Ordering::SeqCst);
    }

    /// Waits until it was pressed this often, counted from the start.
    pub async fn pressed(&self, times: u32) {
        let mut seen = self.times.clone();
        // The sender lives as long as the program; without it nobody can press any more.
        if seen.wait_for(|pressed| *pressed >= times).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Whether it was pressed this often.
    pub fn is_pressed(&self, times: u32) -> bool {
        *self.times.borrow() >= times
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
        let hangup = (!crate::lsp::process::ignores_hangup()).then(|| signal(SignalKind::hangup()));
        Ok(Stops {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: hangup.transpose()?,
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
