//! The bytes that wait for the server to read them: one buffer that is filled while another is written.

use std::mem;
use std::time::Instant;

use crate::lsp::process::Gauge;

/// Capacity that an empty buffer may keep; a burst must not be paid for ever after.
const KEPT: usize = 256 * 1024;

/// Bytes queued for the writer.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    pending: Vec<u8>,
    /// Bytes ever queued.
    pub(super) queued: u64,
    /// Bytes ever taken by the server.
    pub(super) sent: u64,
    /// When the server last took a byte.
    pub(super) last_sent: Option<Instant>,
    /// Tells what the server has not read of what it was sent; gone with the pipe, which it would keep open.
    pub(super) gauge: Option<Gauge>,
    /// Nothing is written any more, by our will or because the pipe broke.
    pub(super) over: bool,
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

    /// Appends a message.
    pub(super) fn put(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        if self.over {
            return;
        }
        let before = self.pending.len();
        write(&mut self.pending);
        self.queued += (self.pending.len() - before) as u64;
    }

    /// Gives what is queued in exchange for a buffer that was written out.
    pub(super) fn take(&mut self, written: &mut Vec<u8>) {
        written.clear();
        if written.capacity() > KEPT {
            written.shrink_to(KEPT);
        }
        mem::swap(&mut self.pending, written);
    }

    /// The server took so many bytes.
    pub(super) fn took(&mut self, bytes: usize) {
        self.sent += bytes as u64;
        self.last_sent = Some(Instant::now());
    }

    /// Gives up on everything that waits.
    pub(super) fn stop(&mut self) {
        self.over = true;
        self.pending = Vec::new();
        self.gauge = None;
    }
}
