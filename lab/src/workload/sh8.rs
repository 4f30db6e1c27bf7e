//! sh8bench, by MicroQuill, from mimalloc-bench: as sh6bench, and blocks that live long are freed by another thread.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use fastrand::Rng;

use super::sh6::{Recent, batch, lives_long};
use crate::block::{Block, total};
use crate::options::Options;
use crate::random::generators;
use crate::trial::{Outcome, Share, Signal, trial};

/// Batches that a thread keeps before it frees the oldest.
const KEPT: usize = 500;
/// Batches that a thread can be sent; its neighbour frees its own when there are more.
pub const ROOM: usize = 2 * KEPT;

/// The batches that were sent to a thread. With one thread that is the thread itself.
#[derive(Default)]
struct Inbox(Mutex<VecDeque<Vec<Block>>>);

pub fn run(options: &Options) -> Outcome {
    let inboxes: Vec<Inbox> = (0..options.threads()).map(|_| Inbox::default()).collect();
    let members = generators(options).into_iter().enumerate().collect();
    let outcome = trial(members, options.seconds, |(index, random): (usize, Rng), signal| {
        let neighbour = (index + 1) % inboxes.len();
        work(random, &inboxes[index], &inboxes[neighbour], signal)
    });
    let in_inboxes: usize = inboxes.iter().map(Inbox::size).sum();
    outcome.add_live_bytes(in_inboxes)
}

fn work(mut random: Rng, own: &Inbox, neighbour: &Inbox, signal: &Signal) -> Share {
    let mut recent = Recent::default();
    let started = signal.start();
    let mut operations = 0;
    while signal.is_running() {
        let batch = batch(&mut random);
        operations += batch.len() as u64;
        if lives_long(&mut random) {
            neighbour.send(batch.collect());
            drop(own.pop_oldest());
        } else {
            recent.add(batch);
        }
    }
    Share::new(started, operations).with_live_bytes(recent.size())
}

impl Inbox {
    /// Adds the batch, or frees it when there is no room: the other thread may not have had a processor for long.
    fn send(&self, batch: Vec<Block>) {
        let mut batches = self.lock();
        if batches.len() < ROOM {
            batches.push_back(batch);
        }
    }

    /// Takes the oldest batch out if there are more than [`KEPT`].
    fn pop_oldest(&self) -> Option<Vec<Block>> {
        let mut batches = self.lock();
        if batches.len() > KEPT {
            batches.pop_front()
        } else {
            None
        }
    }

    fn size(&self) -> usize {
        self.lock().iter().map(total).sum()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Vec<Block>>> {
        self.0.lock().expect("no thread panics while it holds the lock")
    }
}
