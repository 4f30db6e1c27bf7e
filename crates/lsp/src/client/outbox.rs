//! The queue of bytes to the server, in pieces that are freed once written.

use std::collections::VecDeque;
use std::io;
use std::time::Instant;

use super::gauge::Gauge;

/// Bytes of a piece. A longer message has several, so that at most this much of a written part stays in memory.
const PIECE: usize = 256 * 1024;

#[derive(Debug, Default)]
pub(super) struct Outbox {
    pieces: VecDeque<Vec<u8>>,
    pub(super) queued: u64,
    /// Total bytes written to the server.
    pub(super) sent: u64,
    /// Queued answers: the end offset of each in the whole stream, and its length.
    answers: VecDeque<(u64, u64)>,
    pub(super) answering: u64,
    /// When a byte was last written.
    pub(super) last_sent: Option<Instant>,
    /// Counts unread bytes in the pipe. Dropped with the pipe, which it would keep open.
    pub(super) gauge: Option<Gauge>,
    /// Writing has ended: closed by lsp-soak, or the pipe broke.
    pub(super) over: bool,
}

/// A message as it is written, in pieces of bounded length.
#[derive(Debug, Default)]
pub(super) struct Body(Vec<Vec<u8>>);

impl io::Write for Body {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.last().is_none_or(|piece| piece.len() >= PIECE) {
            // Most messages are short. A second piece means a long one, and growing pieces would fragment memory.
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
    /// Bytes not yet written.
    pub(super) fn unsent(&self) -> u64 {
        if self.over { 0 } else { self.queued - self.sent }
    }

    /// Bytes written but not read by the server, as far as known.
    pub(super) fn unread(&self) -> u64 {
        self.gauge.as_ref().map_or(0, Gauge::unread)
    }

    /// True if the server closed its input, as far as known.
    pub(super) fn is_closed(&self) -> bool {
        self.gauge.as_ref().is_some_and(Gauge::is_closed)
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

    /// Takes the next piece, if there is one.
    pub(super) fn take_piece(&mut self) -> Option<Vec<u8>> {
        self.pieces.pop_front()
    }

    /// Counts written bytes.
    pub(super) fn count_written(&mut self, bytes: usize) {
        self.sent += bytes as u64;
        self.last_sent = Some(Instant::now());
        while let Some((_, length)) = self.answers.pop_front_if(|(end, _)| *end <= self.sent) {
            self.answering -= length;
        }
    }

    /// Drops the queue and ends writing.
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
        let pieces: Vec<Vec<u8>> = std::iter::from_fn(|| outbox.take_piece()).collect();
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
        outbox.count_written(before + own - 1);
        assert_eq!(outbox.answering, own as u64);
        outbox.count_written(1);
        assert_eq!((outbox.answering, outbox.unsent()), (0, 0));
    }
}
