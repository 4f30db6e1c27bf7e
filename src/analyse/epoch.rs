//! Peaks: what the tree had at most between two readings of the high-water marks.
//!
//! An epoch is the time from one [`PeakMark`] to the next. It ends a phase and begins the following one, so that
//! what happens between two phases belongs to the second, as the marks themselves have it.

use crate::record::PeakMark;

use super::summary::Peak;
use super::tree::{Live, Sums, Tree};

/// What has been seen since the marks were last read.
#[derive(Clone, Debug, Default)]
pub(super) struct Epoch {
    /// Highest sure sum over the tree: of ticks and of exact counters taken together.
    lower: u64,
    /// Sum of what the processes that ended in it had at most, as far as seen.
    ended_upper: u64,
    /// Processes that ended in it.
    ended: u64,
    /// Highest private memory of processes that share none with a parent.
    private: Option<u64>,
    /// Highest point of the private curve.
    curve: Option<u64>,
}

/// The peaks of one epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Peaks {
    /// Of resident memory.
    pub resident: Option<Peak>,
    /// Of private memory, at the least.
    pub private: Option<u64>,
    /// Of the private curve.
    pub curve: Option<u64>,
}

impl Epoch {
    /// One tick is complete.
    pub fn tick(&mut self, sums: Sums) {
        self.lower = self.lower.max(sums.resident_lower.unwrap_or(0));
        self.private = self.private.max(sums.private_lower);
        self.curve = self.curve.max(sums.private);
    }

    /// Exact counters of several processes were taken together; their proportional sizes add up to no more than
    /// what the tree had.
    pub fn proportional(&mut self, sum: u64) {
        self.lower = self.lower.max(sum);
    }

    /// A process went away.
    pub fn ended(&mut self, live: &Live) {
        let most = live.mark().unwrap_or(0).max(live.resident_max);
        self.lower = self.lower.max(most);
        self.ended_upper += live.counters.high_water.unwrap_or(0).max(live.resident_max);
        self.ended += 1;
    }

    /// The marks were read, or the record ended (`mark` is `None`).
    ///
    /// *One process throughout*: the peak is the larger of its mark and of the largest sample. It is exact if the
    /// mark is of this epoch: it was reset at its beginning, or the process began in it, or it has risen since. A
    /// mark that has not risen is an older peak; then the largest sample is what is sure.
    ///
    /// *A tree*: no system keeps a mark for several processes. The marks' sum is an upper bound, since the
    /// processes need not have peaked together; the largest sure sum of one moment is a lower bound. A process
    /// that ended inside may have had more in its last moments than was seen, which is said.
    pub fn peaks(&self, tree: &Tree, mark: Option<&PeakMark>) -> Peaks {
        let single = tree
            .live()
            .map(|(_, live)| live.mark().unwrap_or(0).max(live.resident_max))
            .max();
        let lower = self.lower.max(single.unwrap_or(0));
        let upper = mark
            .and_then(|mark| self.upper(tree, mark))
            .map(|upper| upper.max(lower));
        let resident = (lower > 0).then_some(Peak {
            lower,
            upper,
            unseen: self.ended > 0 && upper.is_some(),
        });
        Peaks {
            resident,
            private: self.private,
            curve: self.curve,
        }
    }

    /// The sum of what every process had at most.
    fn upper(&self, tree: &Tree, mark: &PeakMark) -> Option<u64> {
        if tree.count() + self.ended == 1 {
            let (_, live) = tree.live().next()?;
            return live.mark().map(|mark| mark.max(live.resident_max));
        }
        let read = |process| mark.marks.iter().any(|sample| sample.process == process);
        let marks = tree.live().map(|(process, live)| {
            let high = live.counters.high_water.filter(|_| read(process))?;
            Some(high.max(live.resident_max))
        });
        marks.sum::<Option<u64>>().map(|sum| sum + self.ended_upper)
    }
}
