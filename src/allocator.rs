//! Which allocator a server has, its settings, and the evidence.
//!
//! A server is run for its version with the variables that make jemalloc and mimalloc print themselves. Its bytes,
//! libraries and wrappers are examined too. This room knows no session: it never starts a server with its own
//! arguments.

mod decay;
mod detect;
mod elf;
mod follow;
mod glibc;
mod golang;
pub mod knobs;
mod launcher;
mod mimalloc;
mod modules;
pub mod preload;
mod probe;
mod rustup;
mod scan;
mod stated;
mod verdict;
mod within;

pub use decay::{Told, VARIABLES as RUNTIME_VARIABLES, decay};
pub use detect::{Detection, detect, missing, of_file, of_process};
pub use elf::{Machine, is_static, machine};
pub use probe::{Subject, version};
pub use rustup::missing_component;
pub use within::within;

use crate::record::Evidence;

/// ` 5.3.0`, to stand behind a name; nothing where no version is known.
fn behind(version: Option<&String>) -> String {
    version.map(|version| format!(" {version}")).unwrap_or_default()
}

fn seen(source: &str, saw: String) -> Evidence {
    Evidence {
        source: source.to_owned(),
        saw,
    }
}
