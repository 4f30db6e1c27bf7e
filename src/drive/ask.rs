//! Sends the requests of one step, records each, and counts the answers.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::pin::pin;
use std::time::Duration;

use serde::Serialize;
use serde_json::value::RawValue;

use lsp::{Client, Id, Parts, Reply, Reports, RequestOptions, Shape};
use record::{Ending, Event, Outcome, Request};

use super::document::Document;
use super::{Stage, Stop, fault, parked};

/// Longest error text of a server that is kept, in bytes.
const MESSAGE: usize = 500;

/// The code of JSON-RPC for text that is no JSON. In a record it stands for an answer that lsp-soak could not read.
const PARSE_ERROR: i64 = -32700;

/// Bytes that a server must read within a deadline while others wait: the capacity of a pipe.
const PACE: u64 = 64 * 1024;

/// Most distinct error texts counted separately per step.
const TEXTS: usize = 64;

pub struct Asker<'a, S> {
    client: &'a Client,
    stage: &'a S,
    deadline: Duration,
    /// Time after which requests that count are cancelled.
    cancel_after: Option<Duration>,
    requests: Cell<u64>,
    hits: Cell<u64>,
    cancelled: Cell<u64>,
    notifications: Cell<u64>,
    parked: Cell<u64>,
    files_written: Cell<u64>,
    /// `None` until a step asks.
    files_watched: Cell<Option<u64>>,
    errors: RefCell<Errors>,
}

/// Errors in answers to the requests of a step.
#[derive(Clone, Debug, Default)]
pub struct Errors {
    pub count: u64,
    /// Counts of the first few distinct texts.
    texts: BTreeMap<String, u64>,
}

impl Errors {
    fn add(&mut self, code: i64, message: &str) {
        self.count += 1;
        let text = format!("{code}: {message}");
        if self.texts.len() < TEXTS || self.texts.contains_key(&text) {
            *self.texts.entry(text).or_default() += 1;
        }
    }

    pub fn commonest(self) -> Option<String> {
        let most = self.texts.into_iter().max_by_key(|(_, count)| *count);
        most.map(|(text, _)| text)
    }
}

/// A result; `None` if it was not kept.
pub type Body = Option<Box<RawValue>>;

impl<'a, S: Stage> Asker<'a, S> {
    /// Begins a step; `deadline` applies to each request.
    pub fn new(client: &'a Client, stage: &'a S, deadline: Duration) -> Asker<'a, S> {
        Asker {
            client,
            stage,
            deadline,
            cancel_after: None,
            requests: Cell::new(0),
            hits: Cell::new(0),
            cancelled: Cell::new(0),
            notifications: Cell::new(0),
            parked: Cell::new(0),
            files_written: Cell::new(0),
            files_watched: Cell::new(None),
            errors: RefCell::default(),
        }
    }

    /// Cancels requests that count and are not answered after this time.
    pub fn cancelling_after(self, patience: Option<Duration>) -> Asker<'a, S> {
        Asker {
            cancel_after: patience,
            ..self
        }
    }

    /// Sends a request that counts towards the step and waits for its end; drops the body.
    pub async fn ask(&self, method: &str, params: &(impl Serialize + ?Sized)) -> Result<(), Stop> {
        self.ask_in_parts(method, params, None).await
    }

    /// As [`Asker::ask`], for a request whose result may come in parts with `token`.
    pub async fn ask_in_parts(
        &self,
        method: &str,
        params: &(impl Serialize + ?Sized),
        token: Option<&Id>,
    ) -> Result<(), Stop> {
        self.send(
            method,
            params,
            RequestOptions::with_deadline(self.deadline),
            true,
            token,
        )
        .await
        .map(drop)
    }

    /// Sends a request that counts, and keeps the body for a follow-up.
    pub async fn fetch(&self, method: &str, params: &(impl Serialize + ?Sized)) -> Result<Body, Stop> {
        self.send(
            method,
            params,
            RequestOptions::with_deadline(self.deadline).keeping(),
            true,
            None,
        )
        .await
    }

    /// Sends a request that belongs to another, for example a resolve. It is recorded, but is neither a hit nor a miss.
    pub async fn follow(&self, method: &str, params: &(impl Serialize + ?Sized)) -> Result<Body, Stop> {
        self.send(
            method,
            params,
            RequestOptions::with_deadline(self.deadline).keeping(),
            false,
            None,
        )
        .await
    }

    /// Sends a request that the server may keep open; `token` is that of parts of its result. It is parked when the server
    /// rests. If parts came, they are its answer.
    pub async fn park(
        &self,
        method: &str,
        params: &(impl Serialize + ?Sized),
        token: Option<&Id>,
    ) -> Result<Reports, Stop> {
        let open = Open {
            stage: self.stage,
            method,
            parks: true,
            requests: Some(&self.requests),
        };
        let ask = RequestOptions::with_deadline(self.deadline).keeping().parking();
        let reply = tokio::select! {
            biased;
            reply = self.client.request(method, params, ask) => reply,
            () = parked::wait(self.client, self.stage, token) => Reply::Parked,
        };
        open.end();
        let written = record_reply(method, reply);
        self.count(with_parts(written.request, self.parts(token)), true)?;
        Ok(written.reports)
    }

    /// Sends a request that counts and waits for its end, or until `given_up`: then it is cancelled, and recorded as still
    /// open. `limit` instead of the step's deadline is for a request that the server may keep open.
    pub async fn ask_until(
        &self,
        method: &str,
        params: &(impl Serialize + ?Sized),
        limit: Option<Duration>,
        keeps_body: bool,
        given_up: impl Future<Output = ()>,
    ) -> Result<Body, Stop> {
        let open = Open {
            stage: self.stage,
            method,
            parks: true,
            requests: Some(&self.requests),
        };
        let ask = RequestOptions {
            deadline: limit.unwrap_or(self.deadline) + fault::GRACE,
            keep: keeps_body,
            parks: limit.is_some(),
            cancel_after: self.cancel_after,
        };
        let reply = tokio::select! {
            biased;
            reply = self.client.request(method, params, ask) => reply,
            () = given_up => Reply::Parked,
        };
        open.end();
        let written = record_reply(method, reply);
        self.count(written.request, true)?;
        Ok(written.body)
    }

    /// Sends a notification as soon as the queue has room.
    pub async fn notify(&self, method: &str, params: &(impl Serialize + ?Sized)) -> Result<(), Stop> {
        self.taken(method, self.client.wait_for_room()).await?;
        self.notify_now(method, params);
        Ok(())
    }

    /// Sends a short notification without waiting for room.
    pub fn notify_now(&self, method: &str, params: &(impl Serialize + ?Sized)) {
        self.client.notify(method, params);
        self.notifications.set(self.notifications.get() + 1);
    }

    pub async fn open(&self, document: &Document) -> Result<(), Stop> {
        self.notify("textDocument/didOpen", &document.opened()).await?;
        self.client
            .opened_document(document.uri().as_str(), document.language());
        Ok(())
    }

    /// Waits until the server has read everything.
    pub async fn flushed(&self) -> Result<(), Stop> {
        self.taken("", self.client.wait_until_written()).await
    }

    /// Waits for a server to read its queue. A slow server is tolerated; one that reads almost nothing within the
    /// deadline ends the session.
    async fn taken(&self, method: &str, wait: impl Future<Output = ()>) -> Result<(), Stop> {
        let mut wait = pin!(wait);
        loop {
            let before = self.client.traffic().sent;
            if tokio::time::timeout(self.deadline + fault::GRACE, &mut wait)
                .await
                .is_ok()
            {
                return Ok(());
            }
            let traffic = self.client.traffic();
            if traffic.sent - before < PACE {
                return Err(late(method, self.deadline, traffic.unsent));
            }
        }
    }

    /// Requests, hits and notifications so far.
    pub fn tally(&self) -> (u64, u64, u64) {
        (self.requests.get(), self.hits.get(), self.notifications.get())
    }

    pub fn errors(&self) -> Errors {
        self.errors.borrow().clone()
    }

    /// Long polls still open when no longer needed: neither hits nor misses.
    pub fn parked(&self) -> u64 {
        self.parked.get()
    }

    /// Requests that the server gave up when they were cancelled.
    pub fn cancelled(&self) -> u64 {
        self.cancelled.get()
    }

    /// Files that the step changed on disk, and those of them that the server watches by itself.
    pub fn changed_files(&self) -> (u64, Option<u64>) {
        (self.files_written.get(), self.files_watched.get())
    }

    /// Counts a file that the step changed on disk.
    pub fn note_file_written(&self) {
        self.files_written.set(self.files_written.get() + 1);
    }

    /// Counts a changed file that the server watches by itself, or that it does not.
    pub fn note_watched(&self, is_watched: bool) {
        let before = self.files_watched.get().unwrap_or(0);
        self.files_watched.set(Some(before + u64::from(is_watched)));
    }

    async fn send(
        &self,
        method: &str,
        params: &(impl Serialize + ?Sized),
        ask: RequestOptions,
        counts: bool,
        token: Option<&Id>,
    ) -> Result<Body, Stop> {
        let ask = RequestOptions {
            deadline: ask.deadline + fault::GRACE,
            cancel_after: if counts { self.cancel_after } else { None },
            ..ask
        };
        let open = Open {
            stage: self.stage,
            method,
            parks: false,
            requests: if counts { Some(&self.requests) } else { None },
        };
        let reply = self.client.request(method, params, ask).await;
        open.end();
        let written = record_reply(method, reply);
        self.count(with_parts(written.request, self.parts(token)), counts)?;
        Ok(written.body)
    }

    /// The parts of a result that have come with this token.
    fn parts(&self, token: Option<&Id>) -> Parts {
        token.map(|token| self.client.parts(token)).unwrap_or_default()
    }

    /// Records a request and counts it; stops if the server did not answer it in time.
    fn count(&self, request: Request, counts: bool) -> Result<(), Stop> {
        let (method, outcome) = (request.method.clone(), request.outcome.clone());
        self.stage.record(Event::Request(request));
        if outcome == Outcome::Parked {
            self.parked.set(self.parked.get() + 1);
        } else if counts {
            self.requests.set(self.requests.get() + 1);
            self.hits.set(self.hits.get() + u64::from(outcome == Outcome::Hit));
            self.cancelled
                .set(self.cancelled.get() + u64::from(outcome == Outcome::Cancelled));
            if let Outcome::Error { code, message } = &outcome {
                self.errors.borrow_mut().add(*code, message);
            }
        }
        match outcome {
            Outcome::TimedOut => Err(late(&method, self.deadline, 0)),
            Outcome::Lost => Err(Stop::Gone),
            Outcome::Hit
            | Outcome::Empty
            | Outcome::Null
            | Outcome::Cancelled
            | Outcome::Parked
            | Outcome::Error { .. } => Ok(()),
        }
    }
}

/// The ending of a session whose server read too slowly, with the number of unread bytes.
fn late(method: &str, after: Duration, unsent: u64) -> Stop {
    Stop::Ended(Ending::TimedOut {
        method: method.to_owned(),
        after: after.as_nanos() as u64,
        unsent,
        during: String::new(),
    })
}

/// An unanswered request. If the session ends first (the server hangs, or the user interrupts), it is recorded as lost,
/// or as still open if it may stay open. A lost request counts.
struct Open<'a, S: Stage> {
    stage: &'a S,
    method: &'a str,
    parks: bool,
    /// The counter it adds to; `None` if it does not count.
    requests: Option<&'a Cell<u64>>,
}

impl<S: Stage> Open<'_, S> {
    /// The request ended normally.
    fn end(self) {
        std::mem::forget(self);
    }
}

impl<S: Stage> Drop for Open<'_, S> {
    fn drop(&mut self) {
        if !self.parks
            && let Some(requests) = self.requests
        {
            requests.set(requests.get() + 1);
        }
        let end = if self.parks { Reply::Parked } else { Reply::Lost };
        self.stage
            .record(Event::Request(record_reply(self.method, end).request));
    }
}

/// A request whose result came in parts: what stays open was answered by them.
pub fn with_parts(request: Request, parts: Parts) -> Request {
    if parts.count == 0 {
        return request;
    }
    let outcome = match request.outcome {
        Outcome::Parked | Outcome::Empty | Outcome::Null if parts.full > 0 => Outcome::Hit,
        // Empty parts answer nothing while the request stays open.
        outcome => outcome,
    };
    Request {
        outcome,
        bytes: request.bytes.saturating_add(parts.bytes),
        items: Some(request.items.unwrap_or(0).saturating_add(parts.items)),
        ..request
    }
}

/// A request as it is recorded, and what is kept of its answer.
pub struct Written {
    pub request: Request,
    pub body: Body,
    pub reports: Reports,
}

impl From<Request> for Written {
    fn from(request: Request) -> Written {
        Written {
            request,
            body: None,
            reports: Reports::default(),
        }
    }
}

pub fn record_reply(method: &str, reply: Reply) -> Written {
    let bare = |outcome| Request {
        method: method.to_owned(),
        latency: None,
        outcome,
        bytes: 0,
        items: None,
        retries: 0,
        editor: false,
    };
    match reply {
        Reply::Answer {
            latency,
            shape,
            bytes,
            items,
            reports,
            body,
            retries,
        } => {
            let outcome = match shape {
                Shape::Null => Outcome::Null,
                Shape::Empty => Outcome::Empty,
                Shape::Full => Outcome::Hit,
            };
            let latency = Some(latency.as_nanos() as u64);
            let request = Request {
                latency,
                bytes,
                items,
                retries,
                ..bare(outcome)
            };
            Written {
                request,
                body: body.ok(),
                reports,
            }
        }
        Reply::Error {
            latency,
            code,
            message,
            retries,
            is_cancelled,
        } => {
            let outcome = if is_cancelled {
                Outcome::Cancelled
            } else {
                error(code, &message)
            };
            answered(bare(outcome), latency, retries).into()
        }
        Reply::Unreadable { latency, why, retries } => {
            let outcome = error(PARSE_ERROR, &format!("the answer is not JSON: {why}"));
            answered(bare(outcome), latency, retries).into()
        }
        Reply::TimedOut => bare(Outcome::TimedOut).into(),
        Reply::Parked => bare(Outcome::Parked).into(),
        Reply::Lost => bare(Outcome::Lost).into(),
    }
}

fn error(code: i64, message: &str) -> Outcome {
    let message = message.chars().take(MESSAGE).collect();
    Outcome::Error { code, message }
}

fn answered(request: Request, latency: Duration, retries: u32) -> Request {
    Request {
        latency: Some(latency.as_nanos() as u64),
        retries,
        ..request
    }
}
