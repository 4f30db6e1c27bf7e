//! Where a message is no JSON object, what was found there, and what was expected.

use std::fmt;

/// Bytes of a message that are shown.
const SHOWN: usize = 60;

/// A byte that breaks the grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    /// Offset in the bytes at hand.
    pub(super) at: usize,
    pub(super) expected: &'static str,
}

impl Wrong {
    pub(super) fn new(at: usize, expected: &'static str) -> Wrong {
        Wrong { at, expected }
    }
}

/// The first error that makes a message no JSON object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotJson {
    /// Place of the first wrong byte in the message, from 1; of a message that ends too early, its length.
    pub byte: u64,
    pub expected: &'static str,
    pub found: FoundInstead,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundInstead {
    /// The message ended.
    End,
    ByteOrderMark,
    Utf16,
    /// The bytes from there on, cut to a bounded length.
    Text(String),
}

impl NotJson {
    /// Describes what is wrong in `bytes`, which begin at `base` in the message.
    pub(super) fn new(wrong: Wrong, bytes: &[u8], base: u64) -> NotJson {
        let rest = &bytes[wrong.at.min(bytes.len())..];
        let place = base + wrong.at as u64;
        let found = match (place, rest) {
            (0, [0xef, 0xbb, ..]) => FoundInstead::ByteOrderMark,
            // `{` in two bytes, or their byte order mark.
            (0, [0xff | 0xfe | 0, ..]) | (1, [0, ..]) => FoundInstead::Utf16,
            _other => {
                let shown = String::from_utf8_lossy(&rest[..rest.len().min(SHOWN)]);
                FoundInstead::Text(shown.replace(char::is_control, "\u{fffd}"))
            }
        };
        NotJson {
            byte: place + 1,
            expected: wrong.expected,
            found,
        }
    }

    /// A message of `length` bytes that ends too early.
    pub(super) fn cut_short(length: u64, expected: &'static str) -> NotJson {
        NotJson {
            byte: length,
            expected,
            found: FoundInstead::End,
        }
    }
}

impl fmt::Display for NotJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NotJson { byte, expected, found } = self;
        match found {
            FoundInstead::End if *byte == 0 => write!(f, "it is empty, where {expected} is expected"),
            FoundInstead::End => write!(f, "it ends after byte {byte}, where {expected} is expected"),
            FoundInstead::ByteOrderMark => f.write_str("it begins with a byte order mark, where `{` is expected"),
            FoundInstead::Utf16 => f.write_str("it is UTF-16, where UTF-8 is expected"),
            FoundInstead::Text(text) => write!(f, "byte {byte} begins `{text}`, where {expected} is expected"),
        }
    }
}
