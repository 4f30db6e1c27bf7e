//! The number of pairs of n independent values that are out of order, which the interval of a slope rests on.

use super::student::normal;

/// Up to this many values the distribution is exact; above, its normal limit differs by less than 0.001.
const EXACT_UP_TO: usize = 60;

/// The distribution of the number of inversions of a random order of n distinct values.
pub(super) struct Inversions {
    n: usize,
    /// The chance of at most q inversions, by q; `None` of so many values that the normal limit is used.
    exact: Option<Vec<f64>>,
}

impl Inversions {
    pub(super) fn new(n: usize) -> Inversions {
        let exact = if n <= EXACT_UP_TO {
            Some(cumulative_chances(n))
        } else {
            None
        };
        Inversions { n, exact }
    }

    pub(super) fn pairs(&self) -> usize {
        self.n * self.n.saturating_sub(1) / 2
    }

    /// The chance of at most `q` inversions.
    pub(super) fn at_most(&self, q: usize) -> f64 {
        match &self.exact {
            Some(exact) => exact.get(q).map_or(1.0, |share| share.min(1.0)),
            None => {
                let n = self.n as f64;
                let deviation = (n * (n - 1.0) * (2.0 * n + 5.0) / 72.0).sqrt();
                normal((q as f64 + 0.5 - self.pairs() as f64 / 2.0) / deviation)
            }
        }
    }

    /// The largest m with P(Q ≤ m − 1) ≤ `tail`; 0 when even P(Q ≤ 0) is more.
    pub(super) fn trimmed(&self, tail: f64) -> usize {
        let (mut low, mut high) = (0, self.pairs() / 2 + 1);
        while high - low > 1 {
            let middle = low.midpoint(high);
            if self.at_most(middle - 1) <= tail {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }
}

/// The chance of at most q inversions, by q: `P_n(q) = (P_{n−1}(q) + … + P_{n−1}(q − n + 1)) / n`, by where the n-th value
/// is put in (Kendall, *A New Measure of Rank Correlation*, Biometrika 30, 1938).
fn cumulative_chances(n: usize) -> Vec<f64> {
    let mut chances = vec![1.0];
    for size in 2..=n {
        let mut next = vec![0.0; chances.len() + size - 1];
        for (inversions, chance) in chances.iter().enumerate() {
            for place in 0..size {
                next[inversions + place] += chance / size as f64;
            }
        }
        chances = next;
    }
    let mut sum = 0.0;
    for chance in &mut chances {
        sum += *chance;
        *chance = sum;
    }
    chances
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counted_and_the_normal_distribution_meet() {
        let counted = Inversions::new(EXACT_UP_TO);
        let limit = Inversions {
            n: EXACT_UP_TO,
            exact: None,
        };
        for q in (600..1_100).step_by(20) {
            let (counted, limit) = (counted.at_most(q), limit.at_most(q));
            assert!((counted - limit).abs() < 0.001, "{q}: {counted} {limit}");
        }
    }

    #[test]
    fn what_is_trimmed_leaves_no_more_than_the_tail() {
        for n in [2, 3, 6, 10, 40, 200] {
            let inversions = Inversions::new(n);
            let trimmed = inversions.trimmed(0.025);
            assert!(trimmed == 0 || inversions.at_most(trimmed - 1) <= 0.025, "{n}");
            assert!(inversions.at_most(trimmed) > 0.025, "{n}");
        }
    }
}
