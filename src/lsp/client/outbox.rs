//! The bytes that wait for the server to read them, in pieces that are gone as soon as they are written.

use std::collections::VecDeque;
use std::io;
use std::time::Instant;

use crate::lsp::process::Gauge;

/// Bytes of a piece; a longer message has several, so that no more than this is held of what the server has taken.
const PIECE: usize = 256 * 1024;

#[derive(Debug, Default)]
pub(super) struct Outbox {
    pieces: VecDeque<Vec<u8>>,
    pub(super) queued: u64,
    /// Bytes ever taken by the server.
    pub(super) sent: u64,
    /// The answers that the server has not taken: where each ends in all that was queued, and its length.
    answers: VecDeque<(u64, u64)>,
    pub(super) answering: u64,
    /// When the server last took a byte.
    pub(super) last_sent: Option<Instant>,
    /// Tells what the server has not read of what it was sent; gone with the pipe, which it would keep open.
    pub(super) gauge: Option<Gauge>,
    /// Nothing is written any more, by our will or because the pipe broke.
    pub(super) over: bool,
}

/// A message as it is written: pieces of bounded length.
#[derive(Debug, Default)]
pub(super) struct Body(Vec<Vec<u8>>);

impl io::Write for Body {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.last().is_none_or(|piece| piece.len() >= PIECE) {
            // Most messages are short. What goes on is long, and pieces that grow leave holes between them.
            let room = if self.0.is_empty() { 0 } else { PIECE };
            self.0.push(Vec::with_capacity(room));
        }
        let piece = self.0.last_mut().expect("one was added where there was none");
        let fits = bytes.len().min(PIECE - piece.len());
        piece.extend_from_slice(&bytes[..fits]);
        Ok(fits)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Outbox {
    /// Bytes that the server has not taken.
    pub(super) fn unsent(&self) -> u64 {
        if self.over { 0 } else { self.queued - self.sent }
    }

    /// Bytes that were sent and that the server has not read, as far as that is known.
    pub(super) fn unread(&self) -> u64 {
        self.gauge.as_ref().map_or(0, Gauge::unread)
    }

    /// Appends a message, and returns its length.
    pub(super) fn put(&mut self, write: impl FnOnce(&mut Body)) -> u64 {
        if self.over {
            return 0;
        }
        let mut body = Body::default();
        write(&mut body);
        let length: usize = body.0.iter().map(Vec::len).sum();
        let header = format!("Content-Length: {length}\r\n\r\n");
        self.append(header.as_bytes());
        for piece in body.0 {
            match piece.len() {
                PIECE => self.pieces.push_back(piece),
                _short => self.append(&piece),
            }
        }
        let whole = (header.len() + length) as u64;
        self.queued += whole;
        whole
    }

    /// Appends an answer to a request of the server.
    pub(super) fn answer(&mut self, write: impl FnOnce(&mut Body)) {
        let length = self.put(write);
        if length > 0 {
            self.answers.push_back((self.queued, length));
            self.answering += length;
        }
    }

    /// Appends bytes to the last piece, where there is room.
    fn append(&mut self, bytes: &[u8]) {
        match self.pieces.back_mut() {
            Some(piece) if piece.len() + bytes.len() <= PIECE => piece.extend_from_slice(bytes),
            Some(_) | None => self.pieces.push_back(bytes.to_vec()),
        }
    }

    /// Gives the next piece, if there is one.
    pub(super) fn take(&mut self) -> Option<Vec<u8>> {
        self.pieces.pop_front()
    }

    /// The server took so many bytes.
    pub(super) fn took(&mut self, bytes: usize) {
        self.sent += bytes as u64;
        self.last_sent = Some(Instant::now());
        while let Some((_, length)) = self.answers.pop_front_if(|(end, _)| *end <= self.sent) {
            self.answering -= length;
        }
    }

    /// Gives up on everything that waits.
    pub(super) fn stop(&mut self) {
        self.over = true;
        self.pieces = VecDeque::new();
        self.answers = VecDeque::new();
        self.answering = 0;
        self.gauge = None;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn all(outbox: &mut Outbox) -> String {
        let pieces: Vec<Vec<u8>> = std::iter::from_fn(|| outbox.take()).collect();
        assert!(pieces.iter().all(|piece| piece.len() <= PIECE));
        String::from_utf8(pieces.concat()).unwrap()
    }

    #[test]
    fn every_message_has_its_length_in_bytes_before_it_however_long_it_is() {
        let mut outbox = Outbox::default();
        for length in [0, 5, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 7, 2] {
            let text = "é".repeat(length / 2);
            let queued = outbox.queued;
            let whole = outbox.put(|body| body.write_all(text.as_bytes()).unwrap());
            assert_eq!(outbox.queued, queued + whole);
            let expected = format!("Content-Length: {}\r\n\r\n{text}", text.len());
            assert!(all(&mut outbox) == expected, "{length}");
        }
        outbox.put(|body| body.write_all(b"a").unwrap());
        outbox.put(|body| body.write_all(b"b").unwrap());
        assert_eq!(outbox.pieces.len(), 1, "short ones share a piece");
    }

    #[test]
    fn answers_are_counted_until_the_server_has_taken_them() {
        let mut outbox = Outbox::default();
        outbox.put(|body| body.write_all(&[b'x'; 100]).unwrap());
        outbox.answer(|body| body.write_all(b"12345").unwrap());
        let own = "Content-Length: 5\r\n\r\n12345".len();
        assert_eq!(outbox.answering, own as u64);
        let before = outbox.unsent() as usize - own;
        outbox.took(before + own - 1);
        assert_eq!(outbox.answering, own as u64);
        outbox.took(1);
        assert_eq!((outbox.answering, outbox.unsent()), (0, 0));
    }
}
