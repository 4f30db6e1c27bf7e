//! Asks a program something and gives up in time: no process of it is left behind.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::exit::child;
use crate::exit::child::Awaited;

/// More than any version text, less than a program that prints without end.
const MOST: u64 = 64 << 10;

/// How long the pipes of a program that was killed are waited for: they are closed by then, unless a helper fled.
const LEFT: Duration = Duration::from_millis(500);

/// The programs that run for us, each by its process with the orphans that were there before; `None` once none may be
/// started any more.
static RUNNING: Mutex<Option<BTreeMap<u32, Vec<u32>>>> = Mutex::new(Some(BTreeMap::new()));

/// A program in a session of its own. It is killed with its helpers when this is dropped, at the latest.
#[derive(Debug)]
pub struct Tied {
    process: u32,
    _awaited: Awaited,
}

impl Drop for Tied {
    fn drop(&mut self) {
        child::kill_group(self.process);
        if let Some(running) = running().as_mut() {
            running.remove(&self.process);
        }
    }
}

impl Tied {
    /// Ends it also where it fled from its group.
    fn clear(self) {
        let before = running().as_mut().and_then(|running| running.remove(&self.process));
        drop(self);
        child::clear_orphans(&before.unwrap_or_default());
    }
}

/// Starts a program that is tied to us, and that `hang_up` ends.
pub fn start<C>(spawn: impl FnOnce() -> io::Result<C>, id: impl FnOnce(&C) -> Option<u32>) -> io::Result<(C, Tied)> {
    let mut running = running();
    let running = running.as_mut().ok_or(io::ErrorKind::Interrupted)?;
    child::adopt_orphans();
    let before = child::orphans();
    let (child, awaited) = child::start(spawn, id)?;
    let process = awaited.process();
    running.insert(process, before);
    Ok((
        child,
        Tied {
            process,
            _awaited: awaited,
        },
    ))
}

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
    child::tie(command);
    let (mut child, tied) = start(|| command.spawn(), |child| Some(child.id()))?;
    let stdout = child.stdout.take().map(drain);
    let stderr = child.stderr.take().map(drain);
    let ended = wait(&mut child, deadline, stop);
    // Before the pipes are read to their ends, because a helper that is left would hold them open.
    child::kill_group(child.id());
    let _ = child.kill();
    let _ = child.wait();
    tied.clear();
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

/// Kills everything that runs for us, with its helpers, and has nothing more started: for a program that is about to end.
pub fn hang_up() {
    for (process, before) in running().take().into_iter().flatten() {
        child::kill_group(process);
        child::clear_orphans(&before);
    }
}

fn running() -> MutexGuard<'static, Option<BTreeMap<u32, Vec<u32>>>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
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
