//! Reads what `lsp-devtools record --to-file` writes: one message per line, without its time and without who sent it.

use serde_json::Value;

use record::Side;

use super::builder::{Builder, Heard, Message, message};
use super::{BadRecording, Recorded};

pub(super) fn read(text: &str) -> Result<Recorded, BadRecording> {
    let mut builder = Builder::default();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let number = index + 1;
        let mut value: Value = serde_json::from_str(line).map_err(|error| {
            let title = format!("it is not JSON: {error}");
            BadRecording::at(
                number,
                title,
                "record without --format-message, so that each line is one message",
            )
        })?;
        let Some(message) = message(&mut value) else {
            let title = "it is no message of JSON-RPC";
            return Err(BadRecording::at(number, title, "record without --format-message"));
        };
        match &message {
            Message::Response { .. } => {}
            Message::Request { method, .. } | Message::Notification { method, .. } => {
                let Some(from) = sender(method) else {
                    builder.skip_unclear();
                    continue;
                };
                builder.add(Heard {
                    line: number,
                    at: None,
                    from,
                    message,
                })?;
                continue;
            }
        }
        if let Message::Response { id, result } = message {
            builder.add_response(&id, result);
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
