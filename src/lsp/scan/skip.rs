//! The hot loops of the scanner: skip strings and whole values, one or eight bytes at a time.

use memchr::memchr2;

// The lowest bit marks a comma; higher bits stop the run.
const PLAIN: u8 = 0;
const COMMA: u8 = 1;
const QUOTE: u8 = 2;
const OPEN: u8 = 4;
const CLOSE: u8 = 6;

/// The class of a byte outside strings, for nesting and commas.
static CLASS: [u8; 256] = {
    let mut table = [PLAIN; 256];
    table[b'"' as usize] = QUOTE;
    table[b'{' as usize] = OPEN;
    table[b'[' as usize] = OPEN;
    table[b'}' as usize] = CLOSE;
    table[b']' as usize] = CLOSE;
    table[b',' as usize] = COMMA;
    table
};

/// Progress inside a list or object that is skipped.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Skip {
    /// Open brackets, including the outermost.
    pub(super) depth: u32,
    /// Commas between the elements of the outermost list.
    pub(super) commas: u64,
    pub(super) text: bool,
    pub(super) escaped: bool,
}

pub(super) enum Reached {
    End(usize),
    /// The value continues after these bytes.
    Out,
}

/// Skips `bytes` from `at` until the outermost bracket is closed.
pub(super) fn skip(skip: &mut Skip, bytes: &[u8], mut at: usize) -> Reached {
    let Skip {
        mut depth,
        mut commas,
        mut text,
        mut escaped,
    } = *skip;
    let reached = loop {
        if text {
            match text_end(bytes, at, &mut escaped) {
                Some(quote) => (text, at) = (false, quote + 1),
                None => break Reached::Out,
            }
        }
        // Counts commas without a branch, because a list of numbers is unpredictable.
        let outermost = u8::from(depth == 1);
        let position = bytes[at..].iter().position(|byte| {
            let class = CLASS[usize::from(*byte)];
            commas += u64::from(class & outermost);
            class > COMMA
        });
        let Some(offset) = position else { break Reached::Out };
        at += offset + 1;
        match CLASS[usize::from(bytes[at - 1])] {
            QUOTE => text = true,
            OPEN => depth += 1,
            _close => {
                depth -= 1;
                if depth == 0 {
                    break Reached::End(at);
                }
            }
        }
    };
    *skip = Skip {
        depth,
        commas,
        text,
        escaped,
    };
    reached
}

/// The offset of the quote that ends a string, from `at` inside it; `None` if it is not in these bytes.
pub(super) fn text_end(bytes: &[u8], mut at: usize, escaped: &mut bool) -> Option<usize> {
    loop {
        if *escaped {
            if at >= bytes.len() {
                return None;
            }
            at += 1;
            *escaped = false;
        }
        at = special(bytes, at)?;
        if bytes[at] == b'"' {
            return Some(at);
        }
        *escaped = true;
        at += 1;
    }
}

/// The next quote or backslash. Most strings are too short for `memchr2` to pay off.
fn special(bytes: &[u8], mut at: usize) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = ONES << 7;
    for _ in 0..4 {
        let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) else {
            break;
        };
        let word = u64::from_le_bytes(*word);
        let quotes = word ^ (ONES * b'"' as u64);
        let slashes = word ^ (ONES * b'\\' as u64);
        // The lowest marked byte is exact; a borrow can only mark higher bytes wrongly.
        let position = ((quotes.wrapping_sub(ONES) & !quotes) | (slashes.wrapping_sub(ONES) & !slashes)) & HIGHS;
        if position != 0 {
            return Some(at + position.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    memchr2(b'"', b'\\', bytes.get(at..)?).map(|offset| at + offset)
}
