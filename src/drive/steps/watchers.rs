//! Tells the server of changed files that it watches, as an editor does.

use std::path::{Path, PathBuf};

use globset::{Glob, GlobMatcher};
use serde_json::{Value, json};

use super::Scene;
use crate::drive::{Stage, Stop, uri};
use lsp::{Client, WATCHERS, Watcher};

pub const CREATED: u8 = 1;
pub const CHANGED: u8 = 2;
pub const DELETED: u8 = 3;

/// A change of a file on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    pub path: PathBuf,
    /// [`CREATED`], [`CHANGED`] or [`DELETED`].
    pub kind: u8,
}

/// Sends the changes that match the server's file watchers, in one notification, as an editor does, in every window.
pub async fn notify_watchers<S: Stage>(scene: &Scene<'_, S>, changes: &[FileChange]) -> Result<(), Stop> {
    for other in scene.others {
        let wanted = wanted_changes(other, changes, &scene.job.root);
        if !wanted.is_empty() {
            other.notify(WATCHERS, json!({ "changes": wanted }));
        }
    }
    let wanted = wanted_changes(&scene.session.client, changes, &scene.job.root);
    if wanted.is_empty() {
        return Ok(());
    }
    scene.asker.notify(WATCHERS, &json!({ "changes": wanted })).await
}

/// The changes that match the file watchers of a server.
fn wanted_changes(client: &Client, changes: &[FileChange], root: &Path) -> Vec<Value> {
    let watchers: Vec<Pattern> = client.watchers().iter().map(Pattern::new).collect();
    let mut wanted = Vec::new();
    for change in changes {
        if watchers.iter().any(|watcher| watcher.wants(change, root)) {
            wanted.push(json!({ "uri": uri::from_path(&change.path), "type": change.kind }));
        }
    }
    wanted
}

/// A watcher with its pattern compiled.
struct Pattern {
    /// Bits: 1 created, 2 changed, 4 deleted.
    kinds: u8,
    /// `None` for an unreadable pattern, which matches everything.
    glob: Option<GlobMatcher>,
    /// The directory of a relative pattern.
    base: Option<PathBuf>,
}

impl Pattern {
    fn new(watcher: &Watcher) -> Pattern {
        Pattern {
            kinds: watcher.kind,
            glob: Glob::new(&watcher.glob).ok().map(|glob| glob.compile_matcher()),
            base: watcher.base.as_deref().and_then(uri::to_path),
        }
    }

    /// True if this kind of change to this file matches. Servers write patterns without a base for the absolute or the
    /// relative path, so either may match.
    fn wants(&self, change: &FileChange, root: &Path) -> bool {
        if self.kinds & (1 << (change.kind - 1)) == 0 {
            return false;
        }
        let below = change.path.strip_prefix(self.base.as_deref().unwrap_or(root));
        match (&self.glob, &self.base) {
            (None, _) => true,
            (Some(glob), Some(_)) => below.is_ok_and(|below| glob.is_match(below)),
            (Some(glob), None) => glob.is_match(&change.path) || below.is_ok_and(|below| glob.is_match(below)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wants(glob: &str, base: Option<&str>, kinds: u8, kind: u8) -> bool {
        let watcher = Watcher {
            glob: glob.to_owned(),
            base: base.map(str::to_owned),
            kind: kinds,
        };
        let path = PathBuf::from("/w/a/b.py");
        Pattern::new(&watcher).wants(&FileChange { path, kind }, Path::new("/w"))
    }

    #[test]
    fn a_watcher_covers_its_pattern_and_its_kinds_of_change() {
        assert!(wants("**/*.py", None, 7, CHANGED));
        assert!(wants("a/*.py", None, 7, CREATED));
        assert!(wants("/w/**/*", None, 7, DELETED));
        assert!(!wants("**/*.toml", None, 7, CHANGED));
        assert!(!wants("**/*.py", None, 1, CHANGED));
    }

    #[cfg(unix)]
    #[test]
    fn a_relative_pattern_counts_from_its_base() {
        assert!(wants("*.py", Some("file:///w/a"), 7, CHANGED));
        assert!(!wants("a/*.py", Some("file:///w/a"), 7, CHANGED));
        assert!(!wants("**/*.py", Some("file:///elsewhere"), 7, CHANGED));
    }
}
