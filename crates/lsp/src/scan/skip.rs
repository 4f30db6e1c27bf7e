//! Skips a list or object and checks that it is JSON: the hot loop of the scanner.

use super::problem::Wrong;
use super::scalar::{self, Number, Run, Scalar};
use super::text::{self, Text};

/// Deepest nesting that is followed. It bounds the memory for open brackets to 128 KiB; parsers give up far earlier.
const DEEPEST: u32 = 1 << 20;

/// Progress inside a list or object that is skipped.
#[derive(Debug, Default)]
pub(super) struct Skip {
    state: State,
    text: Text,
    scalar: Scalar,
    /// Open brackets, including the outermost.
    depth: u32,
    /// A bit for each open bracket, set for objects.
    objects: Vec<u64>,
    /// Commas between the elements of the outermost list.
    commas: u64,
    /// The outermost list or object has an element.
    filled: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// A value or the end of the list.
    #[default]
    First,
    Value,
    /// A name or the end of the object.
    FirstName,
    Name,
    InName,
    Colon,
    InText,
    InScalar,
    /// A comma or the end.
    After,
}

pub(super) enum Reached {
    End(usize),
    /// The value continues after these bytes.
    Out,
}

pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

impl Skip {
    /// Begins behind the bracket `opening`.
    pub(super) fn start(&mut self, opening: u8) {
        self.depth = 0;
        self.commas = 0;
        self.filled = false;
        self.push(opening == b'{');
    }

    /// Elements of the outermost list.
    pub(super) fn elements(&self) -> u64 {
        self.commas + u64::from(self.filled)
    }

    /// The bytes that may follow, for people.
    pub(super) fn expected(&self) -> &'static str {
        match self.state {
            State::First => "a value or `]`",
            State::Value => "a value",
            State::FirstName => "a name or `}`",
            State::Name => "a name",
            State::Colon => "`:`",
            State::InName | State::InText => "the end of a string",
            State::After if self.is_object() => "`,` or `}`",
            State::After => "`,` or `]`",
            State::InScalar => self.scalar.missing().unwrap_or("the end of a value"),
        }
    }

    fn is_object(&self) -> bool {
        let place = self.depth - 1;
        self.objects[place as usize / 64] >> (place % 64) & 1 == 1
    }

    fn push(&mut self, object: bool) {
        let (word, bit) = (self.depth as usize / 64, 1 << (self.depth % 64));
        if word == self.objects.len() {
            self.objects.push(0);
        }
        if object {
            self.objects[word] |= bit;
            self.state = State::FirstName;
        } else {
            self.objects[word] &= !bit;
            self.state = State::First;
        }
        self.depth += 1;
    }

    /// Skips `bytes` from `at` until the outermost bracket is closed.
    pub(super) fn find_end(&mut self, bytes: &[u8], mut at: usize) -> Result<Reached, Wrong> {
        while at < bytes.len() {
            at = match self.state {
                State::InName => self.skip_name(bytes, at)?,
                State::InText => self.skip_text(bytes, at)?,
                State::InScalar => self.skip_scalar(bytes, at)?,
                State::First | State::Value => self.skip_value(bytes, at)?,
                State::Name | State::FirstName | State::Colon | State::After => self.skip_punctuation(bytes, at)?,
            };
            if self.depth == 0 {
                return Ok(Reached::End(at));
            }
        }
        Ok(Reached::Out)
    }

    /// Spaces, names, punctuation and closing brackets.
    #[inline]
    fn skip_punctuation(&mut self, bytes: &[u8], at: usize) -> Result<usize, Wrong> {
        let byte = bytes[at];
        match (self.state, byte) {
            (State::After, b',') => {
                self.commas += u64::from(self.depth == 1);
                self.state = if self.is_object() { State::Name } else { State::Value };
            }
            (State::Name | State::FirstName, b'"') => {
                self.filled = true;
                self.text = Text::Plain;
                self.state = State::InName;
                return self.skip_name(bytes, at + 1);
            }
            (State::Colon, b':') => self.state = State::Value,
            (State::FirstName, b'}') => self.pop(),
            (State::After, b'}' | b']') if self.is_object() == (byte == b'}') => self.pop(),
            (_, byte) if is_space(byte) => {}
            _unexpected => return Err(Wrong::new(at, self.expected())),
        }
        Ok(at + 1)
    }

    #[inline]
    fn skip_value(&mut self, bytes: &[u8], at: usize) -> Result<usize, Wrong> {
        let byte = bytes[at];
        match byte {
            b'"' => {
                self.filled = true;
                self.text = Text::Plain;
                self.state = State::InText;
                self.skip_text(bytes, at + 1)
            }
            b'{' | b'[' => {
                if self.depth == DEEPEST {
                    return Err(Wrong::new(at, "at most 1,048,576 open brackets"));
                }
                self.filled = true;
                self.push(byte == b'{');
                Ok(at + 1)
            }
            b']' if self.state == State::First => {
                self.pop();
                Ok(at + 1)
            }
            byte if is_space(byte) => Ok(at + 1),
            _scalar => {
                let scalar = Scalar::starting_with(byte).ok_or(Wrong::new(at, self.expected()))?;
                self.filled = true;
                match scalar {
                    Scalar::Number(first) if !self.is_object() => Ok(self.skip_numbers(first, bytes, at + 1)),
                    Scalar::Number(_) | Scalar::Literal(_) => {
                        self.scalar = scalar;
                        self.state = State::InScalar;
                        self.skip_scalar(bytes, at + 1)
                    }
                }
            }
        }
    }

    /// Numbers of a list, behind the first byte of one.
    fn skip_numbers(&mut self, first: Number, bytes: &[u8], at: usize) -> usize {
        let Run { end, commas, last } = scalar::run(first, bytes, at);
        if self.depth == 1 {
            self.commas += commas;
        }
        if last == Number::Comma {
            self.state = State::Value;
        } else {
            self.scalar = Scalar::Number(last);
            self.state = State::InScalar;
        }
        end
    }

    #[inline]
    fn skip_name(&mut self, bytes: &[u8], at: usize) -> Result<usize, Wrong> {
        let Some(quote) = self.find_quote(bytes, at)? else {
            return Ok(bytes.len());
        };
        if bytes.get(quote + 1) == Some(&b':') {
            self.state = State::Value;
            return Ok(quote + 2);
        }
        self.state = State::Colon;
        Ok(quote + 1)
    }

    #[inline]
    fn skip_text(&mut self, bytes: &[u8], at: usize) -> Result<usize, Wrong> {
        let Some(quote) = self.find_quote(bytes, at)? else {
            return Ok(bytes.len());
        };
        self.state = State::After;
        Ok(quote + 1)
    }

    /// The quote that ends a string; `None` if it is not in these bytes.
    #[inline]
    fn find_quote(&mut self, bytes: &[u8], at: usize) -> Result<Option<usize>, Wrong> {
        if self.text == Text::Plain
            && let Some(quote) = text::plain_end(bytes, at)
        {
            return Ok(Some(quote));
        }
        self.text.find_end(bytes, at)
    }

    #[inline]
    fn skip_scalar(&mut self, bytes: &[u8], at: usize) -> Result<usize, Wrong> {
        let end = self.scalar.find_end(bytes, at);
        if end < bytes.len() {
            if let Some(missing) = self.scalar.missing() {
                return Err(Wrong::new(end, missing));
            }
            self.state = State::After;
        }
        Ok(end)
    }

    fn pop(&mut self) {
        self.depth -= 1;
        self.state = State::After;
    }
}
