//! Memory that was given back by force, and what servers said of their own memory.

use schemars::JsonSchema;
use serde::Serialize;

use crate::record::{
    AllocatorFamily, Checkpoint, PhaseRef, Release, ReleasedBy, RoundName, SelfReport, StepEnd, shown,
};

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Released {
    #[serde(flatten, serialize_with = "shown::<RoundName, _, _>")]
    #[schemars(with = "RoundName")]
    pub phase: PhaseRef,
    /// Place of its step in the phase, from 0; `None` where it is part of the phase's checkpoint, as the lens asks for.
    pub step: Option<u32>,
    /// What was used, and what there was before and after.
    pub release: Release,
}

/// A server's word on its own memory.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Reported {
    #[serde(flatten, serialize_with = "shown::<RoundName, _, _>")]
    #[schemars(with = "RoundName")]
    pub phase: PhaseRef,
    /// Place of its step in the phase, from 0.
    pub step: u32,
    /// What it was asked and what it said.
    pub report: SelfReport,
}

impl Released {
    pub(super) fn of_step(end: &StepEnd) -> Option<Released> {
        Some(Released {
            phase: end.phase.clone(),
            step: Some(end.step),
            release: end.release.clone()?,
        })
    }

    pub(super) fn of_checkpoint(checkpoint: &Checkpoint) -> Option<Released> {
        Some(Released {
            phase: checkpoint.phase.clone(),
            step: None,
            release: checkpoint.released.clone()?,
        })
    }

    /// Whether anything was used at all.
    pub fn is_done(&self) -> bool {
        !self.release.used.is_empty()
    }

    /// Why something was not used, or could do nothing: an allocator that the server keeps inside has no name to call it
    /// by, so that what was called was another.
    pub fn why(&self, family: Option<AllocatorFamily>) -> Vec<String> {
        let missing = self.release.missing.iter().cloned();
        let unreached = family.filter(|family| self.is_unreached(*family));
        missing
            .chain(unreached.map(|family| format!("its {} offers no way to purge from outside", family.name())))
            .collect()
    }

    /// Whether allocators were told to give back and the server's own was not among them.
    fn is_unreached(&self, family: AllocatorFamily) -> bool {
        let called = match family {
            AllocatorFamily::Jemalloc => Some("mallctl"),
            AllocatorFamily::Mimalloc => Some("mi_collect"),
            AllocatorFamily::Tcmalloc => Some("MallocExtension_ReleaseFreeMemory"),
            AllocatorFamily::Tbbmalloc => Some("scalable_allocation_command"),
            AllocatorFamily::Snmalloc | AllocatorFamily::Rpmalloc => None,
            _ => return false,
        };
        let used = self.release.used.iter();
        let mut used_by_allocator = used.filter(|one| one.by == ReleasedBy::Allocator).peekable();
        used_by_allocator.peek().is_some()
            && !used_by_allocator.any(|one| called.is_some_and(|called| one.what.contains(called)))
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
    pub accounted: u64,
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
