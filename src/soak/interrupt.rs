//! Counts how often a person asked to stop: once to end in good order, twice to end now.

use tokio::sync::watch;

/// Counts ctrl-c, SIGTERM and SIGHUP from the moment it is made.
#[derive(Clone, Debug)]
pub struct Interrupt {
    times: watch::Receiver<u32>,
}

impl Interrupt {
    /// Begins to listen; needs a running runtime.
    pub fn listen() -> std::io::Result<Interrupt> {
        let (count, times) = watch::channel(0);
        let mut stop = Stops::new()?;
        tokio::spawn(async move {
            loop {
                stop.next().await;
                count.send_modify(|times| *times += 1);
            }
        });
        Ok(Interrupt { times })
    }

    /// Waits until it was pressed this often, counted from the start.
    pub async fn pressed(&self, times: u32) {
        let mut seen = self.times.clone();
        // The sender lives as long as the runtime; without it nobody can press any more.
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
    fn new() -> std::io::Result<Stops> {
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
    fn new() -> std::io::Result<Stops> {
        Ok(Stops {
            interrupt: tokio::signal::windows::ctrl_c()?,
        })
    }

    async fn next(&mut self) {
        self.interrupt.recv().await;
    }
}
