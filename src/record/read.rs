//! Reads a journal one entry at a time, in memory that does not grow with the file.
//!
//! A record that ends in the middle of a line is a record of a run that was cut short, not a broken file.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{Entry, Header, Nanos, Version};

/// The version that this program writes.
pub const FORMAT: Version = Version { major: 1, minor: 0 };

/// The longest line that is read. A header carries a scenario's text and a server's settings, never this much.
const LONGEST: u64 = 64 << 20;

/// A record could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file could not be opened or read.
    #[error("cannot read the record: {0}")]
    Io(#[from] io::Error),
    /// There is no whole header.
    #[error("this is no lsp-soak record: line 1 is not a header ({0}); give a `.jsonl` file that `lsp-soak run` wrote")]
    NoHeader(String),
    /// Written by a later program.
    #[error(
        "the record has format {}.{}, and this lsp-soak reads {}.x: read it with lsp-soak {tool}, which wrote it, or later",
        found.major, found.minor, FORMAT.major
    )]
    Newer {
        /// The record's format.
        found: Version,
        /// The lsp-soak that wrote it.
        tool: String,
    },
    /// A whole line that is no entry.
    #[error("line {line} of the record is not an entry: {error}")]
    Malformed {
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        error: serde_json::Error,
    },
    /// A line without an end.
    #[error("line {0} of the record is longer than 64 MiB: the file is damaged")]
    TooLong(u64),
}

/// A journal being read: its header, then its entries.
pub struct Reader<R = BufReader<File>> {
    source: R,
    header: Header,
    buffer: Vec<u8>,
    line: u64,
    truncated: bool,
    skipped: u64,
    ended: bool,
}

/// Opens a record and reads its header.
pub fn open(path: &Path) -> Result<Reader, ReadError> {
    Reader::new(BufReader::with_capacity(1 << 16, File::open(path)?))
}

impl<R: BufRead> Reader<R> {
    /// Reads a record from anything.
    pub fn new(mut source: R) -> Result<Reader<R>, ReadError> {
        let mut buffer = Vec::new();
        if !next_line(&mut source, &mut buffer, 1)? {
            return Err(ReadError::NoHeader("it is cut short".to_owned()));
        }
        let header = read_header(&buffer)?;
        Ok(Reader {
            source,
            header,
            buffer,
            line: 1,
            truncated: false,
            skipped: 0,
            ended: false,
        })
    }

    /// The first line.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Whether the last line was cut short. Known once the iterator has ended.
    pub fn truncated(&self) -> bool {
        self.truncated
    }

    /// Entries of a newer minor version that this program does not know and left out.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// The next entry; `Ok(None)` at the end.
    fn read(&mut self) -> Result<Option<Entry>, ReadError> {
        loop {
            self.line += 1;
            let whole = next_line(&mut self.source, &mut self.buffer, self.line)?;
            if !whole {
                // A proper prefix of a JSON object is never one itself: what parses lost only its line end.
                self.truncated = !self.buffer.is_empty();
                return Ok(serde_json::from_slice(&self.buffer).ok());
            }
            match serde_json::from_slice(&self.buffer) {
                Ok(entry) => return Ok(Some(entry)),
                Err(_) if self.header.format > FORMAT && is_unknown(&self.buffer) => self.skipped += 1,
                Err(error) => return Err(ReadError::Malformed { line: self.line, error }),
            }
        }
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Entry, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let entry = self.read().transpose();
        self.ended = self.truncated || !matches!(entry, Some(Ok(_)));
        entry
    }
}

/// Whether a line is an entry in all but the kind of its event.
fn is_unknown(line: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Outline {
        #[serde(rename = "at")]
        _at: Nanos,
        #[serde(rename = "event")]
        _event: IgnoredAny,
    }
    serde_json::from_slice::<Outline>(line).is_ok()
}

/// Looks at the version before anything else, so that a newer record is refused for what it is.
fn read_header(line: &[u8]) -> Result<Header, ReadError> {
    #[derive(Deserialize)]
    struct Outline {
        format: Version,
        #[serde(default)]
        tool: String,
    }
    let no_header = |error: serde_json::Error| ReadError::NoHeader(error.to_string());
    let outline: Outline = serde_json::from_slice(line).map_err(no_header)?;
    if outline.format.major > FORMAT.major {
        return Err(ReadError::Newer {
            found: outline.format,
            tool: outline.tool,
        });
    }
    serde_json::from_slice(line).map_err(no_header)
}

/// Reads a line without its end into the buffer; `false` if the file ends before the line does.
fn next_line(source: &mut impl BufRead, buffer: &mut Vec<u8>, line: u64) -> Result<bool, ReadError> {
    buffer.clear();
    source.by_ref().take(LONGEST).read_until(b'\n', buffer)?;
    let whole = buffer.pop_if(|last| *last == b'\n').is_some();
    if !whole && buffer.len() as u64 == LONGEST {
        return Err(ReadError::TooLong(line));
    }
    Ok(whole)
}
