//! Task spawning, from an allocator shoot-out of asynchronous Rust: many tiny tokio tasks, each with a small result.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use fastrand::Rng;
use tokio::runtime::Builder;
use tokio::sync::Barrier;

use crate::block::{Block, total};
use crate::options::Options;
use crate::random::generators;
use crate::trial::{Outcome, Share};

/// Tasks that a spawner starts before it waits for them.
pub const BATCH: usize = 1_000;
/// The smallest and the largest result of a task, in bytes.
pub const RESULT: (usize, usize) = (8, 64);

pub fn run(options: &Options) -> Outcome {
    let runtime = Builder::new_multi_thread()
        .worker_threads(options.threads())
        .build()
        .expect("the system starts as many threads as are asked for");
    let start = Arc::new(Barrier::new(options.threads()));
    let stopped = Arc::new(AtomicBool::new(false));
    let spawners: Vec<_> = generators(options)
        .into_iter()
        .map(|random| runtime.spawn(spawner(random, Arc::clone(&start), Arc::clone(&stopped))))
        .collect();
    thread::sleep(options.seconds);
    stopped.store(true, Ordering::Relaxed);
    spawners
        .into_iter()
        .map(|spawner| runtime.block_on(spawner).expect("no task panics"))
        .collect()
}

/// Starts tasks batch by batch. A task may run in another thread, so a block often changes its thread.
async fn spawner(mut random: Rng, start: Arc<Barrier>, stopped: Arc<AtomicBool>) -> Share {
    start.wait().await;
    let started = Instant::now();
    let mut results: Vec<Block> = Vec::with_capacity(BATCH);
    let mut operations = 0;
    loop {
        let mut tasks = Vec::with_capacity(BATCH);
        for _ in 0..BATCH {
            let size = random.usize(RESULT.0..=RESULT.1);
            tasks.push(tokio::spawn(async move { Block::new(size) }));
        }
        results.clear();
        for task in tasks {
            results.push(task.await.expect("no task panics"));
        }
        operations += BATCH as u64;
        if stopped.load(Ordering::Relaxed) {
            return Share::new(started, operations).with_live_bytes(total(&results));
        }
    }
}
