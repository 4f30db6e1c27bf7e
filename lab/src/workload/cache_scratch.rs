//! cache-scratch, by Berger (ASPLOS 2000), from mimalloc-bench: does an allocator let threads share a cache line?

use std::hint::black_box;

use crate::options::Options;
use crate::trial::{Outcome, Share, Signal, trial};

/// The size of an object in bytes: several fit into a cache line.
pub const OBJECT: usize = 8;
/// Times that a thread writes each of its objects before it frees it.
const WRITES: usize = 1_000;

pub fn run(options: &Options) -> Outcome {
    // One thread takes them all, so they lie next to each other.
    let objects = (0..options.threads).map(|_| object()).collect();
    trial(objects, options.seconds, work)
}

/// Frees the object it was handed and takes its own. If that has the same memory, threads write next to each other.
fn work(mut object: Vec<u8>, signal: &Signal) -> Share {
    let started = signal.start();
    let mut operations = 0;
    loop {
        drop(object);
        object = self::object();
        write(&mut object);
        operations += 1;
        if !signal.is_running() {
            return Share::new(started, operations).with_live_bytes(object.capacity());
        }
    }
}

fn object() -> Vec<u8> {
    black_box(vec![1; OBJECT])
}

fn write(object: &mut [u8]) {
    for _ in 0..WRITES {
        for byte in &mut *object {
            *byte = byte.wrapping_add(1);
        }
        // Every write reaches memory.
        black_box(&mut *object);
    }
}
