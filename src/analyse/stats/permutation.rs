//! Exact tests that assume no shape of the noise: the permutation test of log means, and Mann–Whitney on ranks.

use crate::random::Random;

use super::arm::Arm;

/// Every arrangement is looked at up to this many: 12 runs against 12 are 2,704,156.
pub const EXHAUSTIVE_UP_TO: u64 = 3_000_000;

/// Above that so many arrangements are drawn: the standard error of p = 0.05 is then 0.0007.
pub const MONTE_CARLO_DRAWS: u32 = 99_999;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// All arrangements of the runs over the two arms.
    Exhaustive {
        arrangements: u64,
    },
    MonteCarlo {
        draws: u32,
        seed: u64,
    },
}

/// The share of arrangements that are at least as extreme as what was seen.
///
/// If both servers are the same, every assignment of the runs to the two arms is equally likely (Fisher, *The
/// Design of Experiments*, 1935), which is what the random order within blocks makes true. Drawn arrangements
/// count what was seen among them, so that p is never 0 (Phipson and Smyth, *Permutation P-values Should Never Be
/// Zero*, Statistical Applications in Genetics and Molecular Biology 9, 2010).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Permutation {
    /// That the candidate is this much above the baseline, or more.
    pub greater: f64,
    /// That it is this much below, or more.
    pub less: f64,
    /// Twice the smaller of both, at most 1, as SciPy counts it.
    pub two_sided: f64,
    pub method: Method,
}

/// Mann and Whitney's U with its p.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MannWhitney {
    /// In how many pairs of runs the candidate is above the baseline; a tie counts a half.
    pub u: f64,
    /// Its p, by permutation of the mid-ranks: exact with ties too.
    pub p: Permutation,
}

/// The permutation test of the difference of log means.
pub fn permutation(baseline: &Arm, candidate: &Arm, seed: u64) -> Permutation {
    arrange(baseline.logs(), candidate.logs(), seed)
}

/// Mann and Whitney's test (*On a Test of Whether one of Two Random Variables is Stochastically Larger than the
/// Other*, Annals of Mathematical Statistics 18, 1947).
pub fn mann_whitney(baseline: &Arm, candidate: &Arm, seed: u64) -> MannWhitney {
    let ranks = mid_ranks(&[baseline.values(), candidate.values()].concat());
    let (first, second) = ranks.split_at(baseline.len());
    let smallest = (second.len() * (second.len() + 1)) as f64 / 2.0;
    MannWhitney {
        u: second.iter().sum::<f64>() - smallest,
        p: arrange(first, second, seed),
    }
}

/// The rank of each value, from 1; equal values share the mean of their ranks.
fn mid_ranks(values: &[f64]) -> Vec<f64> {
    values
        .iter()
        .map(|value| {
            let below = values.iter().filter(|other| *other < value).count();
            let equal = values.iter().filter(|other| *other == value).count();
            below as f64 + (equal as f64 + 1.0) / 2.0
        })
        .collect()
}

/// Compares the candidate's sum with its sum under other arrangements: with the sizes fixed, the difference of means
/// rises with it.
fn arrange(baseline: &[f64], candidate: &[f64], seed: u64) -> Permutation {
    let mut scores = [baseline, candidate].concat();
    // Around the mean, so that sums of many are not rounded more than their differences.
    let mean = scores.iter().sum::<f64>() / scores.len() as f64;
    scores.iter_mut().for_each(|score| *score -= mean);
    let seen: f64 = scores[baseline.len()..].iter().sum();
    // Sums of the same numbers in another order differ by rounding; they are the same arrangement.
    let slack = 1e-12 * scores.iter().map(|score| score.abs()).sum::<f64>();
    let mut counts = Counts {
        at_least: 0,
        at_most: 0,
        low: seen - slack,
        high: seen + slack,
    };
    let chosen = candidate.len();
    let (extra, total, method) = match choices(scores.len(), chosen) {
        Some(arrangements) => {
            counts.all(&scores, chosen, 0.0);
            (0, arrangements, Method::Exhaustive { arrangements })
        }
        None => {
            let mut random = Random::for_use(seed, "permutation");
            for _ in 0..MONTE_CARLO_DRAWS {
                counts.add(draw(&mut scores, chosen, &mut random));
            }
            let draws = MONTE_CARLO_DRAWS;
            (1, u64::from(draws) + 1, Method::MonteCarlo { draws, seed })
        }
    };
    let share = |count: u64| (count + extra) as f64 / total as f64;
    let (greater, less) = (share(counts.at_least), share(counts.at_most));
    Permutation {
        greater,
        less,
        two_sided: (2.0 * greater.min(less)).min(1.0),
        method,
    }
}

/// Sums at or beyond the one that was seen.
struct Counts {
    at_least: u64,
    at_most: u64,
    low: f64,
    high: f64,
}

impl Counts {
    fn add(&mut self, sum: f64) {
        self.at_least += u64::from(sum >= self.low);
        self.at_most += u64::from(sum <= self.high);
    }

    /// Adds the sum of every choice of `left` from `scores`, on top of `sum`.
    fn all(&mut self, scores: &[f64], left: usize, sum: f64) {
        if left == 1 {
            for score in scores {
                self.add(sum + score);
            }
            return;
        }
        for first in 0..=scores.len() - left {
            self.all(&scores[first + 1..], left - 1, sum + scores[first]);
        }
    }
}

/// The sum of a random choice: the first steps of a shuffle.
fn draw(scores: &mut [f64], chosen: usize, random: &mut Random) -> f64 {
    for place in 0..chosen {
        let other = place + random.below(scores.len() - place);
        scores.swap(place, other);
    }
    scores[..chosen].iter().sum()
}

/// How many ways there are to choose `k` of `n`; `None` when that is more than can be gone through.
fn choices(n: usize, k: usize) -> Option<u64> {
    let mut ways = 1_u64;
    for step in 1..=k.min(n - k) as u64 {
        // Whole at every step: it is the number of ways to choose `step`.
        ways = ways * (n as u64 - step + 1) / step;
        if ways > EXHAUSTIVE_UP_TO {
            return None;
        }
    }
    Some(ways)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_to_choose_are_pascal_s() {
        assert_eq!(choices(6, 3), Some(20));
        assert_eq!(choices(24, 12), Some(2_704_156));
        assert_eq!(choices(42, 40), Some(861));
        assert_eq!(choices(26, 13), None);
        assert_eq!(choices(100_000, 50_000), None);
    }

    #[test]
    fn equal_values_share_the_mean_of_their_ranks() {
        assert_eq!(mid_ranks(&[4.0, 1.0, 4.0, 9.0]), [2.5, 1.0, 2.5, 4.0]);
    }

    #[test]
    fn twelve_against_twelve_is_counted_and_thirteen_against_thirteen_is_drawn() {
        let arm = |n: u32, more: f64| {
            let values: Vec<f64> = (0..n).map(|run| 2e8 + more + 1e6 * f64::from(run * run % 11)).collect();
            Arm::new(&values).unwrap()
        };
        let counted = permutation(&arm(12, 0.0), &arm(12, 2e6), 1);
        assert_eq!(
            counted.method,
            Method::Exhaustive {
                arrangements: 2_704_156
            }
        );
        let drawn = [1, 1, 2].map(|seed| permutation(&arm(13, 0.0), &arm(13, 2e6), seed));
        let (draws, seed) = (MONTE_CARLO_DRAWS, 1);
        assert_eq!(drawn[0].method, Method::MonteCarlo { draws, seed });
        assert_eq!(drawn[0], drawn[1]);
        assert_ne!(drawn[0].greater, drawn[2].greater);
        assert!((drawn[0].greater - drawn[2].greater).abs() < 0.01);
        // One run more of the same changes little.
        assert!(
            (drawn[0].greater - counted.greater).abs() < 0.05,
            "{counted:?} {drawn:?}"
        );
        let apart = permutation(&arm(13, 0.0), &arm(13, 1e9), 1);
        assert_eq!((apart.greater, apart.less), (1e-5, 1.0));
    }
}
