//! Parses `--server '[LABEL:] [K=V …] NAME|PATH'`.

use std::path::PathBuf;

use super::error::ChoiceError;
use crate::config::is_file_name;
use record::{PackageFacts, Preload};

/// A server that was installed into the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// Name of the profile.
    pub profile: String,
    pub program: PathBuf,
    pub facts: PackageFacts,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSpec {
    pub label: Option<String>,
    /// The preload, written like a variable: `preload=jemalloc`.
    pub preload: Option<Preload>,
    pub env: Vec<(String, String)>,
    pub target: String,
    /// The installation for it, if it names a version.
    pub installed: Option<Installed>,
}

/// The preload's name in place of a variable. No program reads a variable of this name.
const PRELOAD: &str = "preload";

impl std::str::FromStr for ServerSpec {
    type Err = ChoiceError;

    fn from_str(text: &str) -> Result<ServerSpec, ChoiceError> {
        let (label, mut rest) = label(text.trim());
        match label {
            Some("") => return Err(ChoiceError::EmptyLabel(text.to_owned())),
            Some(label) => check_label(label)?,
            None => {}
        }
        let (mut preload, mut env): (Option<Preload>, _) = (None, Vec::new());
        while let Some((name, value, after)) = variable(rest)? {
            match name {
                PRELOAD => {
                    let second = value.parse()?;
                    if let Some(first) = preload {
                        return Err(ChoiceError::PreloadTwice { first, second });
                    }
                    preload = Some(second);
                }
                _ => env.push((name.to_owned(), value.to_owned())),
            }
            rest = after.trim_start();
        }
        if rest.is_empty() {
            return Err(ChoiceError::Empty(text.to_owned()));
        }
        Ok(ServerSpec {
            label: label.map(str::to_owned),
            preload,
            env,
            target: rest.to_owned(),
            installed: None,
        })
    }
}

impl ServerSpec {
    /// A text that names the same server with the same settings, without a label.
    pub fn unlabelled(&self) -> String {
        let mut text = String::new();
        let preload = self
            .preload
            .as_ref()
            .map(|preload| (PRELOAD.to_owned(), preload.to_string()));
        for (name, value) in preload.iter().chain(&self.env) {
            let needs_quotes = value.contains(char::is_whitespace) || value.starts_with(['"', '\'']);
            let quote = if !needs_quotes {
                ""
            } else if value.contains('"') {
                "'"
            } else {
                "\""
            };
            text.push_str(&format!("{name}={quote}{value}{quote} "));
        }
        text + &self.target
    }
}

/// Splits a label off. `C:\ls.exe` and `C:/ls.exe` are paths: a single letter needs a space after its colon.
fn label(text: &str) -> (Option<&str>, &str) {
    let Some((label, rest)) = text.split_once(':') else {
        return (None, text);
    };
    let is_word = !label.contains(['/', '\\', '=', '"', '\'', ' ']);
    let is_drive = label.len() == 1 && !rest.starts_with(' ');
    if is_word && !is_drive && !rest.starts_with("//") {
        (Some(label), rest.trim_start())
    } else {
        (None, text)
    }
}

pub(super) fn check_label(label: &str) -> Result<(), ChoiceError> {
    if is_file_name(label) {
        return Ok(());
    }
    Err(ChoiceError::Label(label.to_owned()))
}

/// A variable's name, its value, and what follows.
type Variable<'t> = (&'t str, &'t str, &'t str);

/// The variable that a text begins with: `K=V rest` or `K="V with spaces" rest`.
fn variable(text: &str) -> Result<Option<Variable<'_>>, ChoiceError> {
    let Some((name, rest)) = text.split_once('=') else {
        return Ok(None);
    };
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !is_name {
        return Ok(None);
    }
    if let Some(quote @ ('"' | '\'')) = rest.chars().next() {
        return match rest[1..].split_once(quote) {
            Some((value, after)) => Ok(Some((name, value, after))),
            None => Err(ChoiceError::OpenQuote {
                text: text.to_owned(),
                quote,
            }),
        };
    }
    let (value, after) = rest.split_once(' ').unwrap_or((rest, ""));
    Ok(Some((name, value, after)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> ServerSpec {
        text.parse().unwrap()
    }

    #[test]
    fn labels_and_variables_come_before_the_name() {
        for (text, label, env, target) in [
            ("ty", None, vec![], "ty"),
            ("old: ty", Some("old"), vec![], "ty"),
            ("old:ty", Some("old"), vec![], "ty"),
            (
                "ra-1: MALLOC_ARENA_MAX=1 rust-analyzer",
                Some("ra-1"),
                vec![("MALLOC_ARENA_MAX", "1")],
                "rust-analyzer",
            ),
            (
                "A=x:y B='two words' ./ty",
                None,
                vec![("A", "x:y"), ("B", "two words")],
                "./ty",
            ),
            (r"C:\bin\ty.exe", None, vec![], r"C:\bin\ty.exe"),
            ("C:/bin/ty.exe", None, vec![], "C:/bin/ty.exe"),
            (r"c: C:\bin\ty.exe", Some("c"), vec![], r"C:\bin\ty.exe"),
            (
                r"win: A= D:\my tools\ty.exe",
                Some("win"),
                vec![("A", "")],
                r"D:\my tools\ty.exe",
            ),
            ("/opt/x:y/ty", None, vec![], "/opt/x:y/ty"),
        ] {
            let spec = spec(text);
            let own: Vec<(&str, &str)> = spec.env.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
            assert_eq!(
                (spec.label.as_deref(), own, spec.target.as_str()),
                (label, env, target),
                "{text}"
            );
        }
    }

    #[test]
    fn without_its_label_a_server_is_the_same() {
        for (text, unlabelled) in [
            ("ty", "ty"),
            ("old: ty", "ty"),
            ("a: A=x:y B='two words' ./ty", "A=x:y B=\"two words\" ./ty"),
            ("a: B='a \"b\"' ty", "B='a \"b\"' ty"),
            ("A='\"x' ty", "A='\"x' ty"),
            ("A=1 preload=jemalloc ty", "preload=jemalloc A=1 ty"),
        ] {
            let spec = spec(text);
            assert_eq!(spec.unlabelled(), unlabelled);
            let again: ServerSpec = unlabelled.parse().unwrap();
            assert_eq!(
                (again.preload, again.env, again.target),
                (spec.preload, spec.env, spec.target)
            );
        }
    }

    #[test]
    fn what_names_no_server_or_cannot_name_files_is_refused() {
        for text in ["", " ", "old:", "old: A=1", "A=1"] {
            assert!(
                matches!(text.parse::<ServerSpec>(), Err(ChoiceError::Empty(_))),
                "{text}"
            );
        }
        for text in ["nul: ty", "a*b: ty", ".hidden: ty", "ends.: ty"] {
            assert!(
                matches!(text.parse::<ServerSpec>(), Err(ChoiceError::Label(_))),
                "{text}"
            );
        }
    }

    fn parse_error(text: &str) -> String {
        text.parse::<ServerSpec>().unwrap_err().to_string()
    }

    #[test]
    fn an_empty_label_and_an_open_quote_are_called_that() {
        for text in [": ty", ":ty", ":"] {
            let error = parse_error(text);
            assert!(error.contains("has no label before the colon"), "{text}: {error}");
        }
        for text in ["A=\"x ty", "old: B=1 A=\"x ty'"] {
            let error = parse_error(text);
            assert!(
                error.contains("`A=\"x ty") && error.contains("is not closed"),
                "{text}: {error}"
            );
        }
        assert!(parse_error("A='x ty").contains("the quote `'` is not closed"));
        assert!(parse_error("preload=jemaloc ty").ends_with("did you mean `jemalloc`?"));
        assert_eq!(
            parse_error("preload=jemalloc A=1 preload=mimalloc ty"),
            "one server has both `preload=jemalloc` and `preload=mimalloc`: remove one, or try both with --preload \
             jemalloc,mimalloc"
        );
    }
}
