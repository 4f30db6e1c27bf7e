//! The memory calls of a traced run: how often each was made, and for how many bytes.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::PhaseRef;

/// What traced a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TracerFacts {
    /// Its name: `strace`.
    pub name: String,
    /// Its version, as it says it.
    pub version: Option<String>,
}

/// The calls of the whole tree in one phase, up to the beginning of the next.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SystemCalls {
    /// Which; `None` for what came before the first phase, or after the last, when the server was shut down.
    pub phase: Option<PhaseRef>,
    /// By kind; one that was not called is missing.
    pub calls: BTreeMap<CallKind, CallCount>,
}

/// Calls of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallCount {
    /// How many succeeded.
    pub calls: u64,
    /// For how many bytes: the length that was asked for; of the break how far it moved.
    pub bytes: u64,
    /// How many failed. These are neither in `calls` nor in `bytes`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed: u64,
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

impl CallCount {
    pub fn and(self, other: CallCount) -> CallCount {
        CallCount {
            calls: self.calls.saturating_add(other.calls),
            bytes: self.bytes.saturating_add(other.bytes),
            failed: self.failed.saturating_add(other.failed),
        }
    }
}

/// What a call does with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CallKind {
    /// `madvise` and `process_madvise` that give pages back at once: `MADV_DONTNEED`, also of locked ones.
    MadviseDontneed,
    /// The same that let the kernel take pages when it wants them: `MADV_FREE`.
    MadviseFree,
    /// The same that ask for huge pages: `MADV_HUGEPAGE`, `MADV_COLLAPSE`.
    MadviseHugepage,
    /// The same with any other advice.
    MadviseOther,
    /// Memory or a file was mapped.
    Mmap,
    /// A mapping was removed.
    Munmap,
    /// A mapping was resized or moved; the bytes are those of its new size.
    Mremap,
    /// The break was asked for, or raised.
    Brk,
    /// The break was lowered.
    BrkLowered,
}

impl CallKind {
    /// Every kind, in the order of reports.
    pub const ALL: [CallKind; 9] = [
        CallKind::MadviseDontneed,
        CallKind::MadviseFree,
        CallKind::MadviseHugepage,
        CallKind::MadviseOther,
        CallKind::Mmap,
        CallKind::Munmap,
        CallKind::Mremap,
        CallKind::Brk,
        CallKind::BrkLowered,
    ];

    /// The call, and what of it, for people.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            CallKind::MadviseDontneed => ("madvise", "DONTNEED"),
            CallKind::MadviseFree => ("madvise", "FREE"),
            CallKind::MadviseHugepage => ("madvise", "HUGEPAGE"),
            CallKind::MadviseOther => ("madvise", "other"),
            CallKind::Mmap => ("", "mmap"),
            CallKind::Munmap => ("", "munmap"),
            CallKind::Mremap => ("", "mremap"),
            CallKind::Brk => ("", "brk"),
            CallKind::BrkLowered => ("brk", "lowered"),
        }
    }

    /// Whether it is advice on pages that are mapped.
    pub fn is_advice(self) -> bool {
        self.words().0 == "madvise"
    }
}
