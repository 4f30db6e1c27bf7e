//! Brings a server down: politely, then less so, each measure with its own deadline.

use std::future::Future;
use std::time::{Duration, Instant};

use tokio::time;

use super::client::{Ask, Client};
use super::process::{Exit, Server};
use crate::record::ShutdownStage;

/// How long each measure is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// For the answer to `shutdown`. Profilers write their files on a graceful exit: give them time.
    pub answer: Duration,
    /// For the process to end after `exit`.
    pub exit: Duration,
    /// After its stdin was closed.
    pub stdin: Duration,
    /// After SIGTERM to its process group.
    pub terminate: Duration,
    /// After SIGKILL.
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

/// How a server went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// The last measure that was needed.
    pub stage: ShutdownStage,
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
    let stopped = |stage, exit| Stopped {
        stage,
        exit,
        took: started.elapsed(),
    };
    if let Some(exit) = server.exit() {
        return stopped(ShutdownStage::AlreadyGone, Some(exit));
    }
    client.begin_shutdown();
    tokio::select! {
        exit = server.exited() => return stopped(ShutdownStage::Exit, Some(exit)),
        _reply = client.request("shutdown", (), Ask::within(deadlines.answer)) => {}
    }
    before_exit.await;
    client.notify("exit", ());
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
            return stopped(stage, Some(exit));
        }
    }
    stopped(ShutdownStage::Killed, server.exit())
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
        exit,
        took: started.elapsed(),
    }
}
