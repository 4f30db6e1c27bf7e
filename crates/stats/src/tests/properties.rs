//! Properties that hold for any data.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::schedule::Schedule;
use crate::{Answer, Contrast, Endpoint, clusters, decide, decide_by_looks, holm, median_interval, outliers, trend};
use base::band::{NoiseFloor, Tolerance};

use super::{arm, endpoint};

fn runs() -> impl Strategy<Value = Vec<f64>> {
    vec(1e6..1e9_f64, 2..7)
}

/// Values that a broken record could hold.
fn anything() -> impl Strategy<Value = Vec<f64>> {
    vec(prop_oneof![3 => 1e6..1e9_f64, 1 => any::<f64>()], 0..14)
}

fn is_unusable(values: &[f64]) -> bool {
    values.len() < 2 || values.iter().any(|value| !value.is_finite() || *value <= 0.0)
}

/// The answer without a floor in bytes: it is a smaller share of a larger candidate, whose spread would shrink with it.
fn answer_without_bytes(baseline: &[f64], candidate: &[f64]) -> Answer {
    let endpoint = Endpoint {
        noise: NoiseFloor::RELATIVE,
        ..endpoint(Tolerance::PURGED, baseline, candidate)
    };
    decide(&[endpoint], 0.05).unwrap().answer
}

proptest! {
    #[test]
    fn swapping_the_sides_inverts_the_interval(first in runs(), second in runs()) {
        let there = Contrast::welch(&arm(&first), &arm(&second), NoiseFloor::MEMORY);
        let back = Contrast::welch(&arm(&second), &arm(&first), NoiseFloor::MEMORY);
        let (low, high) = there.interval(0.9);
        let (other_low, other_high) = back.interval(0.9);
        prop_assert!((low * other_high - 1.0).abs() < 1e-6);
        prop_assert!((high * other_low - 1.0).abs() < 1e-6);
        prop_assert!(low <= there.ratio() && there.ratio() <= high);
    }

    #[test]
    fn a_bound_and_its_p_say_the_same(first in runs(), second in runs(), alpha in 0.001..0.4_f64, ratio in 0.5..2.0_f64) {
        let contrast = Contrast::welch(&arm(&first), &arm(&second), NoiseFloor::MEMORY);
        let p = contrast.p_above(ratio);
        prop_assume!((p - alpha).abs() > 1e-9);
        prop_assert_eq!(contrast.lower(alpha) > ratio, p < alpha);
    }

    #[test]
    fn more_confidence_is_a_wider_interval(first in runs(), second in runs()) {
        let contrast = Contrast::welch(&arm(&first), &arm(&second), NoiseFloor::MEMORY);
        let (narrow, wide) = (contrast.interval(0.8), contrast.interval(0.99));
        prop_assert!(wide.0 <= narrow.0 && narrow.1 <= wide.1);
    }

    #[test]
    fn holm_is_between_bonferroni_and_no_correction(p in vec(0.0..0.2_f64, 1..4)) {
        let held = holm(&p, 0.05);
        for (p, held) in p.iter().zip(&held) {
            prop_assert!(held.rejected || *p >= 0.05 / divisor(held.level));
            prop_assert!(!held.rejected || *p < 0.05);
        }
        let bonferroni = p.iter().filter(|p_value| **p_value < 0.05 / p.len() as f64).count();
        prop_assert!(held.iter().filter(|held| held.rejected).count() >= bonferroni);
    }

    #[test]
    fn broken_data_never_panic_and_never_pass(baseline in anything(), candidate in anything(), cut in 0..4_usize) {
        let endpoints = [endpoint(Tolerance::AS_SHIPPED, &baseline, &candidate)];
        let verdict = decide(&endpoints, 0.05).unwrap();
        if is_unusable(&baseline) || is_unusable(&candidate) {
            prop_assert_eq!(verdict.answer, Answer::Inconclusive);
        }
        let looks = Schedule::new([3, 5, 8, 12][cut..].to_vec(), 0.05).unwrap();
        let verdict = decide_by_looks(&endpoints, &looks).unwrap();
        if let Some(runs) = verdict.look {
            prop_assert!(runs <= baseline.len().min(candidate.len()));
            let is_either_unusable = is_unusable(&baseline[..runs]) || is_unusable(&candidate[..runs]);
            prop_assert!(verdict.answer == Answer::Inconclusive || !is_either_unusable);
        } else {
            prop_assert_eq!(verdict.answer, Answer::Inconclusive);
        }
        let _ = (median_interval(&baseline, 0.95), trend(&baseline, 0.95));
    }

    #[test]
    fn a_larger_candidate_is_never_judged_better(baseline in runs(), candidate in runs(), more in 1.0..1.5_f64) {
        let larger: Vec<f64> = candidate.iter().map(|value| value * more).collect();
        match (answer_without_bytes(&baseline, &candidate), answer_without_bytes(&baseline, &larger)) {
            (Answer::Fail, later) => prop_assert_eq!(later, Answer::Fail),
            (Answer::Inconclusive, later) => prop_assert_ne!(later, Answer::Pass),
            (Answer::Pass, _) => {}
        }
    }

    #[test]
    fn every_run_is_in_exactly_one_cluster(values in vec(prop_oneof![1e8..1.01e8_f64, 2e8..2.01e8_f64], 2..20)) {
        let arm = arm(&values);
        let found = clusters(&arm, NoiseFloor::MEMORY);
        let mut runs: Vec<usize> = found.iter().flat_map(|cluster| cluster.runs.clone()).collect();
        runs.sort_unstable();
        prop_assert_eq!(runs, (0..values.len()).collect::<Vec<usize>>());
        prop_assert!(found.windows(2).all(|pair| pair[0].high < pair[1].low));
        prop_assert!(found.len() == 1 || found.iter().all(|cluster| cluster.runs.len() >= 2));
        prop_assert!(outliers(&arm, NoiseFloor::MEMORY).len() * 2 <= values.len());
    }

    #[test]
    fn a_median_lies_in_its_interval_and_more_confidence_is_wider(values in vec(1e6..1e9_f64, 1..30)) {
        let (narrow, wide) = (median_interval(&values, 0.5).unwrap(), median_interval(&values, 0.99).unwrap());
        prop_assert!(narrow.low <= narrow.median && narrow.median <= narrow.high);
        prop_assert!(wide.low <= narrow.low && narrow.high <= wide.high);
        prop_assert!(narrow.coverage <= wide.coverage + 1e-12);
    }

    #[test]
    fn a_slope_that_is_added_is_found_again(values in vec(0.0..10.0_f64, 3..20), slope in -5.0..5.0_f64) {
        let tilted: Vec<f64> = values.iter().zip(0..).map(|(value, step)| value + slope * f64::from(step)).collect();
        let (plain, tilted) = (trend(&values, 0.95).unwrap(), trend(&tilted, 0.95).unwrap());
        prop_assert!((tilted.slope - plain.slope - slope).abs() < 1e-9);
        prop_assert!((tilted.low - plain.low - slope).abs() < 1e-9);
        prop_assert!(plain.low <= plain.slope && plain.slope <= plain.high);
    }
}

/// The number by which Holm divided an α of 0.05 for this level.
fn divisor(level: f64) -> f64 {
    (0.05 / level).round()
}
