//! A one-line curve of a run whose length is unknown at its start.

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

const ASCII: [char; 4] = ['_', '.', '-', '#'];

/// Most values kept; beyond that, neighbours are merged in pairs.
const KEPT: usize = 256;

/// The highest value of each stretch of time.
#[derive(Clone, Debug, Default)]
pub struct Spark {
    values: Vec<Option<u64>>,
    /// Number of samples per value, minus one.
    folded: u32,
    /// Samples in the last value so far.
    last: u32,
}

impl Spark {
    pub fn push(&mut self, value: Option<u64>) {
        match self.values.last_mut() {
            Some(last) if self.last <= self.folded => {
                *last = (*last).max(value);
                self.last += 1;
            }
            Some(_) | None => {
                self.values.push(value);
                self.last = 1;
            }
        }
        if self.values.len() > KEPT {
            self.values = self.values.chunks(2).map(highest).collect();
            self.folded = self.folded * 2 + 1;
        }
    }

    /// The curve in at most `columns`, scaled from 0 to the highest value.
    pub fn draw(&self, columns: usize, ascii: bool) -> String {
        let shown = self.values.len().min(columns);
        let top = self.values.iter().copied().flatten().max().unwrap_or(0).max(1);
        let glyphs: &[char] = if ascii { &ASCII } else { &BLOCKS };
        let glyph = |value: u64| {
            let step = u128::from(value) * glyphs.len() as u128 / (u128::from(top) + 1);
            glyphs[step as usize]
        };
        (0..shown)
            .map(|place| {
                let (from, to) = (
                    place * self.values.len() / shown,
                    (place + 1) * self.values.len() / shown,
                );
                highest(&self.values[from..to]).map_or(' ', glyph)
            })
            .collect()
    }
}

fn highest(values: &[Option<u64>]) -> Option<u64> {
    values.iter().copied().flatten().max()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spark(values: impl IntoIterator<Item = u64>) -> Spark {
        let mut spark = Spark::default();
        values.into_iter().for_each(|value| spark.push(Some(value)));
        spark
    }

    #[test]
    fn a_curve_grows_until_it_is_as_wide_as_its_room() {
        assert_eq!(spark([]).draw(10, false), "");
        assert_eq!(spark([0, 4, 8]).draw(10, false), "▁▄█");
        assert_eq!(spark([0, 4, 8]).draw(10, true), "_.#");
        assert_eq!(spark((0..80).map(|n| n / 10)).draw(8, false), "▁▂▃▄▅▆▇█");
    }

    #[test]
    fn a_peak_of_a_moment_is_never_lost() {
        let long = spark((0..100_000).map(|n| if n == 54_321 { 1_000 } else { 100 }));
        let drawn = long.draw(40, false);
        assert_eq!(drawn.chars().count(), 40);
        assert_eq!(drawn.matches('█').count(), 1, "{drawn}");
        assert!(long.values.len() <= KEPT);
    }

    #[test]
    fn what_is_not_known_is_a_gap() {
        let mut spark = spark([8]);
        spark.push(None);
        spark.push(Some(8));
        assert_eq!(spark.draw(10, false), "█ █");
    }
}
