//! Makes messages from what a record without contents has: method, document, positions and sizes.

use serde_json::{Value, json};

use crate::drive::Job;
use crate::drive::document::Document;
use record::{RelayedParams, TextChange, TextPosition, TextSize};

use super::documents::{Documents, OpenText, offset, span};

/// The new name of every rename.
const NEW_NAME: &str = "renamed";

/// The parameters of a message, more than one where each change is a message; `None` if they cannot be made.
pub(super) fn parameters(
    job: &Job,
    documents: &mut Documents<'_>,
    method: &str,
    outline: &RelayedParams,
) -> Option<Vec<Value>> {
    if let Some(all) = document_message(documents, method, outline) {
        return all;
    }
    let mut params = match method {
        "workspace/symbol" => json!({ "query": query(outline.query?) }),
        "workspace/didChangeConfiguration" => {
            json!({ "settings": job.choice.profile.settings.clone().unwrap_or(Value::Null) })
        }
        "workspace/didChangeWatchedFiles" => {
            let mut changes = Vec::new();
            for change in &outline.files {
                if let Some(uri) = documents.uri(&change.file) {
                    changes.push(json!({ "uri": uri, "type": change.kind }));
                }
            }
            if changes.is_empty() {
                return None;
            }
            json!({ "changes": changes })
        }
        "workspace/diagnostic" => json!({ "previousResultIds": [] }),
        _ => at_document(documents, method, outline)?,
    };
    complete(method, outline, &mut params);
    Some(vec![params])
}

/// The message, if it opens, changes, saves or closes a document; `None` of others.
fn document_message(
    documents: &mut Documents<'_>,
    method: &str,
    outline: &RelayedParams,
) -> Option<Option<Vec<Value>>> {
    let is_one = matches!(
        method,
        "textDocument/didOpen" | "textDocument/didChange" | "textDocument/didSave" | "textDocument/didClose"
    );
    if !is_one {
        return None;
    }
    let Some(hash) = &outline.document else {
        return Some(None);
    };
    Some(match method {
        "textDocument/didOpen" => {
            let bytes = outline.text.map_or(0, |text| text.bytes);
            let open = documents.open_outline(hash, bytes);
            open.map(|open| vec![json!(open.document.opened())])
        }
        "textDocument/didChange" => documents.get_mut(hash).map(|open| {
            let mut all = Vec::new();
            for change in &outline.changes {
                all.extend(changed(&mut open.document, &mut open.recorded, change));
            }
            all
        }),
        "textDocument/didSave" => {
            documents.save(&hash.hash);
            documents.get(hash).map(|open| {
                let mut params = json!({ "textDocument": open.document.identifier() });
                if outline.text.is_some() {
                    params["text"] = open.document.text().into();
                }
                vec![params]
            })
        }
        _ => documents
            .close(hash)
            .map(|document| vec![json!({ "textDocument": document.identifier() })]),
    })
}

/// Changes a document by as much as was recorded. `recorded` is the size that it had in the session.
fn changed(document: &mut Document, recorded: &mut u64, change: &TextChange) -> Option<Value> {
    let inserted = change.inserted;
    let edit = match change.range {
        Some(range) => {
            let range = span(document, range);
            *recorded = (*recorded).saturating_sub(range.len() as u64) + inserted.bytes;
            document.edit(range, &filler(inserted))
        }
        // The whole text was sent: what differs from the text before stands at the end.
        None => {
            let length = document.text().len();
            let shorter = usize::try_from(recorded.saturating_sub(inserted.bytes)).unwrap_or(usize::MAX);
            let more = TextSize {
                characters: inserted.bytes.saturating_sub(*recorded),
                ..TextSize::default()
            };
            *recorded = inserted.bytes;
            document.edit(length.saturating_sub(shorter)..length, &filler(more))
        }
    };
    let change_sent = edit?;
    Some(json!(document.change(&change_sent, change.range.is_none())))
}

/// Text of a size: a word, then the line ends.
fn filler(size: TextSize) -> String {
    /// Longer texts were pasted, and more would not fit into any file that is opened.
    const MOST: u64 = 64 << 20;
    let characters = size.characters.saturating_sub(size.lines).min(MOST);
    let lines = size.lines.min(MOST);
    "x".repeat(characters as usize) + &"\n".repeat(lines as usize)
}

/// A query of a length.
fn query(characters: u64) -> String {
    "getNameOf".chars().cycle().take(characters.min(64) as usize).collect()
}

/// A request about a document, with its positions and range.
fn at_document(documents: &mut Documents<'_>, method: &str, outline: &RelayedParams) -> Option<Value> {
    // Items of earlier results are not in the record.
    if method.ends_with("/resolve") || !method.starts_with("textDocument/") {
        return None;
    }
    let hash = outline.document.as_ref()?;
    let mut params = json!({ "textDocument": { "uri": documents.uri(hash)? } });
    let open = documents.get(hash);
    match outline.positions.as_slice() {
        [] => {}
        positions if method == "textDocument/selectionRange" => {
            params["positions"] = positions.iter().map(|position| place(open, *position)).collect();
        }
        [first, ..] => params["position"] = place(open, *first),
    }
    if let Some(range) = outline.range {
        params["range"] = json!({ "start": place(open, range.start), "end": place(open, range.end) });
    }
    Some(params)
}

/// A position of a document; of an open one it is clamped to the text.
fn place(open: Option<&OpenText>, position: TextPosition) -> Value {
    match open {
        Some(open) => json!(open.document.position(offset(&open.document, position))),
        None => json!({ "line": position.line, "character": position.character }),
    }
}

/// Adds the members that a method needs besides, as editors usually set them.
fn complete(method: &str, outline: &RelayedParams, params: &mut Value) {
    match method {
        "textDocument/references" => params["context"] = json!({ "includeDeclaration": true }),
        "textDocument/completion" => params["context"] = json!({ "triggerKind": outline.trigger.unwrap_or(1) }),
        "textDocument/codeAction" => {
            params["context"] = json!({ "diagnostics": [], "triggerKind": outline.trigger.unwrap_or(1) });
        }
        "textDocument/rename" => params["newName"] = NEW_NAME.into(),
        "textDocument/formatting" | "textDocument/rangeFormatting" | "textDocument/onTypeFormatting" => {
            params["options"] = json!({ "tabSize": 4, "insertSpaces": true });
            if method == "textDocument/onTypeFormatting" {
                params["ch"] = "\n".into();
            }
        }
        "textDocument/semanticTokens/full/delta" => params["previousResultId"] = "".into(),
        _ => {}
    }
}
