//! alloc-test, by OLogN Technologies, from mimalloc-bench: sizes and lifetimes follow a power law, as in real programs.

use fastrand::Rng;

use crate::block::{Block, total};
use crate::options::Options;
use crate::random::{generators, power_law};
use crate::trial::{Outcome, Share, Signal, trial};

/// Slots of a thread: below 2^16.
pub const SLOT_POWER: u32 = 16;
/// Blocks have 2^3 to below 2^10 bytes.
pub const POWERS: (u32, u32) = (3, 10);

pub fn run(options: &Options) -> Outcome {
    trial(generators(options), options.seconds, work)
}

fn work(mut random: Rng, signal: &Signal) -> Share {
    let mut slots: Vec<Block> = (0..1 << SLOT_POWER).map(|_| Block::default()).collect();
    for slot in slots.iter_mut().step_by(2) {
        *slot = Block::new(size(&mut random));
    }
    let started = signal.start();
    let mut operations = 0;
    while signal.is_running() {
        // The first slots are taken often, so their blocks live briefly; the last ones live long.
        let slot = &mut slots[power_law(&mut random, 0, SLOT_POWER)];
        *slot = match slot.size() {
            0 => Block::new(size(&mut random)),
            _ => Block::default(),
        };
        operations += 1;
    }
    Share::new(started, operations).with_live_bytes(total(&slots))
}

fn size(random: &mut Rng) -> usize {
    power_law(random, POWERS.0, POWERS.1)
}
