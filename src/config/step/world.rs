//! The options of steps that change the files, folders and settings of a session.

use std::path::{Component, Path, PathBuf};

use serde::Deserialize;

use super::options::Count;
use crate::config::glob::Glob;
use base::units::Span;

/// Changes files of the workspace on disk, and notifies the server if it watches them. One of `path` and `glob` names them,
/// and one action says what happens to them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Disk {
    /// A file below the workspace, which need not exist. `${round}` is the round of the phase, from 1.
    pub path: Option<PathBelow>,
    /// A pattern of existing files, of any kind.
    pub glob: Option<Glob>,
    /// At most this many files of `glob`; all when not given.
    pub files: Option<Count>,
    /// Writes this text. `${round}` is the round of the phase, here and in the other texts.
    pub write: Option<String>,
    /// Adds this text at the end.
    pub append: Option<String>,
    /// Replaces a text wherever it stands.
    pub replace: Option<Replacement>,
    /// Deletes the files.
    pub delete: bool,
    /// Gives the file of `path` this path.
    pub rename: Option<PathBelow>,
    /// Sets the time of the last change, and creates the file of `path` if it is missing.
    pub touch: bool,
    /// Time from one file to the next.
    pub cadence: Span,
}

/// A text to replace.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Replacement {
    /// The text that is replaced.
    pub text: String,
    /// The text in its place.
    pub with: String,
}

/// A change of a file.
#[derive(Clone, Debug, PartialEq)]
pub enum DiskAction {
    Write(String),
    Append(String),
    Replace(Replacement),
    Delete,
    Rename(PathBelow),
    Touch,
}

impl Disk {
    /// Every action that is given, with its key; a valid step has exactly one.
    pub fn actions(&self) -> Vec<(&'static str, DiskAction)> {
        let mut actions = Vec::new();
        if let Some(text) = &self.write {
            actions.push(("write", DiskAction::Write(text.clone())));
        }
        if let Some(text) = &self.append {
            actions.push(("append", DiskAction::Append(text.clone())));
        }
        if let Some(replacement) = &self.replace {
            actions.push(("replace", DiskAction::Replace(replacement.clone())));
        }
        if self.delete {
            actions.push(("delete", DiskAction::Delete));
        }
        if let Some(path) = &self.rename {
            actions.push(("rename", DiskAction::Rename(path.clone())));
        }
        if self.touch {
            actions.push(("touch", DiskAction::Touch));
        }
        actions
    }
}

/// A text in which `${round}` stands for the round of the phase.
pub fn in_round(text: &str, round: u32) -> String {
    text.replace("${round}", &round.to_string())
}

/// A path below the workspace, with `/`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(try_from = "String")]
#[cfg_attr(test, schemars(!try_from, with = "String"))]
pub struct PathBelow(String);

impl PathBelow {
    pub fn resolve(&self, root: &Path, round: u32) -> PathBuf {
        root.join(in_round(&self.0, round))
    }
}

impl TryFrom<String> for PathBelow {
    type Error = String;

    fn try_from(text: String) -> Result<PathBelow, String> {
        let mut parts = Path::new(&text).components();
        let is_below = parts.all(|part| matches!(part, Component::Normal(_)));
        let names_drive = text.contains('\\') || text.as_bytes().get(1) == Some(&b':');
        if text.is_empty() || text.ends_with('/') {
            return Err(format!(
                "`{text}` is not the path of a file: write one such as \"src/a.py\""
            ));
        }
        if !is_below || names_drive {
            return Err(format!(
                "`{text}` may lead out of the workspace: write a path below it, with `/` and without `.` and `..`"
            ));
        }
        // Git runs commands that are named there.
        if text.split('/').any(|part| part.eq_ignore_ascii_case(".git")) {
            return Err(format!(
                "`{text}` lies in a git repository, which only `checkout` changes"
            ));
        }
        if in_round(&text, 1).contains("${") {
            return Err(format!("`{text}` has an unknown placeholder: there is `${{round}}`"));
        }
        Ok(PathBelow(text))
    }
}

/// Checks out a commit of the workspace's git repository, and notifies the server of the changed files that it watches.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Checkout {
    /// A branch, tag or commit; `@{-1}` is the one that was checked out before.
    pub rev: String,
    /// Leaves the step out where the workspace is no git repository, or has no such commit.
    pub optional: bool,
}

/// Runs a command in the copy of the workspace, and notifies the server of the changed files that it watches. Only with
/// `--allow-shell`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Shell {
    /// The command, for `sh`. `${round}` is the round of the phase.
    pub command: String,
    /// Longest time that it may take; the scenario's deadline when not given.
    pub deadline: Option<Span>,
}

/// Settings that are merged into those of the server's profile and sent to the server.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Settings(pub serde_json::Map<String, serde_json::Value>);

/// Adds and removes workspace folders.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Folders {
    /// Patterns of directories below the workspace to add.
    pub add: Vec<Glob>,
    /// Patterns of directories to remove; `.` is the workspace itself.
    pub remove: Vec<Glob>,
    /// Leaves the step out when the server does not know of folders that change.
    pub optional: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_may_lead_out_of_the_workspace_is_refused() {
        for path in [
            "../a", "/etc/passwd", "a/../../b", "C:/a", "a\\b", ".", "./a", "", "a/", "a${n}", ".git/config",
            "a/.GIT/b",
        ] {
            assert!(PathBelow::try_from(path.to_owned()).is_err(), "{path}");
        }
    }

    #[test]
    fn a_path_may_have_the_round_in_it() {
        let path = PathBelow::try_from("gen/m${round}.py".to_owned()).unwrap();
        assert_eq!(path.resolve(Path::new("/w"), 3), Path::new("/w/gen/m3.py"));
    }
}
