//! Checks before any start whether `checkout` steps can be played: the workspace is a git repository that has the commits.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::config::{Loaded, Step};

/// A mistake and its cure for each `checkout` that cannot be played.
pub fn impossible_checkouts(loaded: &Loaded) -> Vec<(String, String)> {
    let mut mistakes = Vec::new();
    for phase in &loaded.scenario.phases {
        for step in &phase.steps {
            let Step::Checkout(options) = step else { continue };
            let root = &loaded.project.root;
            let place = format!("`checkout` in phase `{}` of `{}`", phase.name, loaded.scenario.name);
            if let Some((why, cure)) = not_a_repository(root) {
                mistakes.push((format!("{place}: {why}"), cure));
            } else if !has_commit(root, &options.rev) {
                let title = format!("{place}: `{}` has no commit `{}`", root.display(), options.rev);
                let cure = "name a branch, tag or commit that `git rev-parse` knows there".to_owned();
                mistakes.push((title, cure));
            }
        }
    }
    mistakes.dedup();
    mistakes
}

/// The reason why a directory has no repository that can be copied with it.
fn not_a_repository(root: &Path) -> Option<(String, String)> {
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

fn has_commit(root: &Path, rev: &str) -> bool {
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
