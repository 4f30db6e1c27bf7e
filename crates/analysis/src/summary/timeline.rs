//! The memory curve at a fixed number of points, however long the run: buckets double in width as they fill up.

use record::Nanos;

use super::curves::{BUCKETS, NARROWEST, Span};

/// Sums over the tree within one stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    pub private: Span,
    pub resident: Span,
}

impl Bucket {
    fn new(private: u64, resident: u64) -> Bucket {
        Bucket {
            private: Span::constant(private),
            resident: Span::constant(resident),
        }
    }

    fn join(self, later: Bucket) -> Bucket {
        Bucket {
            private: self.private.join(later.private),
            resident: self.resident.join(later.resident),
        }
    }
}

/// The curve of a run. It keeps extremes, not means: a spike of one tick stays visible after eight hours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline {
    pub width: Nanos,
    /// From time 0; `None` before the first sample, after the last process, and where a process could not be read.
    pub buckets: Vec<Option<Bucket>>,
    last: Option<Bucket>,
}

impl Default for Timeline {
    fn default() -> Timeline {
        Timeline {
            width: NARROWEST,
            buckets: Vec::new(),
            last: None,
        }
    }
}

impl Timeline {
    /// Adds the sums of one moment, private and resident; `None` if they are unknown from then on. They hold until the next
    /// moment, and fill the buckets between, since a sample is written only when something changed.
    pub(super) fn add(&mut self, at: Nanos, sums: Option<(u64, u64)>) {
        self.extend(at);
        self.last = sums.map(|(private, resident)| Bucket::new(private, resident));
        if let (Some(bucket), Some(value)) = (self.buckets.last_mut(), self.last) {
            *bucket = Some(bucket.map_or(value, |bucket| bucket.join(value)));
        }
    }

    /// Makes the curve reach until `at`.
    pub(super) fn extend(&mut self, at: Nanos) {
        while at / self.width >= BUCKETS as u64 {
            self.double();
        }
        let place = usize::try_from(at / self.width).unwrap_or(BUCKETS);
        while self.buckets.len() <= place {
            self.buckets.push(self.last);
        }
    }

    fn double(&mut self) {
        self.width *= 2;
        let joined = self
            .buckets
            .chunks(2)
            .map(|pair| pair.iter().copied().flatten().reduce(Bucket::join))
            .collect();
        self.buckets = joined;
    }

    /// The extremes within `from..to`, at least one bucket.
    pub fn between(&self, from: Nanos, to: Nanos) -> Option<Bucket> {
        let first = usize::try_from(from / self.width).ok()?;
        let end = usize::try_from(to.div_ceil(self.width))
            .ok()?
            .max(first + 1)
            .min(self.buckets.len());
        self.buckets
            .get(first..end)?
            .iter()
            .copied()
            .flatten()
            .reduce(Bucket::join)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spike_of_one_tick_outlives_a_day() {
        let mut timeline = Timeline::default();
        timeline.add(0, Some((10, 20)));
        timeline.add(60_000_000_000, Some((500, 900)));
        timeline.add(60_050_000_000, Some((10, 20)));
        timeline.extend(86_400_000_000_000);
        assert!(timeline.buckets.len() <= BUCKETS);
        let all = timeline.between(0, u64::MAX / 2).unwrap();
        assert_eq!(
            (all.private.low(), all.private.high(), all.resident.high()),
            (10, 500, 900)
        );
        let evening = timeline.between(80_000_000_000_000, 81_000_000_000_000).unwrap();
        assert_eq!(evening, Bucket::new(10, 20));
    }

    #[test]
    fn before_the_first_sample_there_is_nothing() {
        let mut timeline = Timeline::default();
        timeline.add(1_000_000_000, Some((10, 20)));
        assert_eq!(timeline.between(0, 900_000_000), None);
        assert_eq!(
            timeline.between(1_000_000_000, 1_000_000_001),
            Some(Bucket::new(10, 20))
        );
    }
}
