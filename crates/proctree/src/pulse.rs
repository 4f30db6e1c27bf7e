//! The latest figures of the whole tree, which the driver reads without waiting for the sampler.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use record::Nanos;

/// The latest figures of the whole tree. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Pulse(Arc<Figures>);

/// Figures of the tree, read at the driver's request: it decides by them whether the server rests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glance {
    pub at: Nanos,
    pub cpu: Option<Nanos>,
    pub private: Option<u64>,
    /// Resident memory of a single process; `None` of several, whose sum counts shared pages in each.
    pub resident: Option<u64>,
    /// Private memory of the server's own process, without what it started.
    pub own: Option<u64>,
}

#[derive(Debug)]
struct Figures {
    cpu: AtomicU64,
    resident: AtomicU64,
    private: AtomicU64,
    /// 0 as long as nothing is known.
    peak: AtomicU64,
    processes: AtomicUsize,
    ticks: AtomicU64,
}

/// Stands for `None`: no machine has that many bytes or nanoseconds.
const NONE: u64 = u64::MAX;

impl Default for Figures {
    fn default() -> Figures {
        Figures {
            cpu: AtomicU64::new(NONE),
            resident: AtomicU64::new(NONE),
            private: AtomicU64::new(NONE),
            peak: AtomicU64::new(0),
            processes: AtomicUsize::new(0),
            ticks: AtomicU64::new(0),
        }
    }
}

/// Sums over all processes, from one round of readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub cpu: Option<Nanos>,
    pub resident: Option<u64>,
    pub private: Option<u64>,
    pub processes: usize,
}

impl Pulse {
    /// Processor time of the tree so far, of ended processes too as far as it was seen; never decreases.
    ///
    /// The step is that of the system's clock ticks: 10 ms on Linux.
    pub fn cpu(&self) -> Option<Nanos> {
        load(&self.0.cpu)
    }

    /// Sum of resident memory over the tree, shared pages counted in each; `None` if any process's is unknown.
    pub fn resident(&self) -> Option<u64> {
        load(&self.0.resident)
    }

    /// Sum of private memory over the tree as far as cheap counters know it; `None` if any process's is unknown.
    pub fn private(&self) -> Option<u64> {
        load(&self.0.private)
    }

    /// The highest [`Pulse::private`] that was read so far.
    pub fn peak(&self) -> Option<u64> {
        match self.0.peak.load(Ordering::Relaxed) {
            0 => None,
            peak => Some(peak),
        }
    }

    /// Processes of the tree that are there.
    pub fn processes(&self) -> usize {
        self.0.processes.load(Ordering::Relaxed)
    }

    /// Rounds read so far: whoever waits for fresh figures waits until this has grown by two.
    pub fn ticks(&self) -> u64 {
        self.0.ticks.load(Ordering::Acquire)
    }

    pub(super) fn show(&self, sums: Sums) {
        let figures = &*self.0;
        figures.cpu.store(sums.cpu.unwrap_or(NONE), Ordering::Relaxed);
        figures.resident.store(sums.resident.unwrap_or(NONE), Ordering::Relaxed);
        figures.private.store(sums.private.unwrap_or(NONE), Ordering::Relaxed);
        figures.peak.fetch_max(sums.private.unwrap_or(0), Ordering::Relaxed);
        figures.processes.store(sums.processes, Ordering::Relaxed);
        // Last, and released: who sees the new count sees the figures that belong to it, or newer ones.
        figures.ticks.fetch_add(1, Ordering::Release);
    }
}

#[cfg(test)]
impl Pulse {
    /// Shows this private memory as if it had been read.
    fn pretend(&self, private: Option<u64>) {
        self.show(Sums {
            private,
            ..Sums::default()
        });
    }
}

fn load(figure: &AtomicU64) -> Option<u64> {
    match figure.load(Ordering::Relaxed) {
        NONE => None,
        value => Some(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn before_the_first_round_nothing_is_known() {
        let pulse = Pulse::default();
        assert_eq!((pulse.cpu(), pulse.resident(), pulse.private()), (None, None, None));
        assert_eq!((pulse.processes(), pulse.ticks()), (0, 0));
    }

    #[test]
    fn the_highest_stays() {
        let pulse = Pulse::default();
        assert_eq!(pulse.peak(), None);
        for private in [Some(7), None, Some(9), Some(3)] {
            pulse.pretend(private);
        }
        assert_eq!((pulse.private(), pulse.peak()), (Some(3), Some(9)));
    }

    #[test]
    fn a_clone_goes_on_showing_the_latest() {
        let pulse = Pulse::default();
        let clone = pulse.clone();
        pulse.show(Sums {
            cpu: Some(1),
            resident: Some(2),
            private: None,
            processes: 3,
        });
        assert_eq!(
            (clone.cpu(), clone.resident(), clone.private()),
            (Some(1), Some(2), None)
        );
        assert_eq!((clone.processes(), clone.ticks()), (3, 1));
    }
}
