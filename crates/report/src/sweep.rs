//! A sweep as text: the same table, the same sentences and the same lines to ship in every format.

mod columns;
mod document;
mod doubts;
pub(crate) mod front;
pub mod json;
pub mod ship;
mod why;
mod words;

#[cfg(test)]
mod tests;

pub(crate) use crate::sweep::columns::{amount, order};
pub use crate::sweep::document::{document, settings_line};
pub use crate::sweep::why::elimination_clause;
pub use crate::sweep::words::{chosen_cell, headline, reservations};
