//! A keyspace of strings, after the redis benchmark of mimalloc-bench: values are replaced, expired and evicted.

use std::collections::HashMap;
use std::fmt::Write;
use std::hint::black_box;

use fastrand::Rng;

use crate::options::Options;
use crate::random::{generators, power_law};
use crate::trial::{Outcome, Share, Signal, trial};

/// Keys that exist or may exist: below 2^14.
const KEY_POWER: u32 = 14;
/// Values have 2^4 to below 2^14 bytes.
const POWERS: (u32, u32) = (4, 14);
/// Bytes of keys and values that a keyspace may hold.
pub const LIMIT: usize = 8 << 20;
/// The longest life of a key, in commands.
const LIFE: u64 = 1 << 17;
/// Keys that are looked at to expire or evict some, as redis does.
const SAMPLE: usize = 5;

struct Entry {
    value: Vec<u8>,
    used: u64,
    expires: u64,
}

/// One for each thread. Its clock counts commands.
struct Keyspace {
    entries: HashMap<String, Entry>,
    bytes: usize,
    clock: u64,
    random: Rng,
}

pub fn run(options: &Options) -> Outcome {
    trial(generators(options), options.seconds, work)
}

fn work(random: Rng, signal: &Signal) -> Share {
    let mut keyspace = Keyspace::new(random);
    while keyspace.bytes < LIMIT / 2 {
        keyspace.set();
    }
    let started = signal.start();
    let mut operations = 0;
    while signal.is_running() {
        keyspace.command();
        operations += 1;
    }
    Share::new(started, operations).with_live_bytes(keyspace.bytes)
}

impl Keyspace {
    fn new(random: Rng) -> Keyspace {
        Keyspace {
            entries: HashMap::new(),
            bytes: 0,
            clock: 0,
            random,
        }
    }

    /// Four of ten commands write; every sixteenth is followed by a search for what has expired.
    fn command(&mut self) {
        self.clock += 1;
        if self.random.u8(..10) < 4 {
            self.set();
        } else {
            self.get();
        }
        if self.clock.is_multiple_of(16) {
            self.sweep();
        }
    }

    fn set(&mut self) {
        let key = self.key();
        self.remove(&key);
        let entry = Entry {
            value: vec![1; power_law(&mut self.random, POWERS.0, POWERS.1)],
            used: self.clock,
            expires: self.clock + self.random.u64(1..=LIFE),
        };
        self.bytes += key.capacity() + entry.value.capacity();
        self.entries.insert(key, entry);
        while self.bytes > LIMIT {
            self.sweep();
        }
    }

    /// Copies the value into a reply, as a server does.
    fn get(&mut self) {
        let key = self.key();
        match self.entries.get_mut(&key) {
            Some(entry) if entry.expires > self.clock => {
                entry.used = self.clock;
                drop(black_box(entry.value.clone()));
            }
            Some(_) => self.remove(&key),
            None => {}
        }
    }

    /// Looks at some keys and removes those that have expired; above the limit also the one that was used longest ago.
    fn sweep(&mut self) {
        let mut oldest: Option<(u64, String)> = None;
        let mut key = String::new();
        for _ in 0..SAMPLE {
            key.clear();
            write_key(&mut key, self.random.usize(..1 << KEY_POWER));
            match self.entries.get(&key) {
                Some(entry) if entry.expires <= self.clock => self.remove(&key),
                Some(entry) if oldest.as_ref().is_none_or(|(used, _)| entry.used < *used) => {
                    oldest = Some((entry.used, key.clone()));
                }
                _ => {}
            }
        }
        match oldest {
            Some((_, key)) if self.bytes > LIMIT => self.remove(&key),
            _ => {}
        }
    }

    fn remove(&mut self, key: &str) {
        if let Some((key, entry)) = self.entries.remove_entry(key) {
            self.bytes -= key.capacity() + entry.value.capacity();
        }
    }

    /// A key; some are used far more often than others.
    fn key(&mut self) -> String {
        let mut key = String::with_capacity(24);
        write_key(&mut key, power_law(&mut self.random, 0, KEY_POWER));
        key
    }
}

fn write_key(key: &mut String, number: usize) {
    write!(key, "session:{number:06}:state").expect("a string takes all that is written");
}
