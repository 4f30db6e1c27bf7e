//! Notices that a server is gone or wedged, while something else is waited for.

use std::time::{Duration, Instant};

use crate::lsp::Client;
use crate::record::Ending;

use super::{Cpu, Stage, Stop};

const LOOK: Duration = Duration::from_millis(200);

/// Share of one processor below which a server that says nothing is not thinking either.
const IDLE: f64 = 0.01;

/// How long nothing may move before the server counts as wedged: half of a request's deadline, so that a wedge is
/// told from slowness before the deadline ends both, and at most half a minute.
pub fn patience(deadline: Duration) -> Duration {
    (deadline / 2).min(Duration::from_secs(30))
}

/// Waits for a fault: `gone` says that the process or the connection has ended. Never ends while there is none.
///
/// A server is wedged when something is due (an answer, or the reading of what was written to it), nothing has moved in
/// either direction for the whole `patience`, and its processors were idle meanwhile. A request that may be kept
/// open is not due.
pub async fn watch(client: &Client, gone: impl Fn() -> bool, stage: &impl Stage, patience: Duration) -> Stop {
    let mut still: Option<(Instant, Option<Cpu>)> = None;
    let mut moved = 0;
    loop {
        tokio::time::sleep(LOOK).await;
        if gone() {
            return Stop::Gone;
        }
        let traffic = client.traffic();
        // A pipe takes what a server that hangs does not read.
        let now_moved = traffic.sent.saturating_sub(traffic.unread) + traffic.received;
        let unsent = traffic.unsent + traffic.unread;
        let due = unsent > 0 || traffic.oldest.is_some();
        if !due || now_moved != moved {
            moved = now_moved;
            still = None;
            continue;
        }
        let Some((since, before)) = still else {
            still = Some((Instant::now(), stage.cpu().await));
            continue;
        };
        if since.elapsed() < patience {
            continue;
        }
        if share(before, stage.cpu().await) > IDLE {
            still = None;
            continue;
        }
        return Stop::Ended(Ending::Wedged {
            method: traffic.oldest.map(|open| open.method).unwrap_or_default(),
            after: since.elapsed().as_nanos() as u64,
            unsent,
            during: String::new(),
        });
    }
}

/// Share of one processor between two readings; an unknown one counts as busy, because a wedge must be certain.
fn share(before: Option<Cpu>, after: Option<Cpu>) -> f64 {
    match (before, after) {
        (Some(before), Some(after)) if after.at > before.at => {
            after.used.saturating_sub(before.used) as f64 / (after.at - before.at) as f64
        }
        _ => f64::INFINITY,
    }
}
