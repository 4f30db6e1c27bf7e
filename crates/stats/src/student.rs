//! Student's t and the normal distribution, with answers for every argument.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// The quantile of Student's t that is exceeded with probability `alpha`. Infinite for an impossible `alpha` (0,
/// negative, not a number), so that its bound decides nothing.
pub(super) fn upper_quantile(alpha: f64, freedom: f64) -> f64 {
    if alpha.is_nan() || alpha <= 0.0 {
        return f64::INFINITY;
    }
    if alpha >= 1.0 {
        return f64::NEG_INFINITY;
    }
    // With unbounded freedom it is the normal distribution, which the inverse of Student's would search for without end.
    if freedom == f64::INFINITY {
        return -Normal::standard().inverse_cdf(alpha);
    }
    student(freedom).map_or(f64::INFINITY, |student| -student.inverse_cdf(alpha))
}

/// The probability that Student's t exceeds `t`; 1 when it cannot be said.
pub(super) fn upper_tail(t: f64, freedom: f64) -> f64 {
    if t.is_nan() {
        return 1.0;
    }
    // A difference without an error of its own would need a floor of zero; both signs are then certain.
    if t.is_infinite() {
        return if t > 0.0 { 0.0 } else { 1.0 };
    }
    student(freedom).map_or(1.0, |student| student.sf(t))
}

pub(super) fn normal(z: f64) -> f64 {
    Normal::standard().cdf(z)
}

fn student(freedom: f64) -> Option<StudentsT> {
    StudentsT::new(0.0, 1.0, freedom).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alpha_of_nothing_bounds_nothing() {
        for alpha in [0.0, -1.0, f64::NAN] {
            assert_eq!(upper_quantile(alpha, 4.0), f64::INFINITY);
        }
        assert_eq!(upper_quantile(0.05, f64::NAN), f64::INFINITY);
        assert_eq!(upper_tail(f64::NAN, 4.0), 1.0);
        assert_eq!(upper_tail(3.0, 0.0), 1.0);
    }
}
