//! A gate's verdict: the same findings for terminals, pull requests, test reports and other programs.

mod cases;
mod cure;
mod document;
mod findings;
pub mod json;
mod notes;
mod standing;
mod words;

#[cfg(test)]
mod tests;

pub use crate::verdict::cases::suites;
pub use crate::verdict::cure::{Cure, cure};
pub use crate::verdict::document::document;
pub(crate) use crate::verdict::document::{headline, relabelled_runs, side_by_side};
pub use crate::verdict::findings::{About, Finding, findings};
pub use crate::verdict::standing::{regression, standing};
pub(crate) use crate::verdict::words::change;
