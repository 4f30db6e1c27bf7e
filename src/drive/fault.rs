//! Detects that a server is gone or hangs, while something else is awaited.

use std::time::{Duration, Instant};

use lsp::Client;
use record::Ending;

use super::{Activity, Stage, Stop};

const LOOK: Duration = Duration::from_millis(200);

/// Share of one processor below which a server without output counts as idle.
const IDLE: f64 = 0.01;

/// Time that a request waits for its answer beyond its deadline: by then it is known whether the server hangs.
pub const GRACE: Duration = Duration::from_secs(1);

/// Time for the end of a server to follow a closed input: it says more.
const SAY_MORE: Duration = Duration::from_secs(1);

/// A time without any traffic while something is due.
struct Stillness {
    since: Instant,
    /// Activity in the middle of the deadline: work before it, such as on the request itself, is no sign of life.
    middle: Middle,
}

enum Middle {
    /// The middle of the deadline is not reached.
    Ahead,
    /// `None` if the activity is unknown.
    Read(Option<Activity>),
}

/// Waits for a fault; never ends without one. `trouble` reports one that needs no waiting: the process or the
/// connection has ended, a process of the tree crashed, the server reported a failure.
///
/// A server hangs if something is due (an answer, or reading its input), nothing moved in either direction for the
/// whole `deadline`, and its processors were idle in the second half of it. A request that may stay open is not due.
/// A server that closed its input reads nothing more, so nobody waits for its answers.
pub async fn watch(
    client: &Client,
    trouble: impl Fn() -> Option<Stop>,
    stage: &impl Stage,
    deadline: Duration,
) -> Stop {
    let mut still: Option<Stillness> = None;
    let mut closed: Option<Instant> = None;
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
        if due && traffic.input_closed && closed.get_or_insert_with(Instant::now).elapsed() >= SAY_MORE {
            client.close_broken_input();
            continue;
        }
        if !due || now_moved != moved {
            moved = now_moved;
            still = None;
            continue;
        }
        let stillness = still.get_or_insert_with(|| Stillness {
            since: Instant::now(),
            middle: Middle::Ahead,
        });
        let elapsed = stillness.since.elapsed();
        if matches!(stillness.middle, Middle::Ahead) && elapsed >= deadline / 2 {
            stillness.middle = Middle::Read(stage.activity().await);
        }
        let Middle::Read(middle) = stillness.middle else {
            continue;
        };
        if elapsed < deadline {
            continue;
        }
        if share(middle, stage.activity().await) > IDLE {
            still = None;
            continue;
        }
        return Stop::Ended(Ending::Wedged {
            method: traffic.oldest.map(|open| open.method).unwrap_or_default(),
            after: elapsed.as_nanos() as u64,
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
