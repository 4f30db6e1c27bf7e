//! Idle windows as played: traffic, end, and the allocator's decay.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Nanos;

/// A window without requests to the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdleWindow {
    /// Kind of window: silent or with light traffic.
    pub kind: IdleKind,
    /// Whether memory settled; `None` for a window of fixed length or one too short to tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<bool>,
    /// Duration of the window.
    pub took: Nanos,
    /// Why the window ended; `None` in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<WindowEnd>,
    /// What was still moving at the time limit, for people; empty otherwise.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub moving: String,
    /// Shortest sufficient length of a window that was too short; `None` for other windows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed: Option<Nanos>,
    /// Light-traffic messages sent.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sent: u64,
    /// Light-traffic messages not sent, because an earlier one had no answer yet or lsp-soak was late.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
    /// Whether this is the control window: light traffic on a server with nothing to release, which measures the
    /// traffic's own cost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub control: bool,
    /// How the allocator releases memory; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decay: Option<AllocatorDecay>,
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// Traffic of an idle window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IdleKind {
    /// No messages.
    Silent,
    /// Light traffic.
    Simmer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WindowEnd {
    /// Memory was steady for as long as the allocator may wait between two releases.
    Settled,
    /// No memory was released, and this allocator never releases in such a window.
    Held,
    /// Memory or processors were still moving at the time limit.
    TimedOut,
    /// Nothing moved at the time limit, but the window was too short to tell. Records before format 1.6 say timed
    /// out.
    TooShort,
    /// The fixed length was over.
    Ended,
}

/// How an allocator releases freed memory under its current settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AllocatorDecay {
    /// Whether it releases while the program is idle, for example by its own thread, or at once.
    pub idle: bool,
    /// Delay of the release.
    pub delay: Delay,
    /// Whether it leaves released pages to the kernel (`MADV_FREE`). They stay resident until the kernel needs them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lazy: bool,
}

/// How long an allocator keeps freed memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Delay {
    /// Nanoseconds; for jemalloc its dirty and muzzy times together.
    After(Nanos),
    /// Forever, by its settings.
    Never,
    /// Not by time.
    Untimed,
}
