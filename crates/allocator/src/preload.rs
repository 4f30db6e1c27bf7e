//! Preloads an allocator under a server that was not rebuilt: finds the library, loads it first, and verifies its use.

mod account;
mod compose;
mod distribution;
mod find;
mod own_name;
mod package;
mod typed;
mod verify;

pub use account::{extract_reports as take_accounts, is_asked, report_setting};
pub use compose::{Unlistable, VARIABLE, compose};
pub use find::{FindError, Places, find};
pub use own_name::by_own_name;
pub use package::package;
pub use typed::{Typed, split_preload};
pub use verify::{PreloadError, Question, verify};
