//! Asks a program something and gives up in time: no process of it is left behind.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// More than any version text, less than a program that prints without end.
const MOST: u64 = 64 << 10;

/// How long the pipes of a program that was killed are waited for: they are closed by then, unless a helper fled.
const LEFT: Duration = Duration::from_millis(500);

/// The programs that are being asked, each by its process; `None` once nobody may be asked any more.
static ASKED: Mutex<Option<BTreeSet<u32>>> = Mutex::new(Some(BTreeSet::new()));

/// What a program printed, as far as it is kept.
pub struct Said {
    pub stdout: String,
    pub stderr: String,
}

pub struct Heard {
    /// How it ended; `None` when it had to be killed.
    pub ended: Option<ExitStatus>,
    pub said: Said,
}

/// What a program prints that ends well within `patience` and before it is to `stop`. It gets nothing on its stdin.
pub fn ask(command: &mut Command, patience: Duration, stop: &dyn Fn() -> bool) -> Option<Said> {
    let heard = listen(command, patience, stop).ok()?;
    heard.ended.filter(ExitStatus::success).map(|_| heard.said)
}

/// What a program prints and how it ends, within `patience` and before it is to `stop`. It gets nothing on its stdin, and
/// is killed with its helpers when the time is up. An error means that it could not be started.
pub fn listen(command: &mut Command, patience: Duration, stop: &dyn Fn() -> bool) -> io::Result<Heard> {
    let deadline = Instant::now() + patience;
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // Whoever is killed while asking leaves nobody behind.
    #[cfg(unix)]
    crate::exit::with_us(command);
    let mut child = spawn(command)?;
    let stdout = child.stdout.take().map(drain);
    let stderr = child.stderr.take().map(drain);
    let ended = wait(&mut child, deadline, stop);
    // Before the pipes are read to their ends, because a helper that is left would hold them open.
    kill(&mut child);
    if let Some(asked) = asked().as_mut() {
        asked.remove(&child.id());
    }
    let patience = deadline.saturating_duration_since(Instant::now()).max(LEFT);
    let text = |pipe: Option<mpsc::Receiver<String>>| {
        let text = pipe.and_then(|pipe| pipe.recv_timeout(patience).ok());
        text.unwrap_or_default()
    };
    Ok(Heard {
        ended,
        said: Said {
            stdout: text(stdout),
            stderr: text(stderr),
        },
    })
}

/// Kills everything that is being asked, with its helpers, and has nothing more asked: for a program that is about to end.
pub fn hang_up() {
    for process in asked().take().into_iter().flatten() {
        kill_group(process);
    }
}

fn asked() -> MutexGuard<'static, Option<BTreeSet<u32>>> {
    ASKED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn spawn(command: &mut Command) -> io::Result<Child> {
    let mut asked = asked();
    let asked = asked.as_mut().ok_or(io::ErrorKind::Interrupted)?;
    let child = command.spawn()?;
    asked.insert(child.id());
    Ok(child)
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

/// How the program ended, if it did in time.
fn wait(child: &mut Child, deadline: Instant, stop: &dyn Fn() -> bool) -> Option<ExitStatus> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < deadline && !stop() => thread::sleep(Duration::from_millis(5)),
            Ok(None) | Err(_) => return None,
        }
    }
}

fn kill(child: &mut Child) {
    kill_group(child.id());
    let _ = child.kill();
    let _ = child.wait();
}

/// Kills a program with its helpers, which are in its group.
#[cfg(unix)]
fn kill_group(process: u32) {
    if let Some(group) = i32::try_from(process).ok().and_then(rustix::process::Pid::from_raw) {
        // It fails when all of them are gone, which is what is wanted.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

#[cfg(not(unix))]
fn kill_group(_: u32) {}
