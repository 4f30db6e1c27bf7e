//! Memory system calls of a traced run: number and bytes of each kind.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::PhaseRef;

/// The tracer of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TracerFacts {
    /// Name: `strace`.
    pub name: String,
    /// Version that the tracer reports.
    pub version: Option<String>,
}

/// Memory calls of the whole tree in one phase, up to the start of the next.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SystemCalls {
    /// The phase; `None` before the first phase and after the last, when the server is shut down.
    pub phase: Option<PhaseRef>,
    /// Counts by kind; a kind without calls is missing.
    pub calls: BTreeMap<CallKind, CallCount>,
}

/// Calls of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallCount {
    /// Successful calls.
    pub calls: u64,
    /// Requested bytes; for `brk` the distance that the break moved.
    pub bytes: u64,
    /// Failed calls, in neither `calls` nor `bytes`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed: u64,
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

impl CallCount {
    pub fn added_to(self, other: CallCount) -> CallCount {
        CallCount {
            calls: self.calls.saturating_add(other.calls),
            bytes: self.bytes.saturating_add(other.bytes),
            failed: self.failed.saturating_add(other.failed),
        }
    }
}

/// Kinds of memory calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CallKind {
    /// `madvise` and `process_madvise` that release pages at once: `MADV_DONTNEED`, `MADV_DONTNEED_LOCKED`.
    MadviseDontneed,
    /// `madvise` that lets the kernel take pages when it needs them: `MADV_FREE`.
    MadviseFree,
    /// `madvise` that asks for huge pages: `MADV_HUGEPAGE`, `MADV_COLLAPSE`.
    MadviseHugepage,
    /// `madvise` with any other advice.
    MadviseOther,
    /// `mmap` of memory or of a file.
    Mmap,
    /// `munmap`.
    Munmap,
    /// `mremap`; the bytes are those of the new size.
    Mremap,
    /// `brk` that reads or raises the break.
    Brk,
    /// `brk` that lowers the break.
    BrkLowered,
}

impl CallKind {
    /// In the order of reports.
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

    /// The call and its variant, for reports.
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

    pub fn is_advice(self) -> bool {
        self.words().0 == "madvise"
    }
}
