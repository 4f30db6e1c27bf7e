//! One request from its first attempt to its end: deadline, retries, cancellation.

use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use tokio::time;

use super::state::{Outcome, Shared};
use super::{Reply, RequestOptions};
use crate::retry;

/// Cancels the attempt if the caller stops waiting.
struct Attempt<'a> {
    shared: &'a Shared,
    id: i64,
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        self.shared.cancel(self.id);
    }
}

/// Retries until the final answer or the deadline.
pub(super) async fn run(shared: &Shared, method: &str, params: Option<&RawValue>, ask: RequestOptions) -> Reply {
    match time::timeout(ask.deadline, attempts(shared, method, params, ask)).await {
        Ok(reply) => reply,
        Err(_elapsed) if ask.parks => Reply::Parked,
        Err(_elapsed) => Reply::TimedOut,
    }
}

async fn attempts(shared: &Shared, method: &str, params: Option<&RawValue>, ask: RequestOptions) -> Reply {
    let mut retries = 0;
    let mut first: Option<Instant> = None;
    loop {
        shared.wait_for_room().await;
        let Some((id, since, outcome)) = shared.open(method, params, ask.keep, ask.parks) else {
            return Reply::Lost;
        };
        let started = *first.get_or_insert(since);
        let attempt = Attempt { shared, id };
        let outcome = outcome.await;
        drop(attempt);
        match outcome {
            Err(_closed) => return Reply::Lost,
            Ok(Outcome::Parked) => return Reply::Parked,
            Ok(Outcome::Result {
                at,
                shape,
                bytes,
                items,
                reports,
                body,
            }) => {
                return Reply::Answer {
                    latency: at - started,
                    shape,
                    bytes,
                    items,
                    reports,
                    body,
                    retries,
                };
            }
            Ok(Outcome::Unreadable { at, why }) => {
                return Reply::Unreadable {
                    latency: at - started,
                    why,
                    retries,
                };
            }
            Ok(Outcome::Error { at, fault }) => {
                let again = retry::is_stale(method, fault.code, fault.retrigger) && retries < shared.limits.retries;
                if !again {
                    let latency = at - started;
                    return Reply::Error {
                        latency,
                        code: fault.code,
                        message: fault.message,
                        retries,
                    };
                }
            }
        }
        time::sleep(backoff(shared.limits.backoff, retries)).await;
        retries += 1;
        shared.state().totals.retries += 1;
    }
}

fn backoff(first: Duration, retries: u32) -> Duration {
    first * (1 << retries.min(4))
}
