//! The task that reads the server's stdout; it waits for nothing but the pipe.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::mpsc;

use super::state::{Settled, Shared, State, count};
use super::{CloseReason, Incoming, Unfinished, Violation};
use crate::answers;
use crate::frame::{Framer, Head};
use crate::message::{self, UnreadReason};
use crate::scan::{Begun, Facts, NotJson, Scanner};

/// Initial size of the read buffer in bytes; it grows to the longest message that is read whole.
const BUFFER: usize = 64 * 1024;
/// The buffer for messages that are scanned as they arrive.
const STREAM: usize = 256 * 1024;
/// Longest parameters passed on, by the number of events that wait for the driver. A driver that lags behind still gets
/// the short events, which matter most, and at most 10 MiB.
const LONGEST_PARAMS: [(usize, u64); 3] = [(64, 64 * 1024), (512, 4 * 1024), (usize::MAX, 1024)];
/// Longest method name that is passed on, in bytes.
const LONGEST_NAME: usize = 256;

/// Reads until the stream ends, and reports the reason.
pub(super) async fn run<R: AsyncRead + Unpin>(stdout: R, shared: Arc<Shared>, events: mpsc::Sender<Incoming>) {
    let framer = Framer::new(shared.limits.max_message);
    let mut reader = Reader {
        stdout,
        buffer: vec![0; BUFFER],
        start: 0,
        end: 0,
        stamp: Instant::now(),
        framer,
        scanner: Scanner::default(),
        shared,
        events,
    };
    let shared = Arc::clone(&reader.shared);
    let reason = tokio::select! {
        end = reader.run() => end.unwrap_or_else(|error| CloseReason::Io(error.to_string())),
        reason = shared.overflowed() => reason,
    };
    reader.note_noise();
    shared.state().close(reason.clone());
    // Waits for room if needed: this event is the last. Without a receiver it is not needed.
    let _ = reader.events.send(Incoming::Closed(reason)).await;
}

struct Reader<R> {
    stdout: R,
    buffer: Vec<u8>,
    /// The bytes between `start` and `end` were read but not used.
    start: usize,
    end: usize,
    /// When the last bytes arrived.
    stamp: Instant,
    framer: Framer,
    scanner: Scanner,
    shared: Arc<Shared>,
    events: mpsc::Sender<Incoming>,
}

impl<R: AsyncRead + Unpin> Reader<R> {
    async fn run(&mut self) -> io::Result<CloseReason> {
        loop {
            let (used, head) = self.framer.head(&self.buffer[self.start..self.end]);
            self.start += used;
            self.note_noise();
            let reason = match head {
                Head::More => self.read_more().await?,
                Head::Body(length) => self.read_body(length).await?,
                Head::TooLarge(length) => Some(CloseReason::TooLarge {
                    length,
                    limit: self.shared.limits.max_message,
                }),
            };
            if let Some(reason) = reason {
                return Ok(reason);
            }
        }
    }

    /// Reads more in the middle of a header.
    async fn read_more(&mut self) -> io::Result<Option<CloseReason>> {
        let bytes = self.framer.noise.unbroken;
        if bytes > self.shared.limits.noise {
            return Ok(Some(CloseReason::Garbage { bytes }));
        }
        if self.framer.is_utf16 {
            return Ok(Some(CloseReason::Utf16));
        }
        self.make_room(BUFFER / 2);
        if self.fill().await? == 0 {
            Ok(Some(CloseReason::Eof))
        } else {
            Ok(None)
        }
    }

    async fn read_body(&mut self, length: u64) -> io::Result<Option<CloseReason>> {
        let (reads_reports, reads_symbols) = {
            let state = self.shared.state();
            (state.awaits_reports(), state.awaits_symbols())
        };
        self.scanner.reset(reads_reports, reads_symbols);
        match usize::try_from(length) {
            Ok(length) if length <= self.shared.limits.keep => self.read_whole_body(length).await,
            _too_long => self.scan_body(length).await,
        }
    }

    async fn read_whole_body(&mut self, length: usize) -> io::Result<Option<CloseReason>> {
        let comes_in_parts = self.end - self.start < length;
        while self.end - self.start < length {
            self.note_unfinished(length as u64, (self.end - self.start) as u64);
            self.make_room(length - (self.end - self.start));
            if self.fill().await? == 0 {
                let got = (self.end - self.start) as u64;
                return Ok(Some(CloseReason::Truncated {
                    length: length as u64,
                    got,
                }));
            }
        }
        if comes_in_parts {
            self.shared.state().totals.unfinished = None;
        }
        let body = &self.buffer[self.start..self.start + length];
        self.scanner.feed(body);
        handle(&self.shared, &self.events, self.stamp, &self.scanner, body);
        self.start += length;
        Ok(None)
    }

    /// Scans a body that is too long to keep, buffer by buffer.
    async fn scan_body(&mut self, length: u64) -> io::Result<Option<CloseReason>> {
        self.make_room(STREAM);
        let mut remaining = length;
        loop {
            let have = self.end - self.start;
            let take = usize::try_from(remaining).map_or(have, |remaining| remaining.min(have));
            self.scanner.feed(&self.buffer[self.start..self.start + take]);
            self.start += take;
            remaining -= take as u64;
            if remaining == 0 {
                break;
            }
            (self.start, self.end) = (0, 0);
            self.note_unfinished(length, length - remaining);
            if self.fill().await? == 0 {
                return Ok(Some(CloseReason::Truncated {
                    length,
                    got: length - remaining,
                }));
            }
        }
        self.shared.state().totals.unfinished = None;
        handle(&self.shared, &self.events, self.stamp, &self.scanner, &[]);
        Ok(None)
    }

    /// Makes space for `more` bytes after the unused ones.
    fn make_room(&mut self, more: usize) {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        if self.buffer.len() - self.end >= more {
            return;
        }
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if self.buffer.len() - self.end < more {
            self.buffer.resize(self.end + more, 0);
        }
    }

    /// Reads once. The timestamp is taken before the bytes are processed.
    async fn fill(&mut self) -> io::Result<usize> {
        let read = self.stdout.read(&mut self.buffer[self.end..]).await?;
        self.stamp = Instant::now();
        self.end += read;
        let mut state = self.shared.state();
        state.totals.received += read as u64;
        if read > 0 {
            state.last_received = Some(self.stamp);
        }
        Ok(read)
    }

    fn note_unfinished(&self, announced: u64, came: u64) {
        self.shared.state().totals.unfinished = Some(Unfinished { announced, came });
    }

    fn note_noise(&self) {
        let noise = &self.framer.noise;
        let mut state = self.shared.state();
        if state.totals.noise != noise.total {
            state.totals.noise = noise.total;
            state.totals.noise_sample = String::from_utf8_lossy(&noise.sample).into_owned();
        }
    }
}

/// Handles one message. `body` is empty if it was too long to keep.
fn handle(shared: &Shared, events: &mpsc::Sender<Incoming>, stamp: Instant, scanner: &Scanner, body: &[u8]) {
    let sink = Sink { shared, events };
    let facts = match scanner.facts() {
        Ok(facts) => facts,
        Err(problem) => return handle_unreadable(&sink, stamp, scanner.begun(), problem),
    };
    if let Some(unfit) = facts.unfit
        && facts.error.is_none()
    {
        let violation = Violation::UnfitId {
            what: unfit,
            method: name(facts),
        };
        // A message with a method may be a notification with an id by mistake.
        if facts.method.is_empty() {
            return sink.report_useless_answer(violation, stamp);
        }
        sink.report_violation(violation);
    }
    match (&facts.id, facts.method.is_empty()) {
        (Some(id), false) => {
            let refused = answer_request(&sink, id, facts, body);
            sink.put(Incoming::Answered {
                method: name(facts),
                refused,
            });
        }
        (None, false) => handle_notification(&sink, stamp, facts, body),
        (Some(id), true) => {
            let settled = shared
                .state()
                .settle(id, stamp, facts, || result(facts, body, shared.limits.keep));
            match settled {
                Settled::Delivered | Settled::Late => {}
                Settled::Twice => sink.report_violation(Violation::Twice),
                Settled::AsText => sink.report_useless_answer(Violation::IdAsText(id.to_string()), stamp),
                Settled::Unknown => sink.report_useless_answer(Violation::Unasked(id.clone()), stamp),
            }
            if facts.result.is_none() && facts.error.is_none() {
                sink.report_violation(Violation::Hollow);
            }
        }
        (None, true) => match &facts.error {
            Some(fault) => sink.report_useless_answer(Violation::Complaint(fault.message.clone()), stamp),
            None => sink.report_useless_answer(Violation::Nameless, stamp),
        },
    }
}

/// Handles a message that is no JSON object. An editor never learns which request it answers; here that request ends
/// at once, because to wait for its deadline would tell nothing.
fn handle_unreadable(sink: &Sink<'_>, stamp: Instant, begun: Begun<'_>, problem: NotJson) {
    match begun {
        Begun::Call => sink.report_violation(Violation::NotJson(problem)),
        Begun::Unknown => sink.report_useless_answer(Violation::NotJson(problem), stamp),
        Begun::Answer(id) => {
            sink.shared.state().settle_unreadable(id, stamp, &problem.to_string());
            sink.report_violation(Violation::NotJson(problem));
        }
    }
}

/// Answers a request of the server; returns whether the answer was an error.
fn answer_request(sink: &Sink<'_>, id: &crate::message::Id, facts: &Facts, body: &[u8]) -> bool {
    let params: Option<&RawValue> =
        part(facts.params.as_ref(), body).and_then(|text| serde_json::from_slice(text).ok());
    let lost = facts.params.is_some() && params.is_none();
    let mut registered = Vec::new();
    let answer = {
        let mut state = sink.shared.state();
        state.totals.dropped_params += u64::from(lost);
        let answer = if lost && answers::reads_params(&facts.method) {
            Err(answers::unread(&facts.method))
        } else {
            state.responder.answer(&facts.method, params, &mut registered)
        };
        sink.shared.answer(&mut state, id, &answer);
        let now = Instant::now();
        state.last_unprompted = Some(now);
        let has_provider = registered.iter().any(|method| method == "textDocument/diagnostic");
        if has_provider || facts.method == "workspace/diagnostic/refresh" {
            state.pulls.refresh(now);
            sink.shared.pull_changed();
        }
        answer
    };
    for method in registered {
        sink.put(Incoming::Registered { method });
    }
    match answer {
        Ok(_) => false,
        Err(refusal) => {
            if refusal.code == answers::REQUEST_FAILED {
                sink.report_violation(Violation::Excess(refusal.message));
            }
            true
        }
    }
}

/// The method name, cut to its limit.
fn name(facts: &Facts) -> String {
    facts.method[..facts.method.floor_char_boundary(LONGEST_NAME)].to_owned()
}

fn handle_notification(sink: &Sink<'_>, stamp: Instant, facts: &Facts, body: &[u8]) {
    let length = facts.params.as_ref().map_or(0, |range| range.end - range.start);
    let waiting = sink.events.max_capacity() - sink.events.capacity();
    let longest = LONGEST_PARAMS.iter().find(|(most, _)| waiting < *most);
    let params = if length <= longest.map_or(0, |(_, longest)| *longest) {
        raw(facts.params.as_ref(), body)
    } else {
        None
    };
    let text = part(facts.params.as_ref(), body).and_then(|text| std::str::from_utf8(text).ok());
    let is_progress = facts.method == "$/progress";
    {
        let mut state = sink.shared.state();
        count(&mut state.totals.notifications, &name(facts));
        if !sink.shared.limits.chatter.contains(&facts.method) {
            state.last_unprompted = Some(stamp);
        }
        if facts.method == "textDocument/publishDiagnostics" {
            state.diagnostics.store_published(part(facts.params.as_ref(), body));
        }
        let mut is_read = is_progress && text.is_some();
        if is_progress {
            let State {
                partials,
                result_ids,
                responder,
                ..
            } = &mut *state;
            if partials.take_part(facts, result_ids) {
                is_read = true;
            } else {
                responder.progress.report(text.unwrap_or_default(), stamp);
            }
        }
        state.totals.dropped_params += u64::from(length > 0 && params.is_none() && !is_read);
    }
    sink.put(Incoming::Notification {
        method: name(facts),
        params,
    });
}

/// A part of the body as JSON text; `None` if it was not kept or is not JSON.
fn raw(range: Option<&std::ops::Range<u64>>, body: &[u8]) -> Option<Box<RawValue>> {
    serde_json::from_slice(part(range, body)?).ok()
}

fn result(facts: &Facts, body: &[u8], limit: usize) -> Result<Box<RawValue>, UnreadReason> {
    let range = facts.result.as_ref().ok_or(UnreadReason::Absent)?;
    let bytes = range.end - range.start;
    message::text_of(part(Some(range), body).ok_or(UnreadReason::TooLong { bytes, limit })?)
}

/// A part of the body; `None` if it was not kept.
fn part<'b>(range: Option<&std::ops::Range<u64>>, body: &'b [u8]) -> Option<&'b [u8]> {
    let range = range?;
    body.get(usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?)
}

struct Sink<'a> {
    shared: &'a Shared,
    events: &'a mpsc::Sender<Incoming>,
}

impl Sink<'_> {
    fn put(&self, event: Incoming) {
        if let Err(mpsc::error::TrySendError::Full(_)) = self.events.try_send(event) {
            self.shared.state().totals.dropped_events += 1;
        }
    }

    /// A message that may be an answer but answers no request. If nothing but the first request was sent, it was for
    /// that one.
    fn report_useless_answer(&self, violation: Violation, stamp: Instant) {
        self.shared.state().settle_first(stamp, &violation.to_string());
        self.report_violation(violation);
    }

    fn report_violation(&self, violation: Violation) {
        self.put(Incoming::Violation(violation));
    }
}
