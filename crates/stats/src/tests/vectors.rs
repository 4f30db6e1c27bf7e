//! What SciPy says, from `fixtures/statistics/vectors.json`.

use serde_json::Value;

use crate::inversions::Inversions;
use crate::median::coverage;
use crate::student::{upper_quantile, upper_tail};
use crate::{Contrast, calibrated, power, trend};
use base::band::NoiseFloor;

use super::arm;

const NONE: NoiseFloor = NoiseFloor {
    relative: 0.0,
    absolute: 0.0,
};

fn section(name: &str) -> Value {
    let text = include_str!("../../../../fixtures/statistics/vectors.json");
    let all: Value = serde_json::from_str(text).unwrap();
    let section = all[name].clone();
    assert!(!section.is_null(), "{name}");
    section
}

fn rows(name: &str) -> Vec<Value> {
    section(name).as_array().unwrap().clone()
}

fn number(row: &Value, key: &str) -> f64 {
    row[key].as_f64().unwrap_or_else(|| panic!("{key} of {row}"))
}

fn count(row: &Value, key: &str) -> usize {
    row[key].as_u64().unwrap_or_else(|| panic!("{key} of {row}")) as usize
}

fn list(row: &Value, key: &str) -> Vec<f64> {
    let list = row[key].as_array().unwrap_or_else(|| panic!("{key} of {row}"));
    list.iter().map(|value| value.as_f64().unwrap()).collect()
}

#[track_caller]
fn check(ours: f64, theirs: f64, row: &Value) {
    let slack = 1e-8 * theirs.abs().max(1e-4);
    assert!((ours - theirs).abs() <= slack, "{ours} is not {theirs} in {row}");
}

#[test]
fn student_s_t_agrees_with_scipy() {
    for row in rows("quantiles") {
        let (p, df, t) = (number(&row, "p"), number(&row, "df"), number(&row, "t"));
        match row.get("upper") {
            Some(_) => check(upper_tail(t, df), number(&row, "upper"), &row),
            None => check(upper_quantile(1.0 - p, df), t, &row),
        }
    }
}

#[test]
fn welch_on_logs_agrees_with_scipy() {
    for row in rows("welch") {
        let (baseline, candidate) = (arm(&list(&row, "baseline")), arm(&list(&row, "candidate")));
        let contrast = Contrast::welch(&baseline, &candidate, NONE);
        let (low, high) = contrast.interval(0.95);
        check(contrast.ratio(), number(&row, "ratio"), &row);
        check(contrast.freedom(), number(&row, "df"), &row);
        check(contrast.p(), number(&row, "two_sided"), &row);
        check(low, number(&row, "low"), &row);
        check(high, number(&row, "high"), &row);
        check(contrast.p_above(1.01), number(&row, "above_one_percent"), &row);
    }
}

#[test]
fn one_arm_against_a_value_agrees_with_scipy() {
    for row in rows("single") {
        let contrast = Contrast::one_sample(&arm(&list(&row, "values")), number(&row, "limit"), NONE);
        check(contrast.p_above(1.0), number(&row, "greater"), &row);
        check(contrast.freedom(), number(&row, "df"), &row);
    }
}

#[test]
fn the_power_is_that_of_welch_s_test_with_the_spreads_that_few_runs_show() {
    for row in rows("power") {
        let (effect, cv, alpha) = (number(&row, "effect"), number(&row, "cv"), number(&row, "alpha"));
        let ours = power(effect, cv, count(&row, "runs"), alpha, number(&row, "least")).unwrap();
        // Of 32 spreads of each side here, and 500 there.
        assert!((ours - number(&row, "power")).abs() < 3e-3, "{ours} in {row}");
    }
}

#[test]
fn the_median_s_interval_covers_what_scipy_s_binomial_says() {
    for row in rows("medians") {
        check(
            coverage(count(&row, "n"), count(&row, "k")),
            number(&row, "coverage"),
            &row,
        );
    }
}

#[test]
fn trends_agree_with_scipy() {
    for row in rows("trends") {
        let ours = trend(&list(&row, "values"), 0.95).unwrap();
        check(ours.slope, number(&row, "slope"), &row);
    }
}

#[test]
fn inversions_agree_with_counting_every_order() {
    for row in rows("inversions") {
        let counts = list(&row, "counts");
        let all: f64 = counts.iter().sum();
        let ours = Inversions::new(count(&row, "n"));
        let mut sum = 0.0;
        for (q, count) in counts.iter().enumerate() {
            sum += count;
            check(ours.at_most(q), sum / all, &row);
        }
    }
}

#[test]
fn the_calibrated_thresholds_are_the_simulated_ones() {
    let critical = section("critical");
    for n in 3..=30 {
        let distance = critical["distance"][n.to_string()].as_f64();
        assert_eq!(calibrated::distance(n), distance, "{n}");
        let gap = critical["gap"].get(n.to_string()).and_then(Value::as_f64);
        assert_eq!(calibrated::gap(n), gap, "{n}");
    }
    assert_eq!(calibrated::gap(31), calibrated::gap(30));
    assert_eq!(calibrated::distance(2), None);
}
