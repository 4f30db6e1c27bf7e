//! How much a server's figures vary from run to run, kept in a file for later campaigns of the same circumstances.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::lens::Lens;

use super::Version;

pub const CALIBRATION_FORMAT: Version = Version { major: 1, minor: 0 };

/// What runs of a server against itself have shown. docs/gate.md describes the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    pub format: Version,
    /// Version of lsp-soak that made it.
    pub tool: String,
    /// When, RFC 3339 in UTC.
    pub made: String,
    pub scenario: String,
    pub server: String,
    /// What memory was looked at through.
    pub lens: Lens,
    /// Everything that must be the same for it to hold, by name: `compare/circumstances` says what.
    pub circumstances: BTreeMap<String, String>,
    pub runs: u64,
    pub noise: Vec<Noise>,
    /// After how many runs of each side an unchanged server is expected to pass; `None` where none of the looks is enough.
    pub recommended_runs: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// Of what: a phase, a method, or the whole run.
    pub place: String,
    /// Which figure: `private`, `peak`, `cpu`, `p50`, `p95` and so on.
    pub figure: String,
    /// Whether a comparison is decided by it.
    pub primary: bool,
    /// The geometric mean, in bytes or nanoseconds.
    pub mean: f64,
    /// The coefficient of variation as seen.
    pub variation: f64,
    /// The same, no less than the noise that is always believed; what can be seen follows from it.
    pub believed: f64,
}
