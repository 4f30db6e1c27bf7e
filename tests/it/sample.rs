//! The sampler against processes that do a known thing: the numbers must say so.

mod child;
mod counters;
mod tree;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use lsp_soak::record::{Clock, Counters, Event, Nanos, PhaseRef};
use lsp_soak::sample::{Options, Sampler, Sink};

/// How far a size may be off: what the C library and the test harness of the child do beside it.
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

    /// The last sample of that process.
    fn last(&self, process: u32) -> Counters {
        let sample = |event: &Event| match event {
            Event::Sample(sample) if sample.process == process => Some(sample.counters),
            _ => None,
        };
        self.events()
            .iter()
            .rev()
            .find_map(sample)
            .expect("a process that came into view has a sample")
    }
}

/// Other tests of this process have children too: nothing that it adopts belongs to the tree.
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

/// So rarely that no sample but the first can see anything.
fn rarely() -> Options {
    options(Duration::from_secs(3600))
}

fn watch(pid: u32, options: Options) -> (Sampler, Kept) {
    let kept = Kept::default();
    let sampler = Sampler::start(pid, options, Clock::start(), Box::new(kept.clone())).unwrap();
    wait_until("the first round", || sampler.pulse().ticks() > 0);
    (sampler, kept)
}

/// Waits for a round that began after now.
fn next_round(sampler: &Sampler) {
    let before = sampler.pulse().ticks();
    wait_until("two rounds", || sampler.pulse().ticks() >= before + 2);
}

/// A minute is for a machine that is busy with everything else; on an idle one it is milliseconds.
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
