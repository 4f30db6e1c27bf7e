//! What the pictures of a report show: timelines, strips, curves, distributions and fronts, as [charts](crate::charts).

pub mod decays;
pub mod growth;
mod latencies;
mod strips;
pub mod timeline;

#[cfg(test)]
pub(crate) mod tests;

use crate::summary::Summary;

pub use crate::compare::pictures::latencies::{Latencies, latencies};
pub use crate::compare::pictures::strips::strips;

/// A run with the name of its record.
pub type Named<'s> = (&'s str, &'s Summary);
