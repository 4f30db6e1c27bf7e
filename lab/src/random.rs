//! Choices that a seed decides: each thread has a sequence of its own, which no other thread changes.

use fastrand::Rng;

use crate::options::Options;

/// One generator for each thread of the workload.
pub fn generators(options: &Options) -> Vec<Rng> {
    let mut seeds = Rng::with_seed(options.seed);
    (0..options.threads()).map(|_| seeds.fork()).collect()
}

/// A number from 2^`low` to below 2^`high`, as often in each power of two: about 1/x as often as it is large.
pub fn power_law(random: &mut Rng, low: u32, high: u32) -> usize {
    let power = 1 << random.u32(low..high);
    power + random.usize(..power)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 sizes of each of three threads.
    fn sizes(seed: &str) -> Vec<Vec<usize>> {
        let options = clap::Parser::parse_from(["lab", "larson", "--threads", "3", "--seed", seed]);
        generators(&options)
            .into_iter()
            .map(|mut random| (0..100).map(|_| power_law(&mut random, 3, 10)).collect())
            .collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_sizes_in_every_thread() {
        assert_eq!(sizes("7"), sizes("7"));
        assert_ne!(sizes("7"), sizes("8"));
        assert_ne!(sizes("7")[0], sizes("7")[1]);
    }

    #[test]
    fn every_power_of_two_of_the_power_law_is_as_likely() {
        let mut random = Rng::with_seed(1);
        let mut counts = [0; 10];
        for _ in 0..7_000 {
            counts[power_law(&mut random, 3, 10).ilog2() as usize] += 1;
        }
        assert_eq!(counts[..3], [0; 3]);
        assert!(
            counts[3..].iter().all(|count| (800..1_200).contains(count)),
            "{counts:?}"
        );
    }
}
