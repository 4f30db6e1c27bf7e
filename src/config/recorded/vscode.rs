//! Reads the verbose trace of a language client of VS Code (`"….trace.server": "verbose"`): as text, or as one object of
//! JSON per message (`"format": "json"`).

use serde_json::{Deserializer, Value};

use record::{Nanos, Side};

use super::builder::{Builder, Heard, Message, message};
use super::{BadRecording, Params, Recorded};

const SECOND: Nanos = 1_000_000_000;
const DAY: Nanos = 86_400 * SECOND;

/// The words with which the text form begins a message, after its time.
const FORMS: [(&str, Side, Form); 6] = [
    ("Sending request '", Side::Client, Form::Request),
    ("Sending notification '", Side::Client, Form::Notification),
    ("Sending response '", Side::Client, Form::Response),
    ("Received request '", Side::Server, Form::Request),
    ("Received notification '", Side::Server, Form::Notification),
    ("Received response '", Side::Server, Form::Response),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Request,
    Notification,
    Response,
}

/// The first line of a message.
enum Head<'t> {
    Text {
        form: Form,
        from: Side,
        /// The method, and of requests and responses the id.
        name: &'t str,
        time: Option<Time>,
    },
    Json(&'t str),
}

/// A time of day.
#[derive(Clone, Copy)]
struct Time {
    nanos: Nanos,
    /// True if it has no fraction of a second.
    is_coarse: bool,
}

/// True if one of these lines begins a message.
pub(super) fn is_trace(text: &str) -> bool {
    text.lines().any(|line| head(line).is_some())
}

pub(super) fn read(text: &str) -> Result<Recorded, BadRecording> {
    let mut all = Vec::new();
    let mut is_coarse = true;
    let (mut at, mut number) = (0, 0);
    while at < text.len() {
        let end = text[at..].find('\n').map_or(text.len(), |length| at + length + 1);
        let line = text[at..end].trim_end();
        (at, number) = (end, number + 1);
        match head(line) {
            None => {}
            Some(Head::Json(object)) => {
                is_coarse = false;
                all.extend(of_object(number, object)?.and_then(without_results));
            }
            Some(Head::Text { form, from, name, time }) => {
                is_coarse &= time.is_none_or(|time| time.is_coarse);
                let (body, length) = body(&text[at..], number)?;
                let message = of_text(form, name, body);
                let heard = message.map(|message| Heard {
                    line: number,
                    at: time.map(|time| time.nanos),
                    from,
                    message,
                });
                all.extend(heard.and_then(without_results));
                number += text[at..at + length].matches('\n').count();
                at += length;
            }
        }
    }
    order_days(&mut all);
    if is_coarse {
        spread_seconds(&mut all);
    }
    let mut builder = Builder::default();
    for heard in all {
        builder.add(heard)?;
    }
    builder.finish()
}

fn head(line: &str) -> Option<Head<'_>> {
    if line.contains("\"isLSPMessage\"") {
        return Some(Head::Json(&line[line.find('{')?..]));
    }
    for (begin, from, form) in FORMS {
        let Some(place) = line.find(begin) else { continue };
        let before = &line[..place];
        // Other programs log such words, too, but without the time of a trace before them.
        if !before.contains("[Trace") && !before.contains("[trace]") {
            return None;
        }
        let name = &line[place + begin.len()..];
        return Some(Head::Text {
            form,
            from,
            name: &name[..name.find('\'')?],
            time: time(before),
        });
    }
    None
}

/// The time of day before a message: `[Trace - 10:11:12 AM] `, or that of a log with milliseconds before it.
fn time(before: &str) -> Option<Time> {
    let mut words = before.split(|c: char| c.is_whitespace() || c == '[' || c == ']');
    while let Some(word) = words.next() {
        let mut parts = word.split(':');
        let numbers = (parts.next(), parts.next(), parts.next(), parts.next());
        let (Some(hours), Some(minutes), Some(seconds), None) = numbers else {
            continue;
        };
        let (Ok(hours), Ok(minutes), Ok(whole)) =
            (hours.parse::<u64>(), minutes.parse::<u64>(), seconds.parse::<f64>())
        else {
            continue;
        };
        let half = words.next().unwrap_or_default();
        let hours = match (half.to_ascii_uppercase().as_str(), hours) {
            ("AM", 12) => 0,
            ("PM", 1..=11) => hours + 12,
            _ => hours,
        };
        return Some(Time {
            nanos: (hours * 3_600 + minutes * 60) * SECOND + (whole * SECOND as f64) as Nanos,
            is_coarse: !seconds.contains('.'),
        });
    }
    None
}

/// The text after the first line of a message: its value, if it has one, and the length of the text.
fn body(text: &str, line: usize) -> Result<(Option<Value>, usize), BadRecording> {
    for begin in ["Params: ", "Result: "] {
        if let Some(rest) = text.strip_prefix(begin) {
            let mut values = Deserializer::from_str(rest).into_iter::<Value>();
            return match values.next() {
                Some(Ok(value)) => Ok((Some(value), begin.len() + values.byte_offset())),
                Some(Err(error)) => Err(BadRecording::at(
                    line + error.line(),
                    format!("it is not JSON: {error}"),
                    "copy all of the output channel, or save it with `Save Output As…`",
                )),
                None => Ok((None, 0)),
            };
        }
    }
    Ok((None, 0))
}

/// A message in the form of text. Neither an id nor a method has an apostrophe.
fn of_text(form: Form, name: &str, body: Option<Value>) -> Option<Message> {
    let value = body.unwrap_or_default();
    if form == Form::Notification {
        return Some(Message::Notification {
            method: name.to_owned(),
            params: Params::Whole(value),
        });
    }
    let (method, id) = name.rsplit_once(" - (")?;
    let id = id.trim_end_matches(')').to_owned();
    Some(match form {
        Form::Request => Message::Request {
            id,
            method: method.to_owned(),
            params: Params::Whole(value),
        },
        // `No result returned.` stands for null.
        Form::Response | Form::Notification => Message::Response {
            id,
            result: Some(value),
        },
    })
}

/// A message in the form of JSON.
fn of_object(line: usize, text: &str) -> Result<Option<Heard>, BadRecording> {
    let mut object: Value = serde_json::from_str(text).map_err(|error| {
        let cure = "copy all of the output channel, or save it with `Save Output As…`";
        BadRecording::at(line, format!("it is not JSON: {error}"), cure)
    })?;
    let from = match object["type"].as_str() {
        Some(kind) if kind.starts_with("send-") => Side::Client,
        Some(kind) if kind.starts_with("receive-") => Side::Server,
        _ => {
            let title = format!("`type` is {}", object["type"]);
            return Err(BadRecording::at(line, title, "it is \"send-…\" or \"receive-…\""));
        }
    };
    let at = object["timestamp"].as_u64().map(|millis| millis * 1_000_000);
    Ok(message(&mut object["message"]).map(|message| Heard {
        line,
        at,
        from,
        message,
    }))
}

/// A message without what a session does not have: results of the server may be large.
fn without_results(heard: Heard) -> Option<Heard> {
    match (heard.from, heard.message) {
        (Side::Server, Message::Notification { .. }) => None,
        (Side::Server, Message::Response { id, .. }) => Some(Heard {
            message: Message::Response { id, result: None },
            ..heard
        }),
        (_, message) => Some(Heard { message, ..heard }),
    }
}

/// Lets times go on over midnight.
fn order_days(all: &mut [Heard]) {
    let (mut days, mut last) = (0, 0);
    for heard in all {
        if let Some(at) = &mut heard.at {
            if *at + DAY / 2 < last {
                days += DAY;
            }
            last = *at;
            *at += days;
        }
    }
}

/// Spreads the messages of each second evenly over it.
fn spread_seconds(all: &mut [Heard]) {
    for second in all.chunk_by_mut(|one, other| one.at == other.at) {
        let count = second.len() as Nanos;
        for (place, heard) in second.iter_mut().enumerate() {
            heard.at = heard.at.map(|at| at + SECOND * place as Nanos / count);
        }
    }
}
