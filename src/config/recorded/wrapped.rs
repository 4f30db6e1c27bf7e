//! Reads a record of `lsp-soak wrap`.

use std::io::BufRead;

use serde_json::json;

use record::{Event, ReadError, Reader, Relayed, Side};

use super::builder::{Builder, Heard, Message, message};
use super::{BadRecording, Params, Recorded};

/// The cure for a record without messages.
const OTHER_RECORD: &str =
    "record a session with `lsp-soak wrap`, or play the scenario of this record with `lsp-soak run`";

pub(super) fn read(source: impl BufRead) -> Result<Recorded, BadRecording> {
    let mut reader = Reader::new(source).map_err(unreadable)?;
    if reader.header().wrapped.is_none() {
        return Err(BadRecording::of_file(
            "it is the record of a run, which has no messages",
            OTHER_RECORD,
        ));
    }
    let mut builder = Builder::default();
    // The header is line 1.
    for (line, entry) in (2..).zip(&mut reader) {
        let entry = entry.map_err(unreadable)?;
        if let Event::Relayed(relayed) = entry.event {
            // A request that was answered before its cancellation needs none.
            let is_needed = relayed.from == Side::Client && relayed.method.as_deref() != Some("$/cancelRequest");
            let from = relayed.from;
            match heard(*relayed) {
                Some(message) => builder.add(Heard {
                    line,
                    at: Some(entry.at),
                    from,
                    message,
                })?,
                None if is_needed => builder.skip_unclear(),
                None => {}
            }
        }
    }
    builder.finish()
}

fn unreadable(error: ReadError) -> BadRecording {
    BadRecording::of_file(error.to_string(), OTHER_RECORD)
}

/// The message of an entry; `None` if neither its method nor its contents are there.
fn heard(mut relayed: Relayed) -> Option<Message> {
    use record::MessageKind::{Notification, Request, Response};
    let id = relayed.request.map(|number| number.to_string());
    let whole = relayed.contents.as_mut().and_then(message);
    match (whole, relayed.kind) {
        // Both sides count their own requests, but the numbers of the record are of both.
        (Some(Message::Request { method, params, .. }), _) => Some(Message::Request {
            id: id?,
            method,
            params,
        }),
        (Some(Message::Response { result, .. }), _) => Some(Message::Response { id: id?, result }),
        (Some(Message::Notification { method, params }), _) if method != "$/cancelRequest" => {
            Some(Message::Notification { method, params })
        }
        (_, Response) => Some(Message::Response { id: id?, result: None }),
        (_, Request) => Some(Message::Request {
            id: id?,
            method: relayed.method?,
            params: Params::Outline(relayed.params.unwrap_or_default()),
        }),
        (_, Notification) => {
            let method = relayed.method?;
            let params = if method == "$/cancelRequest" {
                Params::Whole(json!({ "id": id? }))
            } else {
                Params::Outline(relayed.params.unwrap_or_default())
            };
            Some(Message::Notification { method, params })
        }
    }
}
