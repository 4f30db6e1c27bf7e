//! Several servers side by side: the same figures for terminals, pull requests and other programs.

pub(super) mod across;
pub(super) mod alone;
mod cases;
pub(super) mod decay;
pub(super) mod document;
pub(super) mod figures;
mod github;
pub(super) mod headline;
pub mod json;
mod junit;
pub(super) mod notes;
pub(super) mod release;
mod trackers;
pub(super) mod words;

#[cfg(test)]
mod tests;

pub(super) use figures::{amount, as_set, signed};
pub(super) use notes::{difference, huge_pages, strained, unequal};
pub use notes::{doubt, unseen};

pub use cases::{Case, Outcome, Suite, suites};
pub use document::document;
pub(super) use document::{origin, sections};
pub use github::annotations;
pub use junit::render as junit;
pub use trackers::{bencher, benchmark_action};
