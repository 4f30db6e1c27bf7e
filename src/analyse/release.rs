//! Memory that was given back by force, and what servers said of their own memory.

use crate::record::{Checkpoint, PhaseRef, Release, SelfReport, StepEnd};

/// A forced release.
#[derive(Clone, Debug, PartialEq)]
pub struct Released {
    /// In which phase.
    pub phase: PhaseRef,
    /// Whether it is part of the phase's checkpoint, as the lens asks for; otherwise it is a step.
    pub checkpoint: bool,
    /// What came of it.
    pub release: Release,
}

/// A server's word on its own memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Reported {
    /// In which phase.
    pub phase: PhaseRef,
    /// What it said.
    pub report: SelfReport,
}

impl Released {
    /// That of a step.
    pub(super) fn of_step(end: &StepEnd) -> Option<Released> {
        Some(Released {
            phase: end.phase.clone(),
            checkpoint: false,
            release: end.release.clone()?,
        })
    }

    /// That of a checkpoint.
    pub(super) fn of_checkpoint(checkpoint: &Checkpoint) -> Option<Released> {
        Some(Released {
            phase: checkpoint.phase.clone(),
            checkpoint: true,
            release: checkpoint.released.clone()?,
        })
    }

    /// Whether anything was used at all.
    pub fn is_done(&self) -> bool {
        !self.release.used.is_empty()
    }

    /// Bytes of private memory that came back while it was done; less than nothing if more was taken.
    pub fn gave(&self) -> Option<i64> {
        let (before, after) = self.release.before.zip(self.release.after)?;
        i64::try_from(i128::from(before) - i128::from(after)).ok()
    }
}

impl Reported {
    /// What the server accounts for as a share of what it had, and what that was: resident memory of a single process,
    /// private memory of several.
    pub fn share(&self) -> Option<Share> {
        let accounted = self.report.accounted?;
        let (of, resident) = match (self.report.resident, self.report.private) {
            (Some(resident), _) => (resident, true),
            (None, private) => (private?, false),
        };
        (of > 0).then_some(Share {
            accounted,
            of,
            resident,
        })
    }
}

/// What a server accounts for of what it has, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// By its own words.
    pub accounted: u64,
    /// What it has.
    pub of: u64,
    /// Whether that is resident memory, and not private.
    pub resident: bool,
}

impl Share {
    /// As a part of one. Over one where a server counts what is swapped out, shared or never touched.
    pub fn ratio(self) -> f64 {
        self.accounted as f64 / self.of as f64
    }
}
