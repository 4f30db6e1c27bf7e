//! The formulas against SciPy, their properties, and what they do on the noise that servers have.

mod intervals;
mod noise;
mod properties;
mod rule;
mod simulations;
mod vectors;

use super::{Arm, Endpoint, NoiseFloor, Tolerance};

fn arm(values: &[f64]) -> Arm {
    Arm::new(values).unwrap()
}

fn endpoint(tolerance: Tolerance, baseline: &[f64], candidate: &[f64]) -> Endpoint {
    Endpoint {
        name: "private after decay".into(),
        tolerance,
        noise: NoiseFloor::MEMORY,
        baseline: baseline.iter().copied().map(Some).collect(),
        candidate: candidate.iter().copied().map(Some).collect(),
    }
}
