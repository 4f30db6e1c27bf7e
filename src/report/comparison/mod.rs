//! Several servers side by side: the same tables for terminals and for pull requests.

mod figures;
mod growth;
mod markdown;
mod strip;
mod terminal;
mod words;

pub(super) use figures::unequal;
pub use markdown::render as markdown;
pub use terminal::render as terminal;
