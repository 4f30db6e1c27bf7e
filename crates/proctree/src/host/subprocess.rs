//! Runs a program with a time limit, and leaves none of its processes behind.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::child::{self, Awaited};
use base::Cancel;

/// Most bytes of output: more than any version text, less than endless output.
const MOST: u64 = 64 << 10;

/// Longest wait for the pipes of a killed program: they are closed by then, unless a helper escaped.
const PIPE_PATIENCE: Duration = Duration::from_secs(5);

/// The running programs by process id, each with the earlier orphans; `None` once no more may start.
static RUNNING: Mutex<Option<BTreeMap<u32, Vec<u32>>>> = Mutex::new(Some(BTreeMap::new()));

/// A program in its own session. Dropping it kills it with its helpers.
#[derive(Debug)]
pub struct TiedProgram {
    process: u32,
    _awaited: Awaited,
}

impl Drop for TiedProgram {
    fn drop(&mut self) {
        child::kill_group(self.process);
        if let Some(running) = running().as_mut() {
            running.remove(&self.process);
        }
    }
}

impl TiedProgram {
    /// Kills the program and its helpers, even those that left its group.
    fn clear(self) {
        let before = running().as_mut().and_then(|running| running.remove(&self.process));
        drop(self);
        child::clear_orphans(&before.unwrap_or_default());
    }
}

/// Starts a program that is tied to lsp-soak and that `hang_up` ends.
pub fn start<C>(
    spawn: impl FnOnce() -> io::Result<C>,
    id: impl FnOnce(&C) -> Option<u32>,
) -> io::Result<(C, TiedProgram)> {
    let mut running = running();
    let running = running.as_mut().ok_or(io::ErrorKind::Interrupted)?;
    child::adopt_orphans();
    let before = child::orphans();
    let (child, awaited) = child::start(spawn, id)?;
    let process = awaited.process();
    running.insert(process, before);
    Ok((
        child,
        TiedProgram {
            process,
            _awaited: awaited,
        },
    ))
}

/// The output of a program, up to the limit.
pub struct ProgramOutput {
    pub stdout: String,
    pub stderr: String,
    /// True if stdout was longer than the limit.
    pub cut: bool,
}

pub struct FinishedProgram {
    /// Exit status; `None` if it was killed.
    pub exit_status: Option<ExitStatus>,
    pub said: ProgramOutput,
}

/// The output of a program that succeeds within `patience`, unless it is cancelled. Its stdin is empty.
pub fn ask(command: &mut Command, patience: Duration, cancel: &Cancel) -> Option<ProgramOutput> {
    let heard = run_program(command, patience, cancel).ok()?;
    if heard.exit_status?.success() {
        Some(heard.said)
    } else {
        None
    }
}

/// The output and end of a program, within `patience`, unless it is cancelled. Its stdin is empty. Then or at the limit it is killed
/// with its helpers. An error means that it could not be started.
pub fn run_program(command: &mut Command, patience: Duration, cancel: &Cancel) -> io::Result<FinishedProgram> {
    listen_up_to(MOST, command, patience, cancel)
}

/// Like [`run_program`], with a limit of `most` bytes for each output.
pub fn listen_up_to(
    most: u64,
    command: &mut Command,
    patience: Duration,
    cancel: &Cancel,
) -> io::Result<FinishedProgram> {
    let deadline = Instant::now() + patience;
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // If lsp-soak is killed meanwhile, the program ends too.
    #[cfg(unix)]
    child::tie(command);
    let (mut child, tied) = start(|| command.spawn(), |child| Some(child.id()))?;
    let stdout = child.stdout.take().map(|pipe| drain(pipe, most));
    let stderr = child.stderr.take().map(|pipe| drain(pipe, most));
    let ended = wait(&mut child, deadline, cancel);
    // Before the pipes are read to their ends, because a surviving helper would keep them open.
    child::kill_group(child.id());
    let _ = child.kill();
    let _ = child.wait();
    tied.clear();
    let stdout = received(stdout, PIPE_PATIENCE);
    let stderr = received(stderr, PIPE_PATIENCE);
    Ok(FinishedProgram {
        exit_status: ended,
        said: ProgramOutput {
            stdout: stdout.text,
            stderr: stderr.text,
            cut: stdout.is_cut,
        },
    })
}

/// The output that a thread read; empty if it does not arrive within `patience`.
fn received(pipe: Option<mpsc::Receiver<Output>>, patience: Duration) -> Output {
    let output = pipe.and_then(|pipe| pipe.recv_timeout(patience).ok());
    output.unwrap_or_default()
}

/// Kills all running programs with their helpers and prevents new ones: for the end of lsp-soak.
pub fn hang_up() {
    for (process, before) in running().take().into_iter().flatten() {
        child::kill_group(process);
        child::clear_orphans(&before);
    }
}

fn running() -> MutexGuard<'static, Option<BTreeMap<u32, Vec<u32>>>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The text from one pipe, up to the limit.
#[derive(Default)]
struct Output {
    text: String,
    /// True if the pipe had more bytes.
    is_cut: bool,
}

/// Reads up to `most` bytes of a pipe on its own thread, since a helper may keep it open forever.
fn drain(mut pipe: impl Read + Send + 'static, most: u64) -> mpsc::Receiver<Output> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = pipe.by_ref().take(most).read_to_end(&mut bytes);
        // A program with a blocked output would fail. A read error leaves nothing to skip.
        let is_cut = io::copy(&mut pipe, &mut io::sink()).is_ok_and(|more| more > 0);
        if read.is_ok() {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            // After the time limit the receiver is gone and the text is not needed.
            let _ = sender.send(Output { text, is_cut });
        }
    });
    receiver
}

/// Exit status of the program; `None` if it does not end before the deadline or is cancelled.
fn wait(child: &mut Child, deadline: Instant, cancel: &Cancel) -> Option<ExitStatus> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < deadline && !cancel.is_cancelled() => thread::sleep(Duration::from_millis(5)),
            Ok(None) | Err(_) => return None,
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// The process ids that a probe wrote, once both are there.
    fn written(path: &Path) -> [u32; 2] {
        loop {
            let text = fs::read_to_string(path).unwrap_or_default();
            let pids: Vec<u32> = text.lines().filter_map(|line| line.parse().ok()).collect();
            if let [own, child] = pids[..] {
                return [own, child];
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn cancelling_kills_a_program_that_hangs_and_its_children() {
        let directory = tempfile::tempdir().unwrap();
        let pids = directory.path().join("pids");
        let cancel = Cancel::default();
        let canceller = cancel.clone();
        let path = pids.clone();
        let cancelling = thread::spawn(move || {
            let both = written(&path);
            assert!(both.iter().all(|pid| Path::new(&format!("/proc/{pid}")).exists()));
            canceller.cancel();
            both
        });
        let mut command = Command::new("/bin/sh");
        command
            .arg("-c")
            .arg("sleep 1000 & printf '%s\\n' $$ $! > \"$PIDS\"; wait");
        let heard = run_program(command.env("PIDS", &pids), Duration::from_secs(1000), &cancel).unwrap();
        assert!(heard.exit_status.is_none());
        for pid in cancelling.join().unwrap() {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
            assert!(stat.is_err(), "{stat:?}");
        }
    }
}
