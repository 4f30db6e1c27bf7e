//! The detected allocator of a server and its settings.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

/// The allocator that serves most of a program's memory, with the evidence.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AllocatorFacts {
    /// Kind of allocator.
    pub family: AllocatorFamily,
    /// Version of the allocator; of the virtual machine where one manages memory.
    pub version: Option<String>,
    /// Prefix of its function names, where it is not the usual one: `_rjem_`.
    pub prefix: Option<String>,
    /// Environment variable that it reads its options from, if any.
    pub variable: Option<String>,
    /// Options that the program was built with or sets itself.
    pub baked: Option<String>,
    /// Every option with the value in force, as reported by the allocator or its loader. glibc options that nothing
    /// sets end in `(default)`.
    pub options: BTreeMap<String, String>,
    /// C library that serves allocations outside the heap of a virtual machine or an interpreter: `glibc 2.36`.
    pub beside: Option<String>,
    /// Confidence in the detection; `None` when the allocator is unknown.
    pub confidence: Option<Confidence>,
    /// Observations that led to this answer.
    pub evidence: Vec<Evidence>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// The allocator of the GNU C library.
    Glibc,
    /// The allocator of musl.
    Musl,
    /// The Go runtime.
    Go,
    /// V8, in Node.js and similar programs.
    V8,
    /// A Java virtual machine.
    Jvm,
    /// CPython's own allocator, for objects of up to 512 bytes.
    Pymalloc,
    /// Not known, or known to a later version of lsp-soak only.
    #[default]
    #[serde(other)]
    Unknown,
}

/// Confidence in a detected allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Confidence {
    /// No evidence for another allocator.
    #[strum(serialize = "a guess")]
    Guess,
    /// The program contains symbols or strings of this allocator.
    Likely,
    /// The allocator reported itself, or the program cannot have another one.
    Certain,
}

/// One observation about an allocator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// Source: `probe`, `file`, `libraries`, `wrapper`, `process`, `environment`.
    pub source: String,
    /// Observation, as a sentence without a full stop.
    pub saw: String,
}

/// One allocator setting of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KnobFacts {
    /// Environment variable.
    pub variable: String,
    /// Option within the variable, where it holds several.
    pub option: Option<String>,
    /// Requested value.
    pub requested: String,
    /// Value that was in force.
    pub effective: Option<String>,
    /// How the value in force was read: the allocator's own report, or the rule that checked it.
    pub seen: Option<String>,
    /// Whether the value in force is the requested one; `None` where no value could be read.
    pub taken: Option<bool>,
}

impl AllocatorFamily {
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// True if programs use this allocator in place of the C library's: built in, linked or preloaded.
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

    /// True for a runtime that collects garbage and decides by itself when it releases memory.
    pub fn is_runtime(self) -> bool {
        matches!(
            self,
            AllocatorFamily::Go | AllocatorFamily::V8 | AllocatorFamily::Jvm | AllocatorFamily::Pymalloc
        )
    }

    /// The family that a word in a profile names; on Linux `system` is glibc.
    pub fn from_word(word: &str) -> AllocatorFamily {
        let word = word.to_ascii_lowercase();
        let mut all = AllocatorFamily::VARIANTS.iter().copied();
        match all.find(|family| word.contains(family.name())) {
            // Many words contain "go".
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
    /// The setting as a user writes it: `MIMALLOC_PURGE_DELAY=0`, `_RJEM_MALLOC_CONF=dirty_decay_ms:0`.
    pub fn assignment(&self) -> String {
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
    /// `jemalloc 5.3.0`, `go 1.25.1`, `v8 in node 20.20.2`, `pymalloc in python 3.11.7`, `unknown`. A guess ends in a
    /// question mark.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let machine = match self.family {
            // A program that reads V8 flags from a variable is not Node.js; its version is V8's own.
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
    /// The version without the build's commit.
    pub fn short_version(&self) -> Option<&str> {
        self.version.as_deref().map(short)
    }
}

/// The version without the build's commit: `5.3.0-1-ge13ca993…` is 5.3.0.
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
            assert_eq!(AllocatorFamily::from_word(word), family, "{word}");
        }
    }
}
