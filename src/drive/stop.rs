//! Shuts a server down in stages, from polite to forced, each with its own deadline.

use std::future::Future;
use std::time::{Duration, Instant};

use tokio::time;

use lsp::{Client, Reply, RequestOptions};
use proctree::process::{Exit, ServerProcess};
use record::{Orphaned, ShutdownReply, ShutdownStage};

/// Longest delay between noticing the end of a process and the end of its output.
const TOGETHER: Duration = Duration::from_secs(2);

/// Longest error text of a server that is kept, in bytes.
const MESSAGE: usize = 500;

/// The time limit of each stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// For the answer to `shutdown`. Profilers write their files on a graceful exit, which takes time.
    pub answer: Duration,
    /// For the process to end after `exit`.
    pub exit: Duration,
    pub stdin: Duration,
    /// For the process to end after SIGTERM to its process group.
    pub terminate: Duration,
    pub kill: Duration,
}

impl Default for Deadlines {
    fn default() -> Deadlines {
        Deadlines {
            answer: Duration::from_secs(10),
            exit: Duration::from_secs(10),
            stdin: Duration::from_secs(2),
            terminate: Duration::from_secs(3),
            kill: Duration::from_secs(5),
        }
    }
}

/// The measures after `shutdown`.
const BY_FORCE: [ShutdownStage; 4] = [
    ShutdownStage::Exit,
    ShutdownStage::StdinClosed,
    ShutdownStage::Terminated,
    ShutdownStage::Killed,
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoppedServer {
    /// The last stage that was needed.
    pub stage: ShutdownStage,
    /// The result of `shutdown`; `None` if it was not sent.
    pub reply: Option<ShutdownReply>,
    /// True if the server still ran when `exit` was sent; `None` if `exit` was not intended.
    pub exit_sent: Option<bool>,
    /// The end of the process; `None` if it survived a kill, in an uninterruptible wait.
    pub exit: Option<Exit>,
    /// From the first stage until the process ended.
    pub took: Duration,
}

impl StoppedServer {
    /// A server before any measure was taken: it may have ended already.
    fn before_measures(server: &ServerProcess) -> StoppedServer {
        StoppedServer {
            stage: ShutdownStage::AlreadyGone,
            reply: None,
            exit_sent: None,
            exit: server.exit(),
            took: Duration::ZERO,
        }
    }
}

/// `shutdown`, `exit`, end of stdin, SIGTERM, SIGKILL: each only if the stage before failed.
///
/// Requests of the server are answered meanwhile: some servers abort if a registration fails now. The caller handles
/// surviving children, because it knows the process tree. `before_exit` is awaited after `shutdown` was answered or
/// timed out: the last moment at which the server is complete.
pub async fn shut_down(
    client: &Client,
    server: &ServerProcess,
    deadlines: &Deadlines,
    before_exit: impl Future<Output = ()>,
) -> StoppedServer {
    let started = Instant::now();
    let mut stopped = StoppedServer::before_measures(server);
    if stopped.exit.is_none() {
        client.begin_shutdown();
        let (reply, exit) = ask(client, server, deadlines).await;
        stopped.reply = Some(reply);
        if exit.is_none() {
            before_exit.await;
        }
        stopped.exit = exit.or_else(|| server.exit());
        stopped.exit_sent = Some(stopped.exit.is_none());
        stopped.stage = ShutdownStage::Exit;
    }
    if stopped.exit.is_none() {
        client.notify("exit", ());
        (stopped.stage, stopped.exit) = insist(client, server, deadlines, &BY_FORCE).await;
    }
    stopped.took = started.elapsed();
    stopped
}

/// Sends `shutdown`. Returns its result, and how the process ended if it did not wait for `exit`.
async fn ask(client: &Client, server: &ServerProcess, deadlines: &Deadlines) -> (ShutdownReply, Option<Exit>) {
    let request = client.request("shutdown", (), RequestOptions::with_deadline(deadlines.answer));
    tokio::pin!(request);
    let (reply, exit) = tokio::select! {
        biased;
        reply = &mut request => {
            // The output of a dying server ends a moment before its process.
            let dying = matches!(reply, Reply::Lost);
            let patience = TOGETHER.min(deadlines.answer);
            let exit = if dying { time::timeout(patience, server.exited()).await.ok() } else { server.exit() };
            (reply, exit)
        }
        // Its last output may still arrive.
        exit = server.exited() => (time::timeout(TOGETHER, request).await.unwrap_or(Reply::Lost), Some(exit)),
    };
    let reply = match reply {
        Reply::Answer { .. } => ShutdownReply::Answered,
        Reply::Error { code, message, .. } => ShutdownReply::Refused {
            code,
            message: message.chars().take(MESSAGE).collect(),
        },
        // The answer came, and a violation tells of its form.
        Reply::Unreadable { .. } => ShutdownReply::Answered,
        Reply::TimedOut | Reply::Parked | Reply::Lost if exit.is_some() => ShutdownReply::Gone,
        Reply::TimedOut | Reply::Parked | Reply::Lost => ShutdownReply::Unanswered,
    };
    (reply, exit)
}

/// Takes these measures in turn. Returns the last one needed, and how the process ended, if it did.
async fn insist(
    client: &Client,
    server: &ServerProcess,
    deadlines: &Deadlines,
    stages: &[ShutdownStage],
) -> (ShutdownStage, Option<Exit>) {
    for stage in stages {
        let deadline = match stage {
            ShutdownStage::AlreadyGone | ShutdownStage::Exit => deadlines.exit,
            ShutdownStage::StdinClosed => deadlines.stdin,
            ShutdownStage::Terminated => deadlines.terminate,
            ShutdownStage::Killed => deadlines.kill,
        };
        match stage {
            ShutdownStage::StdinClosed => client.close_stdin(),
            ShutdownStage::Terminated => server.terminate_group(),
            ShutdownStage::Killed => server.kill_group(),
            // `exit` was sent before.
            ShutdownStage::AlreadyGone | ShutdownStage::Exit => {}
        }
        if let Ok(exit) = time::timeout(deadline, server.exited()).await {
            return (*stage, Some(exit));
        }
    }
    (ShutdownStage::Killed, server.exit())
}

/// Closes every pipe to the server without a word, as an editor that dies, and gives it `patience` to end by itself. `read_kept`
/// reads what a server has that stays; then it is ended.
pub async fn orphan(
    client: &Client,
    server: &ServerProcess,
    patience: Duration,
    read_kept: impl Future<Output = Option<u64>>,
) -> (StoppedServer, Orphaned) {
    let started = Instant::now();
    let mut stopped = StoppedServer::before_measures(server);
    let mut orphaned = Orphaned {
        patience: patience.as_nanos() as u64,
        kept: None,
    };
    if stopped.exit.is_none() {
        client.disconnect();
        server.close_stderr();
        stopped.stage = ShutdownStage::StdinClosed;
        stopped.exit = time::timeout(patience, server.exited()).await.ok();
    }
    if stopped.exit.is_none() {
        orphaned.kept = read_kept.await;
        let measures = [ShutdownStage::Terminated, ShutdownStage::Killed];
        (stopped.stage, stopped.exit) = insist(client, server, &Deadlines::default(), &measures).await;
    }
    stopped.took = started.elapsed();
    (stopped, orphaned)
}

/// Kills the server's process group at once and waits for the process to end.
pub async fn kill_now(client: &Client, server: &ServerProcess, deadline: Duration) -> StoppedServer {
    let started = Instant::now();
    let stage = if server.exit().is_some() {
        ShutdownStage::AlreadyGone
    } else {
        ShutdownStage::Killed
    };
    client.close_stdin();
    server.kill_group();
    let exit = time::timeout(deadline, server.exited()).await.ok();
    StoppedServer {
        stage,
        reply: None,
        exit_sent: None,
        exit,
        took: started.elapsed(),
    }
}
