//! The library that is preloaded into a server so that its allocator can be told to give memory back.

use std::path::PathBuf;

/// Where the library comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shim {
    /// This file.
    File(PathBuf),
    /// What cargo builds from this manifest.
    Build(PathBuf),
}

/// Its name in messages.
pub const LIBRARY: &str = "libpurge_shim.so";
