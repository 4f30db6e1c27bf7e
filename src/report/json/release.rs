//! Memory given back by force, and what a server says of its own, as JSON.

use schemars::JsonSchema;
use serde::Serialize;

use crate::analyse::release;
use crate::record::{Release, SelfReport};

/// A forced release.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Released {
    /// Its phase.
    pub phase: String,
    /// Round of that phase, from 0.
    pub cycle: u32,
    /// Whether it came before the phase's checkpoint, as the lens asks for; otherwise it was a step.
    pub checkpoint: bool,
    /// Place of that step in the phase, from 0; `null` before a checkpoint.
    pub step: Option<u32>,
    /// Bytes of private memory that came back while it ran; less than nothing if more was taken. What had come back by the
    /// end of its window is in the row of `decay` of the same phase whose kind is `released`.
    pub gave: Option<i64>,
    /// What was used, and what there was before and after.
    pub release: Release,
}

/// What the server said of its own memory.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Reported {
    /// Its phase.
    pub phase: String,
    /// Round of that phase, from 0.
    pub cycle: u32,
    /// Place of its step in the phase, from 0.
    pub step: u32,
    /// What it accounts for against what it had: resident memory of a single process, private memory of several; `null`
    /// where either is not known.
    pub ratio: Option<f64>,
    /// What it was asked and what it said.
    pub report: SelfReport,
}

pub(super) fn released(released: &release::Released) -> Released {
    Released {
        phase: released.phase.name.clone(),
        cycle: released.phase.cycle,
        checkpoint: released.step.is_none(),
        step: released.step,
        gave: released.gave(),
        release: released.release.clone(),
    }
}

pub(super) fn reported(reported: &release::Reported) -> Reported {
    Reported {
        phase: reported.phase.name.clone(),
        cycle: reported.phase.cycle,
        step: reported.step,
        ratio: reported.share().map(release::Share::ratio),
        report: reported.report.clone(),
    }
}
