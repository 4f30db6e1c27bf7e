//! Forced releases and self-reports of servers.

use schemars::JsonSchema;
use serde::Serialize;

use crate::record::{
    AllocatorFamily, Checkpoint, PhaseRef, Release, ReleasedBy, RoundName, SelfReport, StepEnd, shown,
};
use crate::summary::Summary;

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Released {
    #[serde(flatten, serialize_with = "shown::<RoundName, _, _>")]
    #[schemars(with = "RoundName")]
    pub phase: PhaseRef,
    /// Place of its step in the phase, from 0; `None` where it is part of the phase's checkpoint, as the lens asks for.
    pub step: Option<u32>,
    /// The means that were used, and memory before and after.
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
    /// The question and the answer.
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

    /// Whether any means was used.
    pub fn is_done(&self) -> bool {
        !self.release.used.is_empty()
    }

    /// Why a means was not used, or had no effect: an allocator inside the server's binary cannot be called by name,
    /// so another one was called.
    pub fn why(&self, family: Option<AllocatorFamily>) -> Vec<String> {
        let missing = self.release.missing.iter().cloned();
        let unreached = family.filter(|family| self.is_unreached(*family));
        missing
            .chain(unreached.map(|family| format!("its {} offers no way to purge from outside", family.name())))
            .collect()
    }

    /// Whether allocators were purged and the server's own was not among them.
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

    /// Bytes of private memory released meanwhile; negative if memory grew.
    pub fn gave(&self) -> Option<i64> {
        let (before, after) = self.release.before.zip(self.release.after)?;
        i64::try_from(i128::from(before) - i128::from(after)).ok()
    }
}

impl Summary {
    /// Live memory in bytes at a phase's checkpoint: what the server reported after the collection that the lens asked for.
    pub fn live(&self, phase: &PhaseRef) -> Option<u64> {
        let those = self.released.iter().rev();
        let mut at_checkpoint = those.filter(|one| one.step.is_none() && one.phase == *phase);
        at_checkpoint.next()?.release.live()
    }
}

impl Reported {
    /// The self-reported share of the measured memory, and that memory: resident for one process, private for several.
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

/// The self-reported memory of a server, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    pub accounted: u64,
    pub of: u64,
    /// Whether that is resident memory, and not private.
    pub resident: bool,
}

impl Share {
    /// From 0; above 1 if a server counts swapped, shared or untouched memory.
    pub fn ratio(self) -> f64 {
        self.accounted as f64 / self.of as f64
    }
}
