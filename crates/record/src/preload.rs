//! The preloaded allocator of a server, and the processes that map it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::AllocatorFamily;

/// The preloaded allocator of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PreloadFacts {
    /// Name as requested: `jemalloc`, or a path.
    pub name: String,
    /// Kind of allocator, by its name or its symbols.
    pub family: AllocatorFamily,
    /// Path of the library, with links resolved.
    pub path: String,
    /// SHA-256 of the library.
    pub sha256: Option<String>,
    /// Version that the library reports, if any.
    pub version: Option<String>,
    /// Name and version of its package.
    pub package: Option<String>,
}

impl PreloadFacts {
    /// Short name: `jemalloc 5.3.0-1 preloaded`.
    pub fn words(&self) -> String {
        let name = match self.family {
            AllocatorFamily::Unknown => &self.name,
            family => family.name(),
        };
        let version = self.known_version().map(|version| format!(" {version}"));
        format!("{name}{} preloaded", version.unwrap_or_default())
    }

    /// The library's short version, or its package's.
    pub fn known_version(&self) -> Option<String> {
        let version = match (&self.version, &self.package) {
            (Some(version), _) => version.as_str(),
            (None, Some(package)) => package.rsplit_once(' ')?.1,
            (None, None) => return None,
        };
        Some(super::allocator::short(version).to_owned())
    }
}

/// The preloaded libraries that a process has mapped, read once its program runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Libraries {
    pub process: u32,
    pub mapped: Vec<String>,
    /// Preloaded libraries that the process has not mapped.
    pub missing: Vec<String>,
}

/// Which of the server's variables a process has, read once its program runs. No other variable is ever recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Environment {
    pub process: u32,
    /// Variables with the server's value.
    pub given: Vec<String>,
    /// Variables with another value, and that value.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub other: BTreeMap<String, String>,
    /// Variables that the process does not have.
    pub missing: Vec<String>,
}

impl Environment {
    /// True if the process started without this variable or with another value.
    pub fn lacks(&self, name: &str) -> bool {
        self.other.contains_key(name) || self.missing.iter().any(|missing| missing == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preload_is_named_by_its_kind_and_the_version_that_is_known() {
        let mut facts = PreloadFacts {
            name: "tcmalloc".to_owned(),
            family: AllocatorFamily::Tcmalloc,
            package: Some("libtcmalloc-minimal4 2.10-1".to_owned()),
            ..PreloadFacts::default()
        };
        assert_eq!(facts.words(), "tcmalloc 2.10-1 preloaded");
        facts.version = Some("2.10".to_owned());
        assert_eq!(facts.words(), "tcmalloc 2.10 preloaded");
        let own = PreloadFacts {
            name: "./libmine.so".to_owned(),
            ..PreloadFacts::default()
        };
        assert_eq!(own.words(), "./libmine.so preloaded");
    }
}
