//! Tests of "no difference" beside the bounds: they assume nothing of the noise, and decide nothing.

use crate::analyse::stats::{Endpoint, mann_whitney, permutation};

/// Of the arrangements that are drawn where there are too many for all.
const SEED: u64 = 0;

/// What tests say that assume nothing of the noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exact {
    pub permutation: f64,
    pub ranks: f64,
}

/// Both tests; `None` over several machines, and without two runs of each side.
pub(super) fn exact(endpoint: &Endpoint) -> Option<Exact> {
    let strata = endpoint.strata().ok()?;
    let one = strata.one()?;
    Some(Exact {
        permutation: permutation(&one.baseline, &one.candidate, SEED).two_sided,
        ranks: mann_whitney(&one.baseline, &one.candidate, SEED).p.two_sided,
    })
}
