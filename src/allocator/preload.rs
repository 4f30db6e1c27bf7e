//! An allocator under a server that nobody rebuilt: the library is found, loaded before all others, and seen to be used.

mod account;
mod bindings;
mod compose;
mod distribution;
mod find;
mod own_name;
mod package;
mod typed;
mod verify;

pub use account::{asked, is_asked, take as take_accounts};
pub use compose::{Unlistable, VARIABLE, compose};
pub use find::{FindError, Places, find};
pub use own_name::by_own_name;
pub use package::package;
pub use typed::{Typed, typed};
pub use verify::{PreloadError, Question, verify};
