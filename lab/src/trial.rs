//! One trial: threads start together, a flag ends the timed part, and each thread counts for itself.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Starts the threads of a trial together, and tells them to stop.
pub struct Signal {
    start: Barrier,
    stopped: AtomicBool,
}

impl Signal {
    /// Waits until all threads are ready; the timed part begins when this returns.
    pub fn start(&self) -> Instant {
        self.start.wait();
        Instant::now()
    }

    pub fn is_running(&self) -> bool {
        // Relaxed: the flag guards no other data.
        !self.stopped.load(Ordering::Relaxed)
    }
}

/// The operations of one thread in the timed part, and the bytes that it holds at its end.
pub struct Share {
    started: Instant,
    ended: Instant,
    operations: u64,
    live_bytes: usize,
}

impl Share {
    /// Ends the timed part of a thread now.
    pub fn new(started: Instant, operations: u64) -> Share {
        Share {
            started,
            ended: Instant::now(),
            operations,
            live_bytes: 0,
        }
    }

    pub fn with_live_bytes(self, live_bytes: usize) -> Share {
        Share { live_bytes, ..self }
    }
}

/// The operations of all threads together, and the bytes that are held at the end.
pub struct Outcome {
    /// From the first start to the last end
    pub seconds: f64,
    pub operations: u64,
    pub live_bytes: usize,
}

impl Outcome {
    /// Adds bytes that no thread holds alone, such as those on their way to another thread.
    pub fn add_live_bytes(self, live_bytes: usize) -> Outcome {
        Outcome {
            live_bytes: self.live_bytes + live_bytes,
            ..self
        }
    }
}

impl FromIterator<Share> for Outcome {
    fn from_iter<I: IntoIterator<Item = Share>>(shares: I) -> Outcome {
        let joined = shares.into_iter().reduce(|sum, share| Share {
            started: sum.started.min(share.started),
            ended: sum.ended.max(share.ended),
            operations: sum.operations + share.operations,
            live_bytes: sum.live_bytes + share.live_bytes,
        });
        let joined = joined.expect("a trial has at least one thread");
        Outcome {
            seconds: (joined.ended - joined.started).as_secs_f64(),
            operations: joined.operations,
            live_bytes: joined.live_bytes,
        }
    }
}

/// Runs `work` in one thread for each of `members`: it prepares, starts, and works until `duration` has passed.
pub fn trial<M: Send>(members: Vec<M>, duration: Duration, work: impl Fn(M, &Signal) -> Share + Sync) -> Outcome {
    let signal = Signal {
        start: Barrier::new(members.len() + 1),
        stopped: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        let threads: Vec<_> = members
            .into_iter()
            .map(|member| scope.spawn(|| work(member, &signal)))
            .collect();
        signal.start();
        thread::sleep(duration);
        signal.stopped.store(true, Ordering::Relaxed);
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no workload panics"))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_adds_up_its_threads_and_lasts_as_long_as_the_last() {
        let pauses = vec![0, 20];
        let outcome = trial(pauses, Duration::from_millis(10), |pause, signal| {
            let started = signal.start();
            while signal.is_running() {
                thread::yield_now();
            }
            thread::sleep(Duration::from_millis(pause));
            Share::new(started, 3).with_live_bytes(4)
        });
        assert_eq!((outcome.operations, outcome.live_bytes), (6, 8));
        assert!(outcome.seconds >= 0.02, "{}", outcome.seconds);
        assert_eq!(outcome.add_live_bytes(2).live_bytes, 10);
    }
}
