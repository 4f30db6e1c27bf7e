//! The pictures of a report: timelines, strips, curves, distributions and fronts, as [charts](crate::charts).

pub mod decays;
pub mod growth;
mod latencies;
mod strips;
pub mod timeline;

#[cfg(test)]
pub(crate) mod tests;

use analysis::summary::Summary;

pub use crate::pictures::latencies::{Latencies, latencies};
pub use crate::pictures::strips::strips;

/// A run with the name of its record.
pub type Named<'s> = (&'s str, &'s Summary);
