//! Choices that are the same for the same seed on every machine and in every version of lsp-soak.

/// SplitMix64: tiny, well mixed, and defined by its published constants, so nothing can change it under us.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// A stream of its own for one use of the seed, so that one choice more here changes none there.
    pub fn for_use(seed: u64, label: &str) -> Random {
        // FNV-1a over the label: short, and spelled out by its two constants.
        let hash = label.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Random(Random(seed).bits() ^ hash)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; 0 when `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        // The high half of the product: even enough for ends far below 2^64, and without a division.
        ((u128::from(self.bits()) * end as u128) >> 64) as usize
    }

    /// Brings `items` into a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_the_published_one() {
        let mut random = Random::new(1_234_567);
        let published = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(published.map(|_| random.bits()), published);
    }

    #[test]
    fn numbers_below_an_end_reach_all_of_it_and_no_more() {
        let mut random = Random::new(7);
        let mut seen = [0; 10];
        for _ in 0..1_000 {
            seen[random.below(10)] += 1;
        }
        assert!(seen.iter().all(|&count| count > 50), "{seen:?}");
        assert_eq!(random.below(0), 0);
        assert_eq!(random.below(1), 0);
    }

    #[test]
    fn a_shuffle_keeps_every_item_and_is_the_same_for_the_same_seed() {
        let mut sorted = shuffled(1, "files");
        assert_eq!(sorted, shuffled(1, "files"));
        assert_ne!(sorted, shuffled(1, "words"));
        assert_ne!(sorted, shuffled(2, "files"));
        sorted.sort_unstable();
        assert_eq!(sorted, (0..20).collect::<Vec<u8>>());
    }

    fn shuffled(seed: u64, label: &str) -> Vec<u8> {
        let mut items: Vec<u8> = (0..20).collect();
        Random::for_use(seed, label).shuffle(&mut items);
        items
    }
}
