//! Finds messages in a byte stream: header lines, lengths, and noise.

use memchr::{memchr, memchr2_iter, memmem};

/// Longest line kept, in bytes: header lines have a few dozen bytes; a longer line is noise.
const LONGEST_LINE: usize = 8 * 1024;
/// Bytes kept of an unfinished noise line, because a header may begin in it. Longer than any Content-Length line.
const OVERLAP: usize = 64;
/// Bytes of noise kept for messages.
const SAMPLE: usize = 4 * 1024;
const LENGTH: &[u8] = b"content-length:";
/// Part of a Content-Length line in UTF-16 of either byte order.
const UTF16_LENGTH: &[u8] = b"o\0n\0t\0e\0n\0t\0-\0L\0e\0n\0g\0t\0h\0";
const TYPE: &[u8] = b"content-type:";

/// The next part of the stream, after the bytes read so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Head {
    More,
    /// A body of this many bytes follows.
    Body(u64),
    /// The announced body is longer than the limit.
    TooLarge(u64),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Noise {
    pub(super) total: u64,
    pub(super) unbroken: u64,
    pub(super) sample: Vec<u8>,
}

/// The state of the header parser between reads.
#[derive(Debug)]
pub(super) struct Framer {
    max: u64,
    length: Option<u64>,
    /// A header came in UTF-16.
    pub(super) is_utf16: bool,
    /// The skipped bytes.
    pub(super) noise: Noise,
}

enum Line {
    /// A Content-Length, after this many other bytes.
    Length {
        at: usize,
        value: u64,
    },
    ContentType,
    Blank,
    Noise,
}

impl Framer {
    pub(super) fn new(max: u64) -> Framer {
        Framer {
            max,
            length: None,
            is_utf16: false,
            noise: Noise::default(),
        }
    }

    /// Reads header lines from `bytes`; returns how many bytes were used, and what follows.
    ///
    /// Skips and counts log lines and shell output. Finds a header even after text without a line end. Of two lengths,
    /// the last one counts: it is nearest to the body.
    pub(super) fn head(&mut self, bytes: &[u8]) -> (usize, Head) {
        let mut used = 0;
        while let Some(end) = memchr(b'\n', &bytes[used..]) {
            let line = &bytes[used..=used + end];
            used += line.len();
            match classify(line) {
                Line::Length { at, value } => {
                    self.skip(&line[..at]);
                    self.length = Some(value);
                }
                Line::ContentType => {}
                Line::Blank => match self.length.take() {
                    Some(length) => {
                        self.noise.unbroken = 0;
                        let head = if length > self.max {
                            Head::TooLarge(length)
                        } else {
                            Head::Body(length)
                        };
                        return (used, head);
                    }
                    None => self.skip(line),
                },
                Line::Noise => self.skip(line),
            }
        }
        if bytes.len() - used > LONGEST_LINE {
            let keep = bytes.len() - OVERLAP;
            self.skip(&bytes[used..keep]);
            used = keep;
        }
        (used, Head::More)
    }

    /// Forgets a length whose content cannot follow any more.
    pub(super) fn forget(&mut self) {
        self.length = None;
    }

    fn skip(&mut self, bytes: &[u8]) {
        self.noise.total += bytes.len() as u64;
        self.noise.unbroken += bytes.len() as u64;
        self.is_utf16 |= memmem::find(bytes, UTF16_LENGTH).is_some();
        let room = SAMPLE - self.noise.sample.len();
        self.noise.sample.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

fn classify(line: &[u8]) -> Line {
    if line.trim_ascii().is_empty() {
        return Line::Blank;
    }
    if starts_with(line, TYPE) {
        return Line::ContentType;
    }
    memchr2_iter(b'c', b'C', line)
        .filter(|&at| starts_with(&line[at..], LENGTH))
        .find_map(|at| {
            Some(Line::Length {
                at,
                value: number(&line[at + LENGTH.len()..])?,
            })
        })
        .unwrap_or(Line::Noise)
}

fn starts_with(line: &[u8], name: &[u8]) -> bool {
    line.get(..name.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(name))
}

fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text.trim_ascii()).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> (usize, Head, Framer) {
        let mut framer = Framer::new(1 << 30);
        let (used, head) = framer.head(text.as_bytes());
        (used, head, framer)
    }

    #[test]
    fn names_of_headers_are_case_insensitive() {
        let (used, state, framer) = head("cOnTENT-length:  12 \r\n\r\n{}");
        assert_eq!((used, state), (24, Head::Body(12)));
        assert_eq!(framer.noise.total, 0);
    }

    #[test]
    fn a_content_type_is_tolerated_before_and_after_the_length() {
        let kind = "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n";
        for text in [
            format!("{kind}Content-Length: 2\r\n\r\n"),
            format!("Content-Length: 2\r\n{kind}\r\n"),
        ] {
            let (used, state, framer) = head(&text);
            assert_eq!((used, state, framer.noise.total), (text.len(), Head::Body(2), 0));
        }
    }

    #[test]
    fn lines_that_are_no_header_are_counted_and_kept_for_people() {
        let (_, state, framer) = head("starting up\n\nINFO ready: yes\r\nContent-Length: 2\r\n\r\n");
        assert_eq!(state, Head::Body(2));
        assert_eq!(framer.noise.sample, b"starting up\n\nINFO ready: yes\r\n");
        assert_eq!(framer.noise.total, framer.noise.sample.len() as u64);
    }

    #[test]
    fn a_header_behind_text_without_a_line_end_is_found() {
        let (_, state, framer) = head("Loading...Content-Length: 7\r\n\r\n");
        assert_eq!((state, framer.noise.total), (Head::Body(7), 10));
    }

    #[test]
    fn a_logged_header_does_not_hide_the_real_one() {
        let (_, state, _) = head("sent Content-Length: 5\nmore\nContent-Length: 9\r\n\r\n");
        assert_eq!(state, Head::Body(9));
    }

    #[test]
    fn a_length_that_is_no_number_is_noise() {
        let (_, state, framer) = head("Content-Length: many\r\n\r\n");
        assert_eq!((state, framer.noise.total), (Head::More, 24));
    }

    #[test]
    fn a_header_in_utf_16_is_noticed_in_both_byte_orders() {
        let text = "Content-Length: 2\r\n\r\n{}";
        let low_first: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let high_first: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for bytes in [low_first, high_first] {
            let mut framer = Framer::new(100);
            framer.head(&bytes);
            assert!(framer.is_utf16);
        }
        assert!(!head(text).2.is_utf16);
    }

    #[test]
    fn a_length_over_the_limit_is_refused() {
        assert_eq!(
            Framer::new(10).head(b"Content-Length: 11\r\n\r\n").1,
            Head::TooLarge(11)
        );
    }

    #[test]
    fn noise_without_a_line_end_is_not_kept_and_hides_no_header() {
        let mut framer = Framer::new(100);
        let mut pending = Vec::new();
        let mut largest = 0;
        let stream = [vec![b'x'; 1 << 20], b"Content-Length: 3\r\n\r\n".to_vec()].concat();
        let mut state = Head::More;
        for chunk in stream.chunks(1000) {
            pending.extend_from_slice(chunk);
            let (used, head) = framer.head(&pending);
            pending.drain(..used);
            largest = largest.max(pending.len());
            state = head;
        }
        assert_eq!((state, framer.noise.total), (Head::Body(3), 1 << 20));
        assert_eq!(framer.noise.sample.len(), SAMPLE);
        assert!(largest <= LONGEST_LINE + 1000, "{largest} bytes were kept");
    }

    #[test]
    fn a_header_that_arrives_byte_by_byte_is_read() {
        let mut framer = Framer::new(100);
        let mut pending = Vec::new();
        let mut state = Head::More;
        for byte in b"noise\nContent-Length: 42\r\nContent-Type: x\r\n\r\n" {
            pending.push(*byte);
            let (used, head) = framer.head(&pending);
            pending.drain(..used);
            state = head;
        }
        assert_eq!((state, framer.noise.total, pending.len()), (Head::Body(42), 6, 0));
    }
}
