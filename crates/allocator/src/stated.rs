//! Versions that allocators state which print none: a text in their library, or its name.

use std::path::Path;

use super::scan;
use record::AllocatorFamily;

/// Bytes of a version, at most.
const MOST: usize = 24;

/// The version of an allocator that its file states; `None` if it states none. The number after `.so` is mostly that of
/// the interface: `libtcmalloc_minimal.so.4.5.10` is of gperftools 2.10. Only mimalloc puts its own version there.
pub fn version(path: &Path, family: AllocatorFamily) -> Option<String> {
    match family {
        // What `tc_version` returns; Google's tcmalloc has none.
        AllocatorFamily::Tcmalloc => number_after(path, "gperftools "),
        // Its output under `TBB_VERSION=1`.
        AllocatorFamily::Tbbmalloc => number_after(path, "TBBmalloc: VERSION\t\t"),
        AllocatorFamily::Mimalloc => number_in_name(path),
        _ => None,
    }
}

/// The number after a text in a file.
fn number_after(path: &Path, text: &str) -> Option<String> {
    number(&scan::bytes_after(path, text, MOST).ok()??)
}

/// `2.10` at the beginning of a text.
fn number(bytes: &[u8]) -> Option<String> {
    let end = bytes.iter().position(|byte| !byte.is_ascii_digit() && *byte != b'.');
    let number = std::str::from_utf8(&bytes[..end.unwrap_or(bytes.len())])
        .ok()?
        .trim_end_matches('.');
    if !number.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    Some(number.to_owned())
}

/// `2.0` of `libmimalloc.so.2.0`, with links resolved.
fn number_in_name(path: &Path) -> Option<String> {
    let real = path.canonicalize().ok()?;
    let name = real.file_name()?.to_str()?;
    let (_, version) = name.split_once(".so.")?;
    Some(version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_what_the_library_states_and_never_the_number_of_its_interface() {
        let directory = tempfile::tempdir().unwrap();
        let (tc, tbb) = (AllocatorFamily::Tcmalloc, AllocatorFamily::Tbbmalloc);
        for (name, text, family, stated) in [
            ("libtcmalloc.so.4.5.10", "..gperftools 2.10\0..", tc, Some("2.10")),
            ("libtcmalloc.so.4.5.9", "..TCMALLOC_..gperftools bug", tc, None),
            ("a", "TBBmalloc: VERSION\t\t2021.8\n", tbb, Some("2021.8")),
            ("libmimalloc.so.2.0", "", AllocatorFamily::Mimalloc, Some("2.0")),
            ("libjemalloc.so.2", "gperftools 2.10", AllocatorFamily::Jemalloc, None),
        ] {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            assert_eq!(version(&path, family).as_deref(), stated, "{name}");
        }
    }
}
