//! Extracts the facts of one JSON-RPC message as its bytes arrive: ids, method, error, and the shape and size of the
//! result. It builds no tree and keeps no content, so a result of 200 MiB costs no memory.
//!
//! It does not validate: inside values that do not matter, brackets are counted, not matched.

mod facts;
mod skip;
#[cfg(test)]
mod tests;

use std::ops::Range;

use self::facts::{Key, Slot};
use self::skip::{Reached, Skip};
pub use facts::{Facts, Fault, Shape};

/// Longest key, id, method or error message kept, in bytes.
const LONGEST_TEXT: usize = 4 * 1024;
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
    text: Vec<u8>,
    escaped: bool,
    skip: Skip,
    counted: Counted,
    payload: Payload,
    started: u64,
    facts: Facts,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Value,
    /// After `[`: expects a value or the end.
    First,
    Key,
    Colon,
    After,
    Text,
    Scalar,
    /// After `[` of a counted list.
    CountedFirst,
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
}

/// Why the elements of a skipped list are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Counted {
    #[default]
    Nothing,
    Result,
    /// The list is `items` of the result.
    Items,
    /// The list is another payload member of the result.
    Payload,
}

#[derive(Clone, Copy, Debug, Default)]
struct Payload {
    members: u64,
    known: bool,
    full: bool,
}

impl Scanner {
    pub fn reset(&mut self) {
        self.state = State::Value;
        self.base = 0;
        self.stack.clear();
        self.member = Key::Other;
        self.key = Key::Other;
        self.text.clear();
        self.escaped = false;
        self.payload = Payload::default();
        self.facts.reset();
    }

    /// Scans the next bytes of the message.
    pub fn feed(&mut self, bytes: &[u8]) {
        let mut at = 0;
        while at < bytes.len() {
            at = match self.state {
                State::Text => self.in_text(bytes, at),
                State::Scalar => self.in_scalar(bytes, at),
                State::Skip => match skip::skip(&mut self.skip, bytes, at) {
                    Reached::End(end) => self.skipped(end),
                    Reached::Out => bytes.len(),
                },
                State::Broken => bytes.len(),
                State::Value
                | State::First
                | State::Key
                | State::Colon
                | State::After
                | State::CountedFirst
                | State::Done => self.between(bytes[at], at),
            };
        }
        self.base += bytes.len() as u64;
    }

    /// The facts, once the whole message was fed; `None` if it is no complete JSON object.
    pub fn facts(&self) -> Option<&Facts> {
        (self.state == State::Done).then_some(&self.facts)
    }

    fn between(&mut self, byte: u8, at: usize) -> usize {
        if byte.is_ascii_whitespace() {
            return at + 1;
        }
        match (self.state, byte) {
            (State::Value, _) | (State::First, b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => {
                self.value(byte, at)
            }
            (State::Key, b'"') => self.start_text(Slot::Key, at),
            (State::Colon, b':') => self.go(State::Value, at + 1),
            (State::After, b',') => match self.stack.last() {
                Some(Context::LeafList) => self.go(State::Value, at + 1),
                Some(_object) => self.go(State::Key, at + 1),
                None => self.go(State::Broken, at),
            },
            (State::Key | State::First | State::After, b'}' | b']') => self.close(at + 1),
            (State::CountedFirst, b']') => {
                self.skip.depth = 0;
                self.list_ended(0, at + 1)
            }
            (State::CountedFirst, _) => {
                self.skip = Skip {
                    depth: 1,
                    ..Skip::default()
                };
                self.go(State::Skip, at)
            }
            _unexpected => self.go(State::Broken, at),
        }
    }

    fn go(&mut self, state: State, at: usize) -> usize {
        self.state = state;
        at
    }

    /// The first byte of a value: decides whether to scan, keep or skip it.
    fn value(&mut self, byte: u8, at: usize) -> usize {
        let Some(context) = self.stack.last().copied() else {
            return if byte == b'{' {
                self.open(Context::Message, at)
            } else {
                self.go(State::Broken, at)
            };
        };
        match context {
            Context::Message => self.member_value(byte, at),
            Context::Result => self.result_member(byte, at),
            Context::Error => match (self.key, byte) {
                (Key::Code, _) => self.take(Slot::Code, byte, at),
                (Key::Message, _) => self.take(Slot::Message, byte, at),
                (Key::Data, b'{') => self.open(Context::ErrorData, at),
                _other => self.take(Slot::Nowhere, byte, at),
            },
            Context::ErrorData if self.key == Key::Retrigger => self.take(Slot::Retrigger, byte, at),
            Context::ErrorData => self.take(Slot::Nowhere, byte, at),
            Context::LeafList => self.leaf(byte, at),
            // Descriptive text is one word; a list or an object under that name is something else.
            Context::LeafObject if self.key == Key::Descriptive && !matches!(byte, b'{' | b'[') => {
                self.take(Slot::Nowhere, byte, at)
            }
            Context::LeafObject => self.leaf(byte, at),
        }
    }

    fn member_value(&mut self, byte: u8, at: usize) -> usize {
        self.started = self.base + at as u64;
        if self.member == Key::Result {
            self.facts.items = None;
        }
        match (self.member, byte) {
            (Key::Id, b'{') => self.unfit_id("is an object", byte, at),
            (Key::Id, b'[') => self.unfit_id("is a list", byte, at),
            (Key::Id, _) => self.take(Slot::Id, byte, at),
            (Key::Method, _) => self.take(Slot::Method, byte, at),
            (Key::Result, b'{') => {
                self.payload = Payload::default();
                self.open(Context::Result, at)
            }
            (Key::Result, b'[') => self.count(Counted::Result, at),
            (Key::Result, _) => self.take(Slot::Result, byte, at),
            (Key::Error, b'{') => {
                self.facts.error = Some(Fault::default());
                self.open(Context::Error, at)
            }
            _other => self.take(Slot::Nowhere, byte, at),
        }
    }

    fn unfit_id(&mut self, what: &'static str, byte: u8, at: usize) -> usize {
        self.facts.take_id(Err(what));
        self.take(Slot::Nowhere, byte, at)
    }

    /// A member of an object result.
    fn result_member(&mut self, byte: u8, at: usize) -> usize {
        self.payload.members += 1;
        match (self.key, byte) {
            (Key::Items, b'[') => self.count(Counted::Items, at),
            (Key::Data | Key::Payload, b'[') => self.count(Counted::Payload, at),
            (Key::Data, _) => self.take(Slot::Nowhere, byte, at),
            (Key::Items | Key::Payload | Key::Deep, _) => {
                self.payload.known = true;
                self.leaf(byte, at)
            }
            (Key::Named, _) => {
                self.payload.known = true;
                self.payload.full = true;
                self.take(Slot::Nowhere, byte, at)
            }
            _other => self.take(Slot::Nowhere, byte, at),
        }
    }

    /// A value inside a payload: any number, flag or non-empty text is content.
    fn leaf(&mut self, byte: u8, at: usize) -> usize {
        let inside = matches!(byte, b'{' | b'[');
        if inside && (self.payload.full || self.stack.len() > DEEPEST) {
            self.payload.full = true;
            return self.take(Slot::Nowhere, byte, at);
        }
        match byte {
            b'{' => self.open(Context::LeafObject, at),
            b'[' => {
                self.stack.push(Context::LeafList);
                self.go(State::First, at + 1)
            }
            _scalar => self.take(Slot::Leaf, byte, at),
        }
    }

    fn open(&mut self, context: Context, at: usize) -> usize {
        self.stack.push(context);
        self.go(State::Key, at + 1)
    }

    fn count(&mut self, counted: Counted, at: usize) -> usize {
        self.counted = counted;
        self.go(State::CountedFirst, at + 1)
    }

    /// Takes a whole scalar into `slot`; lists and objects are skipped.
    fn take(&mut self, slot: Slot, byte: u8, at: usize) -> usize {
        match byte {
            b'"' => self.start_text(slot, at),
            b'{' | b'[' => {
                self.counted = Counted::Nothing;
                self.skip = Skip {
                    depth: 1,
                    ..Skip::default()
                };
                self.go(State::Skip, at + 1)
            }
            b'-' | b'0'..=b'9' | b't' | b'f' | b'n' => {
                self.slot = slot;
                self.text.clear();
                self.go(State::Scalar, at)
            }
            _unexpected => self.go(State::Broken, at),
        }
    }

    fn start_text(&mut self, slot: Slot, at: usize) -> usize {
        self.slot = slot;
        self.text.clear();
        self.escaped = false;
        self.go(State::Text, at + 1)
    }

    fn in_text(&mut self, bytes: &[u8], at: usize) -> usize {
        let end = skip::text_end(bytes, at, &mut self.escaped);
        let stop = end.unwrap_or(bytes.len());
        if self.slot != Slot::Nowhere {
            let room = LONGEST_TEXT - self.text.len();
            self.text.extend_from_slice(&bytes[at..stop.min(at + room)]);
        }
        let Some(end) = end else { return stop };
        if self.slot == Slot::Key {
            self.key = facts::key(&self.text);
            if self.stack.len() == 1 {
                self.member = self.key;
            }
            return self.go(State::Colon, end + 1);
        }
        if self.slot == Slot::Leaf {
            self.payload.full |= !self.text.is_empty();
        } else {
            self.facts.take_text(self.slot, &self.text);
        }
        self.ended(end + 1)
    }

    fn in_scalar(&mut self, bytes: &[u8], at: usize) -> usize {
        let delimiter = |byte: &u8| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace();
        let end = bytes[at..].iter().position(delimiter).map(|length| at + length);
        let stop = end.unwrap_or(bytes.len());
        let room = LONGEST_TEXT - self.text.len();
        self.text.extend_from_slice(&bytes[at..stop.min(at + room)]);
        let Some(end) = end else { return stop };
        if self.slot == Slot::Leaf {
            self.payload.full |= self.text != b"null";
        } else {
            self.facts.take_scalar(self.slot, &self.text);
        }
        self.ended(end)
    }

    fn skipped(&mut self, end: usize) -> usize {
        self.list_ended(self.skip.commas + 1, end)
    }

    /// A skipped list or object ended just before `end`.
    fn list_ended(&mut self, elements: u64, end: usize) -> usize {
        let shape = if elements == 0 { Shape::Empty } else { Shape::Full };
        match self.counted {
            Counted::Nothing => {}
            Counted::Result => {
                self.facts.shape = shape;
                self.facts.items = Some(elements);
            }
            Counted::Items | Counted::Payload => {
                self.payload.known = true;
                self.payload.full |= elements > 0;
                if self.counted == Counted::Items {
                    self.facts.items = Some(elements);
                }
            }
        }
        self.ended(end)
    }

    /// The object or leaf list on top of the stack ended just before `end`.
    fn close(&mut self, end: usize) -> usize {
        let context = self.stack.pop();
        if self.stack.is_empty() {
            return self.go(State::Done, end);
        }
        if context == Some(Context::Result) {
            let Payload { members, known, full } = self.payload;
            let some = if known { full } else { members > 0 };
            self.facts.shape = if some { Shape::Full } else { Shape::Empty };
        }
        self.ended(end)
    }

    /// A value ended just before `end`; notes the offset if it is a member of the message.
    fn ended(&mut self, end: usize) -> usize {
        if self.stack.len() == 1 {
            let range: Range<u64> = self.started..self.base + end as u64;
            match self.member {
                Key::Params => self.facts.params = Some(range),
                Key::Result => self.facts.result = Some(range),
                _other => {}
            }
        }
        self.go(State::After, end)
    }
}
