//! The library that is preloaded into a server so that its allocator can be told to give memory back.

use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shim {
    File(PathBuf),
    /// What cargo builds from this manifest.
    Build(PathBuf),
}

pub const LIBRARY: &str = "libpurge_shim.so";
