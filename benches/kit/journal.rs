//! Records for benchmarks: a header and a place on disk that goes away by itself.

use std::io;

use record::Header;
use tempfile::TempDir;

/// A directory on the disk that holds the target directory; `/tmp` may be memory.
pub fn scratch() -> io::Result<TempDir> {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))
}

/// The header of a record of nothing in particular.
pub fn header() -> Header {
    Header {
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        started: "2026-01-01T00:00:00Z".to_owned(),
        ..Header::default()
    }
}
