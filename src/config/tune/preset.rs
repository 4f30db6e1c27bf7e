//! Grids that come along, by name.

use strum::{IntoStaticStr, VariantArray};

use record::AllocatorFamily;

/// A grid that comes along.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, strum::Display, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum Preset {
    /// Background thread, decay times, arenas, thread caches
    Jemalloc,
    /// Purge delay and huge pages
    Mimalloc,
    /// Arenas, thresholds, thread caches
    Glibc,
    /// Garbage collector target and memory limit
    Go,
    /// Sizes of V8's generations
    Node,
    /// Other installed allocators, preloaded
    Preloads,
}

impl Preset {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        self.into()
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
        // What CPython has from the C library can be set, and its own allocator not.
        let family = match family {
            AllocatorFamily::Pymalloc => AllocatorFamily::Glibc,
            other => other,
        };
        let mut all = Preset::VARIANTS.iter().copied();
        all.find(|preset| preset.family() == Some(family))
    }
}
