//! Finds the messages in one direction of a connection between two others, as its bytes pass by.

use memchr::memchr;

use super::frame::{Framer, Head};
use super::scan::{Facts, Scanner};

/// Longest content that is kept whole, in bytes. Of a longer message only the facts are known.
const LONGEST_KEPT: u64 = 8 << 20;

/// Parts of results that the scanner looks into, by the requests that are open: see [`Scanner::reset`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LooksFor {
    pub reports: bool,
    pub symbols: bool,
}

/// A message whose last byte came.
#[derive(Debug)]
pub struct PassedMessage<'m> {
    /// Stamp of the bytes that its header began in.
    pub began: u64,
    /// Bytes of its content.
    pub bytes: u64,
    /// `None` if it is no message of the protocol, or a part of it was lost on the way here.
    pub facts: Option<&'m Facts>,
    /// `None` if it is too long to keep, or a part of it was lost.
    pub content: Option<&'m [u8]>,
}

/// The state between two reads.
#[derive(Debug)]
pub struct Messages {
    framer: Framer,
    scanner: Scanner,
    place: Place,
    /// The begin of a header line.
    line: Vec<u8>,
    /// The begin of a content.
    content: Vec<u8>,
    began: u64,
}

#[derive(Debug)]
enum Place {
    /// Between two messages.
    Between,
    Header,
    Content {
        length: u64,
        remaining: u64,
        is_torn: bool,
    },
}

impl Default for Messages {
    fn default() -> Messages {
        Messages {
            framer: Framer::new(u64::MAX),
            scanner: Scanner::default(),
            place: Place::Between,
            line: Vec::new(),
            content: Vec::new(),
            began: 0,
        }
    }
}

impl Messages {
    /// Takes from `bytes`, which came at `stamp`, up to the end of a message; `None` if they end before it does.
    pub fn next<'m, 'b: 'm>(
        &'m mut self,
        bytes: &mut &'b [u8],
        stamp: u64,
        looks_for: LooksFor,
    ) -> Option<PassedMessage<'m>> {
        while !bytes.is_empty() {
            match self.place {
                Place::Between => {
                    self.began = stamp;
                    self.place = Place::Header;
                }
                Place::Header => self.take_header(bytes, looks_for),
                Place::Content {
                    length,
                    remaining,
                    is_torn,
                } => {
                    let take = usize::try_from(remaining).map_or(bytes.len(), |remaining| remaining.min(bytes.len()));
                    let (part, rest) = bytes.split_at(take);
                    *bytes = rest;
                    return self.take_content(part, length, remaining, is_torn);
                }
            }
        }
        None
    }

    /// Notes that some bytes of the stream are missing here; what is lost of a content does not hide the next header.
    pub fn skip(&mut self, missing: u64) {
        match &mut self.place {
            Place::Content { remaining, is_torn, .. } if *remaining > missing => {
                *remaining -= missing;
                *is_torn = true;
            }
            Place::Between | Place::Header | Place::Content { .. } => {
                self.framer.forget();
                self.line.clear();
                self.place = Place::Between;
            }
        }
    }

    /// Bytes between messages that are no headers.
    pub fn noise(&self) -> u64 {
        self.framer.noise.total
    }

    /// Announced and seen bytes of a message that has not ended.
    pub fn unfinished(&self) -> Option<(u64, u64)> {
        match self.place {
            Place::Content { length, remaining, .. } => Some((length, length - remaining)),
            Place::Between | Place::Header => None,
        }
    }

    fn take_header(&mut self, bytes: &mut &[u8], looks_for: LooksFor) {
        let head = if self.line.is_empty() {
            let (used, head) = self.framer.head(bytes);
            let (_, rest) = bytes.split_at(used);
            *bytes = rest;
            if head == Head::More {
                self.line.extend_from_slice(bytes);
                *bytes = &[];
            }
            head
        } else {
            let end = memchr(b'\n', bytes).map_or(bytes.len(), |end| end + 1);
            let (part, rest) = bytes.split_at(end);
            *bytes = rest;
            self.line.extend_from_slice(part);
            let (used, head) = self.framer.head(&self.line);
            self.line.drain(..used);
            head
        };
        if let Head::Body(length) = head {
            self.scanner.reset(looks_for.reports, looks_for.symbols);
            self.content.clear();
            self.content.shrink_to(1 << 16);
            self.place = Place::Content {
                length,
                remaining: length,
                is_torn: false,
            };
        }
    }

    /// Takes a part of a content; the message if it is the last part.
    fn take_content<'m>(
        &'m mut self,
        part: &'m [u8],
        length: u64,
        remaining: u64,
        is_torn: bool,
    ) -> Option<PassedMessage<'m>> {
        let remaining = remaining - part.len() as u64;
        let is_kept = length <= LONGEST_KEPT && !is_torn;
        self.scanner.feed(part);
        if remaining > 0 {
            if is_kept {
                self.content.extend_from_slice(part);
            }
            self.place = Place::Content {
                length,
                remaining,
                is_torn,
            };
            return None;
        }
        self.place = Place::Between;
        let content = if self.content.is_empty() {
            part
        } else {
            self.content.extend_from_slice(part);
            &self.content
        };
        let facts = if is_torn { None } else { self.scanner.facts().ok() };
        Some(PassedMessage {
            began: self.began,
            bytes: length,
            facts,
            content: if is_kept { Some(content) } else { None },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(content: &str) -> String {
        format!("Content-Length: {}\r\n\r\n{content}", content.len())
    }

    fn call(method: &str) -> String {
        framed(&format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\"}}"))
    }

    /// Methods of the messages in parts of a stream, each with the stamp that it began at; `?` of an unreadable one.
    fn read(parts: &[&[u8]]) -> Vec<(String, u64)> {
        let mut messages = Messages::default();
        let mut read = Vec::new();
        for (stamp, part) in parts.iter().enumerate() {
            let mut rest = *part;
            while let Some(message) = messages.next(&mut rest, stamp as u64, LooksFor::default()) {
                let method = message.facts.map_or("?".to_owned(), |facts| facts.method.clone());
                read.push((method, message.began));
            }
        }
        read
    }

    #[test]
    fn messages_are_found_however_the_stream_is_cut() {
        let stream = [call("a"), "noise\n".to_owned(), call("b"), call("c")].concat();
        for size in 1..stream.len() {
            let parts: Vec<&[u8]> = stream.as_bytes().chunks(size).collect();
            let methods: Vec<String> = read(&parts).into_iter().map(|(method, _)| method).collect();
            assert_eq!(methods, ["a", "b", "c"], "in parts of {size}");
        }
    }

    #[test]
    fn a_message_began_with_the_bytes_that_its_header_began_in() {
        let (first, second) = (call("a"), call("b"));
        let parts = [&first.as_bytes()[..7], &first.as_bytes()[7..], second.as_bytes()];
        assert_eq!(read(&parts), [("a".to_owned(), 0), ("b".to_owned(), 2)]);
    }

    #[test]
    fn content_is_what_was_sent_and_of_a_long_message_only_the_facts_are_known() {
        let mut messages = Messages::default();
        let text = "{\"id\":7,\"result\":[1,2]}";
        let stream = framed(text);
        for part in stream.as_bytes().chunks(5) {
            let mut rest = part;
            if let Some(message) = messages.next(&mut rest, 0, LooksFor::default()) {
                assert_eq!(message.content, Some(text.as_bytes()));
            }
        }
        let long = framed(&format!("{{\"id\":1,\"result\":\"{}\"}}", "x".repeat(9 << 20)));
        let mut rest = long.as_bytes();
        let message = messages.next(&mut rest, 0, LooksFor::default()).unwrap();
        assert!(message.content.is_none() && message.facts.is_some());
    }

    #[test]
    fn what_is_lost_of_a_content_costs_that_message_and_no_other() {
        let stream = [call("lost"), call("b")].concat();
        let mut messages = Messages::default();
        let (mut start, mut end) = (&stream.as_bytes()[..30], &stream.as_bytes()[40..]);
        assert!(messages.next(&mut start, 0, LooksFor::default()).is_none());
        messages.skip(10);
        let torn = messages.next(&mut end, 1, LooksFor::default()).unwrap();
        assert!(torn.facts.is_none() && torn.content.is_none());
        let whole = messages.next(&mut end, 1, LooksFor::default()).unwrap();
        assert_eq!(whole.facts.unwrap().method, "b");
    }

    #[test]
    fn after_a_loss_over_the_end_of_a_message_the_next_header_is_found() {
        let (first, second) = (call("lost"), call("b"));
        let mut messages = Messages::default();
        let mut start = &first.as_bytes()[..30];
        assert!(messages.next(&mut start, 0, LooksFor::default()).is_none());
        messages.skip(500);
        let mut rest = second.as_bytes();
        let message = messages.next(&mut rest, 1, LooksFor::default()).unwrap();
        assert_eq!(message.facts.unwrap().method, "b");
    }

    #[test]
    fn a_message_that_has_not_ended_says_how_much_came() {
        let mut messages = Messages::default();
        let mut rest = "Content-Length: 100\r\n\r\n{".as_bytes();
        assert!(messages.next(&mut rest, 0, LooksFor::default()).is_none());
        assert_eq!(messages.unfinished(), Some((100, 1)));
    }
}
