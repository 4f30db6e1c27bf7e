//! Several servers side by side: the same figures for terminals, pull requests and other programs.

pub(crate) mod across;
pub(crate) mod alone;
pub mod calibration;
pub(crate) mod calls;
mod cases;
pub(crate) mod cold;
mod decay;
pub(crate) mod document;
pub(crate) mod figures;
mod github;
pub(crate) mod growth;
pub mod json;
mod junit;
pub(crate) mod notes;
pub(crate) mod release;
mod trackers;
pub(crate) mod words;

#[cfg(test)]
mod tests;

pub(crate) use crate::compare::report::figures::{amount, as_set, signed, span};
pub(crate) use crate::compare::report::notes::{difference, huge_pages, strained, unequal, unusual};
pub use crate::compare::report::notes::{doubt, unseen};

pub(crate) use crate::compare::report::cases::headlines_case;
pub use crate::compare::report::cases::{Case, Outcome, Suite, suites};
pub use crate::compare::report::document::document;
pub(crate) use crate::compare::report::document::{origin, sections};
pub use crate::compare::report::github::annotations;
pub use crate::compare::report::junit::render as junit;
pub use crate::compare::report::trackers::{bencher, benchmark_action};
