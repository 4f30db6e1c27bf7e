#![doc = include_str!("../README.md")]

mod allocator;
mod calibration;
mod calls;
mod cell;
mod clock;
mod command;
mod compressed;
mod ending;
mod event;
mod header;
mod idle;
pub mod jemalloc;
mod memory;
mod preload;
mod preloaded;
mod read;
pub mod regular_file;
mod relayed;
mod release;
mod resources;
pub mod variables;
mod write;

#[cfg(any(test, feature = "golden"))]
pub mod golden;
#[cfg(test)]
mod round_trip;
#[cfg(test)]
mod tests;

pub use allocator::{AllocatorFacts, AllocatorFamily, Confidence, Evidence, KnobFacts};
pub use calibration::{CALIBRATION_FORMAT, Calibration, Noise};
pub use calls::{CallCount, CallKind, SystemCalls, TracerFacts};
pub use cell::{CellFacts, SweepFacts, leaves};
pub use clock::{Clock, nanos};
pub use command::CommandEnd;
pub use compressed::{decompressed, is_record};
pub use ending::{
    Close, EmptyStep, Ending, MOST_NAMED, MOST_REQUESTS, Orphaned, Shutdown, ShutdownReply, ShutdownStage, Survivor,
    UnfinishedMessage, Unwritten,
};
pub use event::RoundName;
pub use event::{
    Checkpoint, Entry, Event, Initialized, Outcome, PeakMark, PhaseRef, Readiness, ReadyOutcome, ReadyRule, Request,
    StepEnd, StepStart, Warning, WarningKind, WindowStart,
};
pub use header::{
    Header, Host, HugePages, Interpreter, LensFacts, Memory, OriginFacts, PackageFacts, PlanFacts, Revision,
    ScenarioFacts, ServerFacts, Settings, Strain, TreeFacts, Version, WorkspaceFacts,
};
pub use idle::{AllocatorDecay, Delay, IdleKind, IdleWindow, Runtime, WindowEnd};
pub use memory::{
    AddressSpaceRule, Counters, Delays, EndCause, Excess, LateTicks, Pressure, Process, ProcessEnd, ReadFailure,
    Rollup, Sample, SharedMemory, Unseen, Used, process_title,
};
pub use preload::{Environment, Libraries, PreloadFacts};
pub use preloaded::{PackagedAllocator, Preload, PreloadName};
pub use read::{FORMAT, LeftOut, ReadError, Reader, open};
pub use relayed::{
    DocumentHash, FileChange, MOST_PARTS, MessageKind, Relayed, RelayedParams, Side, TextChange, TextPosition,
    TextRange, TextSize, Wrapped,
};
pub use release::{Holder, Listening, Release, ReleasedBy, Releaser, SelfReport, ShimFacts};
pub use resources::Resources;
pub use write::{Journal, JournalEnd, Storage, WriteError};

/// The method of lsp-soak's own request. No server knows it, so the error comes after the answers to all earlier messages.
pub const BARRIER: &str = "lspSoak/barrier";

/// Nanoseconds since the first spawn of the server.
pub type Nanos = u64;
