//! Intervals, flags and slopes are right as often as they say.

use crate::{Contrast, clusters, median_interval, outliers, trend};
use base::band::NoiseFloor;
use base::random::Random;

use super::arm;
use super::noise::{BASE, Noise, as_shipped, bell, bell_shaped, draw, purged, two_clusters};

const ARMS: usize = 4_000;

/// The share of arms for which `happens` is true, in percent.
fn share(mut happens: impl FnMut() -> bool) -> f64 {
    let times = (0..ARMS).filter(|_| happens()).count();
    100.0 * times as f64 / ARMS as f64
}

#[test]
fn an_interval_of_95_percent_misses_the_true_ratio_in_5_percent() {
    let mut random = Random::for_use(19, "ratios");
    for noise in [as_shipped as Noise, bell_shaped, purged, two_clusters] {
        for n in [3, 5, 8, 12] {
            let missed = share(|| {
                let (first, second) = (draw(&mut random, noise, 0.0, n), draw(&mut random, noise, 0.05, n));
                let (low, high) = Contrast::welch(&arm(&first), &arm(&second), NoiseFloor::MEMORY).interval(0.95);
                !(low..=high).contains(&1.05)
            });
            // Three standard errors of the simulation.
            assert!(missed <= 6.0, "{n}: {missed}");
        }
    }
}

#[test]
fn a_median_s_interval_covers_what_it_says() {
    let mut random = Random::for_use(23, "medians");
    for n in [3, 5, 6, 12] {
        let mut stated = 0.0;
        let covered = share(|| {
            let interval = median_interval(&draw(&mut random, bell_shaped, 0.0, n), 0.95).unwrap();
            stated = 100.0 * interval.coverage;
            (interval.low..=interval.high).contains(&BASE)
        });
        assert!((covered - stated).abs() < 1.5, "{n}: {covered} is not {stated}");
    }
}

#[test]
fn a_slope_s_interval_covers_what_it_says() {
    let mut random = Random::for_use(29, "slopes");
    for n in [4, 6, 10, 80] {
        let series = if n == 80 { 200 } else { ARMS };
        let mut stated = 0.0;
        let mut covered = 0;
        for _ in 0..series {
            let values: Vec<f64> = (0..n).map(|cycle| f64::from(cycle) * 0.3 + bell(&mut random)).collect();
            let trend = trend(&values, 0.95).unwrap();
            stated = trend.coverage;
            covered += usize::from((trend.low..=trend.high).contains(&0.3));
        }
        let covered = covered as f64 / series as f64;
        let error = (stated * (1.0 - stated) / series as f64).sqrt();
        assert!((covered - stated).abs() < 4.0 * error, "{n}: {covered} is not {stated}");
    }
}

#[test]
fn clusters_are_named_when_they_are_there_and_hardly_ever_when_not() {
    let mut random = Random::for_use(11, "clusters");
    for n in [5, 8, 12] {
        let bell = share_with_clusters(&mut random, bell_shaped, n);
        let flat = share_with_clusters(&mut random, as_shipped, n);
        assert!(bell <= 1.5 && flat <= 1.5, "{n}: {bell} {flat}");
        // Of five runs one group often has a single one, which is no group.
        let mixed = share_with_clusters(&mut random, two_clusters, n);
        assert!(mixed > if n == 5 { 25.0 } else { 85.0 }, "{n}: {mixed}");
    }
}

/// The share of arms in which several clusters are found, in percent.
fn share_with_clusters(random: &mut Random, noise: Noise, n: usize) -> f64 {
    share(|| clusters(&arm(&draw(random, noise, 0.0, n)), NoiseFloor::MEMORY).len() > 1)
}

#[test]
fn a_clean_arm_has_an_outlier_once_in_twenty_times() {
    let mut random = Random::for_use(13, "outliers");
    for n in [3, 5, 8, 12] {
        let flagged = share(|| !outliers(&arm(&draw(&mut random, bell_shaped, 0.0, n)), NoiseFloor::MEMORY).is_empty());
        assert!((flagged - 5.0).abs() < 1.5, "{n}: {flagged}");
    }
}
