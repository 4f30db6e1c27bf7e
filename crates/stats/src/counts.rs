//! Growth from round to round of something that a server holds and that is counted, such as its threads.

use serde::Serialize;

use super::leak::{LEAST_CYCLES, counted_rounds};
use super::rounds::{MOST_FALL, fall, is_bent, last_half};
use super::trend::{Trend, theil_sen, trend};

/// Growth below one in four rounds is not called growth.
const LEAST_PER_ROUND: f64 = 0.25;

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CountGrowth {
    /// The slope per round with its 95 % interval, over the rounds that count.
    #[serde(flatten)]
    pub trend: Trend,
    /// True if the lower ends of the intervals over all rounds and over their last half are at least 0.25 per round, and
    /// the count neither slows down nor falls again.
    pub grows: bool,
}

/// The growth of a count in one run. `None` of fewer than eight rounds, or where a value is not known.
///
/// Counts have next to no noise, so that eight rounds suffice where memory takes twenty.
pub fn count_growth(values: &[Option<f64>]) -> Option<CountGrowth> {
    if values.len() < LEAST_CYCLES {
        return None;
    }
    let rounds = counted_rounds(values)?;
    let all = trend(&rounds, 0.95)?;
    let late = trend(last_half(&rounds), 0.95)?;
    let gain = all.slope * (rounds.len() - 1) as f64;
    let is_falling = fall(&rounds) >= MOST_FALL * gain;
    let is_shown = all.low >= LEAST_PER_ROUND && late.low >= LEAST_PER_ROUND;
    Some(CountGrowth {
        trend: all,
        grows: is_shown && !is_falling && !is_slowing(&rounds),
    })
}

/// True if growth is bent by more than whole numbers are: 3.25 per round come as 4, 3, 3, 3.
fn is_slowing(values: &[f64]) -> bool {
    let third = values.len() / 3;
    let rounding = 1.0 / (third - 1).max(1) as f64;
    let early = theil_sen(&values[..third]);
    let late = theil_sen(last_half(values));
    is_bent(&[values]) && late < early - rounding
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grows(value: impl Fn(u32) -> u32, rounds: u32) -> Option<bool> {
        let values: Vec<Option<f64>> = (0..rounds).map(|round| Some(f64::from(value(round)))).collect();
        count_growth(&values).map(|growth| growth.grows)
    }

    #[test]
    fn a_count_grows_from_one_in_four_rounds() {
        assert_eq!(grows(|round| round, 8), Some(true));
        assert_eq!(grows(|round| 40 + round / 2, 20), Some(true));
        assert_eq!(grows(|round| 40 + round / 8, 20), Some(false));
        assert_eq!(grows(|_| 12, 20), Some(false));
    }

    #[test]
    fn a_count_that_grows_by_no_whole_number_grows() {
        let zombies = [4, 7, 10, 14, 17, 21, 24, 27, 30, 33];
        assert_eq!(grows(|round| zombies[round as usize], 10), Some(true));
        for quarters in 4..40 {
            assert_eq!(
                grows(|round| round * quarters / 4, 10),
                Some(true),
                "{quarters} quarters"
            );
        }
    }

    #[test]
    fn a_pool_that_fills_slowly_does_not_grow() {
        for rounds in [10, 14, 20, 30] {
            let grows = grows(|round| (60.0 * (1.0 - (-f64::from(round) / 4.0).exp())) as u32, rounds);
            assert_eq!(grows, Some(false), "{rounds} rounds");
        }
    }

    #[test]
    fn a_pool_that_fills_and_and_a_count_that_falls_again_do_not_grow() {
        assert_eq!(grows(|round| round.min(6) * 4, 20), Some(false));
        assert_eq!(grows(|round| round % 5, 20), Some(false));
    }

    #[test]
    fn seven_rounds_and_unknown_values_say_nothing() {
        assert_eq!(grows(|round| round, 7), None);
        assert_eq!(count_growth(&[None; 20]), None);
    }
}
