//! What was preloaded into a server, and where it was seen in the run.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::AllocatorFamily;

/// The allocator that was preloaded into a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct PreloadFacts {
    /// As it was asked for: `jemalloc`, or a path.
    pub name: String,
    /// Its kind, as far as its name or its marks tell.
    pub family: AllocatorFamily,
    /// The library, with links resolved.
    pub path: String,
    /// SHA-256 of its file.
    pub sha256: Option<String>,
    /// Its version, where it says so itself.
    pub version: Option<String>,
    /// Name and version of the package that it came from.
    pub package: Option<String>,
}

impl PreloadFacts {
    /// In few words: `jemalloc 5.3.0-1 preloaded`.
    pub fn words(&self) -> String {
        let name = match self.family {
            AllocatorFamily::Unknown => &self.name,
            family => family.name(),
        };
        let version = self.known_version().map(|version| format!(" {version}"));
        format!("{name}{} preloaded", version.unwrap_or_default())
    }

    /// Its version in short, its package's where it does not say its own.
    pub fn known_version(&self) -> Option<String> {
        let of_package = || Some(self.package.as_deref()?.rsplit_once(' ')?.1);
        let version = self.version.as_deref().or_else(of_package)?;
        Some(super::allocator::short(version).to_owned())
    }
}

/// Which of the libraries that were preloaded a process has mapped, looked at once its program runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Libraries {
    /// Our number for the process.
    pub process: u32,
    /// Those that it has mapped.
    pub mapped: Vec<String>,
    /// Those that it has not.
    pub missing: Vec<String>,
}

/// How far a process has the variables that its server was given, looked at once its program runs. No other variable is
/// ever recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// Our number for the process.
    pub process: u32,
    /// Those that it began with as they were given.
    pub given: Vec<String>,
    /// Those that it began with and that had another value, with that value.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub other: BTreeMap<String, String>,
    /// Those that it began without.
    pub missing: Vec<String>,
}

impl Environment {
    /// Whether this variable was looked for and not found with the value that was given.
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
