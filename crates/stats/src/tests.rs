//! The formulas against SciPy, their properties, and their behaviour on real servers' noise.

mod groups;
mod intervals;
mod leaks;
mod noise;
mod properties;
mod rule;
mod simulations;
mod vectors;

use base::band::{NoiseFloor, Tolerance};
use base::random::Random;

use super::{Arm, Endpoint, Known, Seen};

/// Every `n`-th case, beginning with the first; all cases where LSP_SOAK_NIGHTLY is set, as `STAGES=nightly .ci/run` does.
#[expect(
    clippy::disallowed_methods,
    reason = "it decides how many cases are simulated, and none of a result"
)]
fn every_nth<T>(n: usize, cases: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    let nightly = std::env::var_os("LSP_SOAK_NIGHTLY").is_some();
    cases.into_iter().step_by(if nightly { 1 } else { n })
}

/// Nearly normal, with mean 0 and deviation 1: twelve uniform numbers have a variance of 1 together.
pub(crate) fn sum_of_uniforms(random: &mut Random) -> f64 {
    let sum: f64 = (0..12).map(|_| random.below(1 << 20) as f64 / f64::from(1 << 20)).sum();
    sum - 6.0
}

fn arm(values: &[f64]) -> Arm {
    Arm::new(values).unwrap()
}

pub(crate) fn seen(values: &[f64]) -> Vec<Seen> {
    values.iter().map(|value| Seen::on_only_machine(Some(*value))).collect()
}

/// An endpoint whose spread is known, so that its first look decides.
fn endpoint(tolerance: Tolerance, baseline: &[f64], candidate: &[f64]) -> Endpoint {
    Endpoint {
        name: "private after decay".into(),
        tolerance,
        noise: NoiseFloor::MEMORY,
        known: Known::Calibrated,
        baseline: seen(baseline),
        candidate: seen(candidate),
    }
}
