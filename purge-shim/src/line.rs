//! A short line of text, made without allocating.

/// Holds as many bytes as a path may have; what does not fit is cut off.
pub struct Line {
    bytes: [u8; libc::PATH_MAX as usize],
    length: usize,
}

impl Line {
    /// An empty line.
    pub fn new() -> Line {
        Line {
            bytes: [0; libc::PATH_MAX as usize],
            length: 0,
        }
    }

    /// All bytes that were added so far.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// Adds bytes.
    pub fn push_bytes(&mut self, bytes: &[u8]) -> &mut Line {
        for byte in bytes {
            if let Some(place) = self.bytes.get_mut(self.length) {
                *place = *byte;
                self.length += 1;
            }
        }
        self
    }

    /// Adds text.
    pub fn push_text(&mut self, text: &str) -> &mut Line {
        self.push_bytes(text.as_bytes())
    }

    /// Adds a whole number.
    pub fn push_number(&mut self, number: u64) -> &mut Line {
        if number >= 10 {
            self.push_number(number / 10);
        }
        self.push_bytes(&[b'0' + (number % 10) as u8])
    }
}
