//! Several primary endpoints at one level: Holm's step-down.

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HolmResult {
    pub rejected: bool,
    /// The level it was held against: a bound at this level says the same as `rejected`.
    pub level: f64,
}

/// Holm's procedure, in the order of `p`: the smallest of m is held against α/m, the next against α/(m−1), until one
/// stands; that one and all larger ones stand at its level. The chance that any true one is rejected is at most α,
/// however they depend on each other (Holm, *A Simple Sequentially Rejective Multiple Test Procedure*, Scandinavian
/// Journal of Statistics 6, 1979). A p that is not a number counts as 1.
pub fn holm(p: &[f64], alpha: f64) -> Vec<HolmResult> {
    let p: Vec<f64> = p.iter().map(|p| if p.is_nan() { 1.0 } else { *p }).collect();
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut held = vec![
        HolmResult {
            rejected: false,
            level: alpha
        };
        p.len()
    ];
    let mut stopped = None;
    for (rank, hypothesis) in order.into_iter().enumerate() {
        let level = stopped.unwrap_or(alpha / (p.len() - rank) as f64);
        let rejected = stopped.is_none() && p[hypothesis] < level;
        if !rejected {
            stopped = Some(level);
        }
        held[hypothesis] = HolmResult { rejected, level };
    }
    held
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_is_held_against_the_strictest_level() {
        let held = holm(&[0.03, 0.01, 0.2], 0.06);
        assert!(held[1].rejected && (held[1].level - 0.02).abs() < 1e-12);
        assert!(!held[0].rejected && (held[0].level - 0.03).abs() < 1e-12, "{held:?}");
        assert!(!held[2].rejected && (held[2].level - 0.03).abs() < 1e-12);
    }

    #[test]
    fn what_follows_one_that_stands_stands_too() {
        let held = holm(&[0.03, 0.04, 0.045], 0.05);
        assert!(held.iter().all(|held| !held.rejected), "{held:?}");
    }

    #[test]
    fn a_p_that_is_not_a_number_is_never_rejected_and_still_counts() {
        let held = holm(&[f64::NAN, 0.02], 0.05);
        assert!(!held[0].rejected);
        assert_eq!(held[1].level, 0.025);
        assert!(held[1].rejected);
        assert!(holm(&[], 0.05).is_empty());
    }
}
