//! One request from its first attempt to its end: deadline, retries, cancellation.

use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use tokio::sync::oneshot::{self, error::RecvError};
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
        let (outcome, was_told) = await_answer(shared, id, outcome, ask.cancel_after).await;
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
                let is_cancelled = was_told && retry::is_given_up(fault.code);
                let is_stale = retry::is_stale(method, fault.code, fault.retrigger);
                if is_cancelled || !is_stale || retries >= shared.limits.retries {
                    let latency = at - started;
                    return Reply::Error {
                        latency,
                        code: fault.code,
                        message: fault.message,
                        retries,
                        is_cancelled,
                    };
                }
            }
        }
        time::sleep(backoff(shared.limits.backoff, retries)).await;
        retries += 1;
        shared.state().totals.retries += 1;
    }
}

/// Waits for the answer. After `patience` tells the server that it is no longer wanted, and waits on. True if it was told.
async fn await_answer(
    shared: &Shared,
    id: i64,
    mut answer: oneshot::Receiver<Outcome>,
    patience: Option<Duration>,
) -> (Result<Outcome, RecvError>, bool) {
    let Some(patience) = patience else {
        return (answer.await, false);
    };
    if let Ok(outcome) = time::timeout(patience, &mut answer).await {
        return (outcome, false);
    }
    shared.ask_to_cancel(id);
    (answer.await, true)
}

fn backoff(first: Duration, retries: u32) -> Duration {
    first * (1 << retries.min(4))
}
