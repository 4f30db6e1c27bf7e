//! The allocator that `--preload` and profiles name.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::AllocatorFamily;
use base::text::nearest;

/// What is preloaded into a server, written `system`, `jemalloc`, `mimalloc`, `tcmalloc`, `tbbmalloc`, or the path of a
/// library.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub enum Preload {
    /// Nothing: the server keeps its own allocator.
    #[default]
    System,
    /// An allocator that distributions package.
    Known(PackagedAllocator),
    Path(PathBuf),
}

/// Allocators that distributions package as a library for preloading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PackagedAllocator {
    Jemalloc,
    Mimalloc,
    Tcmalloc,
    Tbbmalloc,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` cannot be preloaded: {cure}")]
pub struct PreloadName {
    word: String,
    cure: String,
}

impl PackagedAllocator {
    pub const ALL: [PackagedAllocator; 4] = [
        PackagedAllocator::Jemalloc,
        PackagedAllocator::Mimalloc,
        PackagedAllocator::Tcmalloc,
        PackagedAllocator::Tbbmalloc,
    ];

    pub fn family(self) -> AllocatorFamily {
        match self {
            PackagedAllocator::Jemalloc => AllocatorFamily::Jemalloc,
            PackagedAllocator::Mimalloc => AllocatorFamily::Mimalloc,
            PackagedAllocator::Tcmalloc => AllocatorFamily::Tcmalloc,
            PackagedAllocator::Tbbmalloc => AllocatorFamily::Tbbmalloc,
        }
    }
}

impl FromStr for Preload {
    type Err = PreloadName;

    fn from_str(text: &str) -> Result<Preload, PreloadName> {
        let known = PackagedAllocator::ALL
            .into_iter()
            .find(|known| known.family().name() == text);
        if let Some(known) = known {
            return Ok(Preload::Known(known));
        }
        if text == SYSTEM {
            return Ok(Preload::System);
        }
        if text.contains(['/', '\\']) || library_name(text).is_some() {
            return Ok(Preload::Path(PathBuf::from(text)));
        }
        let mut names = PackagedAllocator::ALL.map(|known| known.family().name()).to_vec();
        names.push(SYSTEM);
        Err(PreloadName {
            word: text.to_owned(),
            cure: match nearest(text, names.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("write one of {}, or the path of a library", names.join(", ")),
            },
        })
    }
}

const SYSTEM: &str = "system";

impl Preload {
    /// Suffix for the server's label: empty for `system`, `-jemalloc`, or a library's name without `lib` and `.so`.
    pub fn suffix(&self) -> String {
        match self {
            Preload::System => String::new(),
            Preload::Known(known) => format!("-{}", known.family().name()),
            Preload::Path(path) => {
                let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                let name = library_name(name).unwrap_or(name);
                let safe = name.replace(|c: char| !c.is_ascii_alphanumeric() && !"-_".contains(c), "-");
                format!("-{safe}")
            }
        }
    }

    /// Label of what runs under it alone: `system`, `jemalloc`, `mine`.
    pub fn label(&self) -> String {
        let suffix = self.suffix();
        suffix.strip_prefix('-').unwrap_or(SYSTEM).to_owned()
    }

    /// Family by name; `None` for `system`.
    pub fn family(&self) -> Option<AllocatorFamily> {
        match self {
            Preload::System => None,
            Preload::Known(known) => Some(known.family()),
            Preload::Path(path) => Some(family_by_name(path)),
        }
    }
}

fn family_by_name(path: &Path) -> AllocatorFamily {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    AllocatorFamily::from_word(name)
}

/// `jemalloc` from `libjemalloc.so.2` and `libjemalloc.2.dylib`; `None` for other names.
fn library_name(file: &str) -> Option<&str> {
    let stem = match file.split_once(".so") {
        Some((stem, rest)) if rest.is_empty() || rest.starts_with('.') => stem,
        Some(_) | None => file.strip_suffix(".dylib")?.split('.').next()?,
    };
    let name = stem.strip_prefix("lib").unwrap_or(stem);
    if name.is_empty() { None } else { Some(name) }
}

impl TryFrom<String> for Preload {
    type Error = PreloadName;

    fn try_from(text: String) -> Result<Preload, PreloadName> {
        text.parse()
    }
}

impl From<Preload> for String {
    fn from(preload: Preload) -> String {
        preload.to_string()
    }
}

impl fmt::Display for Preload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Preload::System => f.pad(SYSTEM),
            Preload::Known(known) => f.pad(known.family().name()),
            Preload::Path(path) => path.display().fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suffix(text: &str) -> String {
        text.parse::<Preload>().unwrap().suffix()
    }

    fn message(text: &str) -> String {
        text.parse::<Preload>().unwrap_err().to_string()
    }

    #[test]
    fn a_preload_is_a_known_name_or_a_library() {
        for (text, ends) in [
            ("system", ""),
            ("jemalloc", "-jemalloc"),
            ("tbbmalloc", "-tbbmalloc"),
            ("/opt/je-5.3/lib/libjemalloc.so.2", "-jemalloc"),
            ("libmine.so", "-mine"),
            ("./my alloc.so.1.2", "-my-alloc"),
            ("/opt/homebrew/lib/libmimalloc.2.dylib", "-mimalloc"),
            ("./odd", "-odd"),
        ] {
            assert_eq!(suffix(text), ends, "{text}");
            assert_eq!(text.parse::<Preload>().unwrap().to_string(), text);
        }
        assert_eq!(
            message("jemaloc"),
            "`jemaloc` cannot be preloaded: did you mean `jemalloc`?"
        );
        assert!(message("hoard").ends_with("system, or the path of a library"));
        assert!(message("").contains("write one of"));
        assert!(".so".parse::<Preload>().is_err());
    }
}
