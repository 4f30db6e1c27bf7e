//! Brings a server down: politely, then less so, each measure with its own deadline.

use std::future::Future;
use std::time::{Duration, Instant};

use tokio::time;

use super::client::{Ask, Client, Reply};
use super::process::{Exit, Server};
use crate::record::{ShutdownReply, ShutdownStage};

/// How far apart the end of a process and the end of what it writes may be noticed.
const TOGETHER: Duration = Duration::from_secs(2);

/// Longest error text of a server that is kept.
const MESSAGE: usize = 500;

/// How long each measure is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// For the answer to `shutdown`. Profilers write their files on a graceful exit: give them time.
    pub answer: Duration,
    /// For the process to end after `exit`.
    pub exit: Duration,
    pub stdin: Duration,
    /// After SIGTERM to its process group.
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// The last measure that was needed.
    pub stage: ShutdownStage,
    /// What came of `shutdown`; `None` if it was not sent.
    pub reply: Option<ShutdownReply>,
    /// Whether the server was still there when `exit` was sent; `None` if that was never meant to be.
    pub exit_sent: Option<bool>,
    /// How the process ended; `None` if it survived even a kill, in an uninterruptible wait.
    pub exit: Option<Exit>,
    /// From the first measure until the process was gone.
    pub took: Duration,
}

/// `shutdown`, `exit`, end of stdin, SIGTERM, SIGKILL: each only if the one before did not do.
///
/// Requests of the server are answered all the while: some abort when a registration fails at this point.
/// Children that outlive the server are left to the caller, who knows the process tree. `before_exit` is awaited when
/// `shutdown` was answered or was not in time: the last moment at which the server is whole.
pub async fn shut_down(
    client: &Client,
    server: &Server,
    deadlines: &Deadlines,
    before_exit: impl Future<Output = ()>,
) -> Stopped {
    let started = Instant::now();
    let mut stopped = Stopped {
        stage: ShutdownStage::AlreadyGone,
        reply: None,
        exit_sent: None,
        exit: server.exit(),
        took: Duration::ZERO,
    };
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
        (stopped.stage, stopped.exit) = insist(client, server, deadlines).await;
    }
    stopped.took = started.elapsed();
    stopped
}

/// Sends `shutdown`. What came of it, and how the process ended if it did not wait for `exit`.
async fn ask(client: &Client, server: &Server, deadlines: &Deadlines) -> (ShutdownReply, Option<Exit>) {
    let request = client.request("shutdown", (), Ask::within(deadlines.answer));
    tokio::pin!(request);
    let (reply, exit) = tokio::select! {
        biased;
        reply = &mut request => {
            // The output of a server that dies ends a moment before its process.
            let dying = matches!(reply, Reply::Lost);
            let patience = TOGETHER.min(deadlines.answer);
            let exit = if dying { time::timeout(patience, server.exited()).await.ok() } else { server.exit() };
            (reply, exit)
        }
        // Its last words may still be on their way.
        exit = server.exited() => (time::timeout(TOGETHER, request).await.unwrap_or(Reply::Lost), Some(exit)),
    };
    let reply = match reply {
        Reply::Answer { .. } => ShutdownReply::Answered,
        Reply::Error { code, message, .. } => ShutdownReply::Refused {
            code,
            message: message.chars().take(MESSAGE).collect(),
        },
        Reply::TimedOut | Reply::Parked | Reply::Lost if exit.is_some() => ShutdownReply::Gone,
        Reply::TimedOut | Reply::Parked | Reply::Lost => ShutdownReply::Unanswered,
    };
    (reply, exit)
}

/// The measures from `exit` on. The one that was needed, and how the process ended, if it did.
async fn insist(client: &Client, server: &Server, deadlines: &Deadlines) -> (ShutdownStage, Option<Exit>) {
    let measures: [(ShutdownStage, Duration, &dyn Fn()); 4] = [
        (ShutdownStage::Exit, deadlines.exit, &|| {}),
        (ShutdownStage::StdinClosed, deadlines.stdin, &|| client.close_stdin()),
        (ShutdownStage::Terminated, deadlines.terminate, &|| {
            server.terminate_group()
        }),
        (ShutdownStage::Killed, deadlines.kill, &|| server.kill_group()),
    ];
    for (stage, deadline, measure) in measures {
        measure();
        if let Ok(exit) = time::timeout(deadline, server.exited()).await {
            return (stage, Some(exit));
        }
    }
    (ShutdownStage::Killed, server.exit())
}

/// Kills the server's process group at once and waits for the process to be gone.
pub async fn kill_now(client: &Client, server: &Server, deadline: Duration) -> Stopped {
    let started = Instant::now();
    let stage = if server.exit().is_some() {
        ShutdownStage::AlreadyGone
    } else {
        ShutdownStage::Killed
    };
    client.close_stdin();
    server.kill_group();
    let exit = time::timeout(deadline, server.exited()).await.ok();
    Stopped {
        stage,
        reply: None,
        exit_sent: None,
        exit,
        took: started.elapsed(),
    }
}
