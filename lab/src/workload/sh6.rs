//! sh6bench, by MicroQuill, from mimalloc-bench: some blocks are freed last-in first-out, others in the reverse order.

use std::collections::VecDeque;

use fastrand::Rng;

use crate::block::{Block, total};
use crate::options::Options;
use crate::random::generators;
use crate::trial::{Outcome, Share, Signal, trial};

/// The largest block in bytes.
pub const LARGEST: usize = 1_000;
/// The most blocks of a batch.
pub const BATCH: usize = 200;
/// Blocks that a thread keeps for long.
pub const KEPT: usize = 10_000;

/// Blocks that live briefly.
#[derive(Default)]
pub struct Recent(Vec<Block>);

pub fn run(options: &Options) -> Outcome {
    trial(generators(options), options.seconds, work)
}

fn work(mut random: Rng, signal: &Signal) -> Share {
    let mut recent = Recent::default();
    let mut kept = VecDeque::new();
    while kept.len() < KEPT {
        kept.extend(batch(&mut random));
    }
    let started = signal.start();
    let mut operations = 0;
    while signal.is_running() {
        let batch = batch(&mut random);
        operations += batch.len() as u64;
        if lives_long(&mut random) {
            kept.extend(batch);
            // The oldest first: the reverse of the usual order.
            kept.drain(..kept.len().saturating_sub(KEPT));
        } else {
            recent.add(batch);
        }
    }
    Share::new(started, operations).with_live_bytes(total(&kept) + recent.size())
}

/// Draws which batches are kept for long: a fourth of them.
pub fn lives_long(random: &mut Rng) -> bool {
    random.u8(..4) == 0
}

/// Blocks of one size, the smaller the more of them.
pub fn batch(random: &mut Rng) -> impl ExactSizeIterator<Item = Block> + use<> {
    let size = random.usize(1..=LARGEST);
    let count = (2 * LARGEST / size).min(BATCH);
    (0..count).map(move |_| Block::new(size))
}

impl Recent {
    /// Adds a batch, and frees one half of all, the youngest first.
    pub fn add(&mut self, batch: impl Iterator<Item = Block>) {
        self.0.extend(batch);
        // Not `truncate`, which frees the oldest of them first.
        for _ in 0..self.0.len().div_ceil(2) {
            self.0.pop();
        }
    }

    pub fn size(&self) -> usize {
        total(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sizes of all blocks of 500 batches.
    fn sizes(seed: u64) -> Vec<usize> {
        let mut random = Rng::with_seed(seed);
        (0..500)
            .flat_map(|_| batch(&mut random))
            .map(|block| block.size())
            .collect()
    }

    #[test]
    fn most_blocks_are_small_and_a_seed_gives_the_same() {
        assert_eq!(sizes(1), sizes(1));
        assert_ne!(sizes(1), sizes(2));
        let small = sizes(1).iter().filter(|size| **size <= LARGEST / 10).count();
        assert!(small * 2 > sizes(1).len(), "{small} of {}", sizes(1).len());
    }
}
