//! Pictures of a page: timelines, strips, curves, distributions and fronts.

mod data;
mod decays;
mod front;
mod spread;
mod strips;

#[cfg(test)]
pub(super) mod tests;

pub(super) use data::{Lines, Named};
pub(super) use decays::Decays;
pub(super) use front::{Front, draw as front};
pub(super) use spread::{Latencies, plot as latencies};
pub(super) use strips::{Strips, tenth};
