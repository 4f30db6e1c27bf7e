//! Reads a journal entry by entry, in constant memory.
//!
//! A record of an interrupted run may end in the middle of a line. An unreadable line is left out and counted,
//! because the rest of the run is still worth reading.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{Entry, Header, Nanos, Version};

/// The version that this lsp-soak writes.
pub const FORMAT: Version = Version { major: 1, minor: 10 };

/// The longest line that is read, in bytes. A header holds a scenario and a server's settings, which are far smaller.
const LONGEST: u64 = 64 << 20;

/// Bytes after which the rest of a long line is given up.
const MOST_SKIPPED: u64 = 1 << 30;

/// Left-out lines whose numbers are kept.
const NUMBERED: usize = 5;

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(
        "this is not an lsp-soak record: line 1 is not a header ({0}); name a `.jsonl` file that `lsp-soak run` wrote"
    )]
    NoHeader(String),
    #[error(
        "the record has format {}.{}, and this lsp-soak reads {}.x: read it with lsp-soak {tool}, which wrote it, or \
         later",
        version.major, version.minor, FORMAT.major
    )]
    Newer { version: Version, tool: String },
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    pub count: u64,
    /// Numbers of the first lines; the header is line 1.
    pub first: Vec<u64>,
}

/// Iterator over the entries of a journal, with its header.
pub struct Reader<R = BufReader<File>> {
    source: R,
    header: Header,
    buffer: Vec<u8>,
    line: u64,
    truncated: bool,
    unknown: LeftOut,
    damaged: LeftOut,
    ended: bool,
}

pub fn open(path: &Path) -> Result<Reader, ReadError> {
    Reader::new(BufReader::with_capacity(1 << 16, File::open(path)?))
}

impl<R: BufRead> Reader<R> {
    pub fn new(mut source: R) -> Result<Reader<R>, ReadError> {
        let mut buffer = Vec::new();
        // Of another kind of file the first line may have no end.
        if source.fill_buf()?.first().is_some_and(|first| *first != b'{') {
            return Err(ReadError::NoHeader("it does not begin with `{`".to_owned()));
        }
        match first_line(&mut source, &mut buffer)? {
            Line::Whole => {}
            Line::Cut => return Err(ReadError::NoHeader("it is cut short".to_owned())),
            Line::TooLong => return Err(ReadError::NoHeader("it is longer than 64 MiB".to_owned())),
        }
        let header = read_header(&buffer)?;
        Ok(Reader {
            source,
            header,
            buffer,
            line: 1,
            truncated: false,
            unknown: LeftOut::default(),
            damaged: LeftOut::default(),
            ended: false,
        })
    }

    pub fn header(&self) -> &Header {
        &self.header
    }

    /// True if the last line is incomplete. Valid once the iterator has ended.
    pub fn is_truncated(&self) -> bool {
        self.truncated
    }

    /// Entries of a kind that only a later lsp-soak knows.
    pub fn unknown_entries(&self) -> &LeftOut {
        &self.unknown
    }

    pub fn damaged(&self) -> &LeftOut {
        &self.damaged
    }

    /// The next entry; `Ok(None)` at the end.
    fn read(&mut self) -> Result<Option<Entry>, ReadError> {
        loop {
            self.line += 1;
            match next_line(&mut self.source, &mut self.buffer)? {
                Line::Whole => {}
                Line::Cut => {
                    // A proper prefix of a JSON object never parses: a line that does lost only its line end.
                    self.truncated = !self.buffer.is_empty();
                    return Ok(serde_json::from_slice(&self.buffer).ok());
                }
                Line::TooLong => {
                    self.damaged.add(self.line);
                    continue;
                }
            }
            match serde_json::from_slice(&self.buffer) {
                Ok(entry) => return Ok(Some(entry)),
                Err(_) if is_unknown(&self.buffer) => self.unknown.add(self.line),
                Err(_) => self.damaged.add(self.line),
            }
        }
    }
}

impl LeftOut {
    fn add(&mut self, line: u64) {
        self.count += 1;
        if self.first.len() < NUMBERED {
            self.first.push(line);
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

/// True if a line is an entry of an unknown kind.
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

/// Reads the version first: a newer record gets an error that says so.
fn read_header(line: &[u8]) -> Result<Header, ReadError> {
    #[derive(Deserialize)]
    struct Outline {
        format: Version,
        #[serde(default)]
        tool: String,
    }
    let outline: Outline = serde_json::from_slice(line).map_err(no_header)?;
    if outline.format.major > FORMAT.major {
        return Err(ReadError::Newer {
            version: outline.format,
            tool: outline.tool,
        });
    }
    serde_json::from_slice(line).map_err(no_header)
}

fn no_header(error: serde_json::Error) -> ReadError {
    ReadError::NoHeader(error.to_string())
}

enum Line {
    Whole,
    /// The file ends within the line.
    Cut,
    /// Longer than any entry.
    TooLong,
}

/// Reads a line without its line end into `buffer`, and skips the rest of a long one.
fn next_line(source: &mut impl BufRead, buffer: &mut Vec<u8>) -> io::Result<Line> {
    let line = first_line(source, buffer)?;
    if let Line::TooLong = line {
        let skipped = source.by_ref().take(MOST_SKIPPED).skip_until(b'\n')?;
        if skipped as u64 == MOST_SKIPPED {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "a line is longer than 1 GiB",
            ));
        }
    }
    Ok(line)
}

/// Reads a line without its line end into `buffer`, up to a length.
fn first_line(source: &mut impl BufRead, buffer: &mut Vec<u8>) -> io::Result<Line> {
    buffer.clear();
    source.by_ref().take(LONGEST).read_until(b'\n', buffer)?;
    if buffer.pop_if(|last| *last == b'\n').is_some() {
        return Ok(Line::Whole);
    }
    if (buffer.len() as u64) < LONGEST {
        return Ok(Line::Cut);
    }
    buffer.clear();
    Ok(Line::TooLong)
}
