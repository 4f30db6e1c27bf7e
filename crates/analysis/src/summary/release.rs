//! Forced releases and self-reports of servers.

use serde::Serialize;

use crate::summary::Summary;
use base::shown;
use record::{AllocatorFamily, Checkpoint, Nanos, PhaseRef, Release, ReleasedBy, RoundName, SelfReport, StepEnd};

use super::tree::Tree;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Released {
    #[serde(flatten, serialize_with = "shown::<RoundName, _, _>")]
    #[cfg_attr(feature = "schema", schemars(with = "RoundName"))]
    pub phase: PhaseRef,
    /// Place of its step in the phase, from 0; `None` where it is part of the phase's checkpoint, as the lens asks for.
    pub step: Option<u32>,
    /// The means that were used, and memory before and after.
    pub release: Release,
    /// Private memory in bytes of the processes that reported no live memory beside those that did, at the checkpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<u64>,
}

/// A server's word on its own memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reported {
    #[serde(flatten, serialize_with = "shown::<RoundName, _, _>")]
    #[cfg_attr(feature = "schema", schemars(with = "RoundName"))]
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
            beside: None,
        })
    }

    pub(super) fn of_checkpoint(checkpoint: &Checkpoint, tree: &Tree) -> Option<Released> {
        let release = checkpoint.released.clone()?;
        let owners: Vec<(u32, Option<u64>)> = tree
            .owners(checkpoint)
            .map(|(live, private)| (live.pid, private))
            .collect();
        Some(Released {
            phase: checkpoint.phase.clone(),
            step: None,
            beside: unreported_memory(&release, &owners),
            release,
        })
    }

    /// True if any means was used.
    pub fn is_done(&self) -> bool {
        !self.release.used.is_empty()
    }

    /// The reasons why a means was not used, or had no effect: an allocator inside the server's binary cannot be called by
    /// name, so another one was called.
    pub fn failure_reasons(&self, family: Option<AllocatorFamily>) -> Vec<String> {
        let mut reasons = self.release.missing.clone();
        if let Some(family) = family
            && self.is_unreached(family)
        {
            reasons.push(format!("its {} offers no way to purge from outside", family.name()));
        }
        reasons
    }

    /// True if allocators were purged, but not the server's own.
    fn is_unreached(&self, family: AllocatorFamily) -> bool {
        let function = match family {
            AllocatorFamily::Jemalloc => Some("mallctl"),
            AllocatorFamily::Mimalloc => Some("mi_collect"),
            AllocatorFamily::Tcmalloc => Some("MallocExtension_ReleaseFreeMemory"),
            AllocatorFamily::Tbbmalloc => Some("scalable_allocation_command"),
            AllocatorFamily::Snmalloc | AllocatorFamily::Rpmalloc => None,
            _ => return false,
        };
        let mut calls = self
            .release
            .used
            .iter()
            .filter(|releaser| releaser.by == ReleasedBy::Allocator)
            .peekable();
        let was_any_purged = calls.peek().is_some();
        was_any_purged && !calls.any(|call| function.is_some_and(|function| call.what.contains(function)))
    }

    /// The time until the slowest means had answered.
    pub fn slowest(&self) -> Option<Nanos> {
        self.release.used.iter().map(|means| means.took).max()
    }

    /// Bytes of private memory released meanwhile; negative if memory grew.
    pub fn released(&self) -> Option<i64> {
        let (before, after) = self.release.before.zip(self.release.after)?;
        i64::try_from(i128::from(before) - i128::from(after)).ok()
    }
}

impl Summary {
    /// Live memory in bytes at a phase's checkpoint: what processes reported after the collection that the lens asked for, and
    /// the private memory of all others.
    pub fn live_memory(&self, phase: &PhaseRef) -> Option<u64> {
        let at_checkpoint = self
            .allocator
            .released
            .iter()
            .rfind(|released| released.step.is_none() && released.phase == *phase)?;
        at_checkpoint.release.live_memory()?.checked_add(at_checkpoint.beside?)
    }
}

/// Private memory of the processes that reported nothing; `None` if one is unknown, or if none reported. `owners` are
/// process ids with private memory. A server that answers a command does so for its largest process.
fn unreported_memory(release: &Release, owners: &[(u32, Option<u64>)]) -> Option<u64> {
    release.live_memory()?;
    let largest = owners.iter().max_by_key(|(_, private)| *private).map(|(pid, _)| *pid);
    let reporting: Vec<Option<u32>> = release
        .used
        .iter()
        .filter(|releaser| releaser.accounted.is_some())
        .map(|releaser| releaser.pid.or(largest))
        .collect();
    owners
        .iter()
        .filter(|(pid, _)| !reporting.contains(&Some(*pid)))
        .map(|(_, private)| *private)
        .sum()
}

impl Reported {
    /// The self-reported share of the measured memory, and that memory: resident for one process, private for several.
    pub fn share(&self) -> Option<Share> {
        let accounted = self.report.accounted?;
        let (of, resident) = match (self.report.resident, self.report.private) {
            (Some(resident), _) => (resident, true),
            (None, private) => (private?, false),
        };
        if of == 0 {
            return None;
        }
        Some(Share {
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
    /// Measured memory.
    pub of: u64,
    /// True if resident memory was measured, false for private memory.
    pub resident: bool,
}

impl Share {
    /// From 0; above 1 if a server counts swapped, shared or untouched memory.
    pub fn ratio(self) -> f64 {
        self.accounted as f64 / self.of as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Releaser;

    fn release(used: &[(Option<u32>, Option<u64>)]) -> Release {
        let used = used.iter().map(|(pid, accounted)| Releaser {
            by: ReleasedBy::Server,
            what: "gc()".to_owned(),
            pid: *pid,
            answer: String::new(),
            accounted: *accounted,
            took: 1,
        });
        Release {
            used: used.collect(),
            ..Release::default()
        }
    }

    #[test]
    fn memory_of_processes_that_reported_nothing_is_live_too() {
        let owners = [(7, Some(60)), (8, Some(9)), (9, Some(400))];
        for (used, unreported) in [
            (&[(Some(7), Some(50)), (Some(9), Some(300))][..], Some(9)),
            (&[(Some(7), Some(50))], Some(409)),
            // A command is answered by the largest process.
            (&[(None, Some(300))], Some(69)),
            // Nothing was reported.
            (&[(Some(7), None)], None),
        ] {
            assert_eq!(unreported_memory(&release(used), &owners), unreported, "{used:?}");
        }
        let unknown = [(7, Some(60)), (8, None)];
        let used = release(&[(Some(7), Some(50))]);
        assert_eq!(unreported_memory(&used, &unknown), None);
    }
}
