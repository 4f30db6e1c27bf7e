//! A gate's verdict: the same findings for terminals, pull requests, test reports and other programs.

mod cases;
mod findings;
pub mod json;
mod markdown;
mod terminal;
mod words;

#[cfg(test)]
mod tests;

pub use cases::suites;
pub use findings::{About, Finding, findings};
pub(super) use markdown::headline;
pub use markdown::render as markdown;
pub use terminal::render as terminal;
