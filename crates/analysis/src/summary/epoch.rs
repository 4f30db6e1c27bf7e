//! Peaks: what the tree had at most between two readings of the high-water marks.
//!
//! An epoch is the time from one [`PeakMark`] to the next. It ends a phase and begins the following one, so that
//! what happens between two phases belongs to the second, as the marks themselves have it.

use crate::summary::Peak;
use record::{Nanos, PeakMark, Rollup};

use super::tree::{LiveProcess, Sums, Tree};

/// Memory seen since the marks were last read.
#[derive(Clone, Debug, Default)]
pub(super) struct Epoch {
    /// Highest certain sum over the tree: of ticks, and of exact counters read together.
    lower: u64,
    /// The processes that ended in this epoch, as far as seen.
    ended: Vec<Span>,
    /// Highest certain private memory: of ticks, without processes that share memory with a parent, and of exact
    /// counters read together.
    private: Option<u64>,
}

/// A process: its possible lifetime, and its highest memory.
#[derive(Clone, Copy, Debug)]
struct Span {
    since: Nanos,
    until: Nanos,
    most: u64,
}

/// Sums of exact counters that were read together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Exact {
    pub proportional: u64,
    /// Private memory, as far as known.
    pub private: Option<u64>,
}

impl Exact {
    /// Adds the counters of one process.
    pub fn plus(self, rollup: &Rollup) -> Exact {
        let private = rollup
            .private()
            .map(|private| private.saturating_add(self.private.unwrap_or(0)));
        Exact {
            proportional: self.proportional.saturating_add(rollup.proportional),
            private: private.or(self.private),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Peaks {
    pub resident: Option<Peak>,
    /// Of private memory, at the least.
    pub private: Option<u64>,
}

impl Epoch {
    pub fn tick(&mut self, sums: Sums) {
        self.lower = self.lower.max(sums.resident_lower.unwrap_or(0));
        self.private = self.private.max(sums.private_lower);
    }

    /// Exact counters of several processes were read together; their sum is at most the tree's.
    pub fn exact(&mut self, sum: Exact) {
        self.lower = self.lower.max(sum.proportional);
        self.private = self.private.max(sum.private);
    }

    /// A process went away at some time until now.
    pub fn ended(&mut self, until: Nanos, live: &LiveProcess) {
        let most = live.high_water_in_epoch().unwrap_or(0).max(live.resident_max);
        let upper = if live.borrows {
            0
        } else {
            live.counters.high_water.unwrap_or(0).max(live.resident_max)
        };
        self.lower = self.lower.max(most);
        self.ended.push(Span {
            since: live.since,
            until,
            most: upper,
        });
    }

    /// The peaks after the marks were read, or at the record's end (`mark` is `None`).
    ///
    /// *One process throughout*: the peak is the larger of its mark and its largest sample. It is exact if the mark is
    /// of this epoch: reset at its start, of a process that began in it, or risen since. A mark that has not risen is
    /// an older peak, so only the largest sample is certain.
    ///
    /// *A tree*: no system keeps a mark for several processes. The sum of marks over processes that may have coexisted
    /// is an upper bound, since they need not have peaked together; the largest certain sum of one moment is a lower
    /// bound. A process that ended inside may have had more in its last moments than was seen, which is reported.
    pub fn peaks(&self, tree: &Tree, mark: Option<&PeakMark>) -> Peaks {
        let single = tree
            .live()
            .map(|(_, live)| live.high_water_in_epoch().unwrap_or(0).max(live.resident_max))
            .max();
        let lower = self.lower.max(single.unwrap_or(0));
        let upper = mark
            .and_then(|mark| self.upper(tree, mark))
            .map(|upper| upper.max(lower));
        let peak = Peak {
            lower,
            upper,
            unseen: !self.ended.is_empty() && upper.is_some(),
        };
        Peaks {
            resident: if lower > 0 { Some(peak) } else { None },
            private: self.private,
        }
    }

    /// An upper bound of the resident peak; `None` if the mark of a process was not read.
    fn upper(&self, tree: &Tree, mark: &PeakMark) -> Option<u64> {
        if tree.count() == 1 && self.ended.is_empty() {
            let (_, live) = tree.live().next()?;
            return live.high_water_in_epoch().map(|mark| mark.max(live.resident_max));
        }
        let mut spans = self.ended.clone();
        for (process, live) in tree.live().filter(|(_, live)| !live.borrows) {
            let was_read = mark.marks.iter().any(|sample| sample.process == process);
            if !was_read {
                return None;
            }
            spans.push(Span {
                since: live.since,
                until: Nanos::MAX,
                most: live.counters.high_water?.max(live.resident_max),
            });
        }
        Some(largest_sum(&spans))
    }
}

/// The largest sum over spans that overlap. Spans that only touch count as overlapping, since the moments are not exact.
fn largest_sum(spans: &[Span]) -> u64 {
    let starts = spans.iter().map(|span| (span.since, false, span.most));
    let ends = spans.iter().map(|span| (span.until, true, span.most));
    let mut moments: Vec<(Nanos, bool, u64)> = starts.chain(ends).collect();
    moments.sort_unstable();
    // Wide enough for any number of sizes: every addition is subtracted later.
    let (mut sum, mut largest) = (0u128, 0u128);
    for (_, ends, most) in moments {
        let most = u128::from(most);
        sum = if ends { sum - most } else { sum + most };
        largest = largest.max(sum);
    }
    u64::try_from(largest).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(since: Nanos, until: Nanos, most: u64) -> Span {
        Span { since, until, most }
    }

    #[test]
    fn only_processes_that_may_have_been_there_together_are_added() {
        let one_after_the_other = [span(0, 100, 5), span(10, 20, 7), span(21, 40, 9)];
        assert_eq!(largest_sum(&one_after_the_other), 14);
        let touching = [span(0, 100, 5), span(10, 21, 7), span(21, 40, 9)];
        assert_eq!(largest_sum(&touching), 21);
        assert_eq!(largest_sum(&[]), 0);
    }
}
