//! Idle windows as played: traffic, end, and the allocator's decay.

use serde::{Deserialize, Serialize};

use super::Nanos;

/// A window without requests to the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IdleWindow {
    /// Kind of window: silent or with light traffic.
    pub kind: IdleKind,
    /// True if memory settled; `None` for a window of fixed length or one too short to tell.
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
    /// True for the control window: light traffic on a server with nothing to release, which measures the
    /// traffic's own cost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub control: bool,
    /// How the allocator releases memory; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decay: Option<AllocatorDecay>,
    /// The program whose allocator `decay` describes, because its processes have most of the memory; empty where that is the
    /// server's own, and in records before format 1.9.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub holder: String,
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// Traffic of an idle window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum IdleKind {
    /// No messages.
    Silent,
    /// Light traffic.
    Simmer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AllocatorDecay {
    /// True if it releases while the program is idle, for example by its own thread, or at once.
    pub idle: bool,
    /// Delay of the release.
    pub delay: Delay,
    /// True if it leaves released pages to the kernel (`MADV_FREE`). They stay resident until the kernel needs them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lazy: bool,
    /// The runtime that collects garbage by this clock; `None` for an allocator, and in records before format 1.9.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Runtime>,
}

impl AllocatorDecay {
    /// Margin for the last step: purging in steps takes up to twice the delay.
    const MARGIN: Nanos = 1_000_000_000;

    /// Length of a window after which everything that is released by time has been; `None` where no time decides.
    pub fn needed(&self) -> Option<Nanos> {
        match self.delay {
            Delay::After(delay) => Some(delay.saturating_mul(2).saturating_add(AllocatorDecay::MARGIN)),
            Delay::Never | Delay::Untimed => None,
        }
    }
}

/// A runtime that collects garbage, or the collector of one that has several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Runtime {
    /// Go.
    Go,
    /// V8.
    V8,
    /// The G1 collector of a Java virtual machine.
    G1,
    /// The serial collector of a Java virtual machine.
    Serial,
    /// The parallel collector of a Java virtual machine.
    Parallel,
    /// The collector Epsilon of a Java virtual machine, which collects nothing.
    Epsilon,
    /// The collector ZGC of a Java virtual machine.
    Zgc,
    /// The collector Shenandoah of a Java virtual machine.
    Shenandoah,
    /// A Java virtual machine whose collector nobody chose: G1, or Serial on a small machine, or Parallel before Java 9.
    Jvm,
    /// CPython.
    Cpython,
    /// Known to a later version of lsp-soak only.
    #[serde(other)]
    Other,
}

impl Runtime {
    /// Its name in sentences.
    pub fn name(self) -> &'static str {
        match self {
            Runtime::Go => "Go",
            Runtime::V8 => "V8",
            Runtime::G1 => "G1",
            Runtime::Serial => "Serial",
            Runtime::Parallel => "Parallel",
            Runtime::Epsilon => "Epsilon",
            Runtime::Zgc => "ZGC",
            Runtime::Shenandoah => "Shenandoah",
            Runtime::Jvm => "the Java virtual machine",
            Runtime::Cpython => "CPython",
            Runtime::Other => "its runtime",
        }
    }
}

/// How long an allocator keeps freed memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Delay {
    /// Nanoseconds; for jemalloc its dirty and muzzy times together.
    After(Nanos),
    /// Forever, by its settings.
    Never,
    /// Not by time.
    Untimed,
}
