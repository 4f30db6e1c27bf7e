//! Reads the replay file of typescript-go: a line of placeholders, then one message of the editor per line. It has neither
//! times nor answers: each request waits for the answer to the one before.

use serde_json::Value;

use record::Side;

use super::builder::{Builder, Heard, Message};
use super::{BadRecording, Params, Recorded, Root, json_lines};

/// The placeholders of a file that names none.
const URI: &str = "@PROJECT_ROOT_URI@";
const PATH: &str = "@PROJECT_ROOT@";

pub(super) fn read(text: &str) -> Result<Recorded, BadRecording> {
    let mut builder = Builder::default();
    let mut is_first = true;
    for line in json_lines(text, "each line is one object; record the file again if it was cut") {
        let (number, mut value) = line?;
        if std::mem::take(&mut is_first) && value["kind"].is_null() {
            builder.set_root(Root {
                uris: vec![placeholder(&value, "rootDirUriPlaceholder", URI)],
                paths: vec![placeholder(&value, "rootDirPlaceholder", PATH)],
            });
            continue;
        }
        let params = Params::Whole(value["params"].take());
        let Some(method) = value["method"].as_str().map(str::to_owned) else {
            return Err(BadRecording::at(
                number,
                "it has no `method`",
                "write `kind`, `method` and `params`",
            ));
        };
        let id = number.to_string();
        let message = match value["kind"].as_str() {
            Some("request") => Message::Request {
                id: id.clone(),
                method,
                params,
            },
            Some("notification") => Message::Notification { method, params },
            _ => {
                let title = format!("`kind` is {}", value["kind"]);
                return Err(BadRecording::at(number, title, "write \"request\" or \"notification\""));
            }
        };
        builder.add(Heard {
            line: number,
            at: None,
            from: Side::Client,
            message,
        })?;
        builder.add_response(&id, None);
    }
    builder.finish()
}

fn placeholder(header: &Value, key: &str, usual: &str) -> String {
    header[key].as_str().unwrap_or(usual).to_owned()
}
