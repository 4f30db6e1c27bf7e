//! xmalloc-test, by Lever and Boreham (2000), from mimalloc-bench: some threads only allocate, the others only free.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use fastrand::Rng;

use crate::block::{Block, total};
use crate::options::Options;
use crate::random::{generators, power_law};
use crate::trial::{Outcome, Share, Signal, trial};

/// Blocks that change their thread together.
pub const BATCH: usize = 1_000;
/// Blocks have 2^3 to below 2^9 bytes.
pub const POWERS: (u32, u32) = (3, 9);
/// Batches that wait to be freed, for each pair of threads; those that allocate wait when there are more.
pub const ROOM: usize = 8;
/// A thread that waits looks so often whether the trial is over.
const LOOK: Duration = Duration::from_millis(1);

enum Member {
    Allocates(Rng),
    Frees,
}

/// Batches on their way from the threads that allocate to those that free.
struct Exchange {
    batches: Mutex<VecDeque<Vec<Block>>>,
    room: usize,
    changed: Condvar,
}

pub fn run(options: &Options) -> Outcome {
    let exchange = Exchange {
        batches: Mutex::default(),
        room: ROOM * options.threads(),
        changed: Condvar::new(),
    };
    let members = generators(options)
        .into_iter()
        .flat_map(|random| [Member::Allocates(random), Member::Frees])
        .collect();
    let outcome = trial(members, options.seconds, |member, signal| match member {
        Member::Allocates(random) => allocate(random, &exchange, signal),
        Member::Frees => free(&exchange, signal),
    });
    let waiting: usize = exchange.lock().iter().map(total).sum();
    outcome.add_live_bytes(waiting)
}

/// Allocates batch after batch. Its operations are those of the threads that free.
fn allocate(mut random: Rng, exchange: &Exchange, signal: &Signal) -> Share {
    let started = signal.start();
    while signal.is_running() {
        let batch = (0..BATCH)
            .map(|_| Block::new(power_law(&mut random, POWERS.0, POWERS.1)))
            .collect();
        exchange.put_batch(batch, signal);
    }
    Share::new(started, 0)
}

fn free(exchange: &Exchange, signal: &Signal) -> Share {
    let started = signal.start();
    let mut operations = 0;
    while signal.is_running() {
        let batch = exchange.take_batch(signal);
        operations += batch.len() as u64;
    }
    Share::new(started, operations)
}

impl Exchange {
    /// Waits for room, and puts the batch at the end.
    fn put_batch(&self, batch: Vec<Block>, signal: &Signal) {
        self.wait_while(|batches| batches.len() >= self.room, signal)
            .push_back(batch);
        self.changed.notify_all();
    }

    /// Waits for a batch, and takes the oldest; an empty one when the trial is over.
    fn take_batch(&self, signal: &Signal) -> Vec<Block> {
        let batch = self.wait_while(VecDeque::is_empty, signal).pop_front();
        self.changed.notify_all();
        batch.unwrap_or_default()
    }

    /// Locks the batches once `holds` is false of them, or the trial is over.
    fn wait_while(
        &self,
        holds: impl Fn(&VecDeque<Vec<Block>>) -> bool,
        signal: &Signal,
    ) -> MutexGuard<'_, VecDeque<Vec<Block>>> {
        let mut batches = self.lock();
        while holds(&batches) && signal.is_running() {
            let waited = self.changed.wait_timeout(batches, LOOK);
            batches = waited.expect("no thread panics while it holds the lock").0;
        }
        batches
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Vec<Block>>> {
        self.batches.lock().expect("no thread panics while it holds the lock")
    }
}
