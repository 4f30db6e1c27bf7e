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

pub use crate::tune::report::columns::stop;
pub(crate) use crate::tune::report::columns::{amount, order};
pub use crate::tune::report::document::{document, set};
pub use crate::tune::report::why::why_not;
pub use crate::tune::report::words::{chosen, headline, reservations};
