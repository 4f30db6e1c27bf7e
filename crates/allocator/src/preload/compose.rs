//! Composes the variable that makes a loader load libraries first, from several sources.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The loader's variable; Windows has none.
pub const VARIABLE: &str = if cfg!(target_os = "macos") {
    "DYLD_INSERT_LIBRARIES"
} else {
    "LD_PRELOAD"
};

/// A path that loaders would take for several, for they know no quotes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` has a blank or a colon in its path, where loaders end a name: put the library, or a link to it, elsewhere"
)]
pub struct Unlistable(pub PathBuf);

/// The variable's value: `libraries` in order, then the user's. Of two that define the same function the first serves.
/// `None` without libraries.
pub fn compose(libraries: &[PathBuf], typed: Option<&OsStr>) -> Result<Option<OsString>, Unlistable> {
    if let Some(wrong) = libraries.iter().find(|path| !can_be_listed(path)) {
        return Err(Unlistable(wrong.clone()));
    }
    let mut all: Vec<&OsStr> = libraries.iter().map(|path| path.as_os_str()).collect();
    all.extend(typed.filter(|typed| !typed.is_empty()));
    Ok(Some(all.join(OsStr::new(":"))).filter(|value| !value.is_empty()))
}

/// The libraries in the variable's value, split as the loader does.
pub(super) fn split(typed: &str) -> impl Iterator<Item = &str> {
    let names = typed.split(|c: char| u8::try_from(c).is_ok_and(separates));
    names.filter(|name| !name.is_empty())
}

fn can_be_listed(path: &Path) -> bool {
    !path.as_os_str().as_encoded_bytes().iter().copied().any(separates)
}

/// True for a separator of names: ld.so(8) separates at blanks too, dyld only at colons.
fn separates(byte: u8) -> bool {
    byte == b':' || (byte.is_ascii_whitespace() && VARIABLE == "LD_PRELOAD")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_come_before_what_was_typed() {
        let libraries = [PathBuf::from("/lib/libjemalloc.so.2"), PathBuf::from("/opt/libshim.so")];
        for (libraries, typed, value) in [
            (&[][..], None, None),
            (&[], Some(""), None),
            (&[], Some("/own.so"), Some("/own.so")),
            (&libraries, None, Some("/lib/libjemalloc.so.2:/opt/libshim.so")),
            (
                &libraries[1..],
                Some("/a.so /b.so"),
                Some("/opt/libshim.so:/a.so /b.so"),
            ),
        ] {
            let composed = compose(libraries, typed.map(OsStr::new)).unwrap();
            assert_eq!(composed.as_deref(), value.map(OsStr::new), "{libraries:?} {typed:?}");
        }
    }

    #[test]
    fn a_path_that_loaders_would_cut_is_refused() {
        for path in ["/my libs/libjemalloc.so.2", "/a:b/lib.so"] {
            let path = PathBuf::from(path);
            let refused = compose(std::slice::from_ref(&path), None);
            let fine = cfg!(target_os = "macos") && !path.to_string_lossy().contains(':');
            assert_eq!(refused.is_ok(), fine, "{path:?}");
        }
    }
}
