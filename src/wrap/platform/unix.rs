//! Streams and signals on Linux and macOS.
#![expect(unsafe_code, reason = "no safe wrapper sets a signal back to what it does by itself")]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;

use proctree::process::ignores_signal;
use rustix::process::{Pid, Signal};
use tokio::signal::unix::{self, SignalKind};

/// The streams of this process, which no longer has them: who drops one closes it.
#[derive(Debug)]
pub struct Streams {
    pub input: File,
    pub output: File,
    pub errors: File,
}

impl Streams {
    pub fn take() -> io::Result<Streams> {
        let nothing = OpenOptions::new().read(true).write(true).open("/dev/null")?;
        let streams = Streams {
            input: duplicate(&io::stdin())?,
            output: duplicate(&io::stdout())?,
            errors: duplicate(&io::stderr())?,
        };
        rustix::stdio::dup2_stdin(&nothing)?;
        rustix::stdio::dup2_stdout(&nothing)?;
        rustix::stdio::dup2_stderr(&nothing)?;
        Ok(streams)
    }
}

fn duplicate(stream: &impl AsFd) -> io::Result<File> {
    const AFTER_STANDARD: i32 = 3;
    Ok(rustix::io::fcntl_dupfd_cloexec(stream, AFTER_STANDARD)?.into())
}

/// Waits until a stream that does not block has bytes, or room.
pub fn wait_until_ready(stream: &File, writes: bool) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, poll};
    let wanted = if writes { PollFlags::OUT } else { PollFlags::IN };
    poll(&mut [PollFd::new(stream, wanted)], None)?;
    Ok(())
}

/// The signals that are passed on. Those that this process was started to ignore are `None`, since its server ignores them too.
pub struct Signals {
    hangup: Option<unix::Signal>,
    interrupt: Option<unix::Signal>,
    quit: Option<unix::Signal>,
    terminate: Option<unix::Signal>,
    user_1: Option<unix::Signal>,
    user_2: Option<unix::Signal>,
}

impl Signals {
    pub fn listen() -> io::Result<Signals> {
        Ok(Signals {
            hangup: listen_unless_ignored(Signal::HUP)?,
            interrupt: listen_unless_ignored(Signal::INT)?,
            quit: listen_unless_ignored(Signal::QUIT)?,
            terminate: listen_unless_ignored(Signal::TERM)?,
            user_1: listen_unless_ignored(Signal::USR1)?,
            user_2: listen_unless_ignored(Signal::USR2)?,
        })
    }

    pub async fn next(&mut self) -> Signal {
        tokio::select! {
            Some(()) = received(self.hangup.as_mut()) => Signal::HUP,
            Some(()) = received(self.interrupt.as_mut()) => Signal::INT,
            Some(()) = received(self.quit.as_mut()) => Signal::QUIT,
            Some(()) = received(self.terminate.as_mut()) => Signal::TERM,
            Some(()) = received(self.user_1.as_mut()) => Signal::USR1,
            Some(()) = received(self.user_2.as_mut()) => Signal::USR2,
        }
    }
}

fn listen_unless_ignored(signal: Signal) -> io::Result<Option<unix::Signal>> {
    if ignores_signal(signal.as_raw()) {
        return Ok(None);
    }
    unix::signal(SignalKind::from_raw(signal.as_raw())).map(Some)
}

async fn received(signal: Option<&mut unix::Signal>) -> Option<()> {
    match signal {
        Some(signal) => signal.recv().await,
        None => std::future::pending().await,
    }
}

/// Passes a signal on; returns true if it asks the server to end.
pub fn forward(signal: Signal, pid: u32) -> bool {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // Fails if it has ended, which is noticed next.
        let _ = rustix::process::kill_process(pid, signal);
    }
    signal != Signal::USR1 && signal != Signal::USR2
}

/// The signal that ended a process.
pub fn signal_of(status: ExitStatus) -> Option<i32> {
    status.signal()
}

/// Ends this process as the server ended: with its exit code, or by its signal.
pub fn end_like(status: ExitStatus) -> ! {
    if let Some(signal) = status.signal() {
        // The server has dumped its memory if it was to; ours would be a second one.
        #[cfg(target_os = "linux")]
        let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
        // SAFETY: the default action of a signal is no function of ours.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
        // SAFETY: takes no pointers.
        unsafe { libc::raise(signal) };
        // A shell says it so.
        std::process::exit(128 + signal);
    }
    std::process::exit(status.code().unwrap_or(1))
}

/// Makes a directory and a new file in it that only the user can read.
pub fn create_private(directory: &Path, name: &str) -> io::Result<File> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)?;
    let mut options = OpenOptions::new();
    options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(directory.join(name))
}
