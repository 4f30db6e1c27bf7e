//! Peaks: what the tree had at most between two readings of the high-water marks.
//!
//! An epoch is the time from one [`PeakMark`] to the next. It ends a phase and begins the following one, so that
//! what happens between two phases belongs to the second, as the marks themselves have it.

use crate::record::{Nanos, PeakMark, Rollup};
use crate::summary::Peak;

use super::tree::{Live, Sums, Tree};

/// What has been seen since the marks were last read.
#[derive(Clone, Debug, Default)]
pub(super) struct Epoch {
    /// Highest sure sum over the tree: of ticks and of exact counters taken together.
    lower: u64,
    /// What the processes that ended in it had at most, as far as seen.
    ended: Vec<Span>,
    /// Highest sure private memory: of ticks, without processes that share theirs with a parent, and of exact counters
    /// taken together.
    private: Option<u64>,
}

/// A process: when it may have been there, and what it had at most.
#[derive(Clone, Copy, Debug)]
struct Span {
    since: Nanos,
    until: Nanos,
    most: u64,
}

/// Sums of exact counters that were taken together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Exact {
    pub proportional: u64,
    /// Of private memory, as far as it is known.
    pub private: Option<u64>,
}

impl Exact {
    /// The sums with one process more.
    pub fn with(self, rollup: &Rollup) -> Exact {
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

    /// Exact counters of several processes were taken together; their sums are no more than what the tree had.
    pub fn exact(&mut self, sum: Exact) {
        self.lower = self.lower.max(sum.proportional);
        self.private = self.private.max(sum.private);
    }

    /// A process went away at some time until now.
    pub fn ended(&mut self, until: Nanos, live: &Live) {
        let most = live.mark().unwrap_or(0).max(live.resident_max);
        let upper = match live.borrows {
            true => 0,
            false => live.counters.high_water.unwrap_or(0).max(live.resident_max),
        };
        self.lower = self.lower.max(most);
        self.ended.push(Span {
            since: live.since,
            until,
            most: upper,
        });
    }

    /// The marks were read, or the record ended (`mark` is `None`).
    ///
    /// *One process throughout*: the peak is the larger of its mark and of the largest sample. It is exact if the
    /// mark is of this epoch: it was reset at its beginning, or the process began in it, or it has risen since. A
    /// mark that has not risen is an older peak; then the largest sample is what is sure.
    ///
    /// *A tree*: no system keeps a mark for several processes. The marks' sum over processes that may have been there
    /// together is an upper bound, since they need not have peaked together; the largest sure sum of one moment is a
    /// lower bound. A process that ended inside may have had more in its last moments than was seen, which is said.
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
            unseen: !self.ended.is_empty() && upper.is_some(),
        });
        Peaks {
            resident,
            private: self.private,
        }
    }

    /// The largest sum of what processes that may have been there together had at most.
    fn upper(&self, tree: &Tree, mark: &PeakMark) -> Option<u64> {
        if tree.count() == 1 && self.ended.is_empty() {
            let (_, live) = tree.live().next()?;
            return live.mark().map(|mark| mark.max(live.resident_max));
        }
        let read = |process| mark.marks.iter().any(|sample| sample.process == process);
        let living = tree.live().filter(|(_, live)| !live.borrows).map(|(process, live)| {
            let high = live.counters.high_water.filter(|_| read(process))?;
            Some(Span {
                since: live.since,
                until: Nanos::MAX,
                most: high.max(live.resident_max),
            })
        });
        let ended = self.ended.iter().copied().map(Some);
        living.chain(ended).collect::<Option<Vec<Span>>>().map(together)
    }
}

/// The largest sum over spans that overlap. Spans that only touch count as overlapping, since the moments are not exact.
fn together(spans: Vec<Span>) -> u64 {
    let starts = spans.iter().map(|span| (span.since, false, span.most));
    let ends = spans.iter().map(|span| (span.until, true, span.most));
    let mut moments: Vec<(Nanos, bool, u64)> = starts.chain(ends).collect();
    moments.sort_unstable();
    // As wide as any number of sizes needs: what was added is taken away again.
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
        let one_after_the_other = vec![span(0, 100, 5), span(10, 20, 7), span(21, 40, 9)];
        assert_eq!(together(one_after_the_other), 14);
        let touching = vec![span(0, 100, 5), span(10, 21, 7), span(21, 40, 9)];
        assert_eq!(together(touching), 21);
        assert_eq!(together(Vec::new()), 0);
    }
}
