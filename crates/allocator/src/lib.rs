#![doc = include_str!("../README.md")]

mod decay;
mod detect;
mod elf;
mod follow;
mod glibc;
mod golang;
pub mod knobs;
mod linked_allocator;
mod mimalloc;
mod paths;
pub mod preload;
mod probe;
mod rustup;
mod scan;
mod starts;
mod stated;
mod verdict;

pub use decay::{RuntimeSettings, VARIABLES as RUNTIME_VARIABLES, decay};
pub use detect::{Inspected, detect_in_file, inspect, of_process, reason_not_to_run};
pub use elf::{Machine, is_static, machine};
pub use linked_allocator::linked_allocator;
pub use probe::Subject;
pub use rustup::missing_component;

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
