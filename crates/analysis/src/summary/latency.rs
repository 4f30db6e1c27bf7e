//! Quantiles of latencies.

use base::units::median_by;
use record::Nanos;

/// The quantile `q` (0 to 1) of sorted values by Hyndman and Fan's type 7, as in R, NumPy and spreadsheets:
/// the value at place `(n − 1) × q`, straight between neighbours. `None` of nothing.
///
/// The nearest-rank rule would make the 95th percentile of few values their maximum; this one lets the rest of a small sample have its say.
pub fn quantile(sorted: &[Nanos], q: f64) -> Option<Nanos> {
    let last = sorted.len().checked_sub(1)?;
    let place = last as f64 * q.clamp(0.0, 1.0);
    let below = sorted[place.floor() as usize];
    let above = sorted[place.ceil() as usize];
    let between = (above - below) as f64 * place.fract();
    Some(below.saturating_add(between.round() as Nanos))
}

/// The median of values in any order, the lower one of a middle pair's mean rounded down.
pub(super) fn median(values: Vec<u64>) -> Option<u64> {
    median_by(values, u64::cmp, u64::midpoint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_agree_with_type_seven_of_r() {
        let ten: Vec<u64> = (1..=10).map(|n| n * 100).collect();
        assert_eq!(quantile(&ten, 0.5), Some(550));
        assert_eq!(quantile(&ten, 0.95), Some(955));
        assert_eq!(quantile(&ten, 1.0), Some(1_000));
        assert_eq!(quantile(&[7], 0.95), Some(7));
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn the_95th_percentile_of_ten_values_is_not_their_maximum() {
        let mut ten = vec![10; 9];
        ten.push(1_000);
        assert!(quantile(&ten, 0.95) < ten.last().copied());
    }

    #[test]
    fn a_median_needs_no_order() {
        assert_eq!(median(vec![5, 1, 3]), Some(3));
        assert_eq!(median(vec![4, 1, 3, 2]), Some(2));
        assert_eq!(median(vec![u64::MAX, u64::MAX]), Some(u64::MAX));
        assert_eq!(median(vec![]), None);
    }
}
