//! A sweep as text: the same table, the same sentences and the same lines to ship in every format.

mod columns;
mod doubts;
pub mod json;
mod markdown;
pub mod ship;
mod terminal;
mod why;
mod words;

#[cfg(test)]
mod tests;

pub(super) use columns::{amount, columns, order};
pub use markdown::{render as markdown, set};
pub use terminal::render as terminal;
pub use why::why_not;
pub(super) use words::sentences;
pub use words::{Sentence, chosen, headline, reservations, stop};
