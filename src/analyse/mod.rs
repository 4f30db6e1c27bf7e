//! From a record to its numbers: one pass over the entries, in memory that does not grow with them.
//!
//! Nothing here opens files, asks the time or looks at the environment; `clippy.toml` says why and enforces it.

#![deny(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

mod advice;
pub mod calibration;
pub mod calls;
mod carried;
mod checkpoint;
mod collect;
pub mod compare;
mod confirmed;
mod curves;
pub mod decay;
mod departure;
mod epoch;
mod exit;
mod findings;
pub mod gate;
pub mod growth;
mod histogram;
mod holder;
mod latency;
mod left_out;
pub mod lines;
mod phases;
pub mod release;
mod said;
pub mod stats;
mod summary;
mod timeline;
pub mod together;
mod totals;
mod traffic;
mod tree;
pub mod tune;
mod unmeasured;
mod unset;
mod untrimmed;

#[cfg(test)]
mod tests;

pub use advice::beforehand;
pub use collect::{read, read_with, summarise};
pub use confirmed::is_denied;
pub use curves::{Curves, Slot, Span, Window};
pub use departure::Departure;
pub use exit::exit;
pub use findings::{Doubt, Finding, Severity, brief, doubts, findings, outcome, ready_rule, setting};
pub use histogram::Histogram;
pub use latency::quantile;
pub use summary::{
    CheckpointSummary, MethodSummary, Peak, PhaseSummary, PrivateMetric, ProgramSummary, ResidentMetric, Returned,
    SamplingSummary, ServerMessage, StepSummary, Summary, WarningSummary,
};
pub use timeline::{Bucket, Timeline};
pub use unmeasured::{counted, held_up, measured};
pub use unset::Unset;
pub use untrimmed::{Deaf, Unreached, Untrimmed};
