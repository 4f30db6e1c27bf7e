//! A sweep as text: the same table, the same sentences and the same lines to ship in every format.

mod columns;
mod document;
mod doubts;
pub mod json;
pub mod ship;
mod why;
mod words;

#[cfg(test)]
mod tests;

pub use columns::stop;
pub(super) use columns::{amount, order};
pub use document::{document, set};
pub use why::why_not;
pub use words::{chosen, headline, reservations};
