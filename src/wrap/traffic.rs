//! Turns what passes by into events of the record.

use std::collections::BTreeMap;

use lsp::{Facts, Id, LooksFor, Messages, OTHER_METHODS, PassedMessage, ServerCapabilities, Shape};
use proctree::host;
use record::{
    Close, Event, Initialized, MessageKind, Nanos, Outcome, Relayed, Request, ShutdownReply, Side, UnfinishedMessage,
};

use super::departure::{Departure, Farewell};
use super::params::{self, Said, Salt};
use super::tap::Part;

/// Requests that may be open at once; more are recorded without their responses.
const MOST_OPEN: usize = 4096;
/// Characters of a server's name or version.
const LONGEST_NAME: usize = 64;

/// Both directions of a session.
pub struct Traffic {
    from_client: Messages,
    from_server: Messages,
    session: Session,
}

struct Session {
    salt: Salt,
    contents: bool,
    /// Requests without a response, by the side that asked.
    open: BTreeMap<(Side, Id), Open>,
    /// Number of the next request.
    next: u64,
    close: Close,
    farewell: Farewell,
    events: Vec<(Nanos, Event)>,
}

struct Open {
    number: u64,
    method: Option<&'static str>,
    began: Nanos,
    is_cancelled: bool,
}

/// A message and the facts of it.
struct Passed<'m> {
    side: Side,
    at: Nanos,
    message: &'m PassedMessage<'m>,
    facts: &'m Facts,
    method: Option<&'static str>,
}

impl Traffic {
    pub fn new(salt: Salt, contents: bool) -> Traffic {
        Traffic {
            from_client: Messages::default(),
            from_server: Messages::default(),
            session: Session {
                salt,
                contents,
                open: BTreeMap::new(),
                next: 0,
                close: Close::default(),
                farewell: Farewell::default(),
                events: Vec::new(),
            },
        }
    }

    /// Takes bytes that passed and returns the events of the messages that ended in them.
    pub fn take(&mut self, part: &Part<'_>) -> Vec<(Nanos, Event)> {
        let messages = match part.side {
            Side::Client => &mut self.from_client,
            Side::Server => &mut self.from_server,
        };
        let mut rest = part.bytes;
        while let Some(message) = messages.next(&mut rest, part.at, self.session.looks_for(part.side)) {
            self.session.note(part.side, part.at, &message);
        }
        if part.lost > 0 {
            messages.skip(part.lost);
            self.session.close.dropped += 1;
        }
        std::mem::take(&mut self.session.events)
    }

    /// Counts an event that found no room in the record.
    pub fn count_unwritten(&mut self) {
        self.session.close.dropped += 1;
    }

    /// The last events: requests that nobody answered, and the end.
    pub fn end(mut self, departure: &Departure) -> Vec<Event> {
        let session = &mut self.session;
        let asked = session.open.iter().filter(|((side, _), _)| *side == Side::Client);
        let mut open: Vec<&Open> = asked.map(|(_, open)| open).collect();
        // Those are told with the start and the end.
        open.retain(|open| !matches!(open.method, Some("initialize" | "shutdown")));
        open.sort_by_key(|open| open.number);
        let oldest = open.first().map(|open| name_of(open.method));
        let mut events: Vec<Event> = Vec::new();
        for open in open {
            events.push(Event::Request(Request {
                method: name_of(open.method).to_owned(),
                latency: None,
                outcome: Outcome::Lost,
                bytes: 0,
                items: None,
                retries: 0,
                editor: false,
            }));
        }
        let unfinished = self.from_server.unfinished();
        let close = Close {
            noise: self.from_server.noise(),
            unfinished: unfinished.map(|(announced, came)| UnfinishedMessage { announced, came }),
            ..std::mem::take(&mut session.close)
        };
        events.extend(departure.events(&session.farewell, close, oldest));
        events
    }
}

impl Session {
    fn looks_for(&self, side: Side) -> LooksFor {
        if side == Side::Client {
            return LooksFor::default();
        }
        let mut looks_for = LooksFor::default();
        for open in self.open.values() {
            let method = open.method.unwrap_or_default();
            looks_for.reports |= matches!(method, "textDocument/diagnostic" | "workspace/diagnostic");
            looks_for.symbols |= method == "textDocument/documentSymbol";
        }
        looks_for
    }

    fn note(&mut self, side: Side, at: Nanos, message: &PassedMessage<'_>) {
        let Some(facts) = message.facts else {
            self.close.unread += 1;
            return;
        };
        let passed = Passed {
            side,
            at,
            message,
            facts,
            method: lsp::specified(&facts.method),
        };
        match (&facts.id, facts.method.is_empty()) {
            (Some(id), false) => self.note_request(&passed, id),
            (None, false) => self.note_notification(&passed),
            (Some(id), true) => self.note_response(&passed, id),
            (None, true) => self.close.unread += 1,
        }
    }

    fn note_request(&mut self, passed: &Passed<'_>, id: &Id) {
        let number = self.next;
        self.next += 1;
        let said = self.said(passed);
        if self.open.len() < MOST_OPEN {
            let open = Open {
                number,
                method: passed.method,
                began: passed.message.began,
                is_cancelled: false,
            };
            self.open.insert((passed.side, id.clone()), open);
        }
        for method in &said.registers {
            let method = (*method).to_owned();
            self.events.push((passed.at, Event::Registered { method }));
        }
        self.put(passed, MessageKind::Request, Some(number), said);
        if passed.side == Side::Client && passed.method == Some("shutdown") {
            self.farewell.asked = Some(passed.message.began);
            self.events.push((passed.at, Event::ShutdownBegan));
        }
    }

    fn note_notification(&mut self, passed: &Passed<'_>) {
        let said = self.said(passed);
        let cancelled = said
            .cancels
            .clone()
            .and_then(|id| self.open.get_mut(&(passed.side, id)));
        let number = cancelled.map(|open| {
            open.is_cancelled = true;
            open.number
        });
        match passed.side {
            Side::Client => self.farewell.exit_sent |= passed.method == Some("exit"),
            Side::Server => {
                let method = name_of(passed.method).to_owned();
                *self.close.notifications.entry(method).or_default() += 1;
            }
        }
        self.put(passed, MessageKind::Notification, number, said);
    }

    fn note_response(&mut self, passed: &Passed<'_>, id: &Id) {
        let asker = match passed.side {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        };
        let open = self.open.remove(&(asker, id.clone()));
        let is_given_up = passed.facts.error.is_some() && open.as_ref().is_some_and(|open| open.is_cancelled);
        let outcome = if is_given_up {
            Outcome::Cancelled
        } else {
            outcome(passed.facts)
        };
        let method = open.as_ref().and_then(|open| open.method);
        let latency = open.as_ref().map(|open| passed.at.saturating_sub(open.began));
        let items = method.and_then(|method| passed.facts.elements(method));
        let relayed = Relayed {
            from: passed.side,
            kind: MessageKind::Response,
            request: open.as_ref().map(|open| open.number),
            method: method.map(str::to_owned),
            bytes: passed.message.bytes,
            latency,
            outcome: Some(outcome.clone()),
            items,
            params: None,
            contents: self.contents(passed),
        };
        self.events.push((passed.at, Event::Relayed(Box::new(relayed))));
        if open.is_none() {
            return;
        }
        match asker {
            Side::Client => self.note_answer(passed, method, latency, outcome, items),
            Side::Server => {
                let refused = passed.facts.error.is_some();
                let method = name_of(method).to_owned();
                self.events.push((passed.at, Event::ServerRequest { method, refused }));
            }
        }
    }

    /// Notes the answer to a request of the editor.
    fn note_answer(
        &mut self,
        passed: &Passed<'_>,
        method: Option<&'static str>,
        latency: Option<Nanos>,
        outcome: Outcome,
        items: Option<u64>,
    ) {
        match method {
            Some("initialize") => {
                if let Some(initialized) = initialized(passed, latency) {
                    self.events.push((passed.at, Event::Initialized(initialized)));
                }
                return;
            }
            Some("shutdown") => {
                self.farewell.reply = Some(match outcome {
                    Outcome::Error { code, message } => ShutdownReply::Refused { code, message },
                    _answered => ShutdownReply::Answered,
                });
                return;
            }
            Some(_) | None => {}
        }
        let bytes = passed.facts.result.as_ref().map_or(0, |range| range.end - range.start);
        let request = Request {
            method: name_of(method).to_owned(),
            latency,
            outcome,
            bytes,
            items,
            retries: 0,
            editor: false,
        };
        self.events.push((passed.at, Event::Request(request)));
    }

    /// Reads the parameters of a method of the specification.
    fn said(&self, passed: &Passed<'_>) -> Said {
        let range = passed.facts.params.as_ref();
        match (passed.method, range.and_then(|range| part(passed.message, range))) {
            (Some(method), Some(json)) => params::read(method, json, &self.salt),
            (Some(_) | None, _) => Said::default(),
        }
    }

    fn put(&mut self, passed: &Passed<'_>, kind: MessageKind, request: Option<u64>, said: Said) {
        let relayed = Relayed {
            from: passed.side,
            kind,
            request,
            method: passed.method.map(str::to_owned),
            bytes: passed.message.bytes,
            latency: None,
            outcome: None,
            items: None,
            params: said.params,
            contents: self.contents(passed),
        };
        self.events.push((passed.at, Event::Relayed(Box::new(relayed))));
    }

    fn contents(&self, passed: &Passed<'_>) -> Option<serde_json::Value> {
        if !self.contents {
            return None;
        }
        lsp::modest(std::str::from_utf8(passed.message.content?).ok()?).ok()
    }
}

/// The method for people.
fn name_of(method: Option<&'static str>) -> &'static str {
    method.unwrap_or(OTHER_METHODS)
}

/// An error has no text, which may quote what the user wrote.
fn outcome(facts: &Facts) -> Outcome {
    match (&facts.error, facts.shape) {
        (Some(fault), _) => Outcome::Error {
            code: fault.code,
            message: String::new(),
        },
        (None, Shape::Null) => Outcome::Null,
        (None, Shape::Empty) => Outcome::Empty,
        (None, Shape::Full) => Outcome::Hit,
    }
}

fn part<'m>(message: &PassedMessage<'m>, range: &std::ops::Range<u64>) -> Option<&'m [u8]> {
    let (start, end) = (usize::try_from(range.start).ok()?, usize::try_from(range.end).ok()?);
    message.content?.get(start..end)
}

/// The server's answer to `initialize`; `None` if it refused, or if its answer was too long to read.
fn initialized(passed: &Passed<'_>, latency: Option<Nanos>) -> Option<Initialized> {
    let json = part(passed.message, passed.facts.result.as_ref()?)?;
    let result = lsp::modest(std::str::from_utf8(json).ok()?).ok()?;
    let capabilities = ServerCapabilities::from_result(&result);
    Some(Initialized {
        name: capabilities.name.as_deref().and_then(server_name),
        version: capabilities.version.as_deref().and_then(server_version),
        encoding: capabilities.encoding().name().to_owned(),
        sync: capabilities.sync().name().to_owned(),
        latency,
    })
}

/// The name that a server says, if it is one word; a sentence or a path may be about the user.
fn server_name(name: &str) -> Option<String> {
    let is_plain = name.len() <= LONGEST_NAME && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    if is_plain { Some(name.to_owned()) } else { None }
}

/// The word with the version in what a server says about it: gopls tells all that it was built from.
fn server_version(text: &str) -> Option<String> {
    let line = host::version_in(text)?;
    let mut words = line.split(|c: char| !(c.is_ascii_alphanumeric() || ".-+_".contains(c)));
    let version = words.find(|word| word.contains('.') && word.bytes().any(|byte| byte.is_ascii_digit()))?;
    Some(public_version(version))
}

/// A version up to what its maker may have written after it: `1.2.3-nightly.4` of `1.2.3-nightly.4+linux.jane`.
fn public_version(version: &str) -> String {
    const SEPARATORS: [char; 4] = ['.', '-', '+', '_'];
    const STAGES: [&str; 7] = ["alpha", "beta", "rc", "dev", "pre", "preview", "nightly"];
    let mut end = 0;
    for part in version.split_inclusive(SEPARATORS) {
        let word = part.trim_end_matches(SEPARATORS);
        let letters = word
            .trim_start_matches(['v', 'g'])
            .trim_end_matches(|c: char| c.is_ascii_digit());
        if !letters.is_empty() && !STAGES.contains(&letters) {
            break;
        }
        end += part.len();
    }
    let cut: String = version[..end].chars().take(LONGEST_NAME).collect();
    cut.trim_end_matches(SEPARATORS).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_ends_where_its_maker_may_have_written_a_name() {
        for (written, public) in [
            ("0.0.104", "0.0.104"),
            ("v0.17.1", "v0.17.1"),
            ("1.96.0-nightly.20261101", "1.96.0-nightly.20261101"),
            ("7.0.0-dev.20260416.1", "7.0.0-dev.20260416.1"),
            ("2.0.0-beta3", "2.0.0-beta3"),
            ("1.2.3-jane.acme", "1.2.3"),
            ("1.2.3+linux.jane", "1.2.3"),
        ] {
            assert_eq!(public_version(written), public);
        }
    }
}
