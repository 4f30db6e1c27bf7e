//! Watches the memory limit of a run: how much the tree has, and how fast that grew.

use std::collections::VecDeque;

use record::{Excess, Nanos};

/// Time over which the rate of growth is taken.
const SPAN: Nanos = 1_000_000_000;

/// Time between two looks where samples are rarer.
pub(super) const LOOK: Nanos = 50_000_000;

/// After an exact reading that denied an excess, the next one waits for this many times as long as it took, because it
/// holds the server up.
const PAUSE: Nanos = 20;

/// The limit, and the latest sums of sampled private memory.
#[derive(Debug)]
pub(super) struct Guard {
    limit: Option<u64>,
    /// Times and sums in bytes, of the last [`SPAN`].
    latest: VecDeque<(Nanos, u64)>,
    pub is_exceeded: bool,
    denied: Option<Denied>,
}

/// An exact reading below the limit, although the sampled sum was above it.
#[derive(Clone, Copy, Debug)]
struct Denied {
    sampled: u64,
    exact: u64,
    until: Nanos,
}

impl Guard {
    pub fn new(limit: Option<u64>) -> Guard {
        Guard {
            limit,
            latest: VecDeque::new(),
            is_exceeded: false,
            denied: None,
        }
    }

    /// Takes a sampled sum; true if it calls for an exact reading.
    pub fn suspects(&mut self, at: Nanos, private: Option<u64>) -> bool {
        let (Some(limit), Some(private)) = (self.limit, private) else {
            return false;
        };
        while let Some((then, _)) = self.latest.front()
            && at.saturating_sub(*then) > SPAN
            && self.latest.len() > 1
        {
            self.latest.pop_front();
        }
        self.latest.push_back((at, private));
        let is_denied = self.denied.is_some_and(|denied| {
            // By that much at least exact memory must have grown.
            let least = denied.sampled.saturating_add(limit.saturating_sub(denied.exact));
            at < denied.until && private < least
        });
        !self.is_exceeded && private > limit && !is_denied
    }

    /// Judges the exact reading, or the sampled sum where there is none. Samples count shared memory once for each
    /// mapping, so they alone do not decide. The reading took `took`.
    pub fn judge(&mut self, exact: Option<u64>, took: Nanos) -> Option<Excess> {
        let limit = self.limit?;
        let (last, sampled) = *self.latest.back()?;
        let private = exact.unwrap_or(sampled);
        if private <= limit {
            self.denied = Some(Denied {
                sampled,
                exact: private,
                until: last.saturating_add(took.saturating_mul(PAUSE)),
            });
            return None;
        }
        self.is_exceeded = true;
        let (first, before) = self.growth_start()?;
        let rate = if sampled > before && last > first {
            let per_second = u128::from(sampled - before) * 1_000_000_000 / u128::from(last - first);
            Some(u64::try_from(per_second).unwrap_or(u64::MAX))
        } else {
            None
        };
        Some(Excess {
            limit,
            private,
            is_exact: exact.is_some(),
            rate,
        })
    }

    /// Time and sum at which the growth up to the latest sum began: a time of rest before it does not lower the rate.
    fn growth_start(&self) -> Option<(Nanos, u64)> {
        let mut latest = self.latest.iter().rev();
        let mut start = *latest.next()?;
        for (at, private) in latest {
            if *private >= start.1 {
                break;
            }
            start = (*at, *private);
        }
        Some(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn an_excess_that_the_exact_reading_denies_ends_nothing() {
        let mut guard = Guard::new(Some(100 * MIB));
        assert!(guard.suspects(1, Some(300 * MIB)));
        assert_eq!(guard.judge(Some(99 * MIB), 10), None);
        assert!(!guard.suspects(2, Some(300 * MIB)), "it has just been denied");
        assert!(guard.suspects(3, Some(301 * MIB)), "that may be what was missing");
        assert_eq!(guard.judge(Some(98 * MIB), 10), None);
        assert!(!guard.suspects(202, Some(300 * MIB)));
        assert!(guard.suspects(203, Some(300 * MIB)), "it is asked again after a while");
    }

    #[test]
    fn a_confirmed_excess_has_its_rate_over_the_last_second() {
        let mut guard = Guard::new(Some(100 * MIB));
        for tick in 0..40_u64 {
            let suspected = guard.suspects(tick * LOOK, Some(tick * 3 * MIB));
            assert_eq!(suspected, tick > 33, "{tick}");
        }
        let excess = guard.judge(Some(116 * MIB), 10).unwrap();
        assert_eq!((excess.private, excess.rate), (116 * MIB, Some(60 * MIB)));
        assert!(!guard.suspects(50 * LOOK, Some(200 * MIB)), "it is told once");
    }

    #[test]
    fn a_rest_before_the_growth_does_not_lower_its_rate() {
        let mut guard = Guard::new(Some(100 * MIB));
        for tick in 0..10_u64 {
            guard.suspects(tick * LOOK, Some(20 * MIB));
        }
        guard.suspects(10 * LOOK, Some(80 * MIB));
        assert!(guard.suspects(11 * LOOK, Some(140 * MIB)));
        assert_eq!(guard.judge(None, 10).unwrap().rate, Some(1_200 * MIB));
    }

    #[test]
    fn without_a_limit_nothing_is_suspected() {
        let mut guard = Guard::new(None);
        assert!(!guard.suspects(1, Some(u64::MAX)) && guard.limit.is_none());
    }
}
