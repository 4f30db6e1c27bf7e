//! Puts messages into bytes, and names them by their id.

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// The id of a request, or a progress token: the protocol allows numbers and strings for both.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Id {
    /// A number.
    Number(i64),
    /// A string.
    Text(String),
}

impl Id {
    /// Reads an id out of a JSON value.
    pub(super) fn from_value(value: &serde_json::Value) -> Option<Id> {
        match value {
            serde_json::Value::Number(number) => number.as_i64().map(Id::Number),
            serde_json::Value::String(text) => Some(Id::Text(text.clone())),
            serde_json::Value::Null
            | serde_json::Value::Bool(_)
            | serde_json::Value::Array(_)
            | serde_json::Value::Object(_) => None,
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Id::Number(number) => write!(f, "{number}"),
            Id::Text(text) => f.write_str(text),
        }
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Id::Number(number) => serializer.serialize_i64(*number),
            Id::Text(text) => serializer.serialize_str(text),
        }
    }
}

/// An error answer to a request of the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Refusal {
    pub(super) code: i64,
    pub(super) message: String,
}

#[derive(Serialize)]
struct Call<'a> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<i64>,
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct Success<'a> {
    jsonrpc: &'static str,
    id: &'a Id,
    result: &'a serde_json::Value,
}

#[derive(Serialize)]
struct Failure<'a> {
    jsonrpc: &'static str,
    id: &'a Id,
    error: &'a Refusal,
}

/// Parameters as text; `None` for null, which the protocol does not know as parameters.
pub(super) fn params(value: &impl Serialize) -> Option<Box<RawValue>> {
    let text = serde_json::value::to_raw_value(value)
        .expect("parameters are plain data with string keys, and those always have a JSON form");
    (text.get() != "null").then_some(text)
}

/// Appends a request (with an id) or a notification (without).
pub(super) fn put_call(out: &mut Vec<u8>, id: Option<i64>, method: &str, params: Option<&RawValue>) {
    put(
        out,
        &Call {
            jsonrpc: "2.0",
            id,
            method,
            params,
        },
    );
}

/// Appends the answer to a request of the server.
pub(super) fn put_answer(out: &mut Vec<u8>, id: &Id, answer: &Result<serde_json::Value, Refusal>) {
    match answer {
        Ok(result) => put(
            out,
            &Success {
                jsonrpc: "2.0",
                id,
                result,
            },
        ),
        Err(error) => put(
            out,
            &Failure {
                jsonrpc: "2.0",
                id,
                error,
            },
        ),
    }
}

/// The body is written first and moved once: its length is not known before.
fn put(out: &mut Vec<u8>, message: &impl Serialize) {
    let start = out.len();
    serde_json::to_writer(&mut *out, message)
        .expect("a message is plain data with string keys, and writing to memory cannot fail");
    let header = format!("Content-Length: {}\r\n\r\n", out.len() - start);
    out.splice(start..start, header.into_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = b"before".to_vec();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_request_has_an_id_and_its_length_in_bytes() {
        let params = params(&serde_json::json!({"name": "é"}));
        assert_eq!(
            text(|out| put_call(out, Some(7), "x/y", params.as_deref())),
            "beforeContent-Length: 62\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"x/y\",\"params\":{\"name\":\"é\"}}"
        );
    }

    #[test]
    fn null_parameters_are_left_out() {
        let none = params(&());
        assert_eq!(
            text(|out| put_call(out, None, "exit", none.as_deref())),
            "beforeContent-Length: 33\r\n\r\n{\"jsonrpc\":\"2.0\",\"method\":\"exit\"}"
        );
    }

    #[test]
    fn an_answer_repeats_the_id_as_it_came() {
        let id = Id::Text("a-1".to_owned());
        let sent = text(|out| put_answer(out, &id, &Ok(serde_json::Value::Null)));
        assert!(
            sent.ends_with("{\"jsonrpc\":\"2.0\",\"id\":\"a-1\",\"result\":null}"),
            "{sent}"
        );
        let error = Err(Refusal {
            code: -32601,
            message: "no".to_owned(),
        });
        let sent = text(|out| put_answer(out, &Id::Number(3), &error));
        assert!(
            sent.ends_with("\"id\":3,\"error\":{\"code\":-32601,\"message\":\"no\"}}"),
            "{sent}"
        );
    }
}
