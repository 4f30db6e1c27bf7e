//! Reports of diagnostics inside a result or a part of one: how many diagnostics they have, and their ids.

use super::facts::{self, Key, Slot};
use super::{Context, Counted, LONGEST_TEXT, Scanner, State, Wrong};

/// Most text of URIs and ids kept of one message, in bytes.
const MOST: usize = 4 << 20;

/// The reports on documents in one message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reports {
    /// Diagnostics of the documents in `items`.
    pub listed: u64,
    /// Diagnostics of the documents in `relatedDocuments`.
    pub related: u64,
    /// The reports that name their document.
    pub named: Vec<Named>,
    size: usize,
    uri: Option<String>,
    result_id: Option<String>,
}

/// A report that names its document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    pub uri: String,
    pub result_id: Option<String>,
}

/// The text of a raw string; `None` if it may have been cut.
fn whole(raw: &[u8]) -> Option<String> {
    if raw.len() < LONGEST_TEXT {
        return Some(facts::text(raw));
    }
    None
}

impl Reports {
    pub(super) fn reset(&mut self) {
        (self.listed, self.related) = (0, 0);
        self.named.clear();
        self.size = 0;
        (self.uri, self.result_id) = (None, None);
    }

    pub(super) fn set_uri(&mut self, raw: &[u8]) {
        self.uri = whole(raw);
    }

    pub(super) fn set_result_id(&mut self, raw: &[u8]) {
        self.result_id = whole(raw);
    }

    /// A report ended.
    pub(super) fn end(&mut self) {
        let (uri, result_id) = (self.uri.take(), self.result_id.take());
        let Some(uri) = uri else { return };
        self.size += uri.len() + result_id.as_ref().map_or(0, String::len);
        if self.size <= MOST {
            self.named.push(Named { uri, result_id });
        }
    }
}

impl Scanner {
    /// The list of diagnostics of a report ended.
    pub(super) fn add_diagnostics(&mut self, number: u64) {
        let reports = &mut self.facts.reports;
        if self.stack.iter().rev().nth(1) == Some(&Context::ReportMap) {
            reports.related += number;
        } else {
            reports.listed += number;
        }
    }

    pub(super) fn params_member(&mut self, byte: u8, at: usize) -> Result<usize, Wrong> {
        match self.key {
            Key::Token => self.read_into(Slot::Token, byte, at),
            Key::Value => {
                self.value_started = Some(self.base + at as u64);
                self.result(byte, at)
            }
            _other => self.read_into(Slot::Nowhere, byte, at),
        }
    }

    /// Begins a list whose elements may be reports.
    pub(super) fn open_reports(&mut self, at: usize) -> usize {
        self.payload.known = true;
        self.facts.items = Some(0);
        self.stack.push(Context::ReportList);
        self.go(State::First, at + 1)
    }

    /// A value where a report may stand.
    pub(super) fn report(&mut self, byte: u8, at: usize) -> Result<usize, Wrong> {
        if self.stack.last() == Some(&Context::ReportList) {
            self.payload.full = true;
            self.facts.items = self.facts.items.map(|items| items + 1);
        }
        match byte {
            b'{' => Ok(self.open(Context::Report, at)),
            _other => self.read_into(Slot::Nowhere, byte, at),
        }
    }

    pub(super) fn report_member(&mut self, byte: u8, at: usize) -> Result<usize, Wrong> {
        match (self.key, byte) {
            (Key::Items, b'[') => Ok(self.count(Counted::Diagnostics, at)),
            (Key::Uri, b'"') => self.read_into(Slot::Uri, byte, at),
            (Key::ResultId, b'"') => self.read_into(Slot::ResultId, byte, at),
            _other => self.read_into(Slot::Nowhere, byte, at),
        }
    }
}
