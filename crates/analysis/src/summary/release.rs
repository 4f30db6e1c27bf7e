//! Forced releases and self-reports of servers.

use schemars::JsonSchema;
use serde::Serialize;

use crate::summary::Summary;
use base::shown;
use record::{AllocatorFamily, Checkpoint, PhaseRef, Release, ReleasedBy, RoundName, SelfReport, StepEnd};

use super::tree::Tree;

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Released {
    #[serde(flatten, serialize_with = "shown::<RoundName, _, _>")]
    #[schemars(with = "RoundName")]
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
            beside: None,
        })
    }

    pub(super) fn of_checkpoint(checkpoint: &Checkpoint, tree: &Tree) -> Option<Released> {
        let release = checkpoint.released.clone()?;
        Some(Released {
            phase: checkpoint.phase.clone(),
            step: None,
            beside: beside(
                &release,
                tree.held(checkpoint).map(|(live, private)| (live.pid, private)),
            ),
            release,
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
    /// Live memory in bytes at a phase's checkpoint: what processes reported after the collection that the lens asked for, and
    /// the private memory of all others.
    pub fn live(&self, phase: &PhaseRef) -> Option<u64> {
        let those = self.released.iter().rev();
        let mut at_checkpoint = those.filter(|one| one.step.is_none() && one.phase == *phase);
        let one = at_checkpoint.next()?;
        one.release.live()?.checked_add(one.beside?)
    }
}

/// Private memory of the processes that reported nothing; `None` if one is unknown, or if none reported. A server that
/// answers a command does so for its largest process.
fn beside(release: &Release, held: impl Iterator<Item = (u32, Option<u64>)>) -> Option<u64> {
    release.live()?;
    let held: Vec<(u32, Option<u64>)> = held.collect();
    let largest = held.iter().max_by_key(|(_, private)| *private).map(|(pid, _)| *pid);
    let reported = |pid: u32| {
        let mut those = release.used.iter().filter(|one| one.accounted.is_some());
        those.any(|one| one.pid.or(largest) == Some(pid))
    };
    let others = held.into_iter().filter(|(pid, _)| !reported(*pid));
    others.map(|(_, private)| private).sum()
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
        let held = [(7, Some(60)), (8, Some(9)), (9, Some(400))];
        let beside = |used: &[(Option<u32>, Option<u64>)]| super::beside(&release(used), held.into_iter());
        assert_eq!(beside(&[(Some(7), Some(50)), (Some(9), Some(300))]), Some(9));
        assert_eq!(beside(&[(Some(7), Some(50))]), Some(409));
        // A command is answered by the largest process.
        assert_eq!(beside(&[(None, Some(300))]), Some(69));
        assert_eq!(beside(&[(Some(7), None)]), None, "nothing was reported");
        let unknown = [(7, Some(60)), (8, None)];
        let one = release(&[(Some(7), Some(50))]);
        assert_eq!(super::beside(&one, unknown.into_iter()), None);
    }
}
