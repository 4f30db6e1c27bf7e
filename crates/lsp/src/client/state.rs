//! State shared by reader, writer and callers: open requests, the outbox, and the counts.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::{Notify, oneshot};

use super::cancelled::Cancelled;
use super::outbox::{Body, Outbox};
use super::{CloseReason, Limits, OpenRequest, Totals, Traffic};
use crate::answers::{Answers, Responder};
use crate::diagnostics::Diagnostics;
use crate::message::{self, Id, Refusal, UnreadReason};
use crate::pulls::Pulls;
use crate::results::{Partials, ResultIds};
use crate::scan::{Facts, Fault, Reports, Shape};
use crate::support::ServerCapabilities;

/// The shared half of a connection.
#[derive(Debug)]
pub(super) struct Shared {
    state: Mutex<State>,
    pub(super) limits: Limits,
    queued: Notify,
    /// Notified when bytes were written or writing has ended.
    moved: Notify,
    stopped: Notify,
    overflowed: Notify,
    /// Notified when something may be due to be pulled.
    pull: Notify,
}

/// All mutable state. The lock is held only briefly and never across an await.
#[derive(Debug)]
pub(super) struct State {
    pub(super) outbox: Outbox,
    pub(super) responder: Responder,
    pub(super) diagnostics: Diagnostics,
    pub(super) result_ids: ResultIds,
    pub(super) partials: Partials,
    pub(super) pulls: Pulls,
    pub(super) agreed: Option<Arc<ServerCapabilities>>,
    pub(super) closed: Option<CloseReason>,
    pub(super) shutting_down: bool,
    pub(super) last_unprompted: Option<Instant>,
    pub(super) last_received: Option<Instant>,
    pub(super) totals: Totals,
    open: HashMap<i64, PendingRequest>,
    next_id: i64,
    /// The id of the first request after the last notification, sent or not.
    notified: i64,
    /// The highest answered id.
    answered: i64,
    cancelled: Cancelled,
}

#[derive(Debug)]
struct PendingRequest {
    method: String,
    since: Instant,
    parks: bool,
    keep: bool,
    done: oneshot::Sender<Outcome>,
}

#[derive(Debug)]
pub(super) enum Outcome {
    Result {
        at: Instant,
        shape: Shape,
        bytes: u64,
        items: Option<u64>,
        reports: Reports,
        body: Result<Box<RawValue>, UnreadReason>,
    },
    Error {
        at: Instant,
        fault: Fault,
    },
    Unreadable {
        at: Instant,
        why: String,
    },
    Parked,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    Delivered,
    Late,
    Twice,
    /// The id is that of a request, but as a string.
    AsText,
    /// No request has this id.
    Unknown,
}

impl Shared {
    pub(super) fn new(answers: Answers, limits: Limits) -> Shared {
        let state = State {
            outbox: Outbox::default(),
            responder: Responder::new(answers),
            diagnostics: Diagnostics::default(),
            result_ids: ResultIds::default(),
            partials: Partials::default(),
            pulls: Pulls::default(),
            agreed: None,
            closed: None,
            shutting_down: false,
            last_unprompted: None,
            last_received: None,
            totals: Totals::default(),
            open: HashMap::new(),
            next_id: 1,
            notified: 0,
            answered: 0,
            cancelled: Cancelled::default(),
        };
        Shared {
            state: Mutex::new(state),
            limits,
            queued: Notify::new(),
            moved: Notify::new(),
            stopped: Notify::new(),
            overflowed: Notify::new(),
            pull: Notify::new(),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a notification. After shutdown has begun, only the shutdown's own.
    pub(super) fn notify(&self, method: &str, params: &(impl Serialize + ?Sized)) {
        let mut state = self.state();
        if !state.shutting_down || method == "exit" {
            state.notified = state.next_id;
            let params = if message::is_null(params) { None } else { Some(params) };
            self.put(&mut state, |out| message::write_call(out, None, method, params));
        }
    }

    /// Queues the answer to a request of the server. If too many answers are unread, the connection ends.
    pub(super) fn answer(&self, state: &mut State, id: &Id, answer: &Result<Box<RawValue>, Refusal>) {
        state.outbox.answer(|out| message::write_answer(out, id, answer));
        let (unsent, limit) = (state.outbox.answering, self.limits.answers as u64);
        if unsent > limit {
            state.outbox.stop();
            state.close(CloseReason::Overflow { unsent, limit });
            self.moved.notify_waiters();
            self.stopped.notify_one();
            self.overflowed.notify_one();
        }
        self.queued.notify_one();
    }

    fn put(&self, state: &mut State, write: impl FnOnce(&mut Body)) {
        state.outbox.put(write);
        self.queued.notify_one();
    }

    /// Opens a request and queues it; `None` if the connection accepts no more.
    pub(super) fn open(
        &self,
        method: &str,
        params: Option<&RawValue>,
        keep: bool,
        parks: bool,
    ) -> Option<(i64, Instant, oneshot::Receiver<Outcome>)> {
        let (done, outcome) = oneshot::channel();
        let mut state = self.state();
        if state.closed.is_some() || (state.shutting_down && method != "shutdown") {
            return None;
        }
        let id = state.next_id;
        let since = Instant::now();
        state.next_id += 1;
        state.totals.requests += 1;
        state.open.insert(
            id,
            PendingRequest {
                method: method.to_owned(),
                since,
                parks,
                keep,
                done,
            },
        );
        self.put(&mut state, |out| message::write_call(out, Some(id), method, params));
        Some((id, since, outcome))
    }

    /// Cancels a request if it is still open, and notifies the server.
    pub(super) fn cancel(&self, id: i64) {
        let mut state = self.state();
        if state.open.remove(&id).is_some() {
            self.send_cancel(&mut state, id);
        }
    }

    /// Cancels every long poll.
    pub(super) fn cancel_parked(&self) {
        let mut state = self.state();
        let parked: Vec<i64> = state
            .open
            .iter()
            .filter(|(_, open)| open.parks)
            .map(|(id, _)| *id)
            .collect();
        for id in parked {
            if let Some(open) = state.open.remove(&id) {
                self.send_cancel(&mut state, id);
                // The caller may be gone; then the outcome is not needed.
                let _ = open.done.send(Outcome::Parked);
            }
        }
    }

    /// Tells the server that the answer to an open request is no longer wanted. The request stays open.
    pub(super) fn ask_to_cancel(&self, id: i64) {
        let mut state = self.state();
        if state.open.contains_key(&id) {
            self.put_cancel(&mut state, id);
        }
    }

    fn send_cancel(&self, state: &mut State, id: i64) {
        state.cancelled.add(id);
        self.put_cancel(state, id);
    }

    fn put_cancel(&self, state: &mut State, id: i64) {
        if state.closed.is_none() && !state.shutting_down {
            let params = json!({ "id": id });
            self.put(state, |out| {
                message::write_call(out, None, "$/cancelRequest", Some(&params));
            });
        }
    }

    /// Waits for a piece to write, and takes it.
    pub(super) async fn next_piece(&self) -> Vec<u8> {
        loop {
            let piece = self.state().outbox.take_piece();
            if let Some(piece) = piece {
                return piece;
            }
            self.queued.notified().await;
        }
    }

    pub(super) fn count_written(&self, bytes: usize) {
        self.state().outbox.count_written(bytes);
        self.moved.notify_waiters();
    }

    /// Ends writing: drops the queue and closes stdin.
    pub(super) fn stop_writing(&self) {
        self.state().outbox.stop();
        self.moved.notify_waiters();
        self.stopped.notify_one();
    }

    /// Closes the connection, unless it is closed or being shut down.
    pub(super) fn close(&self, reason: CloseReason) {
        let mut state = self.state();
        if !state.shutting_down {
            state.close(reason);
        }
    }

    pub(super) async fn writing_stopped(&self) {
        while !self.state().outbox.over {
            self.stopped.notified().await;
        }
    }

    pub(super) fn pull_changed(&self) {
        self.pull.notify_one();
    }

    pub(super) async fn pulls_changed(&self) {
        self.pull.notified().await;
    }

    /// Waits until too many answers are unread, which most connections never reach.
    pub(super) async fn overflowed(&self) -> CloseReason {
        loop {
            self.overflowed.notified().await;
            if let Some(reason) = self.state().closed.clone() {
                return reason;
            }
        }
    }

    pub(super) async fn wait_until_written(&self) {
        let goal = self.state().outbox.queued;
        self.moved_until(|outbox| outbox.sent >= goal).await;
    }

    /// Waits until few bytes are queued, so that a slow server slows its driver.
    pub(super) async fn wait_for_room(&self) {
        let limit = self.limits.queue as u64;
        self.moved_until(|outbox| outbox.unsent() <= limit).await;
    }

    async fn moved_until(&self, reached: impl Fn(&Outbox) -> bool) {
        loop {
            let moved = self.moved.notified();
            tokio::pin!(moved);
            moved.as_mut().enable();
            {
                let state = self.state();
                if state.outbox.over || reached(&state.outbox) {
                    return;
                }
            }
            moved.await;
        }
    }
}

impl State {
    /// Delivers an answer. `body` is called only if the caller wants the result.
    pub(super) fn settle(
        &mut self,
        id: &Id,
        at: Instant,
        facts: &Facts,
        body: impl FnOnce() -> Result<Box<RawValue>, UnreadReason>,
    ) -> Settled {
        let id = match id {
            Id::Number(id) => *id,
            Id::Text(text) => {
                let is_known = text.parse().is_ok_and(|id| (1..self.next_id).contains(&id));
                return if is_known { Settled::AsText } else { Settled::Unknown };
            }
            Id::Literal(_) => return Settled::Unknown,
        };
        let Some(open) = self.open.remove(&id) else {
            return if self.cancelled.take_id(id) {
                Settled::Late
            } else if (1..self.next_id).contains(&id) {
                Settled::Twice
            } else {
                Settled::Unknown
            };
        };
        let bytes = facts.result.as_ref().map_or(0, |range| range.end - range.start);
        let outcome = match &facts.error {
            Some(fault) => Outcome::Error {
                at,
                fault: fault.clone(),
            },
            None => {
                let body = if open.keep { body() } else { Err(UnreadReason::Unwanted) };
                Outcome::Result {
                    at,
                    shape: facts.shape,
                    bytes,
                    items: facts.elements(&open.method),
                    reports: if open.keep {
                        facts.reports.clone()
                    } else {
                        Reports::default()
                    },
                    body,
                }
            }
        };
        self.answered = self.answered.max(id);
        // The caller may have just gone; the answer then counts as late.
        let _ = open.done.send(outcome);
        Settled::Delivered
    }

    /// Ends the request that an unreadable answer is for. Without an id, that is known if only one request is open.
    pub(super) fn settle_unreadable(&mut self, id: Option<&Id>, at: Instant, why: &str) {
        let id = match id {
            Some(Id::Number(id)) => Some(*id),
            Some(Id::Text(_) | Id::Literal(_)) => None,
            None if self.open.len() == 1 => self.open.keys().next().copied(),
            None => None,
        };
        if let Some(open) = id.and_then(|id| self.open.remove(&id)) {
            let why = why.to_owned();
            // The caller may have just gone.
            let _ = open.done.send(Outcome::Unreadable { at, why });
        }
    }

    /// Ends the first request, if it is still open and no other was sent.
    pub(super) fn settle_first(&mut self, at: Instant, why: &str) {
        const FIRST: i64 = 1;
        if self.next_id == FIRST + 1 {
            self.settle_unreadable(Some(&Id::Number(FIRST)), at, why);
        }
    }

    /// Closes the connection: every open request is lost.
    pub(super) fn close(&mut self, reason: CloseReason) {
        self.closed.get_or_insert(reason);
        self.open.clear();
    }

    /// True while a report of diagnostics or a part of a result may come.
    pub(super) fn awaits_reports(&self) -> bool {
        let mut open = self.open.values();
        self.partials.are_expected()
            || open.any(|open| matches!(&*open.method, "textDocument/diagnostic" | "workspace/diagnostic"))
    }

    pub(super) fn awaits_symbols(&self) -> bool {
        let mut open = self.open.values();
        open.any(|open| open.method == "textDocument/documentSymbol")
    }

    pub(super) fn has_heard_all(&self) -> bool {
        self.answered >= self.notified
    }

    pub(super) fn traffic(&self) -> Traffic {
        let oldest = self
            .open
            .values()
            .filter(|open| !open.parks)
            .min_by_key(|open| open.since);
        Traffic {
            sent: self.outbox.sent,
            received: self.totals.received,
            unsent: self.outbox.unsent(),
            unread: self.outbox.unread(),
            input_closed: self.outbox.is_closed(),
            last_sent: self.outbox.last_sent,
            last_received: self.last_received,
            last_unprompted: self.last_unprompted,
            open: self.open.len(),
            oldest: oldest.map(|open| OpenRequest {
                method: open.method.clone(),
                since: open.since,
            }),
        }
    }

    pub(super) fn totals(&self) -> Totals {
        Totals {
            sent: self.outbox.sent,
            ..self.totals.clone()
        }
    }
}

/// The common name for methods above the limit of distinct names.
pub const OTHER_METHODS: &str = "(another method)";

/// Counts one `method`. Names come from the server, so their number is bounded.
pub(super) fn count(counts: &mut BTreeMap<String, u64>, method: &str) {
    const MOST_METHODS: usize = 1024;
    if let Some(count) = counts.get_mut(method) {
        *count += 1;
    } else if counts.len() < MOST_METHODS {
        counts.insert(method.to_owned(), 1);
    } else {
        *counts.entry(OTHER_METHODS.to_owned()).or_default() += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_notification_is_counted_however_many_names_there_are() {
        let mut counts = BTreeMap::new();
        for number in 0..5_000 {
            count(&mut counts, &format!("$/{number}"));
        }
        assert_eq!(counts.len(), 1025);
        assert_eq!(counts.values().sum::<u64>(), 5_000);
        assert_eq!(counts[OTHER_METHODS], 5_000 - 1024);
    }
}
