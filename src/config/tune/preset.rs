//! Grids that come along, by name.

use std::fmt;

use crate::record::AllocatorFamily;

/// A grid that comes along.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Preset {
    /// Background thread, decay times, arenas, thread caches
    Jemalloc,
    /// Purge delay and huge pages
    Mimalloc,
    /// Arenas, thresholds, thread caches
    Glibc,
    /// How eager the garbage collector is, and its limit
    Go,
    /// Sizes of V8's generations
    Node,
    /// Other allocators, preloaded: those that are installed
    Preloads,
}

impl Preset {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Preset::Jemalloc => "jemalloc",
            Preset::Mimalloc => "mimalloc",
            Preset::Glibc => "glibc",
            Preset::Go => "go",
            Preset::Node => "node",
            Preset::Preloads => "preloads",
        }
    }

    /// The allocator that it is for; `None` where it brings its own.
    pub fn family(self) -> Option<AllocatorFamily> {
        Some(match self {
            Preset::Jemalloc => AllocatorFamily::Jemalloc,
            Preset::Mimalloc => AllocatorFamily::Mimalloc,
            Preset::Glibc => AllocatorFamily::Glibc,
            Preset::Go => AllocatorFamily::Go,
            Preset::Node => AllocatorFamily::V8,
            Preset::Preloads => return None,
        })
    }

    pub fn reader(self) -> &'static str {
        match self {
            Preset::Go => "Go",
            Preset::Node => "V8 in Node.js and Deno",
            Preset::Jemalloc | Preset::Mimalloc | Preset::Glibc | Preset::Preloads => self.name(),
        }
    }

    /// The one for what a server uses.
    pub fn fitting(family: AllocatorFamily) -> Option<Preset> {
        let all = [
            Preset::Jemalloc,
            Preset::Mimalloc,
            Preset::Glibc,
            Preset::Go,
            Preset::Node,
        ];
        // What CPython has from the C library can be set, and its own allocator not.
        let family = match family {
            AllocatorFamily::Pymalloc => AllocatorFamily::Glibc,
            other => other,
        };
        all.into_iter().find(|preset| preset.family() == Some(family))
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
