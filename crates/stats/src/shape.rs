//! The shape of growth over cycles, in one word.

use serde::Serialize;

use base::units::median_of;

use super::trend::trend;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// It does not, or by less than matters; or it falls.
    Flat,
    /// Once, by three quarters or more of the whole.
    Step,
    /// Less than half as fast in the last half as in the first.
    Decelerating,
    /// About as fast in both halves.
    Linear,
    /// More than twice as fast in the last half as in the first.
    Runaway,
}

/// The shape of at least six values; `least` is the growth that matters, in their unit. `None` of fewer values, or when
/// one is not finite.
///
/// The growth is the median of the last third minus that of the first, so that one odd cycle at an end makes no growth;
/// the speed of the halves is their Theil–Sen slope. This is a word for a table: the leak rule decides without it.
pub fn shape(values: &[f64], least: f64) -> Option<Shape> {
    if values.len() < 6 {
        return None;
    }
    let half = values.len() / 2;
    let early = trend(&values[..half], 0.95)?.slope;
    let late = trend(&values[values.len() - half..], 0.95)?.slope;
    let third = values.len() / 3;
    let whole = median_of(values[values.len() - third..].to_vec()) - median_of(values[..third].to_vec());
    let jump = values.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max);
    Some(if whole <= least.max(0.0) {
        Shape::Flat
    } else if jump >= 0.75 * whole.max(values[values.len() - 1] - values[0]) {
        Shape::Step
    } else if late < early / 2.0 {
        Shape::Decelerating
    } else if late > early * 2.0 {
        Shape::Runaway
    } else {
        Shape::Linear
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(value: impl Fn(f64) -> f64) -> Option<Shape> {
        let values: Vec<f64> = (0..10).map(|cycle| value(f64::from(cycle))).collect();
        shape(&values, 1.0)
    }

    #[test]
    fn each_shape_has_its_name() {
        assert_eq!(named(|_| 100.0), Some(Shape::Flat));
        assert_eq!(named(|cycle| 100.0 - 5.0 * cycle), Some(Shape::Flat));
        assert_eq!(
            named(|cycle| if cycle < 4.0 { 100.0 } else { 150.0 }),
            Some(Shape::Step)
        );
        assert_eq!(
            named(|cycle| 100.0 - 50.0 * (-cycle / 2.0).exp()),
            Some(Shape::Decelerating)
        );
        assert_eq!(named(|cycle| 100.0 + 5.0 * cycle), Some(Shape::Linear));
        assert_eq!(named(|cycle| 100.0 + 1.6_f64.powf(cycle)), Some(Shape::Runaway));
    }

    fn noise(cycle: f64) -> f64 {
        (cycle * 7.3).sin()
    }

    #[test]
    fn a_little_noise_changes_no_name() {
        assert_eq!(named(|cycle| 100.0 + 0.4 * noise(cycle)), Some(Shape::Flat));
        assert_eq!(named(|cycle| 100.0 + 10.0 * cycle + noise(cycle)), Some(Shape::Linear));
        assert_eq!(
            named(|cycle| noise(cycle) + if cycle < 7.0 { 100.0 } else { 150.0 }),
            Some(Shape::Step)
        );
    }

    #[test]
    fn five_cycles_have_no_shape() {
        assert_eq!(shape(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.0), None);
        assert_eq!(shape(&[1.0, 2.0, 3.0, f64::NAN, 5.0, 6.0], 0.0), None);
    }
}
