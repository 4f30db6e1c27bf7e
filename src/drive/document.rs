//! An open document as an editor has it: text, version, and the changes that keep the server's copy equal.

#[cfg(test)]
mod tests;

use std::io;
use std::ops::Range;

use lsp_types::{Position, TextDocumentContentChangeEvent, TextDocumentIdentifier, TextDocumentPositionParams, Url};
use serde::Serialize;

use lsp::Sync;
use lsp::position::{self, Encoding, LineIndex};

use super::workspace::SourceFile;
use super::{target, uri};

#[derive(Clone, Debug)]
pub struct Document {
    uri: Url,
    language: String,
    text: String,
    version: i32,
    lines: LineIndex,
    encoding: Encoding,
    sync: Sync,
    /// Inverse edits, oldest first.
    undo: Vec<Edit>,
}

/// A state to restore with [`Document::undo_to`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(usize);

/// Parameters of `textDocument/didOpen`. Borrows the text, so that many megabytes are not copied.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Opened<'a> {
    pub text_document: Item<'a>,
}

#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Item<'a> {
    pub uri: &'a Url,
    pub language_id: &'a str,
    pub version: i32,
    pub text: &'a str,
}

/// An applied edit; [`Document::change`] turns it into a notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    version: i32,
    /// The incremental changes in order; `None` if the server takes only full text.
    parts: Option<Vec<TextDocumentContentChangeEvent>>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Changed<'a> {
    text_document: Versioned<'a>,
    content_changes: Contents<'a>,
}

#[derive(Clone, Debug, Serialize)]
struct Versioned<'a> {
    uri: &'a Url,
    version: i32,
}

#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
enum Contents<'a> {
    Parts(&'a [TextDocumentContentChangeEvent]),
    Whole([Whole<'a>; 1]),
}

#[derive(Clone, Debug, Serialize)]
struct Whole<'a> {
    text: &'a str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Edit {
    range: Range<usize>,
    text: String,
}

impl Document {
    /// Reads a UTF-8 file. Drops the byte order mark and keeps line ends.
    pub fn open(file: &SourceFile, sync: Sync, encoding: Encoding) -> io::Result<Document> {
        let text = target::read(file)?;
        let uri = Url::parse(&uri::from_path(&file.path))
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        Ok(Document::new(uri, &file.language, text, sync, encoding))
    }

    pub fn new(uri: Url, language: &str, text: String, sync: Sync, encoding: Encoding) -> Document {
        let lines = LineIndex::new(&text);
        Document {
            uri,
            language: language.to_owned(),
            text,
            version: 1,
            lines,
            encoding,
            sync,
            undo: Vec::new(),
        }
    }

    pub fn uri(&self) -> &Url {
        &self.uri
    }

    pub fn language(&self) -> &str {
        &self.language
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The current version; every change adds one.
    pub fn version(&self) -> i32 {
        self.version
    }

    pub fn opened(&self) -> Opened<'_> {
        let text_document = Item {
            uri: &self.uri,
            language_id: &self.language,
            version: self.version,
            text: &self.text,
        };
        Opened { text_document }
    }

    /// Parameters of `textDocument/didChange` for the last change; the full text if `whole`.
    pub fn change<'a>(&'a self, change: &'a Change, whole: bool) -> Changed<'a> {
        let content_changes = match &change.parts {
            Some(parts) if !whole => Contents::Parts(parts),
            Some(_) | None => Contents::Whole([Whole { text: &self.text }]),
        };
        Changed {
            text_document: Versioned {
                uri: &self.uri,
                version: change.version,
            },
            content_changes,
        }
    }

    pub fn identifier(&self) -> TextDocumentIdentifier {
        TextDocumentIdentifier::new(self.uri.clone())
    }

    /// The position of an offset, in the agreed encoding. An offset inside a character or a CR LF rounds down.
    pub fn position(&self, offset: usize) -> Position {
        let offset = self.text.floor_char_boundary(offset);
        let offset = if self.splits_line_end(offset) {
            offset - 1
        } else {
            offset
        };
        let line = self.lines.line_of(offset);
        let start = self.lines.start(line);
        let column = position::column(&self.text[start..offset], offset - start, self.encoding);
        Position::new(u32::try_from(line).unwrap_or(u32::MAX), column)
    }

    /// The place in bytes of a position in the agreed encoding; one outside the text is clamped to it.
    pub fn offset(&self, line: u32, column: u32) -> usize {
        self.lines
            .offset(&self.text, position::Position { line, column }, self.encoding)
    }

    /// Parameters of a request at a position.
    pub fn position_params(&self, offset: usize) -> TextDocumentPositionParams {
        TextDocumentPositionParams::new(self.identifier(), self.position(offset))
    }

    pub fn line_end(&self) -> &'static str {
        line_end(&self.text)
    }

    /// Replaces a range of bytes; `None` for a server that wants no changes.
    pub fn edit(&mut self, range: Range<usize>, text: &str) -> Option<Change> {
        let start = self.text.floor_char_boundary(range.start);
        let range = start..self.text.ceil_char_boundary(range.end).max(start);
        self.undo.push(Edit {
            range: range.start..range.start + text.len(),
            text: self.text[range.clone()].to_owned(),
        });
        let change = self.apply(&Edit {
            range,
            text: text.to_owned(),
        });
        self.changed(vec![change])
    }

    pub fn insert(&mut self, offset: usize, text: &str) -> Option<Change> {
        self.edit(offset..offset, text)
    }

    /// Takes the text of the file, which changed on disk, as an editor does with a document that has no changes of its own;
    /// `None` if it is the same, or if the server wants no changes.
    pub fn reload(&mut self, text: &str) -> Option<Change> {
        if self.text == text {
            return None;
        }
        let change = self.edit(0..self.text.len(), text);
        self.undo.clear();
        change
    }

    pub fn mark(&self) -> Mark {
        Mark(self.undo.len())
    }

    /// Undoes every edit since the mark, in one change; `None` when there is none or the server wants no changes.
    pub fn undo_to(&mut self, mark: Mark) -> Option<Change> {
        let undone = self.undo.split_off(mark.0.min(self.undo.len()));
        let changes: Vec<TextDocumentContentChangeEvent> = merged(undone).iter().map(|edit| self.apply(edit)).collect();
        if changes.is_empty() {
            None
        } else {
            self.changed(changes)
        }
    }

    /// Changes the text and returns the change for incremental synchronisation.
    fn apply(&mut self, edit: &Edit) -> TextDocumentContentChangeEvent {
        // No position lies between CR and LF: a change that begins or ends there covers the whole line end.
        let before = self.splits_line_end(edit.range.start);
        let after = self.splits_line_end(edit.range.end);
        let sent = [
            if before { "\r" } else { "" },
            &edit.text,
            if after { "\n" } else { "" },
        ]
        .concat();
        let start = self.position(edit.range.start - usize::from(before));
        let end = self.position(edit.range.end + usize::from(after));
        self.text.replace_range(edit.range.clone(), &edit.text);
        self.lines.replace(&self.text, edit.range.clone(), edit.text.len());
        TextDocumentContentChangeEvent {
            range: Some(lsp_types::Range::new(start, end)),
            range_length: None,
            text: sent,
        }
    }

    fn changed(&mut self, changes: Vec<TextDocumentContentChangeEvent>) -> Option<Change> {
        let parts = match self.sync {
            Sync::Incremental => Some(changes),
            Sync::Full => None,
            Sync::None => return None,
        };
        self.version += 1;
        Some(Change {
            version: self.version,
            parts,
        })
    }

    fn splits_line_end(&self, offset: usize) -> bool {
        let bytes = self.text.as_bytes();
        offset > 0 && bytes.get(offset - 1) == Some(&b'\r') && bytes.get(offset) == Some(&b'\n')
    }
}

/// The first line end of a text.
pub fn line_end(text: &str) -> &'static str {
    match memchr::memchr2(b'\r', b'\n', text.as_bytes()) {
        Some(at) if text[at..].starts_with("\r\n") => "\r\n",
        Some(at) if text[at..].starts_with('\r') => "\r",
        Some(_) | None => "\n",
    }
}

/// The edits, newest first; the removal of typed characters is merged into one edit.
fn merged(undone: Vec<Edit>) -> Vec<Edit> {
    let mut merged: Vec<Edit> = Vec::new();
    for edit in undone.into_iter().rev() {
        match merged.last_mut() {
            Some(last) if last.text.is_empty() && edit.text.is_empty() && edit.range.end == last.range.start => {
                last.range.start = edit.range.start;
            }
            Some(_) | None => merged.push(edit),
        }
    }
    merged
}
