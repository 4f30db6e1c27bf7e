//! Limits within which two values count as the same: for the driver's waiting, for released memory, for comparisons and
//! for gates.

use serde::Serialize;

use crate::lens::Lens;
use crate::units::TICK;

/// The band is a value divided by this: half a per cent. Idle servers stay within it: settled ty with jemalloc's thread
/// varied by 0.1 % from run to run.
const PART: u64 = 200;

/// Least width of the band, 512 KiB: a few pages do not make a small server count as moving.
const LEAST: u64 = 512 << 10;

/// The largest difference from `value` with which memory counts as the same; both in bytes.
pub fn tolerated_difference(value: u64) -> u64 {
    (value / PART).max(LEAST)
}

const MIB: f64 = 1_048_576.0;

/// More primary endpoints than this would each get so little of α that none could be seen to fail.
pub const MOST_ENDPOINTS: usize = 3;

/// Fewer rounds have no verdict: in them a cache that fills looks like a leak.
pub const LEAST_ROUNDS: usize = 20;

/// The least spread that is believed: `max(SD, relative, absolute)`.
///
/// Three runs that agree to the byte do not show that a fourth would: with a standard deviation of 0, one page more would
/// have an infinite t. Pages, thread stacks and the answers of a file system make runs differ by about this much.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct NoiseFloor {
    /// As a share of the value.
    pub relative: f64,
    /// In the unit of the values.
    #[serde(skip)]
    pub absolute: f64,
}

impl NoiseFloor {
    /// For memory: 0.1 % and 64 KiB.
    pub const MEMORY: NoiseFloor = NoiseFloor {
        relative: 0.001,
        absolute: 65_536.0,
    };

    /// For times and counts, where there is no such thing as a page: 0.1 %.
    pub const RELATIVE: NoiseFloor = NoiseFloor {
        relative: 0.001,
        absolute: 0.0,
    };

    /// For processor time: a tick of the kernel's clock.
    pub const TICK: NoiseFloor = NoiseFloor {
        absolute: TICK.as_nanos() as f64,
        ..NoiseFloor::RELATIVE
    };

    /// For page faults: the number of pages of 64 KiB.
    pub const FAULTS: NoiseFloor = NoiseFloor {
        absolute: 16.0,
        ..NoiseFloor::RELATIVE
    };

    /// Raises the relative floor to a coefficient of variation, if that is greater.
    pub fn at_least(self, variation: f64) -> NoiseFloor {
        NoiseFloor {
            relative: self.relative.max(variation.powi(2).ln_1p().sqrt()),
            ..self
        }
    }
}

/// How much more is tolerated, and how much more must be ruled out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tolerance {
    /// The share that is tolerated: 0.01 is 1 %.
    #[serde(rename = "tolerated")]
    tol: f64,
    /// The share that must be ruled out.
    #[serde(rename = "ruled_out")]
    fail: f64,
    /// What never matters, in the unit of the figure.
    floor: f64,
}

/// A tolerance that decides nothing or everything.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ToleranceError {
    /// Negative, infinite or not a number.
    #[error("{what} `{value}` is no tolerance: give a number of 0 or more")]
    NotANumber { what: &'static str, value: f64 },
    /// The failing share is less than the tolerated one.
    #[error("`fail` ({fail}) is under `tol` ({tol}): what must be ruled out is at least what is tolerated")]
    Crossed {
        /// The tolerated share.
        tol: f64,
        /// The failing share.
        fail: f64,
    },
    /// Nothing can be shown to be under nothing.
    #[error("`fail` and the floor are both 0: no number of runs can pass, allow some difference")]
    Nothing,
}

impl Tolerance {
    /// For the purged lens, whose noise is 0.1 %: 1 % tolerated, 5 % ruled out, 2 MiB never matter.
    pub const PURGED: Tolerance = Tolerance {
        tol: 0.01,
        fail: 0.05,
        floor: 2.0 * MIB,
    };

    /// For the as-shipped lens, whose noise is 5 %: 5 % tolerated, 10 % ruled out, 2 MiB never matter.
    pub const AS_SHIPPED: Tolerance = Tolerance {
        tol: 0.05,
        fail: 0.10,
        floor: 2.0 * MIB,
    };

    /// `tol` and `fail` as shares (0.01 is 1 %), `floor` in the unit of the values: bytes for memory.
    pub fn new(tol: f64, fail: f64, floor: f64) -> Result<Tolerance, ToleranceError> {
        for (what, value) in [("tol", tol), ("fail", fail), ("the floor", floor)] {
            if !(value >= 0.0 && value.is_finite()) {
                return Err(ToleranceError::NotANumber { what, value });
            }
        }
        if fail < tol {
            return Err(ToleranceError::Crossed { tol, fail });
        }
        if fail == 0.0 && floor == 0.0 {
            return Err(ToleranceError::Nothing);
        }
        Ok(Tolerance { tol, fail, floor })
    }

    /// The tolerated share.
    pub fn tol(&self) -> f64 {
        self.tol
    }

    /// The share that must be ruled out.
    pub fn fail(&self) -> f64 {
        self.fail
    }

    /// A difference up to this never matters, in the unit of the values.
    pub const fn floor(&self) -> f64 {
        self.floor
    }
}

/// The default tolerance, which suits the noise of the lens.
pub fn tolerance(lens: Lens) -> Tolerance {
    match lens {
        Lens::Purged => Tolerance::PURGED,
        Lens::AsShipped => Tolerance::AS_SHIPPED,
    }
}

/// The tolerated growth per round, in the unit of the values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeakLimit {
    pub slope: f64,
    /// A gate passes only if this much growth is ruled out.
    pub ruled_out: f64,
}

impl Default for LeakLimit {
    /// Any significant growth fails, and 64 KiB per round must be ruled out.
    fn default() -> LeakLimit {
        LeakLimit {
            slope: 0.0,
            ruled_out: 65_536.0,
        }
    }
}

impl LeakLimit {
    /// A user's limit, which must also be ruled out. A limit of 0 cannot be ruled out, so the default must be.
    pub fn from_slope(slope: f64) -> LeakLimit {
        let default = LeakLimit::default();
        let ruled_out = if slope > 0.0 { slope } else { default.ruled_out };
        LeakLimit { slope, ruled_out }
    }

    /// The limit of this many times as much.
    pub fn times(self, factor: f64) -> LeakLimit {
        LeakLimit {
            slope: self.slope * factor,
            ruled_out: self.ruled_out * factor,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn the_band_is_half_a_per_cent_and_never_less_than_half_a_mebibyte() {
        assert_eq!([0, 20 * MIB, 100 * MIB].map(tolerated_difference), [512 << 10; 3]);
        assert_eq!(tolerated_difference(1000 * MIB), 5 * MIB);
        assert_eq!(tolerated_difference(u64::MAX), u64::MAX / 200);
    }
}
