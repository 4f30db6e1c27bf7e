//! The formulas against SciPy, their properties, and what they do on the noise that servers have.

mod groups;
mod intervals;
mod leaks;
mod noise;
mod properties;
mod rule;
mod simulations;
mod vectors;

use super::{Arm, Endpoint, Known, NoiseFloor, Seen, Tolerance};

fn arm(values: &[f64]) -> Arm {
    Arm::new(values).unwrap()
}

fn seen(values: &[f64]) -> Vec<Seen> {
    values.iter().map(|value| Seen::here(Some(*value))).collect()
}

fn endpoint(tolerance: Tolerance, baseline: &[f64], candidate: &[f64]) -> Endpoint {
    Endpoint {
        name: "private after decay".into(),
        tolerance,
        noise: NoiseFloor::MEMORY,
        known: Known::Seen,
        baseline: seen(baseline),
        candidate: seen(candidate),
    }
}
