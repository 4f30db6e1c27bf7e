//! How lsp-soak ends: the codes that it exits with, and that what it starts ends with it.
#![cfg_attr(
    target_os = "linux",
    expect(
        unsafe_code,
        reason = "a hook between fork and exec is the only way to tie the life of a program to ours"
    )
)]

#[cfg(target_os = "linux")]
use std::io;
#[cfg(unix)]
use std::process::Command;

#[cfg(target_os = "linux")]
use rustix::process::{Pid, Signal};

/// What a run comes to, as a number for scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The scenario was played to its end and the server left cleanly.
    Passed,
    /// A gate failed: more of something than is tolerated.
    GateFailed,
    /// A gate could not be decided.
    Inconclusive,
    /// The record does not say how the run ended: lsp-soak itself was stopped or its disk failed. Or the scenario had no
    /// place to ask at in the files that it opened.
    OwnFailure,
    /// The server failed the scenario, crashed while it was shut down, or left processes behind that had to be killed.
    ServerFailed,
    Interrupted,
}

impl Exit {
    pub fn code(self) -> u8 {
        match self {
            Exit::Passed => 0,
            Exit::GateFailed => 1,
            Exit::OwnFailure => 2,
            Exit::Inconclusive => 3,
            Exit::ServerFailed => 4,
            Exit::Interrupted => 130,
        }
    }

    /// Which of two outcomes of one invocation decides: 130 > 2 > 4 > 1 > 3 > 0.
    pub fn worse(self, other: Exit) -> Exit {
        let rank = |exit| match exit {
            Exit::Passed => 0,
            Exit::Inconclusive => 1,
            Exit::GateFailed => 2,
            Exit::ServerFailed => 3,
            Exit::OwnFailure => 4,
            Exit::Interrupted => 5,
        };
        if rank(other) > rank(self) { other } else { self }
    }
}

/// Puts a program into a group of its own; on Linux it dies when the thread that starts it ends.
#[cfg(unix)]
pub fn with_us(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    command.process_group(0);
    #[cfg(target_os = "linux")]
    {
        let parent = rustix::process::getpid();
        // SAFETY: the hook runs between fork and exec; it makes two system calls through functions that
        // neither allocate nor lock.
        unsafe {
            command.pre_exec(move || die_with(parent));
        }
    }
}

/// Asks the kernel for SIGKILL when the parent's thread ends; if that already happened, nobody will send it.
#[cfg(target_os = "linux")]
fn die_with(parent: Pid) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    if rustix::process::getppid() == Some(parent) {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(libc::ESRCH))
    }
}
