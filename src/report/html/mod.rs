//! Reports as one HTML file: nothing is loaded from anywhere, and the file itself forbids it.
//!
//! Every text that came from a server, a path, a label or a scenario reaches the page through `maud`, which escapes it,
//! or through `data::embed`; there is no third way.

mod allocators;
mod data;
mod decays;
mod front;
mod gate;
mod one;
mod page;
mod parts;
mod several;
mod spread;
mod strips;
mod tables;
mod tune;

#[cfg(test)]
pub(super) mod tests;

pub(super) use data::Named;
pub(super) use gate::told_apart;
pub(super) use page::PALETTE;
pub(super) use parts::class;
pub(super) use several::{played, title};
pub(super) use strips::tenth;

pub use gate::render as gate;
pub use one::render as run;
pub use several::render as comparison;
pub use tune::render as tune;
