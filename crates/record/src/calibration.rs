//! The variation of a server's figures between runs, kept in a file for later campaigns under the same circumstances.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use base::lens::Lens;

use super::Version;

pub const CALIBRATION_FORMAT: Version = Version { major: 1, minor: 2 };

/// Variation of a server against itself. docs/gate.md describes the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    pub format: Version,
    pub tool: String,
    /// RFC 3339 in UTC.
    pub made: String,
    pub scenario: String,
    pub server: String,
    /// The profile of the server; versions of one profile are versions of one server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    pub lens: Lens,
    /// Circumstances by name that must be equal for the calibration to apply: see `compare/circumstances`.
    pub circumstances: BTreeMap<String, String>,
    pub runs: u64,
    /// When each of the runs started, which names it: a run counts once, and never in a calibration by which it is judged. Empty
    /// before format 1.2.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub started: Vec<String>,
    pub noise: Vec<Noise>,
    /// Runs per side until an unchanged server is expected to pass; `None` where no planned number is enough.
    pub recommended_runs: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// A phase, a method, or the whole run.
    pub place: String,
    /// `private`, `peak`, `cpu`, `p50`, `p95` and so on.
    pub figure: String,
    /// True if this figure decides comparisons.
    pub primary: bool,
    /// Geometric mean, in bytes or nanoseconds.
    pub mean: f64,
    /// Measured coefficient of variation.
    pub variation: f64,
    /// Coefficient of variation, at least the assumed minimum. The detectable change follows from it.
    pub believed: f64,
}
