//! Serialises messages, and defines their ids.

use std::fmt;
use std::io;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use base::units;

/// The id of a request, or a progress token: the protocol allows numbers and strings for both.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Id {
    /// A whole number of 64 bits.
    Number(i64),
    Text(String),
    /// Raw JSON: another number, for example 2^63 or 1.5, or a string that is not valid text, for example `"\ud800"`.
    Literal(String),
}

impl Id {
    /// Reads an id from a JSON value.
    pub fn from_value(value: &serde_json::Value) -> Option<Id> {
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
            Id::Text(text) | Id::Literal(text) => f.write_str(text),
        }
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Id::Number(number) => serializer.serialize_i64(*number),
            Id::Text(text) => serializer.serialize_str(text),
            Id::Literal(json) => serde_json::from_str::<&RawValue>(json)
                .map_err(serde::ser::Error::custom)?
                .serialize(serializer),
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
struct Call<'a, P: ?Sized> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<i64>,
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a P>,
}

#[derive(Serialize)]
struct Success<'a> {
    jsonrpc: &'static str,
    id: &'a Id,
    result: &'a RawValue,
}

#[derive(Serialize)]
struct Failure<'a> {
    jsonrpc: &'static str,
    id: &'a Id,
    error: &'a Refusal,
}

/// Parameters as text; `None` for null, which the protocol does not allow.
pub(super) fn params(value: &impl Serialize) -> Option<Box<RawValue>> {
    let text = serde_json::value::to_raw_value(value)
        .expect("parameters are plain data with string keys, and those always have a JSON form");
    if text.get() == "null" { None } else { Some(text) }
}

/// Most memory for a parsed tree of a server's JSON, in bytes.
const LARGEST_TREE: usize = 16 << 20;

const DEEPEST_TREE: usize = 127;

/// The reason why a result could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnreadReason {
    #[error("its text was not kept")]
    Unwanted,
    #[error("it has neither a result nor an error")]
    Absent,
    /// The message was scanned as it arrived.
    #[error("its result has {size}, and messages over {limit} are not kept", size = units::bytes(*bytes), limit = units::bytes(*limit as u64))]
    TooLong {
        bytes: u64,
        /// Longest message that is kept, in bytes.
        limit: usize,
    },
    #[error("byte {at} of its result is not valid UTF-8")]
    Utf8 {
        /// Offset from the start of the result, from 1.
        at: usize,
    },
    /// Its parsed tree would be too large.
    #[error("as a tree it would need over {limit}", limit = units::bytes(LARGEST_TREE as u64))]
    Large,
    /// Too deeply nested.
    #[error("its result is nested over {DEEPEST_TREE} levels deep (byte {at})")]
    Deep {
        /// Offset from the start of the result, from 1.
        at: usize,
    },
    /// An unpaired surrogate such as `\ud800`.
    #[error("its result has a lone surrogate, an escape that is no character (before byte {at})")]
    Surrogate {
        /// Offset from the start of the result, from 1.
        at: usize,
    },
    #[error("its result is not valid JSON: {0}")]
    Syntax(String),
}

impl UnreadReason {
    fn from_error(error: &serde_json::Error, text: &str) -> UnreadReason {
        let before = text.split_inclusive('\n').take(error.line().saturating_sub(1));
        let at = before.map(str::len).sum::<usize>() + error.column();
        match error.to_string() {
            words if words.starts_with("recursion limit") => UnreadReason::Deep { at },
            words if words.contains("surrogate") || words.contains("hex escape") => UnreadReason::Surrogate { at },
            words => UnreadReason::Syntax(words),
        }
    }
}

/// A part of a message as JSON text.
pub(super) fn text_of(json: &[u8]) -> Result<Box<RawValue>, UnreadReason> {
    let text = std::str::from_utf8(json).map_err(|error| UnreadReason::Utf8 {
        at: error.valid_up_to() + 1,
    })?;
    serde_json::from_str(text).map_err(|error| UnreadReason::from_error(&error, text))
}

/// Parses a server's JSON, unless the tree would be too large: 1 MiB of `{"":0}` takes 80 MiB. The size is estimated
/// from the text before parsing.
pub fn modest(text: &str) -> Result<serde_json::Value, UnreadReason> {
    let size: usize = text.bytes().map(tree_size).sum();
    if size > LARGEST_TREE {
        return Err(UnreadReason::Large);
    }
    serde_json::from_str(text).map_err(|error| UnreadReason::from_error(&error, text))
}

/// Bytes of a tree that one byte of text may need.
fn tree_size(byte: u8) -> usize {
    match byte {
        b'{' => 640,
        b',' => 128,
        b'[' | b'"' => 32,
        _other => 1,
    }
}

/// Writes a request (with an id) or a notification (without).
pub(super) fn write_call<P: Serialize + ?Sized>(
    out: impl io::Write,
    id: Option<i64>,
    method: &str,
    params: Option<&P>,
) {
    write(
        out,
        &Call {
            jsonrpc: "2.0",
            id,
            method,
            params,
        },
    );
}

/// Writes the answer to a request of the server.
pub(super) fn write_answer(out: impl io::Write, id: &Id, answer: &Result<Box<RawValue>, Refusal>) {
    match answer {
        Ok(result) => write(
            out,
            &Success {
                jsonrpc: "2.0",
                id,
                result,
            },
        ),
        Err(error) => write(
            out,
            &Failure {
                jsonrpc: "2.0",
                id,
                error,
            },
        ),
    }
}

fn write(out: impl io::Write, message: &impl Serialize) {
    serde_json::to_writer(out, message)
        .expect("a message is plain data with string keys, and writing to memory cannot fail");
}

/// True if a value is null, which the protocol does not allow as parameters. Writes only the start of other values.
pub(super) fn is_null(value: &(impl Serialize + ?Sized)) -> bool {
    struct Start(Vec<u8>);
    impl io::Write for Start {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.extend_from_slice(&bytes[..bytes.len().min(5)]);
            match self.0.len() {
                0..5 => Ok(bytes.len()),
                _enough => Err(io::ErrorKind::WriteZero.into()),
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut start = Start(Vec::new());
    serde_json::to_writer(&mut start, value).is_ok() && start.0 == b"null"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_request_has_an_id() {
        let params = params(&serde_json::json!({"name": "é"}));
        assert_eq!(
            text(|out| write_call(out, Some(7), "x/y", params.as_deref())),
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"x/y\",\"params\":{\"name\":\"é\"}}"
        );
    }

    #[test]
    fn null_parameters_are_left_out() {
        for (value, null) in [
            (serde_json::json!(null), true),
            (serde_json::json!("null"), false),
            (serde_json::json!({"text": "x".repeat(1000)}), false),
            (serde_json::json!([]), false),
        ] {
            assert_eq!(is_null(&value), null, "{value}");
        }
        assert!(is_null(&()));
        let none = params(&());
        assert_eq!(
            text(|out| write_call(out, None, "exit", none.as_deref())),
            "{\"jsonrpc\":\"2.0\",\"method\":\"exit\"}"
        );
    }

    #[test]
    fn an_answer_repeats_the_id_as_it_came() {
        let id = Id::Text("a-1".to_owned());
        let sent = text(|out| write_answer(out, &id, &Ok(RawValue::NULL.to_owned())));
        assert!(
            sent.ends_with("{\"jsonrpc\":\"2.0\",\"id\":\"a-1\",\"result\":null}"),
            "{sent}"
        );
        let error = Err(Refusal {
            code: -32601,
            message: "no".to_owned(),
        });
        let sent = text(|out| write_answer(out, &Id::Number(3), &error));
        assert!(
            sent.ends_with("\"id\":3,\"error\":{\"code\":-32601,\"message\":\"no\"}}"),
            "{sent}"
        );
    }

    #[test]
    fn a_tree_that_would_be_large_is_not_built() {
        assert!(modest(&list_of_objects(1_000)).is_ok());
        assert_eq!(modest(&list_of_objects(100_000)), Err(UnreadReason::Large));
        assert!(modest(&format!("\"{}\"", "x".repeat(1 << 20))).is_ok());
        assert!(matches!(modest("{"), Err(UnreadReason::Syntax(_))));
        assert!(modest(&nested_lists(DEEPEST_TREE)).is_ok());
        let deep = modest(&nested_lists(DEEPEST_TREE + 1));
        assert_eq!(deep, Err(UnreadReason::Deep { at: DEEPEST_TREE + 1 }));
        for half in ["\\ud800", "\\udc00"] {
            let surrogate = modest(&format!("[\n\"{half}\"]"));
            assert!(
                matches!(surrogate, Err(UnreadReason::Surrogate { at: 3..12 })),
                "{surrogate:?}"
            );
        }
    }

    fn list_of_objects(number: usize) -> String {
        format!("[{}]", vec!["{\"\":0}"; number].join(","))
    }

    fn nested_lists(levels: usize) -> String {
        "[".repeat(levels) + &"]".repeat(levels)
    }
}
