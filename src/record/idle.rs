//! Idle windows as they were played: what was sent meanwhile, why each ended, and what was known of the allocator.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Nanos;

/// A window in which nothing was asked of the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdleWindow {
    /// Whether anything was sent at all.
    pub kind: IdleKind,
    /// Whether memory had become steady; `None` for a window of fixed length or one too short to tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<bool>,
    /// How long it was.
    pub took: Nanos,
    /// Why it ended; `None` in records of a time before that was written down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<WindowEnd>,
    /// What was still moving when the time was up, for people; empty otherwise.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub moving: String,
    /// How long one that was too short would have had to be at least; `None` of all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed: Option<Nanos>,
    /// Messages of the light traffic that were sent.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sent: u64,
    /// Messages of it that were due and were not sent, because the answer to one before was open, or lsp-soak late.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
    /// Whether it is the control: light traffic on a server that has nothing to give back, for its own cost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub control: bool,
    /// What was known of how the allocator gives memory back; `None` if nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decay: Option<AllocatorDecay>,
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// What is sent in an idle window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IdleKind {
    /// Nothing.
    Silent,
    /// Light, harmless traffic.
    Simmer,
}

/// Why an idle window ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WindowEnd {
    /// Memory kept still for as long as its allocator may take between two steps.
    Settled,
    /// Nothing came back, and the allocator is known not to give anything back in such a window.
    Held,
    /// Memory or the processors were still moving when the time was up.
    TimedOut,
    /// Nothing moved when the time was up, but that was sooner than it can be told. Records before format 1.6 call it timed out.
    TooShort,
    /// Its fixed time was over.
    Ended,
}

/// How an allocator gives back what was freed, under the settings that it runs with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AllocatorDecay {
    /// Whether it gives back while the program does nothing, as by a thread of its own, or at once.
    pub idle: bool,
    /// When it does.
    pub delay: Delay,
    /// Whether what it gives back is left to the kernel (`MADV_FREE`), and resident until that needs it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lazy: bool,
}

/// How long an allocator keeps what was freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Delay {
    /// So long: of jemalloc its dirty and its muzzy time together.
    After(Nanos),
    /// For ever, as it was told.
    Never,
    /// By another rule than time.
    Untimed,
}
