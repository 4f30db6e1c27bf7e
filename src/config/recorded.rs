//! A recorded session: what an editor sent to its server, and what it answered, whatever program recorded it.

mod builder;
mod devtools;
pub mod outline;
mod root;
pub mod scenario;
#[cfg(test)]
mod tests;
mod typescript;
mod vscode;
mod wrapped;

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use serde_json::Value;

use base::text::reason;
use record::{Nanos, RelayedParams, decompressed};

pub use root::Root;

/// Bytes at the beginning of a file by which its format is known.
const BEGINNING: usize = 64 << 10;

/// Longest text that is read, in bytes.
const LONGEST: u64 = 1 << 30;

/// The cure for a file that is no session.
const OTHER_FILE: &str = "name a record of `lsp-soak wrap`, VS Code's verbose trace, a replay file of typescript-go, or what \
                          `lsp-devtools record --to-file` wrote";

/// A session of one server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded {
    /// The parameters of `initialize`; `None` where only sizes were recorded.
    pub initialize: Option<Value>,
    /// The workspace that it was recorded in.
    pub root: Root,
    /// The editor's messages between `initialized` and `shutdown`, in its order.
    pub messages: Vec<Sent>,
    /// The editor's answers to requests of the server.
    pub answers: Vec<Answered>,
    /// Language of the first opened document, or the extension of its file.
    pub language: Option<Language>,
    /// False if the file has no times: then each message follows the answers that it came after.
    pub has_times: bool,
    /// Sessions in the file after this one, which are not played.
    pub more_sessions: u64,
    /// Messages of which the file does not say who sent them.
    pub unclear: u64,
}

/// The language of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Language {
    Id(String),
    Extension(String),
}

/// A message of the editor.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    /// Time since the editor said `initialized`; 0 where that is unknown.
    pub at: Nanos,
    pub kind: SentKind,
    pub method: String,
    pub params: Params,
    /// Requests, by their place among the messages, that were answered since the previous message.
    pub after: Vec<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SentKind {
    Request {
        /// False if it was open until the end.
        is_answered: bool,
    },
    Notification,
    /// Cancels the request at this place.
    Cancel(usize),
}

/// The parameters of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Params {
    Whole(Value),
    /// Sizes and positions alone.
    Outline(Box<RelayedParams>),
}

/// A request of the server that the editor answered with a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    pub method: String,
    pub params: Value,
    pub result: Value,
}

/// A mistake in a recorded session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRecording {
    /// Line of the file, from 1; `None` if it concerns all of it.
    pub line: Option<usize>,
    pub title: String,
    pub cure: &'static str,
}

impl BadRecording {
    fn at(line: usize, title: impl Into<String>, cure: &'static str) -> BadRecording {
        BadRecording {
            line: Some(line),
            title: title.into(),
            cure,
        }
    }

    fn of_file(title: impl Into<String>, cure: &'static str) -> BadRecording {
        BadRecording {
            line: None,
            title: title.into(),
            cure,
        }
    }

    /// The mistake with its place.
    pub fn words(&self, path: &str) -> String {
        match self.line {
            Some(line) => format!("`{path}`, line {line}: {}", self.title),
            None => format!("`{path}`: {}", self.title),
        }
    }
}

impl Recorded {
    /// True if every message is there as it was sent.
    pub fn is_exact(&self) -> bool {
        self.initialize.is_some()
    }

    /// Requests among the messages.
    pub fn requests(&self) -> u64 {
        let requests = self.messages.iter();
        requests
            .filter(|sent| matches!(sent.kind, SentKind::Request { .. }))
            .count() as u64
    }

    /// Time from the first message to the last.
    pub fn length(&self) -> Nanos {
        self.messages.last().map_or(0, |sent| sent.at)
    }

    /// True if the editor asked for diagnostics.
    pub fn pulls_diagnostics(&self) -> bool {
        self.messages
            .iter()
            .any(|sent| sent.method == "textDocument/diagnostic")
    }
}

/// A format that a session may be recorded in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// A record of `lsp-soak`.
    Record,
    /// The verbose trace of VS Code, as text or as JSON.
    VsCode,
    /// The replay file of typescript-go.
    TypeScript,
    /// A file of `lsp-devtools record --to-file`.
    Devtools,
}

/// The format of a file with this beginning; `None` if it is no recorded session.
fn format(beginning: &str) -> Option<Format> {
    let first = beginning.lines().find(|line| !line.trim().is_empty())?;
    if !first.trim_start().starts_with('{') {
        return if vscode::is_trace(beginning) {
            Some(Format::VsCode)
        } else {
            None
        };
    }
    if has_key(first, "isLSPMessage") {
        Some(Format::VsCode)
    } else if has_key(first, "rootDirUriPlaceholder") || has_key(first, "rootDirPlaceholder") {
        Some(Format::TypeScript)
    } else if has_key(first, "jsonrpc") {
        Some(Format::Devtools)
    } else if has_key(first, "format") && (has_key(first, "tool") || has_key(first, "host")) {
        Some(Format::Record)
    } else {
        None
    }
}

fn has_key(line: &str, key: &str) -> bool {
    line.contains(&format!("\"{key}\""))
}

/// True if the file is a recorded session, or looks like one. A file that cannot be read is none.
pub fn is_recorded(path: &Path) -> bool {
    let mut beginning = Vec::new();
    let Ok(source) = open(path) else { return false };
    // A damaged archive is reported when it is read as what it is.
    let _ = source.take(BEGINNING as u64).read_to_end(&mut beginning);
    format(&String::from_utf8_lossy(&beginning)).is_some()
}

/// Reads a recorded session.
pub fn read(path: &Path) -> Result<Recorded, BadRecording> {
    let mut beginning = Vec::new();
    let source = open(path).map_err(unreadable)?;
    source
        .take(BEGINNING as u64)
        .read_to_end(&mut beginning)
        .map_err(unreadable)?;
    let Some(format) = format(&String::from_utf8_lossy(&beginning)) else {
        return Err(BadRecording::of_file("it is no recorded session", OTHER_FILE));
    };
    if format == Format::Record {
        return wrapped::read(BufReader::new(open(path).map_err(unreadable)?));
    }
    let mut bytes = Vec::new();
    let mut source = open(path).map_err(unreadable)?.take(LONGEST);
    source.read_to_end(&mut bytes).map_err(unreadable)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + valid.iter().filter(|byte| **byte == b'\n').count();
        BadRecording::at(line, "it is not UTF-8", "save it as UTF-8")
    })?;
    match format {
        Format::Record | Format::VsCode => vscode::read(&text),
        Format::TypeScript => typescript::read(&text),
        Format::Devtools => devtools::read(&text),
    }
}

/// The value on each line that is not blank, with the line's number from 1. `cure` is for a line that is not JSON.
fn json_lines<'t>(
    text: &'t str,
    cure: &'static str,
) -> impl Iterator<Item = Result<(usize, Value), BadRecording>> + use<'t> {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    lines.map(move |(number, line)| match serde_json::from_str(line) {
        Ok(value) => Ok((number, value)),
        Err(error) => Err(BadRecording::at(number, format!("it is not JSON: {error}"), cure)),
    })
}

fn unreadable(error: io::Error) -> BadRecording {
    BadRecording::of_file(format!("cannot be read: {}", reason(&error)), OTHER_FILE)
}

fn open(path: &Path) -> io::Result<impl Read> {
    let (file, _): (File, _) = record::regular_file::open(&path.canonicalize()?)?;
    decompressed(BufReader::new(file))
}
