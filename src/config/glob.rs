//! File patterns: validated when read, matched against paths relative to the workspace.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use serde::Deserialize;

/// A file pattern such as `**/*.py`: `*` stays within a directory, `**` crosses directories.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(try_from = "String")]
#[cfg_attr(test, schemars(!try_from, with = "String"))]
pub struct Glob {
    text: String,
    #[serde(skip)]
    matcher: GlobMatcher,
}

/// An invalid pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a file pattern: {problem}")]
pub struct GlobError {
    text: String,
    problem: String,
}

impl Glob {
    /// True if `path`, relative to the workspace, matches.
    pub fn matches(&self, path: &Path) -> bool {
        self.matcher.is_match(path)
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl PartialEq for Glob {
    fn eq(&self, other: &Glob) -> bool {
        self.text == other.text
    }
}

impl std::str::FromStr for Glob {
    type Err = GlobError;

    fn from_str(text: &str) -> Result<Glob, GlobError> {
        let error = |problem: String| GlobError {
            text: text.to_owned(),
            problem,
        };
        if text.is_empty() {
            return Err(error("it is empty".to_owned()));
        }
        if text.starts_with('/') {
            return Err(error("patterns are relative to the workspace".to_owned()));
        }
        let glob = GlobBuilder::new(text)
            .literal_separator(true)
            .empty_alternates(true)
            .build()
            .map_err(|problem| error(problem.kind().to_string()))?;
        Ok(Glob {
            text: text.to_owned(),
            matcher: glob.compile_matcher(),
        })
    }
}

impl TryFrom<String> for Glob {
    type Error = GlobError;

    fn try_from(text: String) -> Result<Glob, GlobError> {
        text.parse()
    }
}

/// Language ids with a default pattern.
const LANGUAGES: &[(&str, &str)] = &[
    ("python", "**/*.py"),
    ("rust", "**/*.rs"),
    ("go", "**/*.go"),
    ("c", "**/*.{c,h}"),
    ("cpp", "**/*.{cpp,cc,cxx,hpp,hh,h}"),
    ("typescript", "**/*.ts"),
    ("typescriptreact", "**/*.tsx"),
    ("javascript", "**/*.{js,mjs,cjs}"),
    ("javascriptreact", "**/*.jsx"),
    ("lua", "**/*.lua"),
    ("zig", "**/*.zig"),
    ("java", "**/*.java"),
    ("csharp", "**/*.cs"),
    ("ruby", "**/*.rb"),
    ("php", "**/*.php"),
    ("haskell", "**/*.hs"),
    ("ocaml", "**/*.ml"),
    ("kotlin", "**/*.kt"),
    ("swift", "**/*.swift"),
    ("scala", "**/*.scala"),
    ("elixir", "**/*.{ex,exs}"),
    ("erlang", "**/*.erl"),
    ("dart", "**/*.dart"),
    ("r", "**/*.R"),
    ("julia", "**/*.jl"),
    ("shellscript", "**/*.{sh,bash}"),
    ("json", "**/*.json"),
    ("yaml", "**/*.{yaml,yml}"),
    ("toml", "**/*.toml"),
    ("markdown", "**/*.md"),
    ("html", "**/*.html"),
    ("css", "**/*.css"),
    ("scss", "**/*.scss"),
    ("less", "**/*.less"),
    ("vue", "**/*.vue"),
    ("svelte", "**/*.svelte"),
    ("astro", "**/*.astro"),
    ("xml", "**/*.xml"),
    ("graphql", "**/*.{graphql,gql}"),
    ("dockerfile", "**/{Dockerfile,Dockerfile.*,Containerfile,*.dockerfile}"),
    ("sql", "**/*.sql"),
    ("cmake", "**/{CMakeLists.txt,*.cmake}"),
    ("fortran", "**/*.{f90,F90,f95,f03,f08}"),
    ("robotframework", "**/*.{robot,resource}"),
    ("jsonc", "**/*.jsonc"),
    ("latex", "**/*.tex"),
];

/// Every language id with a default pattern.
pub fn languages() -> impl Iterator<Item = &'static str> {
    LANGUAGES.iter().map(|(language, _)| *language)
}

/// The pattern of a language's files; `None` for an unknown language id.
pub fn of_language(language: &str) -> Option<Glob> {
    let (_, pattern) = LANGUAGES.iter().find(|(known, _)| *known == language)?;
    Some(pattern.parse().expect("every pattern of the table is parsed in a test"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn glob(text: &str) -> Glob {
        text.parse().unwrap()
    }

    #[test]
    fn a_star_stays_in_its_directory_and_two_cross() {
        assert!(glob("**/*.py").matches(Path::new("a.py")));
        assert!(glob("**/*.py").matches(Path::new("a/b/c.py")));
        assert!(glob("*.py").matches(Path::new("a.py")));
        assert!(!glob("*.py").matches(Path::new("a/b.py")));
        assert!(glob("src/**/*.{c,h}").matches(Path::new("src/a/b.h")));
    }

    #[test]
    fn what_is_no_pattern_says_why() {
        for text in ["", "/etc/*.py", "a[", "{a,b"] {
            let error = text.parse::<Glob>().unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("`{text}` is not a file pattern: ")),
                "{error}"
            );
        }
    }

    #[test]
    fn every_known_language_has_a_pattern() {
        for (language, _) in LANGUAGES {
            assert!(of_language(language).is_some(), "{language}");
        }
        assert_eq!(of_language("klingon"), None);
    }
}
