//! Detects that a server is gone or hangs, while something else is awaited.

use std::time::{Duration, Instant};

use crate::lsp::Client;
use crate::record::Ending;

use super::{Activity, Stage, Stop};

const LOOK: Duration = Duration::from_millis(200);

/// Share of one processor below which a server without output counts as idle.
const IDLE: f64 = 0.01;

/// How long nothing may move before the server counts as hung: half of a request's deadline, at most 30 s. So a hang is
/// detected before the deadline of a slow request.
pub fn patience(deadline: Duration) -> Duration {
    (deadline / 2).min(Duration::from_secs(30))
}

/// Waits for a fault; never ends without one. `trouble` reports one that needs no waiting: the process or the
/// connection has ended, a process of the tree crashed, the server reported a failure.
///
/// A server hangs if something is due (an answer, or reading its input), nothing moved in either direction for the
/// whole `patience`, and its processors were idle meanwhile. A request that may stay open is not due.
pub async fn watch(
    client: &Client,
    trouble: impl Fn() -> Option<Stop>,
    stage: &impl Stage,
    patience: Duration,
) -> Stop {
    let mut still: Option<(Instant, Option<Activity>)> = None;
    let mut moved = 0;
    loop {
        tokio::time::sleep(LOOK).await;
        if let Some(stop) = trouble() {
            return stop;
        }
        let traffic = client.traffic();
        // The pipe accepts bytes that a hung server never reads.
        let now_moved = traffic.sent.saturating_sub(traffic.unread) + traffic.received;
        let unsent = traffic.unsent + traffic.unread;
        let due = unsent > 0 || traffic.oldest.is_some();
        if !due || now_moved != moved {
            moved = now_moved;
            still = None;
            continue;
        }
        let Some((since, before)) = still else {
            still = Some((Instant::now(), stage.activity().await));
            continue;
        };
        if since.elapsed() < patience {
            continue;
        }
        if share(before, stage.activity().await) > IDLE {
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

/// Share of one processor between two readings; an unknown one counts as busy, because a hang must be certain.
fn share(before: Option<Activity>, after: Option<Activity>) -> f64 {
    match (before, after) {
        (Some(before), Some(after)) if after.at > before.at => {
            after.used.saturating_sub(before.used) as f64 / (after.at - before.at) as f64
        }
        _ => f64::INFINITY,
    }
}
