//! An allocator under a server that nobody rebuilt: the library is found, loaded before all others, and seen to be used.

mod compose;
mod distribution;
mod find;

pub use compose::{Unlistable, VARIABLE, compose};
pub use find::{FindError, Places, find};
