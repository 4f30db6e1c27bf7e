//! Several servers side by side: the same figures for terminals, pull requests and other programs.

pub mod calibration;
pub(crate) mod calls;
mod cases;
pub(crate) mod cold;
pub(crate) mod document;
pub(crate) mod figures;
mod forced;
mod github;
pub(crate) mod growth;
pub(crate) mod idle_windows;
pub mod json;
mod junit;
pub(crate) mod notes;
pub(crate) mod one_server;
pub(crate) mod released;
pub(crate) mod targets_table;
mod title;
mod trackers;
pub(crate) mod words;

#[cfg(test)]
mod tests;

pub(crate) use crate::comparison::figures::{amount, as_set, signed, span};
pub(crate) use crate::comparison::notes::{difference, huge_pages, strained, unequal, unusual};
pub use crate::comparison::notes::{doubt, unseen};

pub(crate) use crate::comparison::cases::headlines_case;
pub use crate::comparison::cases::{Case, Outcome, Suite, suites};
pub use crate::comparison::document::document;
pub(crate) use crate::comparison::document::{origin, sections};
pub use crate::comparison::github::annotations;
pub use crate::comparison::junit::render as junit;
pub use crate::comparison::trackers::{bencher, benchmark_action};
