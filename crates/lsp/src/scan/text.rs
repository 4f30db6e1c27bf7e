//! The grammar of a JSON string, read in parts of any length: escapes, control characters and UTF-8.

use super::problem::Wrong;

/// Progress inside a string, after its opening quote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Text {
    #[default]
    Plain,
    /// After a backslash.
    Escape,
    /// Inside `\u`, with the number of missing digits.
    Digits(u8),
    /// Inside a character of several bytes.
    Character(Rest),
}

/// The missing bytes of a character, and the range of the next one (RFC 3629, section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rest {
    missing: u8,
    low: u8,
    high: u8,
}

impl Rest {
    /// The bytes that must follow the first byte of a character; `None` if no character begins so.
    fn after_byte(first: u8) -> Option<Rest> {
        let (missing, low, high) = match first {
            0xc2..=0xdf => (1, 0x80, 0xbf),
            0xe0 => (2, 0xa0, 0xbf),
            0xed => (2, 0x80, 0x9f),
            0xe1..=0xef => (2, 0x80, 0xbf),
            0xf0 => (3, 0x90, 0xbf),
            0xf1..=0xf3 => (3, 0x80, 0xbf),
            0xf4 => (3, 0x80, 0x8f),
            _no_first_byte => return None,
        };
        Some(Rest { missing, low, high })
    }
}

impl Text {
    /// Finds the quote that ends the string, from `at` inside it; `None` if it is not in these bytes.
    pub(super) fn find_end(&mut self, bytes: &[u8], mut at: usize) -> Result<Option<usize>, Wrong> {
        loop {
            if *self == Text::Plain {
                at = special(bytes, at);
                at += long_characters(&bytes[at..]);
            }
            let Some(byte) = bytes.get(at).copied() else {
                return Ok(None);
            };
            if *self == Text::Plain && byte == b'"' {
                return Ok(Some(at));
            }
            *self = self.next(byte, at)?;
            at += 1;
        }
    }

    /// The state after one byte that is no closing quote.
    fn next(self, byte: u8, at: usize) -> Result<Text, Wrong> {
        match (self, byte) {
            (Text::Plain, b'\\') => Ok(Text::Escape),
            (Text::Plain, 0..0x20) => Err(Wrong::new(at, "an escape instead of a control character")),
            (Text::Plain, 0x20..0x80) => Ok(Text::Plain),
            (Text::Plain, first) => {
                let rest = Rest::after_byte(first).ok_or(Wrong::new(at, "UTF-8"))?;
                Ok(Text::Character(rest))
            }
            (Text::Escape, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(Text::Plain),
            (Text::Escape, b'u') => Ok(Text::Digits(4)),
            (Text::Escape, _) => Err(Wrong::new(at, "an escape of JSON")),
            (Text::Digits(1), byte) if byte.is_ascii_hexdigit() => Ok(Text::Plain),
            (Text::Digits(missing), byte) if byte.is_ascii_hexdigit() => Ok(Text::Digits(missing - 1)),
            (Text::Digits(_), _) => Err(Wrong::new(at, "four hexadecimal digits")),
            (Text::Character(rest), byte) if !(rest.low..=rest.high).contains(&byte) => Err(Wrong::new(at, "UTF-8")),
            (Text::Character(Rest { missing: 1, .. }), _) => Ok(Text::Plain),
            (Text::Character(rest), _) => Ok(Text::Character(Rest {
                missing: rest.missing - 1,
                low: 0x80,
                high: 0xbf,
            })),
        }
    }
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = ONES << 7;

/// The closing quote of a string, from `at` inside it, if only plain ASCII text comes before it.
#[inline]
pub(super) fn plain_end(bytes: &[u8], at: usize) -> Option<usize> {
    let end = special(bytes, at);
    if bytes.get(end) == Some(&b'"') { Some(end) } else { None }
}

/// The first byte from `at` that is not plain ASCII text: a quote, a backslash, a control character or a byte of a
/// longer character.
#[inline]
fn special(bytes: &[u8], mut at: usize) -> usize {
    while let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let marks = marked(u64::from_le_bytes(*word));
        if marks != 0 {
            return at + marks.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while let Some(byte) = bytes.get(at)
        && *byte != b'"'
        && *byte != b'\\'
        && (0x20..0x80).contains(byte)
    {
        at += 1;
    }
    at
}

/// Length of the characters of several bytes at the start of `bytes`, up to the first that is wrong or not whole.
fn long_characters(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(first @ 0x80..) = bytes.get(at)
        && let Some(rest) = Rest::after_byte(*first)
        && let Some(others) = bytes.get(at + 1..=at + usize::from(rest.missing))
        && (rest.low..=rest.high).contains(&others[0])
        && others[1..].iter().all(|other| matches!(other, 0x80..=0xbf))
    {
        at += 1 + others.len();
    }
    at
}

/// Marks the special bytes of a word in their highest bits. The lowest mark is exact; a borrow can only mark higher
/// bytes wrongly.
fn marked(word: u64) -> u64 {
    let quotes = word ^ (ONES * b'"' as u64);
    let slashes = word ^ (ONES * b'\\' as u64);
    let zeros = (quotes.wrapping_sub(ONES) & !quotes) | (slashes.wrapping_sub(ONES) & !slashes);
    let controls = word.wrapping_sub(ONES * 0x20) & !word;
    (zeros | controls | word) & HIGHS
}
