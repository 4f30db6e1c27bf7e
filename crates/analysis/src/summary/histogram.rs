//! The distribution of many values over powers of ten, small enough to keep and exact enough to draw.

use std::collections::BTreeMap;

use record::Nanos;

/// Bins from one power of ten to the next: each is 15 % wider than the one before.
const PER_DECADE: f64 = 16.0;

/// Where the first bin begins: a microsecond.
const FROM: f64 = 1e3;

/// The last bin: it begins beyond four hours.
const LAST: u8 = 162;

/// Counts of values by bin. Histograms of several runs add up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    counts: BTreeMap<u8, u64>,
}

impl Histogram {
    pub fn from_values(values: &[Nanos]) -> Histogram {
        let mut counts = BTreeMap::new();
        for value in values {
            let bin = ((*value as f64 / FROM).log10() * PER_DECADE).floor();
            // Saturates; durations under a microsecond are in the first bin.
            *counts.entry((bin as u8).min(LAST)).or_default() += 1;
        }
        Histogram { counts }
    }

    pub fn add(&mut self, other: &Histogram) {
        for (bin, count) in &other.counts {
            *self.counts.entry(*bin).or_default() += count;
        }
    }

    /// The bins that hold values: begin and end of each, and its count.
    pub fn bins(&self) -> impl Iterator<Item = (f64, f64, u64)> {
        self.counts
            .iter()
            .map(|(bin, count)| (begin(*bin), begin(bin + 1), *count))
    }

    pub fn count(&self) -> u64 {
        self.counts.values().sum()
    }
}

/// The value at which a bin begins.
fn begin(bin: u8) -> f64 {
    FROM * 10_f64.powf(f64::from(bin) / PER_DECADE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_its_bin() {
        for value in [0, 1, 999, 1_000, 1_500, 84_000_000, 3_600_000_000_000, u64::MAX] {
            let histogram = Histogram::from_values(&[value]);
            let (begin, end, count) = histogram.bins().next().unwrap();
            assert_eq!(count, 1);
            let inside = (begin..end).contains(&(value as f64));
            let beyond = !(1_000..=10_000_000_000_000).contains(&value);
            assert!(inside || beyond, "{value}");
        }
    }

    #[test]
    fn two_runs_are_one_distribution() {
        let mut both = Histogram::from_values(&[5_000, 6_000_000]);
        both.add(&Histogram::from_values(&[5_100]));
        assert_eq!(both.count(), 3);
        assert_eq!(both.bins().next().unwrap().2, 2);
    }
}
