//! The facts of one message, and the names that the scanner recognises.

use std::ops::Range;

use super::report::Reports;
use crate::message::Id;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// `null`, or no result.
    #[default]
    Null,
    /// `[]`, `{}`, `""`, or an object whose payload is empty.
    ///
    /// Payload members are `items`, `data`, `signatures`, `edits` and `documentChanges` (empty without elements) and
    /// `contents` and `changes` (empty without text, number or flag, except `kind` and `language`). So a hover with
    /// `{"kind": "markdown", "value": ""}`, a completion list without items, a diagnostic report without items and a
    /// workspace edit without edits are empty. A member `label`, `title` or `command` makes an object non-empty: it is
    /// itself an item.
    Empty,
    Full,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fault {
    /// JSON-RPC error code; 0 if missing.
    pub code: i64,
    /// Error message, cut to a bounded length.
    pub message: String,
    pub retrigger: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The id, unless absent or unfit.
    pub id: Option<Id>,
    /// The reason why the id is unfit, if it is neither a number nor a string of bounded length: `is null`.
    pub unfit: Option<&'static str>,
    /// The method, cut to a bounded length; empty in answers.
    pub method: String,
    pub params: Option<Range<u64>>,
    /// Byte range of the result; its length is the size of the answer.
    pub result: Option<Range<u64>>,
    pub shape: Shape,
    /// Elements of the result, if it is a list or has an `items` list; with those inside of others where symbols are
    /// looked for.
    pub items: Option<u64>,
    /// Elements of the `data` list of the result.
    pub data: Option<u64>,
    /// The reports in a result or part; only where they are looked for.
    pub reports: Reports,
    /// `token` of the parameters; only where reports are looked for.
    pub token: Option<Id>,
    /// Length of `value` of the parameters in bytes; only where reports are looked for.
    pub value_bytes: u64,
    /// The error, unless absent or null.
    pub error: Option<Fault>,
}

/// Recognised names; the scanner decides where each counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Key {
    #[default]
    Other,
    Id,
    Method,
    Params,
    Result,
    Error,
    Code,
    Message,
    Data,
    Retrigger,
    Items,
    Token,
    Value,
    RelatedDocuments,
    Uri,
    ResultId,
    Children,
    /// A list whose elements are the payload.
    Payload,
    Deep,
    /// A name of the item: the object is an item.
    Named,
    /// `kind` and `language`: text that describes other text.
    Descriptive,
}

/// Where a string or scalar goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Slot {
    #[default]
    Nowhere,
    Key,
    Id,
    Method,
    Result,
    Code,
    Message,
    Retrigger,
    Leaf,
    Token,
    Uri,
    ResultId,
}

/// Longest id kept, in raw bytes: a longer one cannot be cut and stay the same.
const LONGEST_ID: usize = 512;

/// LSP 3.17, "Semantic Tokens": position, length, type and modifiers.
const NUMBERS_OF_TOKEN: u64 = 5;

/// Reads an id from its JSON, strings including quotes.
fn id(json: &[u8]) -> Result<Id, &'static str> {
    if json.len() > LONGEST_ID {
        return Err("has over 512 bytes");
    }
    match json.first() {
        Some(b'n') => return Err("is null"),
        Some(b't' | b'f') => return Err("is a boolean"),
        Some(b'"') => {
            if let Ok(text) = serde_json::from_slice(json) {
                return Ok(Id::Text(text));
            }
        }
        _number => {
            if let Some(number) = number(json) {
                return Ok(Id::Number(number));
            }
        }
    }
    Ok(Id::Literal(String::from_utf8_lossy(json).into_owned()))
}

/// The text including its quotes.
fn quoted(raw: &[u8]) -> Vec<u8> {
    [b"\"", raw, b"\""].concat()
}

/// Recognises a raw key between its quotes.
pub(super) fn key(raw: &[u8]) -> Key {
    let unescaped;
    let name = if raw.contains(&b'\\') {
        unescaped = text(raw);
        unescaped.as_bytes()
    } else {
        raw
    };
    match name {
        b"id" => Key::Id,
        b"method" => Key::Method,
        b"params" => Key::Params,
        b"result" => Key::Result,
        b"error" => Key::Error,
        b"code" => Key::Code,
        b"message" => Key::Message,
        b"data" => Key::Data,
        b"retriggerRequest" => Key::Retrigger,
        b"items" => Key::Items,
        b"token" => Key::Token,
        b"value" => Key::Value,
        b"relatedDocuments" => Key::RelatedDocuments,
        b"uri" => Key::Uri,
        b"resultId" => Key::ResultId,
        b"children" => Key::Children,
        b"signatures" | b"edits" | b"documentChanges" => Key::Payload,
        b"contents" | b"changes" => Key::Deep,
        b"label" | b"title" | b"command" => Key::Named,
        b"kind" | b"language" => Key::Descriptive,
        _other => Key::Other,
    }
}

/// The text of a raw JSON string between its quotes, possibly cut.
pub(super) fn text(raw: &[u8]) -> String {
    serde_json::from_slice(&quoted(raw)).unwrap_or_else(|_cut| String::from_utf8_lossy(raw).into_owned())
}

impl Facts {
    /// Elements of the result of a request with this method, or of a part of it: those of a list or of its `items`.
    /// Reports on documents have diagnostics as elements, and none if nothing has changed. A semantic token is five
    /// numbers.
    pub fn elements(&self, method: &str) -> Option<u64> {
        match method {
            _ if self.shape == Shape::Null => self.items,
            "workspace/diagnostic" => Some(self.reports.listed),
            "textDocument/diagnostic" => Some(self.items.unwrap_or(0) + self.reports.related),
            "textDocument/semanticTokens/full" | "textDocument/semanticTokens/range" => {
                self.data.map(|numbers| numbers / NUMBERS_OF_TOKEN).or(self.items)
            }
            _other => self.items,
        }
    }

    pub(super) fn reset(&mut self) {
        self.id = None;
        self.unfit = None;
        self.method.clear();
        self.params = None;
        self.result = None;
        self.shape = Shape::Null;
        (self.items, self.data) = (None, None);
        self.reports.reset();
        self.token = None;
        self.value_bytes = 0;
        self.error = None;
    }

    /// Stores the id; the last of several in one message counts.
    pub(super) fn set_id(&mut self, id: Result<Id, &'static str>) {
        self.unfit = id.as_ref().err().copied();
        self.id = id.ok();
    }

    pub(super) fn set_text(&mut self, slot: Slot, raw: &[u8]) {
        match slot {
            Slot::Id => self.set_id(id(&quoted(raw))),
            Slot::Method => self.method = text(raw),
            Slot::Result => self.shape = if raw.is_empty() { Shape::Empty } else { Shape::Full },
            Slot::Message => {
                if let Some(error) = &mut self.error {
                    error.message = text(raw);
                }
            }
            Slot::Token => self.token = id(&quoted(raw)).ok(),
            Slot::Uri => self.reports.set_uri(raw),
            Slot::ResultId => self.reports.set_result_id(raw),
            Slot::Nowhere | Slot::Key | Slot::Code | Slot::Retrigger | Slot::Leaf => {}
        }
    }

    /// A number, `true`, `false` or `null` ended.
    pub(super) fn set_scalar(&mut self, slot: Slot, raw: &[u8]) {
        match slot {
            Slot::Id => self.set_id(id(raw)),
            Slot::Result => self.shape = if raw == b"null" { Shape::Null } else { Shape::Full },
            Slot::Code => {
                if let (Some(error), Some(code)) = (&mut self.error, number(raw)) {
                    error.code = code;
                }
            }
            Slot::Retrigger => {
                if let Some(error) = &mut self.error {
                    error.retrigger = serde_json::from_slice(raw).ok();
                }
            }
            Slot::Token => self.token = id(raw).ok(),
            Slot::Nowhere | Slot::Key | Slot::Method | Slot::Message | Slot::Leaf | Slot::Uri | Slot::ResultId => {}
        }
    }
}

/// A whole number, also when written as `7.0`.
fn number(raw: &[u8]) -> Option<i64> {
    let number: serde_json::Number = serde_json::from_slice(raw).ok()?;
    if let Some(whole) = number.as_i64() {
        return Some(whole);
    }
    let float = number.as_f64()?;
    if float.fract() == 0.0 && float.abs() < 9e15 {
        Some(float as i64)
    } else {
        None
    }
}
