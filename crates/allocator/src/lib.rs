#![doc = include_str!("../README.md")]

mod decay;
mod detect;
mod elf;
mod follow;
mod glibc;
mod golang;
pub mod knobs;
mod mimalloc;
mod paths;
pub mod preload;
mod probe;
mod rustup;
mod scan;
mod starts;
mod stated;
mod verdict;
mod within;

pub use decay::{RuntimeSettings, VARIABLES as RUNTIME_VARIABLES, decay};
pub use detect::{Inspected, inspect, reason_not_to_run, detect_in_file, of_process};
pub use elf::{Machine, is_static, machine};
pub use probe::Subject;
pub use rustup::missing_component;
pub use within::linked_allocator;

pub use base::Cancel;

use record::Evidence;

/// ` 5.3.0` with its leading blank, to be put after a name; empty without a version.
fn version_suffix(version: Option<&String>) -> String {
    version.map(|version| format!(" {version}")).unwrap_or_default()
}

fn evidence(source: &str, saw: String) -> Evidence {
    Evidence {
        source: source.to_owned(),
        saw,
    }
}
