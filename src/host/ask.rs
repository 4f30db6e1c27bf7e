//! Asks a program something and gives up in time: no process of it is left behind.

use std::io::{self, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// More than any version text, less than a program that prints without end.
const MOST: u64 = 64 << 10;

/// What a program printed, as far as it is kept.
pub struct Said {
    /// On stdout.
    pub stdout: String,
    /// On stderr.
    pub stderr: String,
}

/// What a program prints that ends well within `patience` and before it is to `stop`. It gets nothing on its stdin.
pub fn ask(command: &mut Command, patience: Duration, stop: &dyn Fn() -> bool) -> Option<Said> {
    let deadline = Instant::now() + patience;
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    let mut child = command.spawn().ok()?;
    let stdout = drain(child.stdout.take()?);
    let stderr = drain(child.stderr.take()?);
    let success = wait(&mut child, deadline, stop);
    // Before the pipes are read to their ends, because a helper that is left would hold them open.
    kill(&mut child);
    let text = |pipe: mpsc::Receiver<String>| {
        pipe.recv_timeout(deadline.saturating_duration_since(Instant::now()))
            .unwrap_or_default()
    };
    success.then(|| Said {
        stdout: text(stdout),
        stderr: text(stderr),
    })
}

/// Reads a pipe on a thread of its own, since a helper process may keep it open for good.
fn drain(mut pipe: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = pipe.by_ref().take(MOST).read_to_end(&mut bytes);
        // A program that cannot print on would fail. When it can be read no more, there is nothing left to pass over.
        let _ = io::copy(&mut pipe, &mut io::sink());
        // The receiver is gone when the time was up; then nobody wants the text.
        let _ = read.map(|_| sender.send(String::from_utf8_lossy(&bytes).into_owned()));
    });
    receiver
}

/// Whether the program ended in time and well.
fn wait(child: &mut Child, deadline: Instant, stop: &dyn Fn() -> bool) -> bool {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) if Instant::now() < deadline && !stop() => thread::sleep(Duration::from_millis(5)),
            Ok(None) | Err(_) => return false,
        }
    }
}

fn kill(child: &mut Child) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        // Helpers of the program are in its group. It fails when all of them are gone, which is what is wanted.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}
