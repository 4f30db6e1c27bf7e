//! Reads what `lsp-devtools record --to-file` writes: one message per line, without its time and without who sent it.

use record::Side;

use super::builder::{Builder, Heard, Message, message};
use super::{BadRecording, Recorded, json_lines};

pub(super) fn read(text: &str) -> Result<Recorded, BadRecording> {
    let mut builder = Builder::default();
    for line in json_lines(
        text,
        "record without --format-message, so that each line is one message",
    ) {
        let (number, mut value) = line?;
        let Some(message) = message(&mut value) else {
            let title = "it is no message of JSON-RPC";
            return Err(BadRecording::at(number, title, "record without --format-message"));
        };
        let from = match &message {
            Message::Request { method, .. } | Message::Notification { method, .. } => sender(method),
            Message::Response { .. } => None,
        };
        match (from, message) {
            (_, Message::Response { id, result }) => builder.add_response(&id, result),
            (None, _) => builder.skip_unclear(),
            (Some(from), message) => builder.add(Heard {
                line: number,
                at: None,
                from,
                message,
            })?,
        }
    }
    builder.finish()
}

/// The side that sends a method of the specification; `None` of any other.
fn sender(method: &str) -> Option<Side> {
    let is_of_server = matches!(
        method,
        "$/logTrace"
            | "$/progress"
            | "client/registerCapability"
            | "client/unregisterCapability"
            | "telemetry/event"
            | "textDocument/publishDiagnostics"
            | "window/logMessage"
            | "window/showDocument"
            | "window/showMessage"
            | "window/showMessageRequest"
            | "window/workDoneProgress/create"
            | "workspace/applyEdit"
            | "workspace/configuration"
            | "workspace/workspaceFolders"
    ) || method.starts_with("workspace/") && method.ends_with("/refresh");
    if is_of_server {
        return Some(Side::Server);
    }
    if lsp::specified(method).is_some() {
        Some(Side::Client)
    } else {
        None
    }
}
