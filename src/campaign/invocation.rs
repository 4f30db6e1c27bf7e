//! The command line, stored beside the records, so that an interrupted campaign can resume.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::files;

/// The file that holds it.
pub const FILE: &str = "invocation.json";

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Invocation {
    format: u32,
    /// The directory in which it was called.
    #[serde(with = "words::one")]
    pub directory: PathBuf,
    /// The command line, the program first.
    #[serde(with = "words")]
    pub command_line: Vec<OsString>,
    /// Which of its scenarios these are the records of, from 0.
    pub scenario: usize,
}

impl Invocation {
    /// That of the records in `out`.
    pub fn read(out: &Path) -> anyhow::Result<Invocation> {
        let path = out.join(FILE);
        let text = fs::read_to_string(&path).with_context(|| {
            format!(
                "cannot read `{}`: resume a directory that `lsp-soak run`, `cold`, `gate`, `tune` or `calibrate` wrote",
                path.display()
            )
        })?;
        serde_json::from_str(&text).with_context(|| format!("`{}` is damaged", path.display()))
    }

    /// This process as it was called, for the records of one of its scenarios.
    pub fn current(scenario: usize) -> anyhow::Result<Invocation> {
        Ok(Invocation {
            format: 1,
            directory: std::env::current_dir().context("cannot tell the current directory")?,
            command_line: std::env::args_os().collect(),
            scenario,
        })
    }

    /// The same call, for the records of another of its scenarios.
    pub fn for_scenario(&self, scenario: usize) -> Invocation {
        Invocation {
            scenario,
            ..self.clone()
        }
    }

    pub fn save(&self, out: &Path) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        let path = out.join(FILE);
        files::write(&path, &text, "make room, or name another directory with --out")
    }
}

/// Words as text; one that is no Unicode in the form that serde has for words of an operating system.
mod words {
    use std::ffi::OsString;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Word {
        Text(String),
        Other(OsString),
    }

    fn word(word: &OsString) -> Word {
        word.to_str()
            .map_or_else(|| Word::Other(word.clone()), |text| Word::Text(text.to_owned()))
    }

    fn system(word: Word) -> OsString {
        match word {
            Word::Text(text) => text.into(),
            Word::Other(word) => word,
        }
    }

    pub fn serialize<S: Serializer>(words: &[OsString], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(words.iter().map(word))
    }

    pub fn deserialize<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Vec<OsString>, D::Error> {
        Ok(Vec::<Word>::deserialize(deserializer)?
            .into_iter()
            .map(system)
            .collect())
    }

    pub mod one {
        use std::path::{Path, PathBuf};

        use super::{Deserialize, Deserializer, Serialize, Serializer, Word, system, word};

        pub fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
            word(&path.as_os_str().to_owned()).serialize(serializer)
        }

        pub fn deserialize<'d, D: Deserializer<'d>>(deserializer: D) -> Result<PathBuf, D::Error> {
            Ok(system(Word::deserialize(deserializer)?).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_kept_as_text_and_nothing_of_what_was_typed_is_lost() {
        let typed = ["lsp-soak", "run", "größe.toml"].map(OsString::from);
        #[cfg(unix)]
        let other = [std::os::unix::ffi::OsStringExt::from_vec(vec![b'-', 0xff])];
        #[cfg(not(unix))]
        let other: [OsString; 0] = [];
        let words: Vec<OsString> = typed.into_iter().chain(other).collect();
        let invocation = Invocation {
            format: 1,
            directory: words.last().expect("there are words").into(),
            command_line: words.clone(),
            scenario: 0,
        };
        let text = serde_json::to_string(&invocation).expect("it can be written");
        assert!(text.contains(r#"["lsp-soak","run","größe.toml""#), "{text}");
        let read: Invocation = serde_json::from_str(&text).expect("it can be read");
        assert_eq!((&read.command_line, &read.directory), (&words, &invocation.directory));
        // Older files hold every word in the form of the system.
        let before = serde_json::json!({
            "format": 1, "directory": "/", "command_line": words, "scenario": 0,
        });
        let read: Invocation = serde_json::from_value(before).expect("it can be read");
        assert_eq!(read.command_line, words);
    }
}
