//! The git repository of a workspace: whether it can be copied with it, and which commits it has.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// The reason why a directory has no repository that can be copied with it, and a cure.
pub fn problem(root: &Path) -> Option<(String, String)> {
    let history = root.join(".git");
    let Ok(meta) = fs::symlink_metadata(&history) else {
        let why = format!("`{}` is not the root of a git repository", root.display());
        return Some((why, "name the directory that has `.git` as the workspace".to_owned()));
    };
    let clone = "make a clone with `git clone`, and use that";
    if !meta.is_dir() {
        let why = format!(
            "`{}` leads to a repository elsewhere, in which nothing is written",
            history.display()
        );
        return Some((why, clone.to_owned()));
    }
    let entries = fs::read_dir(&history).into_iter().flatten().flatten();
    for entry in entries {
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        if is_link || entry.file_name() == "commondir" {
            let why = format!(
                "`{}` leads out of the repository, and nothing is written there",
                entry.path().display()
            );
            return Some((why, clone.to_owned()));
        }
    }
    None
}

/// True if `rev` names a commit there.
pub fn has_commit(root: &Path, rev: &str) -> bool {
    let asked = Command::new("git")
        .arg(format!("--git-dir={}", root.join(".git").display()))
        .args(["rev-parse", "--quiet", "--verify", "--end-of-options"])
        .arg(format!("{rev}^{{commit}}"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    asked.is_ok_and(|status| status.success())
}
