//! A short line of text, made without allocating.

/// At most as much as a path may be long; what does not fit is cut off.
pub struct Line {
    bytes: [u8; libc::PATH_MAX as usize],
    length: usize,
}

impl Line {
    /// An empty one.
    pub fn new() -> Line {
        Line {
            bytes: [0; libc::PATH_MAX as usize],
            length: 0,
        }
    }

    /// The bytes written so far.
    pub fn written(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// Adds bytes.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Line {
        for byte in bytes {
            if let Some(place) = self.bytes.get_mut(self.length) {
                *place = *byte;
                self.length += 1;
            }
        }
        self
    }

    /// Adds text.
    pub fn text(&mut self, text: &str) -> &mut Line {
        self.bytes(text.as_bytes())
    }

    /// Adds a whole number.
    pub fn number(&mut self, number: u64) -> &mut Line {
        if number >= 10 {
            self.number(number / 10);
        }
        self.bytes(&[b'0' + (number % 10) as u8])
    }
}
