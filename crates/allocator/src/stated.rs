//! Versions that allocators state which print none: a text in their library, or its name.

use std::path::Path;

use super::scan;
use record::AllocatorFamily;

const MOST: usize = 24;

/// The version of an allocator that a file holds; `None` where nothing says it. The number behind `.so` is mostly that of
/// the interface: `libtcmalloc_minimal.so.4.5.10` is of gperftools 2.10. Only mimalloc's is its own.
pub fn version(path: &Path, family: AllocatorFamily) -> Option<String> {
    match family {
        // What `tc_version` returns; Google's tcmalloc has none.
        AllocatorFamily::Tcmalloc => behind(path, "gperftools "),
        // Its output under `TBB_VERSION=1`.
        AllocatorFamily::Tbbmalloc => behind(path, "TBBmalloc: VERSION\t\t"),
        AllocatorFamily::Mimalloc => of_name(path),
        _ => None,
    }
}

fn behind(path: &Path, text: &str) -> Option<String> {
    number(&scan::after(path, text, MOST).ok()??)
}

/// `2.10` at the beginning of a text.
fn number(bytes: &[u8]) -> Option<String> {
    let end = bytes.iter().position(|byte| !byte.is_ascii_digit() && *byte != b'.');
    let number = std::str::from_utf8(&bytes[..end.unwrap_or(bytes.len())])
        .ok()?
        .trim_end_matches('.');
    number
        .starts_with(|c: char| c.is_ascii_digit())
        .then(|| number.to_owned())
}

/// `2.0` of `libmimalloc.so.2.0`, with links resolved.
fn of_name(path: &Path) -> Option<String> {
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
        let stated = |name: &str, text: &str, family| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            version(&path, family)
        };
        let (tc, tbb) = (AllocatorFamily::Tcmalloc, AllocatorFamily::Tbbmalloc);
        let known = |text: &str| Some(text.to_owned());
        assert_eq!(
            stated("libtcmalloc.so.4.5.10", "..gperftools 2.10\0..", tc),
            known("2.10")
        );
        assert_eq!(stated("libtcmalloc.so.4.5.9", "..TCMALLOC_..gperftools bug", tc), None);
        assert_eq!(stated("a", "TBBmalloc: VERSION\t\t2021.8\n", tbb), known("2021.8"));
        assert_eq!(
            stated("libmimalloc.so.2.0", "", AllocatorFamily::Mimalloc),
            known("2.0")
        );
        assert_eq!(
            stated("libjemalloc.so.2", "gperftools 2.10", AllocatorFamily::Jemalloc),
            None
        );
    }
}
