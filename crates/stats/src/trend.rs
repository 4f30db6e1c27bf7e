//! The slope of a series of one run: Theil–Sen with its interval.

use serde::Serialize;

use base::units::median_of;

use super::bounds::Bounded;
use super::inversions::Inversions;

/// More values than this are grouped into about as many groups: slopes are taken between all pairs.
const MOST_VALUES: usize = 500;

/// The slope of values that come at equal steps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trend {
    #[serde(skip)]
    pub n: usize,
    /// The median of the slopes between all pairs, per step.
    #[serde(rename = "per_round")]
    pub slope: f64,
    /// The lower end of its interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The coverage of the interval.
    pub coverage: f64,
    /// Whether the wanted coverage is reached; otherwise the interval is the full range of slopes.
    #[serde(skip)]
    pub reached: bool,
}

impl Trend {
    /// The slope with its interval.
    pub fn bounded(&self) -> Bounded {
        Bounded {
            value: self.slope,
            low: self.low,
            high: self.high,
        }
    }
}

/// The trend of values that come at equal steps, with an interval of at least `confidence` where so few can give one.
///
/// Theil (*A Rank-Invariant Method of Linear and Polynomial Regression Analysis*, 1950) and Sen (*Estimates of the
/// Regression Coefficient Based on Kendall's Tau*, JASA 63, 1968): the interval goes from the m-th smallest to the m-th
/// largest slope with `1 − 2·P(Q ≤ m−1) ≥ confidence`, Q the inversions of a random order, counted exactly up to 60
/// values. Six values give 98.3 % for 95 %.
///
/// The values must be independent given the trend: one per cycle, never raw samples. `None` of fewer than three, or
/// when one is not finite.
pub fn trend(values: &[f64], confidence: f64) -> Option<Trend> {
    if values.len() < 3 || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let (grouped, group) = grouped(values);
    let slopes = pair_slopes(&grouped, group);
    let inversions = Inversions::new(grouped.len());
    let trimmed = inversions.trimmed((1.0 - confidence) / 2.0);
    let m = trimmed.max(1);
    Some(Trend {
        n: values.len(),
        slope: median_of(slopes.clone()),
        low: slopes[m - 1],
        high: slopes[slopes.len() - m],
        coverage: 1.0 - 2.0 * inversions.at_most(m - 1),
        reached: trimmed > 0,
    })
}

/// The median of the slopes between all pairs, per step; 0 of fewer than two.
pub(super) fn theil_sen(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let (grouped, group) = grouped(values);
    median_of(pair_slopes(&grouped, group))
}

/// Medians of equal groups, few enough for all pairwise slopes, and the group size.
fn grouped(values: &[f64]) -> (Vec<f64>, usize) {
    let group = values.len().div_ceil(MOST_VALUES).max(1);
    // A last group that is not full would stand at another distance.
    let grouped = values
        .chunks_exact(group)
        .map(|group| median_of(group.to_vec()))
        .collect();
    (grouped, group)
}

/// All pairwise slopes, sorted, of values this many steps apart.
fn pair_slopes(values: &[f64], steps: usize) -> Vec<f64> {
    let mut slopes = Vec::with_capacity(values.len() * (values.len() - 1) / 2);
    for (place, first) in values.iter().enumerate() {
        for (distance, second) in values[place + 1..].iter().enumerate() {
            slopes.push((second - first) / ((distance + 1) * steps) as f64);
        }
    }
    slopes.sort_by(f64::total_cmp);
    slopes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_straight_line_has_one_slope() {
        let line: Vec<f64> = (0..10).map(|step| 5.0 + 3.0 * f64::from(step)).collect();
        let trend = trend(&line, 0.95).unwrap();
        assert_eq!((trend.slope, trend.low, trend.high), (3.0, 3.0, 3.0));
        assert!(trend.reached && trend.coverage >= 0.95);
    }

    #[test]
    fn six_values_give_98_percent_for_95_and_three_do_not_reach_it() {
        let six = trend(&[1.0, 2.0, 4.0, 3.0, 5.0, 9.0], 0.95).unwrap();
        assert!((six.coverage - (1.0 - 2.0 * 6.0 / 720.0)).abs() < 1e-12, "{six:?}");
        let three = trend(&[1.0, 2.0, 4.0], 0.95).unwrap();
        assert!(!three.reached);
        assert!((three.coverage - 4.0 / 6.0).abs() < 1e-12, "{three:?}");
    }

    #[test]
    fn thousands_of_values_keep_their_slope_per_step() {
        let long: Vec<f64> = (0..5_003)
            .map(|step| f64::from(step) * 0.25 + f64::from(step % 7))
            .collect();
        let trend = trend(&long, 0.95).unwrap();
        assert!((trend.slope - 0.25).abs() < 1e-3, "{trend:?}");
    }

    #[test]
    fn equal_values_have_no_trend_and_unknown_ones_none_that_is_known() {
        let flat = trend(&[4.0; 8], 0.95).unwrap();
        assert_eq!((flat.slope, flat.low, flat.high), (0.0, 0.0, 0.0));
        assert_eq!(trend(&[1.0, 2.0], 0.95), None);
        assert_eq!(trend(&[1.0, f64::NAN, 2.0, 3.0], 0.95), None);
    }
}
