//! When a request that a server may keep open counts as parked: once the server has nothing to do for it.

use std::time::{Duration, Instant};

use lsp::{Client, Id};

use super::{Activity, Stage};

/// Time of the server's rest after which the request counts as parked.
const REST: Duration = Duration::from_secs(2);

const LOOK: Duration = Duration::from_millis(100);

/// Share of one processor that a resting server may use.
const RESTING: f64 = 0.05;

/// Waits until for a while no part of the result came and the processors were idle. A server whose processor time is not
/// known rests when it sends nothing.
pub async fn wait<S: Stage>(client: &Client, stage: &S, token: Option<&Id>) {
    let mut since = Instant::now();
    let mut parts = 0;
    let mut last = stage.activity().await;
    loop {
        tokio::time::sleep(LOOK).await;
        let now = stage.activity().await;
        let count = token.map_or(0, |token| client.parts(token).count);
        if count > parts || is_busy(last, now) {
            since = Instant::now();
        }
        if since.elapsed() >= REST {
            return;
        }
        (parts, last) = (count, now);
    }
}

fn is_busy(before: Option<Activity>, now: Option<Activity>) -> bool {
    let (Some(before), Some(now)) = (before, now) else {
        return false;
    };
    let used = now.used.saturating_sub(before.used) as f64;
    used > RESTING * now.at.saturating_sub(before.at) as f64
}
