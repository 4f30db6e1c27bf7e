//! A bounded copy of what passes by, from the pumps to the recorder. Nobody waits for room in it.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use record::{Clock, Nanos, Side};

use super::departure::Departure;

/// Bytes that may wait for the recorder: a result of 10 MiB, and what follows it.
const ROOM: usize = 16 << 20;
/// Reads that may wait.
const MOST_CHUNKS: usize = 64 * 1024;
/// Longest time in which bytes gather before the recorder takes them. To wake it for a message would take longer than to
/// send that message.
const GATHER: Duration = Duration::from_millis(200);
/// Capacity in bytes that an emptied batch keeps.
const KEPT: usize = 256 * 1024;

#[derive(Debug)]
pub struct Tap {
    queue: Mutex<Queue>,
    filled: Condvar,
    clock: Clock,
}

#[derive(Debug)]
struct Queue {
    batch: Batch,
    /// False once nobody reads any more.
    is_read: bool,
    departure: Option<Departure>,
    ended: Option<Instant>,
}

/// Bytes that passed by since the last batch, in their order.
#[derive(Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    chunks: Vec<Chunk>,
}

/// The bytes of one read, or a gap.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    side: Side,
    at: Nanos,
    kept: usize,
    /// Bytes after the kept ones that found no room.
    lost: u64,
}

/// A part of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'b> {
    pub side: Side,
    pub at: Nanos,
    pub bytes: &'b [u8],
    /// Bytes that are missing after these.
    pub lost: u64,
}

/// The reason why the recorder was given a batch.
#[derive(Debug)]
pub enum Taken {
    Bytes,
    /// The server ended; the batch has the last bytes.
    End(Departure),
}

impl Tap {
    pub fn new(clock: Clock) -> Tap {
        let queue = Queue {
            batch: Batch::default(),
            is_read: true,
            departure: None,
            ended: None,
        };
        Tap {
            queue: Mutex::new(queue),
            filled: Condvar::new(),
            clock,
        }
    }

    /// Copies bytes for the recorder, or counts them as lost.
    pub fn copy(&self, side: Side, bytes: &[u8]) {
        let at = self.clock.now();
        let mut queue = self.lock();
        if !queue.is_read {
            return;
        }
        queue.batch.add(side, at, bytes);
        let is_urgent = queue.batch.bytes.len() > ROOM / 2;
        drop(queue);
        if is_urgent {
            self.filled.notify_all();
        }
    }

    /// The server ended and nothing more passes.
    pub fn end(&self, departure: Departure) {
        let mut queue = self.lock();
        queue.departure = Some(departure);
        queue.ended = Some(Instant::now());
        drop(queue);
        self.filled.notify_all();
    }

    /// True if the server ended at least so long ago.
    pub fn has_ended_for(&self, time: Duration) -> bool {
        self.lock().ended.is_some_and(|ended| ended.elapsed() >= time)
    }

    /// Waits for bytes to gather or for the end, and takes what there is into an empty `batch`.
    pub fn take(&self, batch: &mut Batch) -> Taken {
        batch.clear();
        let gathered = self.filled.wait_timeout_while(self.lock(), GATHER, |queue| {
            queue.departure.is_none() && queue.batch.bytes.len() <= ROOM / 2
        });
        let (mut queue, _timeout) = gathered.unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut queue.batch, batch);
        match queue.departure.take() {
            Some(departure) => {
                queue.is_read = false;
                Taken::End(departure)
            }
            None => Taken::Bytes,
        }
    }

    /// From now on nothing is copied.
    pub fn close(&self) {
        let mut queue = self.lock();
        queue.is_read = false;
        queue.batch = Batch::default();
    }

    /// Every statement leaves the queue consistent, so a panic of the recorder does no harm.
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Batch {
    fn add(&mut self, side: Side, at: Nanos, bytes: &[u8]) {
        let has_room = self.bytes.len() + bytes.len() <= ROOM && self.chunks.len() < MOST_CHUNKS;
        if has_room {
            self.bytes.extend_from_slice(bytes);
            self.chunks.push(Chunk {
                side,
                at,
                kept: bytes.len(),
                lost: 0,
            });
            return;
        }
        let lost = bytes.len() as u64;
        match self.chunks.iter_mut().rev().find(|chunk| chunk.side == side) {
            Some(last) => last.lost += lost,
            // A gap takes the room of a few bytes, and each side has at most one such chunk.
            None => self.chunks.push(Chunk {
                side,
                at,
                kept: 0,
                lost,
            }),
        }
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(KEPT);
        self.chunks.clear();
        self.chunks.shrink_to(KEPT / size_of::<Chunk>());
    }

    pub fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        let mut rest = self.bytes.as_slice();
        self.chunks.iter().map(move |chunk| {
            let (bytes, after) = rest.split_at(chunk.kept);
            rest = after;
            Part {
                side: chunk.side,
                at: chunk.at,
                bytes,
                lost: chunk.lost,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_out_in_their_order_and_with_their_side() {
        let mut batch = Batch::default();
        for (side, text) in [(Side::Client, "ab"), (Side::Server, "c"), (Side::Client, "d")] {
            batch.add(side, 1, text.as_bytes());
        }
        let parts: Vec<(Side, &[u8])> = batch.parts().map(|part| (part.side, part.bytes)).collect();
        let expected: [(Side, &[u8]); 3] = [(Side::Client, b"ab"), (Side::Server, b"c"), (Side::Client, b"d")];
        assert_eq!(parts, expected);
    }

    #[test]
    fn what_finds_no_room_is_counted_where_it_is_missing() {
        let mut batch = Batch::default();
        let large = vec![0; ROOM];
        batch.add(Side::Client, 1, b"a");
        batch.add(Side::Server, 2, &large);
        batch.add(Side::Server, 3, &large);
        batch.add(Side::Client, 4, b"b");
        batch.add(Side::Client, 5, &large);
        let lost: Vec<(Side, u64)> = batch.parts().map(|part| (part.side, part.lost)).collect();
        let room = ROOM as u64;
        assert_eq!(
            lost,
            [(Side::Client, 0), (Side::Server, 2 * room), (Side::Client, room)]
        );
        assert!(batch.bytes.len() <= ROOM);
    }
}
