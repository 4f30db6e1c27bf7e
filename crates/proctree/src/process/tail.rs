//! Drains the server's stderr, because a full pipe would stop the server. Keeps its start and end, and from between the
//! first lines that name an error.

use std::sync::{Arc, MutexGuard, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::Shared;
use base::text::complaint::{complains, may_complain};

/// Bytes kept from the end.
const KEPT: usize = 64 * 1024;
/// Bytes kept from the start: programs describe themselves there.
const HEAD: usize = 8 * 1024;
/// Lines kept from between, and bytes of each.
const COMPLAINTS: usize = 3;
const LINE: usize = 1024;
/// Bytes per read; as large as the pipe may be, so that a flood causes few wake-ups.
const READ: usize = 256 * 1024;

#[derive(Debug)]
pub(super) struct Stderr {
    tail: Shared<Tail>,
    ended: watch::Receiver<bool>,
    task: AbortHandle,
}

/// A ring of the last bytes.
#[derive(Debug, Default)]
struct Tail {
    head: Vec<u8>,
    ring: Vec<u8>,
    /// Where the next byte goes once the ring is full.
    next: usize,
    total: u64,
    /// Lines after the start that name an error.
    complaints: Vec<String>,
}

impl Stderr {
    /// Starts to drain. Must be called on a tokio runtime.
    pub(super) fn drain<R: AsyncRead + Send + Unpin + 'static>(stream: R) -> Stderr {
        let tail = Shared::<Tail>::default();
        let (sender, ended) = watch::channel(false);
        let task = tokio::spawn(drain(stream, Arc::clone(&tail), sender)).abort_handle();
        Stderr { tail, ended, task }
    }

    pub(super) fn close(&self) {
        self.task.abort();
    }

    pub(super) fn total(&self) -> u64 {
        lock(&self.tail).total
    }

    pub(super) fn tail(&self) -> String {
        lock(&self.tail).text()
    }

    pub(super) fn head(&self) -> String {
        lock(&self.tail).start()
    }

    pub(super) async fn ended(&self) {
        // An error means that the task is gone; then no more bytes arrive.
        let _ = self.ended.clone().wait_for(|ended| *ended).await;
    }
}

impl Drop for Stderr {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn drain<R: AsyncRead + Unpin>(mut stream: R, tail: Shared<Tail>, ended: watch::Sender<bool>) {
    let mut buffer = vec![0; READ];
    loop {
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => break,
            Ok(read) => lock(&tail).put(&buffer[..read]),
        }
    }
    ended.send_replace(true);
}

fn lock(tail: &Shared<Tail>) -> MutexGuard<'_, Tail> {
    tail.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Tail {
    fn put(&mut self, bytes: &[u8]) {
        if self.head.len() == HEAD && self.complaints.len() < COMPLAINTS && may_complain(bytes) {
            self.keep_complaints(bytes);
        }
        self.total += bytes.len() as u64;
        let missing = HEAD - self.head.len();
        self.head.extend_from_slice(&bytes[..bytes.len().min(missing)]);
        let mut bytes = &bytes[bytes.len().saturating_sub(KEPT)..];
        let room = KEPT - self.ring.len();
        if room > 0 {
            let (now, rest) = bytes.split_at(bytes.len().min(room));
            self.ring.extend_from_slice(now);
            bytes = rest;
        }
        while !bytes.is_empty() {
            let (now, rest) = bytes.split_at(bytes.len().min(KEPT - self.next));
            self.ring[self.next..self.next + now.len()].copy_from_slice(now);
            self.next = (self.next + now.len()) % KEPT;
            bytes = rest;
        }
    }

    /// Lines that two reads cut in half are judged by their halves.
    fn keep_complaints(&mut self, bytes: &[u8]) {
        for line in bytes.split(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(&line[..line.len().min(LINE)]);
            if self.complaints.len() < COMPLAINTS && complains(&line) {
                self.complaints.push(line.into_owned());
            }
        }
    }

    /// The start, and lines after it that name an error; empty where the end holds everything.
    fn start(&self) -> String {
        if self.total <= KEPT as u64 {
            return String::new();
        }
        let head = String::from_utf8_lossy(&self.head);
        let end = self.text();
        let lines = self.complaints.iter().map(String::as_str);
        let complaints: Vec<&str> = lines.filter(|line| !end.contains(line)).collect();
        if complaints.is_empty() {
            return head.into_owned();
        }
        // A line that the start cut in half would look whole.
        let whole = head.rsplit_once('\n').map_or("", |(whole, _)| whole);
        format!("{whole}\n{}\n", complaints.join("\n"))
    }

    fn text(&self) -> String {
        let (newer, older) = self.ring.split_at(self.next);
        let bytes = [older, newer].concat();
        // A cut inside a character leaves up to three of its bytes at the start.
        let start = if self.total > KEPT as u64 {
            bytes
                .iter()
                .take(3)
                .take_while(|byte| (0x80..0xc0).contains(*byte))
                .count()
        } else {
            0
        };
        String::from_utf8_lossy(&bytes[start..]).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_the_end_of_what_was_put() {
        for step in [1, 7, 1000, KEPT - 1, KEPT, KEPT + 1, 3 * KEPT] {
            let all: Vec<u8> = (0..3 * KEPT + 11).map(|at| b'a' + (at % 26) as u8).collect();
            let mut tail = Tail::default();
            for chunk in all.chunks(step) {
                tail.put(chunk);
            }
            assert_eq!(tail.total, all.len() as u64);
            assert_eq!(tail.text().as_bytes(), &all[all.len() - KEPT..], "in steps of {step}");
            assert_eq!(tail.ring.len(), KEPT);
            assert_eq!(tail.start().as_bytes(), &all[..HEAD]);
        }
    }

    #[test]
    fn an_error_between_start_and_end_is_kept() {
        let noise = "a line of no interest\n".repeat(10_000);
        let mut tail = Tail::default();
        for text in [&noise, "FATAL: heap out of memory\n", &noise] {
            for chunk in text.as_bytes().chunks(4096) {
                tail.put(chunk);
            }
        }
        assert!(
            tail.start().ends_with("\nFATAL: heap out of memory\n"),
            "{}",
            tail.start()
        );
        assert!(tail.start().starts_with("a line of no interest\n"));
    }

    #[test]
    fn a_short_stream_is_kept_whole() {
        let mut tail = Tail::default();
        tail.put("panicked: é".as_bytes());
        assert_eq!(tail.text(), "panicked: é");
        assert_eq!(tail.start(), "", "the end holds it");
    }

    #[test]
    fn a_character_cut_at_the_start_leaves_no_debris() {
        let mut tail = Tail::default();
        tail.put("é".repeat(KEPT).as_bytes());
        tail.put(b"x");
        assert!(tail.text().starts_with('é'));
    }
}
