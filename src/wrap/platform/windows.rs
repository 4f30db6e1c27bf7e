//! Streams and ends on Windows, which has no signals.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::io::AsHandle;
use std::path::Path;
use std::process::ExitStatus;

use tokio::signal::windows;

/// The streams of this process. It keeps them too, so that they are closed at its end.
#[derive(Debug)]
pub struct Streams {
    pub input: File,
    pub output: File,
    pub errors: File,
}

impl Streams {
    pub fn take() -> io::Result<Streams> {
        Ok(Streams {
            input: duplicate(&io::stdin())?,
            output: duplicate(&io::stdout())?,
            errors: duplicate(&io::stderr())?,
        })
    }
}

fn duplicate(stream: &impl AsHandle) -> io::Result<File> {
    Ok(stream.as_handle().try_clone_to_owned()?.into())
}

/// Every stream blocks.
pub fn wait_until_ready(_stream: &File, _writes: bool) -> io::Result<()> {
    Err(io::ErrorKind::WouldBlock.into())
}

/// Presses of ctrl-c and ctrl-break, which the console sends to the server too.
pub struct Signals {
    interrupt: windows::CtrlC,
    stop: windows::CtrlBreak,
}

impl Signals {
    pub fn listen() -> io::Result<Signals> {
        Ok(Signals {
            interrupt: windows::ctrl_c()?,
            stop: windows::ctrl_break()?,
        })
    }

    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.stop.recv() => {}
        }
    }
}

/// The server was asked to end by the console.
pub fn forward(_pressed: (), _pid: u32) -> bool {
    true
}

pub fn signal_of(_status: ExitStatus) -> Option<i32> {
    None
}

/// Ends this process with the exit code of the server.
pub fn end_like(status: ExitStatus) -> ! {
    std::process::exit(status.code().unwrap_or(1))
}

/// Makes a directory and a new file in it. A user's own directories cannot be read by others.
pub fn create_private(directory: &Path, name: &str) -> io::Result<File> {
    std::fs::create_dir_all(directory)?;
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(directory.join(name))
}
