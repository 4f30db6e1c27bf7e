//! The noise that was measured on servers; seeded, so that a result is a fact.

use std::f64::consts::TAU;

use base::random::Random;

/// Far above every floor in bytes, so that the shares decide.
pub const BASE: f64 = 1e12;

/// A source of noise on the log scale.
pub type Noise = fn(&mut Random) -> f64;

/// A uniform number above 0 and at most 1.
pub fn uniform(random: &mut Random) -> f64 {
    ((random.bits() >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

pub fn bell(random: &mut Random) -> f64 {
    (-2.0 * uniform(random).ln()).sqrt() * (TAU * uniform(random)).cos()
}

/// As measured on ty: resident memory after workspace symbols, CV 5.2 %. Flat, for its ten runs spread over 2.8 standard
/// deviations (189 to 219 MB), as ten flat values do; ten bell-shaped ones spread over 3.1.
pub fn as_shipped(random: &mut Random) -> f64 {
    0.052 * 12.0_f64.sqrt() * (uniform(random) - 0.5)
}

pub fn bell_shaped(random: &mut Random) -> f64 {
    0.052 * bell(random)
}

/// As measured on ty with jemalloc asked to purge: CV 0.10 %.
pub fn purged(random: &mut Random) -> f64 {
    0.001 * bell(random)
}

/// As measured on mimalloc: half the runs at 317 MiB, half at 340, each within 0.5 %.
pub fn two_clusters(random: &mut Random) -> f64 {
    let group = if uniform(random) < 0.5 {
        0.0
    } else {
        (340.0_f64 / 317.0).ln()
    };
    group + 0.005 * bell(random)
}

pub fn draw(random: &mut Random, noise: Noise, effect: f64, n: usize) -> Vec<f64> {
    (0..n).map(|_| BASE * (1.0 + effect) * noise(random).exp()).collect()
}
