//! A gate's verdict: the same findings for terminals, pull requests, test reports and other programs.

mod cases;
mod cure;
mod document;
mod findings;
pub mod json;
mod standing;
mod words;

#[cfg(test)]
mod tests;

pub use crate::gate::report::cases::suites;
pub use crate::gate::report::cure::{Cure, cure};
pub use crate::gate::report::document::document;
pub(crate) use crate::gate::report::document::{headline, side_by_side, told_apart};
pub use crate::gate::report::findings::{About, Finding, findings};
pub use crate::gate::report::standing::{regression, standing};
