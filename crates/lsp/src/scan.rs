//! Extracts the facts of one JSON-RPC message as its bytes arrive: ids, method, error, and the shape and size of the
//! result. It builds no tree and keeps no content, so a result of 200 MiB costs no memory.
//!
//! It checks that the whole message is JSON (RFC 8259), also in values that do not matter. Names may repeat.

mod facts;
mod problem;
mod report;
mod scalar;
mod skip;
#[cfg(test)]
mod tests;
mod text;

use std::ops::Range;

use self::facts::{Key, Slot};
use self::problem::Wrong;
use self::scalar::Scalar;
use self::skip::{Reached, Skip, is_space};
use self::text::Text;
use super::message::Id;
pub use facts::{Facts, Fault, Shape};
pub use problem::{FoundInstead, NotJson};
pub use report::Reports;

/// Longest key, id, method or error message kept, in bytes.
const LONGEST_TEXT: usize = 4 * 1024;
/// Nesting of symbols that is followed; those deeper inside do not count.
const DEEPEST_SYMBOLS: usize = 1024;
/// Nesting up to which a payload is searched for content; a deeper one counts as not empty.
const DEEPEST: usize = 64;

/// The incremental scanner; one is reused for all messages of a connection.
#[derive(Debug, Default)]
pub struct Scanner {
    state: State,
    /// Offset of the current bytes from the start of the message.
    base: u64,
    stack: Vec<Context>,
    /// Key of the current member of the message.
    member: Key,
    /// Key of the current member of the innermost object.
    key: Key,
    /// Where the current string or scalar goes.
    slot: Slot,
    kept: Vec<u8>,
    text: Text,
    scalar: Scalar,
    skip: Skip,
    counted: Counted,
    payload: Payload,
    started: u64,
    /// True while a report on documents may come: then the result and the value of a part are searched for them.
    reads_reports: bool,
    /// True while the symbols of a document may come: then those inside of others are counted too.
    reads_symbols: bool,
    /// Offset of `value` of the parameters, while inside of it.
    value_started: Option<u64>,
    facts: Facts,
    /// The reason for the state `Broken`.
    problem: Option<NotJson>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Value,
    /// After `[`: expects a value or the end.
    First,
    /// After `{`: expects a name or the end.
    FirstKey,
    Key,
    Colon,
    After,
    Text,
    Scalar,
    Skip,
    Done,
    Broken,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Context {
    Message,
    Result,
    Error,
    ErrorData,
    /// A list or object inside a payload whose leaves decide whether it is empty.
    LeafList,
    LeafObject,
    /// Parameters that may have a part of a result.
    Params,
    /// The `items` of a result or part that may be reports.
    ReportList,
    /// An object whose values may be reports: `relatedDocuments`.
    ReportMap,
    Report,
    /// A list of symbols of a document, each perhaps with a list of `children`.
    SymbolList,
    Symbol,
}

impl Context {
    fn is_list(self) -> bool {
        matches!(self, Context::LeafList | Context::ReportList | Context::SymbolList)
    }
}

/// The figure that the elements of a skipped list are counted for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Counted {
    #[default]
    Nothing,
    Result,
    /// The list is `items` of the result.
    Items,
    /// The list is `data` of the result.
    Data,
    /// The list is another payload member of the result.
    Payload,
    /// The list is `items` of a report.
    Diagnostics,
}

#[derive(Clone, Copy, Debug, Default)]
struct Payload {
    members: u64,
    known: bool,
    full: bool,
}

/// The part of a message before the place where it stops being JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun<'a> {
    /// It has no id and no method yet.
    Unknown,
    /// It has a method or parameters.
    Call,
    /// An answer; an id may come later.
    Answer(Option<&'a Id>),
}

impl Scanner {
    /// Begins another message. `reads_reports` if diagnostics were asked for, and `reads_symbols` if the symbols of a
    /// document were: the result is searched for them then, which is slower than to skip it.
    pub fn reset(&mut self, reads_reports: bool, reads_symbols: bool) {
        (self.reads_reports, self.reads_symbols) = (reads_reports, reads_symbols);
        self.state = State::Value;
        self.base = 0;
        self.stack.clear();
        self.member = Key::Other;
        self.key = Key::Other;
        self.kept.clear();
        self.payload = Payload::default();
        self.value_started = None;
        self.facts.reset();
        self.problem = None;
    }

    /// Scans the next bytes of the message.
    pub fn feed(&mut self, bytes: &[u8]) {
        let mut at = 0;
        while at < bytes.len() && self.state != State::Broken {
            match self.step(bytes, at) {
                Ok(next) => at = next,
                Err(wrong) => {
                    self.problem = Some(NotJson::new(wrong, bytes, self.base));
                    self.state = State::Broken;
                }
            }
        }
        self.base += bytes.len() as u64;
    }

    /// The facts, once the whole message was fed.
    pub fn facts(&self) -> Result<&Facts, NotJson> {
        match (&self.problem, self.state) {
            (Some(problem), _) => Err(problem.clone()),
            (None, State::Done) => Ok(&self.facts),
            (None, _unfinished) => Err(NotJson::cut_short(self.base, self.expected())),
        }
    }

    pub fn begun(&self) -> Begun<'_> {
        let is_call = !self.facts.method.is_empty() || matches!(self.member, Key::Method | Key::Params);
        if is_call {
            return Begun::Call;
        }
        match (self.facts.id.as_ref(), self.member) {
            (Some(id), _) => Begun::Answer(Some(id)),
            (None, Key::Result | Key::Error) => Begun::Answer(None),
            (None, _) => Begun::Unknown,
        }
    }

    /// Scans from `at`; returns the offset of the next byte that was not used.
    fn step(&mut self, bytes: &[u8], at: usize) -> Result<usize, Wrong> {
        match self.state {
            State::Text => self.scan_text(bytes, at),
            State::Scalar => self.scan_scalar(bytes, at),
            State::Skip => match self.skip.find_end(bytes, at)? {
                Reached::End(end) => Ok(self.end_list(self.skip.elements(), end)),
                Reached::Out => Ok(bytes.len()),
            },
            State::Value
            | State::First
            | State::FirstKey
            | State::Key
            | State::Colon
            | State::After
            | State::Done
            | State::Broken => self.scan_structure(bytes[at], at),
        }
    }

    /// Spaces, punctuation, and the first bytes of values and names.
    fn scan_structure(&mut self, byte: u8, at: usize) -> Result<usize, Wrong> {
        if is_space(byte) {
            return Ok(at + 1);
        }
        let is_list = self.is_in_list();
        match (self.state, byte) {
            (State::First, b']') | (State::FirstKey, b'}') => Ok(self.close(at + 1)),
            (State::After, b']' | b'}') if is_list == (byte == b']') => Ok(self.close(at + 1)),
            (State::Value | State::First, _) => self.value(byte, at),
            (State::Key | State::FirstKey, b'"') => Ok(self.start_text(Slot::Key, at)),
            (State::Colon, b':') => Ok(self.go(State::Value, at + 1)),
            (State::After, b',') if is_list => Ok(self.go(State::Value, at + 1)),
            (State::After, b',') => Ok(self.go(State::Key, at + 1)),
            _unexpected => Err(self.wrong(at)),
        }
    }

    fn is_in_list(&self) -> bool {
        self.stack.last().is_some_and(|context| context.is_list())
    }

    fn wrong(&self, at: usize) -> Wrong {
        Wrong::new(at, self.expected())
    }

    /// The bytes that may follow, for people.
    fn expected(&self) -> &'static str {
        match self.state {
            State::Value if self.stack.is_empty() => "`{`",
            State::Value => "a value",
            State::First => "a value or `]`",
            State::FirstKey => "a name or `}`",
            State::Key => "a name",
            State::Colon => "`:`",
            State::After if self.is_in_list() => "`,` or `]`",
            State::After => "`,` or `}`",
            State::Text => "the end of a string",
            State::Scalar => self.scalar.missing().unwrap_or("the end of a value"),
            State::Skip => self.skip.expected(),
            State::Done | State::Broken => "the end of the message",
        }
    }

    fn go(&mut self, state: State, at: usize) -> usize {
        self.state = state;
        at
    }

    /// The first byte of a value: decides whether to scan, keep or skip it.
    fn value(&mut self, byte: u8, at: usize) -> Result<usize, Wrong> {
        let Some(context) = self.stack.last().copied() else {
            if byte != b'{' {
                return Err(self.wrong(at));
            }
            return Ok(self.open(Context::Message, at));
        };
        match context {
            Context::Message => self.member_value(byte, at),
            Context::Result => self.result_member(byte, at),
            Context::Error => match (self.key, byte) {
                (Key::Code, _) => self.read_into(Slot::Code, byte, at),
                (Key::Message, _) => self.read_into(Slot::Message, byte, at),
                (Key::Data, b'{') => Ok(self.open(Context::ErrorData, at)),
                _other => self.read_into(Slot::Nowhere, byte, at),
            },
            Context::ErrorData if self.key == Key::Retrigger => self.read_into(Slot::Retrigger, byte, at),
            Context::ErrorData => self.read_into(Slot::Nowhere, byte, at),
            Context::LeafList => self.leaf(byte, at),
            // Descriptive text is one word; a list or an object under that name is something else.
            Context::LeafObject if self.key == Key::Descriptive && !matches!(byte, b'{' | b'[') => {
                self.read_into(Slot::Nowhere, byte, at)
            }
            Context::LeafObject => self.leaf(byte, at),
            Context::Params => self.params_member(byte, at),
            Context::ReportList | Context::ReportMap => self.report(byte, at),
            Context::Report => self.report_member(byte, at),
            Context::SymbolList => self.symbol(byte, at),
            Context::Symbol if self.key == Key::Children && byte == b'[' => Ok(self.open_symbols(at)),
            Context::Symbol => self.read_into(Slot::Nowhere, byte, at),
        }
    }

    fn member_value(&mut self, byte: u8, at: usize) -> Result<usize, Wrong> {
        self.started = self.base + at as u64;
        if self.member == Key::Result {
            (self.facts.items, self.facts.data) = (None, None);
            self.facts.reports.reset();
        }
        match (self.member, byte) {
            (Key::Id, b'{') => self.unfit_id("is an object", byte, at),
            (Key::Id, b'[') => self.unfit_id("is a list", byte, at),
            (Key::Id, _) => self.read_into(Slot::Id, byte, at),
            (Key::Method, _) => self.read_into(Slot::Method, byte, at),
            (Key::Result, _) => self.result(byte, at),
            (Key::Params, b'{') if self.reads_reports => Ok(self.open(Context::Params, at)),
            (Key::Error, b'{') => {
                self.facts.error = Some(Fault::default());
                Ok(self.open(Context::Error, at))
            }
            _other => self.read_into(Slot::Nowhere, byte, at),
        }
    }

    /// A result, or a part of one.
    fn result(&mut self, byte: u8, at: usize) -> Result<usize, Wrong> {
        match byte {
            b'{' => {
                self.payload = Payload::default();
                Ok(self.open(Context::Result, at))
            }
            b'[' if self.reads_symbols => {
                self.facts.items = Some(0);
                Ok(self.open_symbols(at))
            }
            b'[' => Ok(self.count(Counted::Result, at)),
            _scalar => self.read_into(Slot::Result, byte, at),
        }
    }

    fn open_symbols(&mut self, at: usize) -> usize {
        self.stack.push(Context::SymbolList);
        self.go(State::First, at + 1)
    }

    fn symbol(&mut self, byte: u8, at: usize) -> Result<usize, Wrong> {
        self.facts.items = self.facts.items.map(|items| items + 1);
        match byte {
            b'{' if self.stack.len() < 2 * DEEPEST_SYMBOLS => Ok(self.open(Context::Symbol, at)),
            _other => self.read_into(Slot::Nowhere, byte, at),
        }
    }

    fn unfit_id(&mut self, what: &'static str, byte: u8, at: usize) -> Result<usize, Wrong> {
        self.facts.set_id(Err(what));
        self.read_into(Slot::Nowhere, byte, at)
    }

    /// A member of an object result.
    fn result_member(&mut self, byte: u8, at: usize) -> Result<usize, Wrong> {
        self.payload.members += 1;
        match (self.key, byte) {
            (Key::Items, b'[') if self.reads_reports => Ok(self.open_reports(at)),
            (Key::RelatedDocuments, b'{') if self.reads_reports => Ok(self.open(Context::ReportMap, at)),
            (Key::Items, b'[') => Ok(self.count(Counted::Items, at)),
            (Key::Data, b'[') => Ok(self.count(Counted::Data, at)),
            (Key::Payload, b'[') => Ok(self.count(Counted::Payload, at)),
            (Key::Data, _) => self.read_into(Slot::Nowhere, byte, at),
            (Key::Items | Key::Payload | Key::Deep, _) => {
                self.payload.known = true;
                self.leaf(byte, at)
            }
            (Key::Named, _) => {
                self.payload.known = true;
                self.payload.full = true;
                self.read_into(Slot::Nowhere, byte, at)
            }
            _other => self.read_into(Slot::Nowhere, byte, at),
        }
    }

    /// A value inside a payload: any number, flag or non-empty text is content.
    fn leaf(&mut self, byte: u8, at: usize) -> Result<usize, Wrong> {
        let inside = matches!(byte, b'{' | b'[');
        if inside && (self.payload.full || self.stack.len() > DEEPEST) {
            self.payload.full = true;
            return self.read_into(Slot::Nowhere, byte, at);
        }
        match byte {
            b'{' => Ok(self.open(Context::LeafObject, at)),
            b'[' => {
                self.stack.push(Context::LeafList);
                Ok(self.go(State::First, at + 1))
            }
            _scalar => self.read_into(Slot::Leaf, byte, at),
        }
    }

    fn open(&mut self, context: Context, at: usize) -> usize {
        self.stack.push(context);
        self.go(State::FirstKey, at + 1)
    }

    fn count(&mut self, counted: Counted, at: usize) -> usize {
        self.counted = counted;
        self.skip.start(b'[');
        self.go(State::Skip, at + 1)
    }

    /// Reads a whole scalar into `slot`; lists and objects are skipped.
    fn read_into(&mut self, slot: Slot, byte: u8, at: usize) -> Result<usize, Wrong> {
        match byte {
            b'"' => Ok(self.start_text(slot, at)),
            b'{' | b'[' => {
                self.counted = Counted::Nothing;
                self.skip.start(byte);
                Ok(self.go(State::Skip, at + 1))
            }
            _scalar => {
                self.scalar = Scalar::starting_with(byte).ok_or(self.wrong(at))?;
                self.slot = slot;
                self.kept.clear();
                self.kept.push(byte);
                Ok(self.go(State::Scalar, at + 1))
            }
        }
    }

    fn start_text(&mut self, slot: Slot, at: usize) -> usize {
        self.slot = slot;
        self.kept.clear();
        self.text = Text::Plain;
        self.go(State::Text, at + 1)
    }

    fn scan_text(&mut self, bytes: &[u8], at: usize) -> Result<usize, Wrong> {
        let end = self.text.find_end(bytes, at)?;
        let stop = end.unwrap_or(bytes.len());
        if self.slot != Slot::Nowhere {
            self.keep(&bytes[at..stop]);
        }
        let Some(end) = end else { return Ok(stop) };
        if self.slot == Slot::Key {
            self.key = facts::key(&self.kept);
            if self.stack.len() == 1 {
                self.member = self.key;
            }
            return Ok(self.go(State::Colon, end + 1));
        }
        if self.slot == Slot::Leaf {
            self.payload.full |= !self.kept.is_empty();
        } else {
            self.facts.set_text(self.slot, &self.kept);
        }
        Ok(self.end_value(end + 1))
    }

    /// Keeps bytes of a string or scalar, up to [`LONGEST_TEXT`].
    fn keep(&mut self, bytes: &[u8]) {
        let room = LONGEST_TEXT - self.kept.len();
        self.kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn scan_scalar(&mut self, bytes: &[u8], at: usize) -> Result<usize, Wrong> {
        let end = self.scalar.find_end(bytes, at);
        self.keep(&bytes[at..end]);
        if end == bytes.len() {
            return Ok(end);
        }
        if let Some(missing) = self.scalar.missing() {
            return Err(Wrong::new(end, missing));
        }
        if self.slot == Slot::Leaf {
            self.payload.full |= self.kept != b"null";
        } else {
            self.facts.set_scalar(self.slot, &self.kept);
        }
        Ok(self.end_value(end))
    }

    /// A skipped list or object ended just before `end`.
    fn end_list(&mut self, elements: u64, end: usize) -> usize {
        let shape = if elements == 0 { Shape::Empty } else { Shape::Full };
        match self.counted {
            Counted::Nothing => {}
            Counted::Result => {
                self.facts.shape = shape;
                self.facts.items = Some(elements);
            }
            Counted::Items | Counted::Data | Counted::Payload => {
                self.payload.known = true;
                self.payload.full |= elements > 0;
                match self.counted {
                    Counted::Items => self.facts.items = Some(elements),
                    Counted::Data => self.facts.data = Some(elements),
                    _other => {}
                }
            }
            Counted::Diagnostics => self.add_diagnostics(elements),
        }
        self.end_value(end)
    }

    /// The object or leaf list on top of the stack ended just before `end`.
    fn close(&mut self, end: usize) -> usize {
        let context = self.stack.pop();
        if self.stack.is_empty() {
            return self.go(State::Done, end);
        }
        if context == Some(Context::Result) {
            let Payload { members, known, full } = self.payload;
            let has_related = self.facts.reports.related > 0;
            let some = if known { full || has_related } else { members > 0 };
            self.facts.shape = if some { Shape::Full } else { Shape::Empty };
        }
        if context == Some(Context::SymbolList) && self.stack.last() != Some(&Context::Symbol) {
            let is_empty = self.facts.items == Some(0);
            self.facts.shape = if is_empty { Shape::Empty } else { Shape::Full };
        }
        if context == Some(Context::Report) {
            self.facts.reports.end();
        }
        self.end_value(end)
    }

    /// A value ended just before `end`; notes the offset if it is a member of the message.
    fn end_value(&mut self, end: usize) -> usize {
        if self.stack.len() == 1 {
            let range: Range<u64> = self.started..self.base + end as u64;
            match self.member {
                Key::Params => self.facts.params = Some(range),
                Key::Result => self.facts.result = Some(range),
                _other => {}
            }
        }
        if self.stack.last() == Some(&Context::Params)
            && let Some(started) = self.value_started.take()
        {
            self.facts.value_bytes = self.base + end as u64 - started;
        }
        self.go(State::After, end)
    }
}
