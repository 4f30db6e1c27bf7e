//! The documents of a recorded session as the server has them, and the files that stand for those of which only sizes are
//! known.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use lsp_types::Url;
use serde_json::Value;

use crate::drive::document::Document;
use crate::drive::workspace::SourceFile;
use crate::drive::{Job, Stage, target, uri};
use lsp::Sync;
use lsp::position::Encoding;
use record::{DocumentHash, TextPosition, TextRange, regular_file};

use super::super::Scene;

/// Most bytes of a file that is opened without its text in the session.
const MOST: u64 = 64 << 20;

/// A document that is open.
pub(super) struct OpenText {
    pub document: Document,
    /// The bytes that it had in the recorded session.
    pub recorded: u64,
}

pub(super) struct Documents<'s> {
    job: &'s Job,
    sync: Sync,
    encoding: Encoding,
    /// By URI, or by the hash of an outline.
    open: HashMap<String, OpenText>,
    /// The file for each document of an outline; `None` where no file is left.
    files: HashMap<DocumentHash, Option<usize>>,
    taken: HashSet<usize>,
}

impl<'s> Documents<'s> {
    pub fn new<S: Stage>(scene: &'s Scene<'_, S>) -> Documents<'s> {
        Documents {
            job: scene.job,
            sync: scene.session.sync(),
            encoding: scene.session.encoding(),
            open: HashMap::new(),
            files: HashMap::new(),
            taken: HashSet::new(),
        }
    }

    /// Takes notice of a message with contents, and saves what it says is saved. Returns its parameters.
    pub fn follow(&mut self, method: &str, mut params: Value) -> Value {
        let Some(uri) = params["textDocument"]["uri"].as_str().map(str::to_owned) else {
            return params;
        };
        match method {
            "textDocument/didOpen" => self.follow_open(&uri, &mut params),
            "textDocument/didChange" => self.follow_changes(&uri, &params),
            "textDocument/didSave" => self.save(&uri),
            "textDocument/didClose" => drop(self.open.remove(&uri)),
            _ => {}
        }
        params
    }

    /// A replay file may leave the text to the file on disk.
    fn follow_open(&mut self, uri: &str, params: &mut Value) {
        let item = &mut params["textDocument"];
        if item["text"].is_null()
            && let Some(text) = self.file_of(uri).and_then(|path| regular_file::read(&path, MOST).ok())
        {
            item["text"] = Value::String(String::from_utf8_lossy(&text).into_owned());
        }
        let text = item["text"].as_str().unwrap_or_default().to_owned();
        let language = item["languageId"].as_str().unwrap_or_default().to_owned();
        if let Ok(parsed) = Url::parse(uri) {
            let document = Document::new(parsed, &language, text, self.sync, self.encoding);
            let recorded = document.text().len() as u64;
            self.open.insert(uri.to_owned(), OpenText { document, recorded });
        }
    }

    fn follow_changes(&mut self, uri: &str, params: &Value) {
        let Some(open) = self.open.get_mut(uri) else { return };
        for change in params["contentChanges"].as_array().into_iter().flatten() {
            let text = change["text"].as_str().unwrap_or_default();
            let range = match (position(&change["range"]["start"]), position(&change["range"]["end"])) {
                (Some(start), Some(end)) => offset(&open.document, start)..offset(&open.document, end),
                _ => 0..open.document.text().len(),
            };
            // The parameters are sent as they were recorded.
            let _ = open.document.edit(range.start..range.end.max(range.start), text);
        }
    }

    /// Opens the file that stands for a document of an outline; `None` if there is none, or if it cannot be read.
    pub fn open_outline(&mut self, hash: &DocumentHash, recorded: u64) -> Option<&OpenText> {
        let file = self.file(hash, Some(recorded))?;
        let document = Document::open(file, self.sync, self.encoding).ok()?;
        self.open.insert(hash.hash.clone(), OpenText { document, recorded });
        self.open.get(&hash.hash)
    }

    pub fn get(&self, hash: &DocumentHash) -> Option<&OpenText> {
        self.open.get(&hash.hash)
    }

    pub fn get_mut(&mut self, hash: &DocumentHash) -> Option<&mut OpenText> {
        self.open.get_mut(&hash.hash)
    }

    pub fn close(&mut self, hash: &DocumentHash) -> Option<Document> {
        self.open.remove(&hash.hash).map(|open| open.document)
    }

    /// The URI of a document of an outline, open or not.
    pub fn uri(&mut self, hash: &DocumentHash) -> Option<String> {
        if let Some(open) = self.open.get(&hash.hash) {
            return Some(open.document.uri().to_string());
        }
        self.file(hash, None).map(|file| uri::from_path(&file.path))
    }

    /// The file for a document: of its extension, not yet taken, and of the nearest size.
    fn file(&mut self, hash: &DocumentHash, size: Option<u64>) -> Option<&'s SourceFile> {
        let files = &self.job.selection.files;
        if let Some(known) = self.files.get(hash) {
            return known.map(|file| &files[file]);
        }
        let mut best: Option<(u64, usize)> = None;
        for (place, file) in files.iter().enumerate() {
            let extension = file.path.extension().and_then(|extension| extension.to_str());
            if self.taken.contains(&place) || extension != hash.extension.as_deref() {
                continue;
            }
            let distance = size.map_or(0, |size| file.size.abs_diff(size));
            if best.is_none_or(|(least, _)| distance < least) && target::read(file).is_ok() {
                best = Some((distance, place));
            }
        }
        let file = best.map(|(_, file)| file);
        self.taken.extend(file);
        self.files.insert(hash.clone(), file);
        file.map(|file| &files[file])
    }

    /// Writes a document to its file, if that is a file of the copy: as the editor did before it said so.
    pub fn save(&self, key: &str) {
        let Some(open) = self.open.get(key) else { return };
        if let Some(path) = self.file_of(open.document.uri().as_str()) {
            // A file that cannot be written stays as it was, and the server is told what the editor told.
            let _ = regular_file::write(&path, open.document.text().as_bytes());
        }
    }

    /// The file of the copy that a URI names.
    fn file_of(&self, uri: &str) -> Option<PathBuf> {
        below(uri::to_path(uri)?, &self.job.root)
    }
}

/// The path, if it is of a file below a directory, without a link on its way: nothing else is read or written.
fn below(path: PathBuf, root: &Path) -> Option<PathBuf> {
    let relative = path.strip_prefix(root).ok()?;
    let expected = fs::canonicalize(root).ok()?.join(relative);
    if fs::canonicalize(&path).ok()? == expected {
        Some(path)
    } else {
        None
    }
}

fn position(value: &Value) -> Option<TextPosition> {
    Some(TextPosition {
        line: number(&value["line"])?,
        character: number(&value["character"])?,
    })
}

fn number(value: &Value) -> Option<u32> {
    Some(u32::try_from(value.as_u64()?).unwrap_or(u32::MAX))
}

/// The place in bytes of a position, which is clamped to the text.
pub(super) fn offset(document: &Document, position: TextPosition) -> usize {
    document.offset(position.line, position.character)
}

/// The bytes of a range, which is clamped to the text.
pub(super) fn span(document: &Document, range: TextRange) -> std::ops::Range<usize> {
    let (start, end) = (offset(document, range.start), offset(document, range.end));
    start..end.max(start)
}
