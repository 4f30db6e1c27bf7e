//! The sampler against processes with known memory and activity.

mod child;
mod counters;
mod tree;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use proctree::{Options, Sampler, Sink};
use record::{Clock, Counters, Event, Nanos, PhaseRef};

/// Tolerance of sizes, for the child's C library and test harness.
const SLACK: u64 = 256 << 10;
const MIB: u64 = 1 << 20;

/// Everything that a sampler has written so far.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<(Nanos, Event)>>>);

impl Sink for Kept {
    fn put(&mut self, at: Nanos, event: Event) {
        self.0.lock().unwrap().push((at, event));
    }
}

impl Kept {
    fn events(&self) -> Vec<Event> {
        self.0.lock().unwrap().iter().map(|(_, event)| event.clone()).collect()
    }

    fn last(&self, process: u32) -> Counters {
        self.events()
            .iter()
            .rev()
            .find_map(|event| match event {
                Event::Sample(sample) if sample.process == process => Some(sample.counters),
                _ => None,
            })
            .expect("a process that came into view has a sample")
    }
}

/// Other tests in this process have children too, so adopted processes are not in the tree.
fn options(interval: Duration) -> Options {
    Options {
        interval,
        orphans_since: None,
        ..Options::default()
    }
}

fn often() -> Options {
    options(Duration::from_millis(20))
}

/// So rarely that only the first sample sees anything.
fn rarely() -> Options {
    options(Duration::from_secs(3600))
}

fn watch(pid: u32, options: Options) -> (Sampler, Kept) {
    let kept = Kept::default();
    let sampler = Sampler::start(pid, options, Clock::start(), Box::new(kept.clone())).unwrap();
    wait_until("the first round", || sampler.pulse().ticks() > 0);
    (sampler, kept)
}

/// Waits for a round that begins after this call.
fn next_round(sampler: &Sampler) {
    let before = sampler.pulse().ticks();
    wait_until("two rounds", || sampler.pulse().ticks() >= before + 2);
}

/// Waits up to a minute, for a busy machine; on an idle one it takes milliseconds.
fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < Duration::from_secs(60), "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn phase() -> PhaseRef {
    PhaseRef {
        phase: 0,
        cycle: 0,
        name: "start".to_owned(),
    }
}
