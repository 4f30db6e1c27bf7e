//! A gate's verdict: the same findings for terminals, pull requests, test reports and other programs.

mod cases;
mod document;
mod findings;
pub mod json;
mod words;

#[cfg(test)]
mod tests;

pub use cases::suites;
pub use document::document;
pub(super) use document::{headline, side_by_side, told_apart};
pub use findings::{About, Finding, findings};
