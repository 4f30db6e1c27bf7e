//! The traffic between an editor and a server, as `lsp-soak wrap` relays it.
//!
//! Without contents nothing in it comes from the user or the project: methods are those of the LSP specification,
//! documents are hashes by a salt that is drawn per record and dropped.

use serde::{Deserialize, Serialize};

use super::{Nanos, Outcome};

/// A description of the record of a relayed session, early in the header, for whoever opens the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Wrapped {
    /// Kinds of facts in the record, for people.
    pub has: Vec<String>,
    /// Kinds of facts that are left out, for people.
    pub lacks: Vec<String>,
    /// True if each message is there as it was sent (`--contents`).
    pub contents: bool,
    /// Size in bytes at which the record stops growing.
    pub limit: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// The editor.
    Client,
    Server,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MessageKind {
    Request,
    Notification,
    Response,
}

/// A message between an editor and a server. The entry's `at` is the arrival of its last byte.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Relayed {
    /// The side that sent it.
    pub from: Side,
    pub kind: MessageKind,
    /// Number of the request in this record, from 0, counted over both sides. A response has that of its request,
    /// `$/cancelRequest` that of the request it cancels. `None` of other notifications, and of a response to nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<u64>,
    /// Method, of a response that of its request; `None` unless the LSP specification has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Bytes of the content, without its header.
    pub bytes: u64,
    /// Time from the first byte of the request to the last byte of this response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Nanos>,
    /// Outcome of a response; an error has its code and an empty message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Elements of the result of a response, as in [`super::Request`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<u64>,
    /// Facts of the parameters of a request or notification, without their contents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Box<RelayedParams>>,
    /// The message as it was sent; only with `--contents`, and `None` of one that was too long to keep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contents: Option<serde_json::Value>,
}

/// Parameters without their contents. A member is empty or `None` where the message has no such parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct RelayedParams {
    /// `textDocument.uri` or `item.uri`, or `uri` of published diagnostics.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document: Option<DocumentHash>,
    /// `textDocument.version`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
    /// `position`, or all of `positions`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub positions: Vec<TextPosition>,
    /// `range`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<TextRange>,
    /// `textDocument.text` of an opened document, or `text` of a saved one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<TextSize>,
    /// `contentChanges` in their order: the first [`MOST_PARTS`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<TextChange>,
    /// Changed files of `workspace/didChangeWatchedFiles`, and files that were created, renamed or deleted: the first
    /// [`MOST_PARTS`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileChange>,
    /// `context.triggerKind` of a completion, signature help or code action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger: Option<i64>,
    /// Characters of `query`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<u64>,
    /// Elements of the list in the parameters, all of them: items of a configuration, registrations, changes of files or
    /// of a text, diagnostics, workspace folders added and removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elements: Option<u64>,
    /// `clientInfo.name` of `initialize`, if it is a well-known editor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub editor: Option<String>,
}

/// Changes of a text or of files that a message is kept with.
pub const MOST_PARTS: usize = 256;

/// A document, recognisable within this record only.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DocumentHash {
    /// SHA-256 of the salt and the document's URI, the first 64 bits in hexadecimal digits.
    pub hash: String,
    /// Extension of the file, without its dot; `None` without one, or if it is longer than eight letters and digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extension: Option<String>,
}

/// A position as the protocol has it: from 0, in units of the agreed encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TextPosition {
    pub line: u32,
    pub character: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TextRange {
    pub start: TextPosition,
    pub end: TextPosition,
}

/// The size of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TextSize {
    /// Bytes in UTF-8.
    pub bytes: u64,
    /// Unicode scalar values.
    pub characters: u64,
    /// Line ends.
    pub lines: u64,
}

/// One of the `contentChanges` of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TextChange {
    /// The replaced range; `None` if the change is the whole text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<TextRange>,
    /// The text in its place.
    pub inserted: TextSize,
}

/// A file that changed on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileChange {
    pub file: DocumentHash,
    /// `FileChangeType`: 1 created, 2 changed, 3 deleted. A renamed file is deleted and created.
    pub kind: u8,
}
