//! Reads scenario files and everything they include.

use std::path::PathBuf;

use super::scenario::{Isolation, Scenario};

/// What the command line says instead of the scenario.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    /// The project to open, relative to the current directory.
    pub workspace: Option<PathBuf>,
    /// Language id of the files to open.
    pub language: Option<String>,
    /// Pattern of the files to open.
    pub files: Option<String>,
    /// Seed of everything that is picked at random.
    pub seed: Option<u64>,
}

/// A scenario ready to be played.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The scenario with its includes in place and overrides applied.
    pub scenario: Scenario,
    /// Its file as given.
    pub path: PathBuf,
    /// Its text, each included file's after it.
    pub text: String,
    /// SHA-256 over that text, in hexadecimal.
    pub sha256: String,
    /// The project to open.
    pub project: Project,
}

/// The project to open, resolved.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Project {
    /// Absolute path of the directory.
    pub root: PathBuf,
    /// LSP language id.
    pub language: String,
    /// The pattern that selected the files.
    pub pattern: String,
    /// Selected files, relative to the directory, sorted.
    pub files: Vec<PathBuf>,
    /// How the original is kept safe.
    pub isolation: Isolation,
}
