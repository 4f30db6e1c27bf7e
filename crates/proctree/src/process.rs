//! The server's process: starting, watching, draining and ending it.
//!
//! It runs in its own process group (on Windows: a job), so that it can be ended together with its children. It ends
//! with lsp-soak even if that is killed.

#[cfg_attr(unix, path = "process/unix.rs")]
#[cfg_attr(windows, path = "process/windows.rs")]
mod platform;
mod tail;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time;

#[cfg(unix)]
pub use self::platform::ignores_signal;
pub use self::platform::kill_pid;
#[cfg(target_os = "linux")]
pub use self::platform::signal_thread;
use self::tail::Stderr;
use crate::child::{self, Awaited, Stream};

/// Interval for reaping adopted orphans while a server runs.
const REAP_EVERY: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// Words before the program: a wrapper such as a tracer, which starts the program under the wrapper's process id.
    pub before: Vec<OsString>,
    /// The program, a path or a name on `PATH`.
    pub program: PathBuf,
    pub args: Vec<OsString>,
    /// Changes to the inherited environment: a value sets, `None` removes.
    pub env: Vec<(OsString, Option<OsString>)>,
    pub cwd: PathBuf,
    /// Processors for the server and its children; empty for no restriction. Linux only.
    pub cpus: Vec<usize>,
    pub input: Stream,
    pub output: Stream,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    pub at: Instant,
    pub code: Option<i32>,
    pub signal: Option<i32>,
}

/// Only Linux has signals for threads of other processes.
#[cfg(not(target_os = "linux"))]
pub fn signal_thread(_process: u32, _thread: u32, _signal: i32) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Reads an output to its end and drops it.
async fn discard(mut output: ChildStdout) {
    // After an error nothing more arrives.
    let _ = tokio::io::copy(&mut output, &mut tokio::io::sink()).await;
}

/// A server that runs or has run. Dropping it kills the rest of its process group.
#[derive(Debug)]
pub struct ServerProcess {
    pub pid: u32,
    group: platform::Group,
    pipes: Option<(ChildStdout, ChildStdin)>,
    stderr: Stderr,
    exit: watch::Receiver<Option<Exit>>,
    watcher: AbortHandle,
}

impl ServerProcess {
    /// Starts a server. Must be called on a tokio runtime.
    ///
    /// Linux kills the server when the *thread* that started it ends. So call this from a thread that lives as long as
    /// the program: the main thread with a current-thread runtime.
    pub fn spawn(launch: &Launch) -> io::Result<ServerProcess> {
        let mut words = launch.before.iter();
        let mut command = match words.next() {
            Some(first) => Command::new(first),
            None => Command::new(&launch.program),
        };
        if !launch.before.is_empty() {
            command.args(words).arg(&launch.program);
        }
        command.args(&launch.args).current_dir(&launch.cwd);
        for (name, value) in &launch.env {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
            .stdin(launch.input.input()?)
            .stdout(launch.output.output()?)
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        platform::prepare(&mut command)?;
        #[cfg(target_os = "linux")]
        platform::keep_to(command.as_std_mut(), &launch.cpus);
        let (mut child, awaited) = child::start(|| command.spawn(), Child::id)?;
        let group = platform::adopt(&mut child)?;
        let pid = child
            .id()
            .ok_or_else(|| io::Error::other("the server was gone before it had a process id"))?;
        let (stdout, stdin) = (child.stdout.take(), child.stdin.take());
        let stderr = child.stderr.take();
        let stderr = stderr.ok_or_else(|| io::Error::other("the server was started without a pipe"))?;
        if let Some(stdout) = &stdout {
            platform::widen(stdout);
        }
        if let Some(stdin) = &stdin {
            platform::widen(stdin);
        }
        platform::widen(&stderr);
        let pipes = match (stdout, stdin) {
            (Some(stdout), Some(stdin)) => Some((stdout, stdin)),
            (Some(stdout), None) => {
                // Nobody talks to this program, and a full pipe would stop it.
                tokio::spawn(discard(stdout));
                None
            }
            (None, _) => None,
        };
        let (sender, exit) = watch::channel(None);
        let watcher = tokio::spawn(watch_exit(child, awaited, sender)).abort_handle();
        Ok(ServerProcess {
            pid,
            group,
            pipes,
            stderr: Stderr::drain(stderr),
            exit,
            watcher,
        })
    }

    /// The pipes to the server; only the first call returns them.
    pub fn take_pipes(&mut self) -> Option<(ChildStdout, ChildStdin)> {
        self.pipes.take()
    }

    /// Exit of the process; `None` while it runs.
    pub fn exit(&self) -> Option<Exit> {
        *self.exit.borrow()
    }

    /// Waits for the process to end. Several callers may await it, and drop it.
    pub async fn exited(&self) -> Exit {
        let mut exit = self.exit.clone();
        let ended = exit.wait_for(Option::is_some).await.ok().and_then(|exit| *exit);
        match ended {
            Some(exit) => exit,
            // The watching task ends before the process only if this server is dropped.
            None => std::future::pending().await,
        }
    }

    /// Bytes that the server wrote to stderr.
    pub fn stderr_bytes(&self) -> u64 {
        self.stderr.total()
    }

    /// The end of stderr, at most 64 KiB.
    pub fn stderr_tail(&self) -> String {
        self.stderr.tail()
    }

    /// The start of stderr, at most 8 KiB; empty while the tail still contains it.
    pub fn stderr_head(&self) -> String {
        self.stderr.head()
    }

    /// Waits until every holder has closed stderr, so that the tail is complete. A surviving child keeps it open: bound
    /// the wait.
    pub async fn stderr_ended(&self) {
        self.stderr.ended().await;
    }

    /// Closes the pipe of stderr.
    pub fn close_stderr(&self) {
        self.stderr.close();
    }

    /// Asks the whole process group to end. Does nothing on Windows, which has no such request.
    pub fn terminate_group(&self) {
        self.group.terminate(self.exit().is_some());
    }

    /// Kills the whole process group, and the server if it has left the group.
    pub fn kill_group(&self) {
        self.group.kill(self.exit().is_some());
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.kill_group();
        // The task owns the child, and tokio reaps a dropped child.
        self.watcher.abort();
    }
}

/// A program that lsp-soak only stands beside: a child like any other, in lsp-soak's own group, which ends if lsp-soak is
/// killed.
#[derive(Debug)]
pub struct Companion {
    pub child: Child,
    _bond: platform::Bond,
}

impl Companion {
    /// Must be called on a tokio runtime, from a thread that lives as long as the program: see [`ServerProcess::spawn`].
    pub fn spawn(command: &mut Command) -> io::Result<Companion> {
        platform::prepare_companion(command);
        let mut child = command.spawn()?;
        let bond = platform::bond(&mut child)?;
        Ok(Companion { child, _bond: bond })
    }
}

/// Waits for the child, and meanwhile reaps orphans. Keeps the child until aborted: on Linux its processor time is
/// readable until it is reaped, and the sampler reads it later.
async fn watch_exit(mut child: Child, _awaited: Awaited, sender: watch::Sender<Option<Exit>>) {
    let mut ticks = time::interval(REAP_EVERY);
    ticks.set_missed_tick_behavior(time::MissedTickBehavior::Delay);
    let mut end = pin!(wait_for_end(&mut child));
    let exit = loop {
        tokio::select! {
            exit = &mut end => break exit,
            _now = ticks.tick() => child::reap_orphans(),
        };
    };
    sender.send_replace(Some(exit));
    std::future::pending().await
}

/// Waits for the end of the child. Leaves it unreaped where the system supports that.
async fn wait_for_end(child: &mut Child) -> Exit {
    let (code, signal) = match platform::wait_unreaped(child.id()).await {
        Some(end) => end,
        None => {
            let status = child.wait().await.ok();
            (
                status.and_then(|status| status.code()),
                status.and_then(platform::signal),
            )
        }
    };
    Exit {
        at: Instant::now(),
        code,
        signal,
    }
}

type Shared<T> = Arc<Mutex<T>>;
