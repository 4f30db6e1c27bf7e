//! What the pictures of a report show: timelines, strips, curves, distributions and fronts, as [charts](crate::charts).

pub mod decays;
mod front;
mod latencies;
mod strips;
pub mod timeline;

#[cfg(test)]
pub(super) mod tests;

use crate::summary::Summary;

pub use front::{Front, fronts};
pub use latencies::{Latencies, latencies};
pub use strips::strips;

/// A run with the name of its record.
pub type Named<'s> = (&'s str, &'s Summary);
