//! larson, by Larson and Krishnan (ISMM 1998), from mimalloc-bench: a server's objects bleed from old threads to new.

use std::thread;

use fastrand::Rng;

use crate::block::{Block, replace, total};
use crate::options::Options;
use crate::random::generators;
use crate::trial::{Outcome, Share, Signal, trial};

/// Blocks that a thread holds, as in mimalloc-bench.
pub const SLOTS: usize = 5_000;
/// The smallest and the largest block, as in mimalloc-bench.
pub const SIZE: (usize, usize) = (8, 1_000);
/// Blocks that a thread replaces before it leaves its slots to a new thread: 100 rounds, as in mimalloc-bench.
const LIFE: u64 = 100 * SLOTS as u64;

pub fn run(options: &Options) -> Outcome {
    trial(generators(options), options.seconds, |random, signal| {
        serve(&mut Vec::new(), random, signal)
    })
}

/// Fills the slots and leaves them to one thread after another. A thread frees what an earlier one took.
fn serve(slots: &mut Vec<Block>, mut random: Rng, signal: &Signal) -> Share {
    slots.extend((0..SLOTS).map(|_| Block::new(size(&mut random))));
    let started = signal.start();
    let mut operations = 0;
    while signal.is_running() {
        operations += thread::scope(|scope| {
            let thread = scope.spawn(|| live(slots, &mut random, signal));
            thread.join().expect("no workload panics")
        });
    }
    Share::new(started, operations).with_live_bytes(total(&*slots))
}

/// The life of one thread: how many blocks it replaced.
fn live(slots: &mut [Block], random: &mut Rng, signal: &Signal) -> u64 {
    let mut operations = 0;
    while operations < LIFE && signal.is_running() {
        let slot = random.usize(..slots.len());
        replace(&mut slots[slot], size(random));
        operations += 1;
    }
    operations
}

fn size(random: &mut Rng) -> usize {
    random.usize(SIZE.0..=SIZE.1)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::Duration;

    use super::*;

    #[test]
    fn live_bytes_are_the_sum_of_the_slots() {
        let slots = Mutex::new(Vec::new());
        let outcome = trial(vec![Rng::with_seed(1)], Duration::from_millis(20), |random, signal| {
            serve(&mut slots.lock().expect("one thread has it"), random, signal)
        });
        let slots = slots.into_inner().expect("no workload panics");
        assert_eq!(slots.len(), SLOTS);
        assert_eq!(outcome.live_bytes, total(&slots));
    }
}
