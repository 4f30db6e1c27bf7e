//! The median, and one with an interval that assumes nothing about the noise.

use serde::Serialize;
use statrs::distribution::{Binomial, DiscreteCDF};

use base::units::median_of;

/// A median and the order statistics around it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MedianInterval {
    /// How many values it is of.
    #[serde(rename = "runs")]
    pub n: usize,
    /// The median.
    #[serde(rename = "value")]
    pub median: f64,
    /// The lower end of its interval; of few runs the lowest.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The coverage of the interval: as wanted or more, or that of the full range if there are too few values.
    pub coverage: f64,
    /// Whether the wanted coverage is reached.
    #[serde(skip)]
    pub reached: bool,
}

/// The median with the narrowest interval `[k-th smallest, k-th largest]` of coverage `1 − 2·P(B ≤ k−1) ≥ confidence`,
/// B binomial with n and ½ (Thompson, *On Confidence Ranges for the Median*, Annals of Mathematical Statistics 7, 1936).
///
/// Five values reach 93.75 % at most, so that 95 % needs six; with fewer the range is given with what it truly covers.
/// `None` of nothing, or when a value is not finite: unknown values have no place in the order.
pub fn median_interval(values: &[f64], confidence: f64) -> Option<MedianInterval> {
    let n = values.len();
    if n == 0 || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let inner = (1..=n.div_ceil(2)).rev().find(|k| coverage(n, *k) >= confidence);
    let k = inner.unwrap_or(1);
    Some(MedianInterval {
        n,
        median: median_of(sorted.clone()),
        low: sorted[k - 1],
        high: sorted[n - k],
        coverage: coverage(n, k),
        reached: inner.is_some(),
    })
}

/// The chance that the true median lies between the k-th smallest and the k-th largest of n values.
pub(super) fn coverage(n: usize, k: usize) -> f64 {
    Binomial::new(0.5, n as u64).map_or(0.0, |binomial| (1.0 - 2.0 * binomial.cdf(k as u64 - 1)).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_values_are_the_first_to_reach_95_percent() {
        let five = median_interval(&[5.0, 1.0, 4.0, 2.0, 3.0], 0.95).unwrap();
        assert_eq!((five.median, five.low, five.high), (3.0, 1.0, 5.0));
        assert!((five.coverage - 0.9375).abs() < 1e-12 && !five.reached);
        let six = median_interval(&[5.0, 1.0, 4.0, 2.0, 3.0, 6.0], 0.95).unwrap();
        assert!((six.coverage - 0.96875).abs() < 1e-12 && six.reached);
        assert_eq!((six.median, six.low, six.high), (3.5, 1.0, 6.0));
    }

    #[test]
    fn one_value_is_its_own_median_and_covers_nothing() {
        let one = median_interval(&[7.0], 0.95).unwrap();
        assert_eq!((one.low, one.median, one.high), (7.0, 7.0, 7.0));
        assert!(one.coverage.abs() < 1e-12 && !one.reached, "{one:?}");
    }

    #[test]
    fn unknown_values_have_no_median() {
        assert_eq!(median_interval(&[], 0.95), None);
        assert_eq!(median_interval(&[1.0, f64::NAN, 2.0], 0.95), None);
        assert_eq!(median_interval(&[1.0, f64::INFINITY], 0.95), None);
    }
}
