//! The bounds that decide: those of Welch's test, widened where two groups of runs would make them wider.

use super::contrast::Contrast;
use super::parted::Parted;

/// A mean or a slope with its lower and upper bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounded {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

/// One-sided bounds of a ratio or of a mean.
///
/// A few runs of a server can all fall into one of its groups, and then show no spread. So each side's part of the error is
/// the largest of three: Student's quantile times its standard error, the share that its two parts leave possible times
/// their distance, and the share of a group that none of its runs is in, at the other side's distance. The parts of both
/// sides combine as the root of their squares (Zou and Donner, *Construction of confidence limits about effect measures*,
/// Statistics in Medicine 27, 2008). docs/gate.md has the errors in simulations.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    contrast: Contrast,
    sides: Vec<SidePart>,
}

/// One side on one machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct SidePart {
    /// Its factor in the difference: negative for a baseline.
    pub weight: f64,
    /// The standard error of its mean, on the log scale.
    pub error: f64,
    pub parted: Parted,
    /// Between the two parts of the side that it is compared with.
    pub other_distance: f64,
}

#[derive(Clone, Copy)]
enum Direction {
    Up,
    Down,
}

impl SidePart {
    /// The distance by which groups can move the difference in this direction.
    fn error_by_groups(&self, direction: Direction, alpha: f64) -> f64 {
        let own = match (direction, self.weight > 0.0) {
            (Direction::Up, true) | (Direction::Down, false) => self.parted.excess_above(alpha),
            (Direction::Up, false) | (Direction::Down, true) => self.parted.excess_below(alpha),
        };
        own.max(self.parted.excess_of_missed_group(self.other_distance, alpha))
    }
}

impl Bounds {
    pub fn new(contrast: Contrast, sides: Vec<SidePart>) -> Bounds {
        Bounds { contrast, sides }
    }

    pub fn contrast(&self) -> Contrast {
        self.contrast
    }

    /// The lower bound: above the true ratio with probability at most `alpha`. 0 when nothing is known.
    pub fn lower(&self, alpha: f64) -> f64 {
        self.contrast
            .ratio_at_distance(-self.half_width(Direction::Down, alpha))
            .unwrap_or(0.0)
    }

    /// The upper bound: below the true ratio with probability at most `alpha`. Infinite when nothing is known.
    pub fn upper(&self, alpha: f64) -> f64 {
        self.contrast
            .ratio_at_distance(self.half_width(Direction::Up, alpha))
            .unwrap_or(f64::INFINITY)
    }

    /// The one-sided p of "the ratio is at most `ratio`": the least level at which the lower bound is above it.
    pub fn p_above(&self, ratio: f64) -> f64 {
        const STEPS: usize = 12;
        // Groups only widen the bounds.
        let least = self.contrast.p_above(ratio).max(1e-9);
        if least >= 0.5 || self.lower(0.5) <= ratio {
            return least.max(0.5);
        }
        if self.lower(least * 1.001) > ratio {
            return least;
        }
        let (mut low, mut high) = (least.ln(), 0.5_f64.ln());
        for _ in 0..STEPS {
            let middle = low.midpoint(high);
            if self.lower(middle.exp()) > ratio {
                high = middle;
            } else {
                low = middle;
            }
        }
        high.exp()
    }

    /// The distance between two groups of runs as a ratio, where it makes a bound at `alpha` wider than the spread does.
    pub fn groups(&self, alpha: f64) -> Option<f64> {
        let quantile = self.contrast.quantile(alpha);
        let mut largest: Option<f64> = None;
        for side in &self.sides {
            let by_spread = quantile * side.error;
            let is_widened = side.error_by_groups(Direction::Up, alpha) > by_spread
                || side.error_by_groups(Direction::Down, alpha) > by_spread;
            if is_widened {
                let distance = side.parted.distance().max(side.other_distance);
                largest = Some(largest.map_or(distance, |largest| largest.max(distance)));
            }
        }
        largest.map(f64::exp)
    }

    /// The distance of a bound from the difference of log means.
    fn half_width(&self, direction: Direction, alpha: f64) -> f64 {
        let quantile = self.contrast.quantile(alpha);
        let squares = self.sides.iter().map(|side| {
            let error = (quantile * side.error).max(side.error_by_groups(direction, alpha));
            (side.weight * error).powi(2)
        });
        squares.sum::<f64>().sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Strata;
    use crate::tests::seen;
    use base::band::NoiseFloor;

    fn bounds(baseline: &[f64], candidate: &[f64]) -> Bounds {
        let strata = Strata::from_runs(&seen(baseline), &seen(candidate)).unwrap();
        strata.bounds(NoiseFloor::MEMORY)
    }

    #[test]
    fn runs_of_one_group_have_the_bounds_of_welch() {
        let bounds = bounds(&[2e8, 2.002e8, 1.998e8, 2.001e8, 1.999e8], &[2e8; 5]);
        let contrast = bounds.contrast();
        assert!((bounds.upper(0.0125) / contrast.upper(0.0125) - 1.0).abs() < 1e-4);
        assert!((bounds.lower(0.0125) / contrast.lower(0.0125) - 1.0).abs() < 1e-4);
        assert_eq!(bounds.groups(0.0125), None);
    }

    #[test]
    fn one_run_of_eight_in_another_group_leaves_half_of_the_distance_open() {
        let mut baseline = [2e8; 8];
        baseline[3] = 2.4e8;
        let bounds = bounds(&[2e8; 8], &baseline);
        // Seven of eight seen low: the upper group may have 47 % of all runs at 5 %.
        let upper = bounds.upper(0.05).ln();
        let distance = 1.2_f64.ln();
        assert!(upper > 0.47 * distance && upper < 0.6 * distance, "{upper}");
        assert!(bounds.contrast().upper(0.05).ln() < 0.4 * distance);
        assert!((bounds.groups(0.05).unwrap() - 1.2).abs() < 1e-9);
    }

    #[test]
    fn p_is_the_level_at_which_the_lower_bound_leaves_the_limit() {
        let bounds = bounds(
            &[2e8, 2.01e8, 1.99e8, 2e8, 2.005e8],
            &[2.1e8, 2.11e8, 2.09e8, 2.1e8, 2.12e8],
        );
        let p = bounds.p_above(1.03);
        assert!(p > 0.0 && p < 0.05, "{p}");
        assert!((bounds.lower(p) - 1.03).abs() < 1e-3);
        assert!(bounds.p_above(1.2) > 0.5);
    }
}
