//! The allocator of a server as it was found, and what it was told.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

/// The allocator that serves most of a program's memory, and how that is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AllocatorFacts {
    /// Which.
    pub family: AllocatorFamily,
    /// Its version; of a virtual machine that of the machine.
    pub version: Option<String>,
    /// What its functions' names begin with, where that is not the usual: `_rjem_`.
    pub prefix: Option<String>,
    /// The environment variable that it reads its options from, where there is one.
    pub variable: Option<String>,
    /// Options that the program was built with or sets itself.
    pub baked: Option<String>,
    /// Every option with the value in force, as far as the allocator or its loader tells. `(default)` stands behind those
    /// of glibc that nothing sets.
    pub options: BTreeMap<String, String>,
    /// The C library, where it serves what the allocator of a virtual machine or an interpreter does not: `glibc 2.36`.
    pub beside: Option<String>,
    /// How sure this is; `None` when it is not known.
    pub confidence: Option<Confidence>,
    /// What was seen, and where.
    pub evidence: Vec<Evidence>,
}

/// Kinds of allocators.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[derive(strum::Display, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum AllocatorFamily {
    /// jemalloc.
    Jemalloc,
    /// mimalloc.
    Mimalloc,
    /// gperftools' or Google's tcmalloc.
    Tcmalloc,
    /// The allocator of oneTBB.
    Tbbmalloc,
    /// snmalloc.
    Snmalloc,
    /// rpmalloc.
    Rpmalloc,
    /// LLVM's Scudo.
    Scudo,
    /// The GNU C library's.
    Glibc,
    /// musl's.
    Musl,
    /// The runtime of Go.
    Go,
    /// V8, in Node.js and its like.
    V8,
    /// A Java virtual machine.
    Jvm,
    /// CPython's own, for objects of up to 512 bytes.
    Pymalloc,
    /// Not known, or of a kind that a later program knows.
    #[default]
    #[serde(other)]
    Unknown,
}

/// How sure an answer is.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Confidence {
    /// Nothing speaks for another one.
    #[strum(serialize = "a guess")]
    Guess,
    /// Its marks are in the program.
    Likely,
    /// It said so itself, or the program cannot have another one.
    Certain,
}

/// Something that was seen of an allocator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// Where: `probe`, `file`, `libraries`, `wrapper`, `process`, `environment`.
    pub source: String,
    /// What, as a sentence without a full stop.
    pub saw: String,
}

/// A setting that the allocator was given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KnobFacts {
    /// The environment variable.
    pub variable: String,
    /// The option within it, where it holds several.
    pub option: Option<String>,
    /// The value that was asked for.
    pub requested: String,
    /// The value that was seen in force.
    pub effective: Option<String>,
    /// How that was seen: the allocator's own account, or the rule that it was checked by.
    pub seen: Option<String>,
    /// Whether what was seen is what was asked for; `None` where nothing was seen.
    pub taken: Option<bool>,
}

impl AllocatorFamily {
    /// Its name, as in records and profiles.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether it is one that a program has in place of its C library's: built in, linked or preloaded.
    pub fn is_replacement(self) -> bool {
        match self {
            AllocatorFamily::Jemalloc
            | AllocatorFamily::Mimalloc
            | AllocatorFamily::Tcmalloc
            | AllocatorFamily::Tbbmalloc
            | AllocatorFamily::Snmalloc
            | AllocatorFamily::Rpmalloc
            | AllocatorFamily::Scudo => true,
            AllocatorFamily::Glibc
            | AllocatorFamily::Musl
            | AllocatorFamily::Go
            | AllocatorFamily::V8
            | AllocatorFamily::Jvm
            | AllocatorFamily::Pymalloc
            | AllocatorFamily::Unknown => false,
        }
    }

    /// The one that a profile's word means; the system's is the C library's.
    pub fn named(word: &str) -> AllocatorFamily {
        let word = word.to_ascii_lowercase();
        let mut all = AllocatorFamily::VARIANTS.iter().copied();
        match all.find(|family| word.contains(family.name())) {
            // "go" is in many a word.
            Some(AllocatorFamily::Go) if word != "go" => AllocatorFamily::Unknown,
            Some(family) => family,
            None if word == "system" && cfg!(target_os = "linux") => AllocatorFamily::Glibc,
            None => AllocatorFamily::Unknown,
        }
    }
}

impl Confidence {
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl KnobFacts {
    /// What was set, as it is written: `MIMALLOC_PURGE_DELAY=0`, `_RJEM_MALLOC_CONF=dirty_decay_ms:0`.
    pub fn written(&self) -> String {
        match &self.option {
            None => format!("{}={}", self.variable, self.requested),
            Some(option) => {
                let between = if self.variable.ends_with("MALLOC_CONF") {
                    ":"
                } else {
                    "="
                };
                format!("{}={option}{between}{}", self.variable, self.requested)
            }
        }
    }
}

impl fmt::Display for AllocatorFacts {
    /// `jemalloc 5.3.0`, `go 1.25.1`, `v8 in node 20.20.2`, `pymalloc in python 3.11.7`, `unknown`; a guess with a question
    /// mark.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let machine = match self.family {
            // What reads flags of V8 by another name is not Node.js, and its version is V8's own.
            AllocatorFamily::V8 if self.variable.is_none() => " in node",
            AllocatorFamily::Pymalloc => " in python",
            _ => "",
        };
        let version = self
            .version
            .as_deref()
            .map(|version| format!("{machine} {}", short(version)));
        let doubt = if self.confidence == Some(Confidence::Guess) {
            "?"
        } else {
            ""
        };
        f.pad(&format!("{}{}{doubt}", self.family, version.unwrap_or_default()))
    }
}

impl AllocatorFacts {
    /// Its version without the commit that it was built from.
    pub fn short_version(&self) -> Option<&str> {
        self.version.as_deref().map(short)
    }
}

/// A version without the commit that it was built from: `5.3.0-1-ge13ca993…` is 5.3.0.
pub(super) fn short(version: &str) -> &str {
    match version.split_once("-g") {
        Some((start, commit)) if commit.len() >= 7 && commit.chars().all(|c| c.is_ascii_hexdigit()) => {
            start.rsplit_once('-').map_or(start, |(version, _)| version)
        }
        _ => version,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allocator_is_shown_by_its_name_and_short_version() {
        let mut facts = AllocatorFacts {
            family: AllocatorFamily::Jemalloc,
            version: Some("5.3.0-1-ge13ca993e8ccb9ba9847cc330696e02839f328f7".to_owned()),
            confidence: Some(Confidence::Certain),
            ..AllocatorFacts::default()
        };
        assert_eq!(facts.to_string(), "jemalloc 5.3.0");
        facts.version = Some("2.36-gnu".to_owned());
        facts.confidence = Some(Confidence::Guess);
        assert_eq!(facts.to_string(), "jemalloc 2.36-gnu?");
        assert_eq!(AllocatorFacts::default().to_string(), "unknown");
        facts.family = AllocatorFamily::V8;
        (facts.version, facts.confidence) = (Some("20.20.2".to_owned()), Some(Confidence::Certain));
        assert_eq!(facts.to_string(), "v8 in node 20.20.2");
        facts.variable = Some("DENO_V8_FLAGS".to_owned());
        assert_eq!(facts.to_string(), "v8 20.20.2");
    }

    #[test]
    fn a_family_of_a_later_program_is_read_as_unknown() {
        let read: AllocatorFamily = serde_json::from_str("\"hoard\"").unwrap();
        assert_eq!(read, AllocatorFamily::Unknown);
        let read: AllocatorFamily = serde_json::from_str("\"v8\"").unwrap();
        assert_eq!(read, AllocatorFamily::V8);
    }

    #[test]
    fn a_profile_names_a_family_in_its_own_words() {
        for (word, family) in [
            ("jemalloc-unprefixed", AllocatorFamily::Jemalloc),
            ("libmimalloc.so.2", AllocatorFamily::Mimalloc),
            ("Go", AllocatorFamily::Go),
            ("gold", AllocatorFamily::Unknown),
            ("hoard", AllocatorFamily::Unknown),
        ] {
            assert_eq!(AllocatorFamily::named(word), family, "{word}");
        }
    }
}
