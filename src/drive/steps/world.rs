//! Steps that change the world around the server: files, the checked-out commit, settings, workspace folders.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, SystemTime};

use lsp_types::WorkspaceFolder;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};

use crate::config::Step;
use crate::config::files::{self, FileState};
use crate::config::step::{Checkout, Disk, DiskAction, EditMode, Folders, Settings, Shell, in_round};
use crate::drive::documents::{OpenDocuments, run_blocking};
use crate::drive::session::workspace_folder;
use crate::drive::{Stage, Stop};
use lsp::position::strip_bom;
use proctree::host::TiedProgram;
use record::regular_file;
use record::{Event, Warning, WarningKind};

use super::documents::{Unused, send};
use super::watchers::{CHANGED, CREATED, DELETED, FileChange, notify_watchers};
use super::{Cadence, Scene};

/// Most bytes of a file that a step changes.
const MOST: u64 = 64 << 20;

/// Most bytes of what a command says that are kept.
const MOST_SAID: u64 = 64 << 10;

/// Longest wait for the last words of a command that has ended.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// Variables that lead git to another repository, or that configure it.
const GIT_VARIABLES: [&str; 8] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_COMMON_DIR",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
];

/// Plays a step of this file; any other does nothing.
pub async fn change<S: Stage>(scene: &Scene<'_, S>, documents: &mut OpenDocuments, step: &Step) -> Result<(), Stop> {
    match step {
        Step::Disk(options) => disk(scene, documents, options).await,
        Step::Checkout(options) => checkout(scene, documents, options).await,
        Step::Shell(options) => shell(scene, documents, options).await,
        Step::Settings(options) => settings(scene, options).await,
        Step::Folders(options) => folders(scene, options).await,
        _ => Ok(()),
    }
}

/// `disk`: does the same to each file that is named, then notifies the server once.
async fn disk<S: Stage>(scene: &Scene<'_, S>, documents: &mut OpenDocuments, options: &Disk) -> Result<(), Stop> {
    let round = scene.place.phase.cycle + 1;
    let Some((name, action)) = options.actions().into_iter().next() else {
        return Ok(());
    };
    let mut cadence = Cadence::new(options.cadence.0);
    let mut unused = Unused::new(scene);
    let mut changes = Vec::new();
    let chosen = chosen_files(scene, options, round).await?;
    // Before they change: a deleted file is watched no more.
    let watched = scene.stage.watched(&chosen);
    for (path, is_watched) in chosen.into_iter().zip(watched) {
        cadence.tick().await;
        let (root, file, action) = (scene.job.root.clone(), path.clone(), action.clone());
        match run_blocking(move || change_file(&root, &file, &action, round)).await {
            Ok(changed) => {
                note_changes(scene, &[is_watched]);
                changes.extend(changed);
            }
            Err(error) if regular_file::is_disk_error(&error) => {
                return Err(Stop::failed(format!("change `{}`", path.display()))(error));
            }
            Err(error) => unused.add(&shown(&path, &scene.job.root), &format!("changed by `{name}`"), &error),
        }
    }
    announce(scene, documents, &changes).await
}

/// The files that a `disk` step names.
async fn chosen_files<S: Stage>(scene: &Scene<'_, S>, options: &Disk, round: u32) -> Result<Vec<PathBuf>, Stop> {
    let root = scene.job.root.clone();
    let Some(glob) = options.glob.clone() else {
        return Ok(options.path.iter().map(|path| path.resolve(&root, round)).collect());
    };
    let shown = glob.as_str().to_owned();
    let found = run_blocking(move || {
        let found = files::find(&root, &glob, &[])?;
        let files = found.files.into_iter().filter(|below| !is_in_repository(below));
        Ok(files.map(|below| root.join(below)).collect::<Vec<PathBuf>>())
    });
    let mut found = found
        .await
        .map_err(Stop::failed(format!("list the files of `{shown}`")))?;
    if let Some(most) = options.files {
        found.truncate(most.get() as usize);
    }
    if found.is_empty() {
        warn(
            scene,
            format!("no file matches `{shown}`, so nothing was changed on disk"),
        );
    }
    Ok(found)
}

/// Changes one file; returns what a watcher sees.
fn change_file(root: &Path, path: &Path, action: &DiskAction, round: u32) -> io::Result<Vec<FileChange>> {
    let existed = path.symlink_metadata().is_ok();
    let written = if existed { CHANGED } else { CREATED };
    let kind = match action {
        DiskAction::Write(text) => {
            create_parent(root, path)?;
            regular_file::write(path, in_round(text, round).as_bytes())?;
            written
        }
        DiskAction::Append(text) => {
            let mut bytes = regular_file::read(path, MOST)?;
            bytes.extend(in_round(text, round).as_bytes());
            regular_file::write(path, &bytes)?;
            CHANGED
        }
        DiskAction::Replace(replacement) => {
            replace(
                path,
                &in_round(&replacement.text, round),
                &in_round(&replacement.with, round),
            )?;
            CHANGED
        }
        DiskAction::Delete => {
            regular_file::remove(path)?;
            DELETED
        }
        DiskAction::Rename(to) => {
            let to = to.resolve(root, round);
            create_parent(root, &to)?;
            let replaced = if to.symlink_metadata().is_ok() {
                CHANGED
            } else {
                CREATED
            };
            regular_file::rename(path, &to)?;
            let (deleted, created) = (path.to_owned(), to);
            return Ok(vec![
                FileChange {
                    path: deleted,
                    kind: DELETED,
                },
                FileChange {
                    path: created,
                    kind: replaced,
                },
            ]);
        }
        DiskAction::Touch => {
            create_parent(root, path)?;
            if !existed {
                regular_file::write(path, &[])?;
            }
            regular_file::set_modified(path, SystemTime::now())?;
            written
        }
    };
    let path = path.to_owned();
    Ok(vec![FileChange { path, kind }])
}

/// Replaces a text in a file, wherever it stands; an error if it stands nowhere.
fn replace(path: &Path, text: &str, with: &str) -> io::Result<()> {
    let content = String::from_utf8(regular_file::read(path, MOST)?).map_err(io::Error::other)?;
    if !content.contains(text) {
        let missing = format!("`{text}` does not stand in it");
        return Err(io::Error::new(io::ErrorKind::InvalidData, missing));
    }
    regular_file::write(path, content.replace(text, with).as_bytes())
}

fn create_parent(root: &Path, path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) => regular_file::create_directories(root, parent),
        None => Ok(()),
    }
}

/// Tells the server of changed files as an editor does: open documents take the new text, and watchers are notified once.
async fn announce<S: Stage>(
    scene: &Scene<'_, S>,
    documents: &mut OpenDocuments,
    changes: &[FileChange],
) -> Result<(), Stop> {
    for change in changes {
        let Some(index) = documents.open_at(&change.path) else {
            continue;
        };
        if change.kind == DELETED {
            continue;
        }
        let path = change.path.clone();
        let Ok(bytes) = run_blocking(move || regular_file::read(&path, MOST)).await else {
            continue;
        };
        let Ok(text) = String::from_utf8(bytes) else { continue };
        let document = documents.document_mut(index);
        let reloaded = document.reload(strip_bom(&text));
        send(scene, document, reloaded, EditMode::Auto).await?;
    }
    notify_watchers(scene, changes).await?;
    scene.asker.flushed().await
}

fn watched_changes<S: Stage>(scene: &Scene<'_, S>, changes: &[FileChange]) -> Vec<bool> {
    let paths: Vec<PathBuf> = changes.iter().map(|change| change.path.clone()).collect();
    scene.stage.watched(&paths)
}

/// Counts changed files, each true if the server watches it by itself.
fn note_changes<S: Stage>(scene: &Scene<'_, S>, watched: &[bool]) {
    for is_watched in watched {
        scene.asker.note_file_written();
        scene.asker.note_watched(*is_watched);
    }
}

/// `checkout`: the files become those of another commit, at once, as when a user switches branches.
async fn checkout<S: Stage>(
    scene: &Scene<'_, S>,
    documents: &mut OpenDocuments,
    options: &Checkout,
) -> Result<(), Stop> {
    let root = &scene.job.root;
    let differing = git(
        root,
        &["diff", "--name-status", "-z", "--no-renames", &options.rev, "--"],
    )
    .await?;
    let changes = differing_files(root, &differing);
    // Before they change: a deleted file is watched no more.
    let watched = watched_changes(scene, &changes);
    git(root, &["checkout", "--force", "--quiet", &options.rev, "--"]).await?;
    note_changes(scene, &watched);
    if changes.is_empty() {
        warn(
            scene,
            format!(
                "`{}` has the files that were there already, so `checkout` changed nothing",
                options.rev
            ),
        );
    }
    announce(scene, documents, &changes).await
}

/// The changes that make the files those of a commit, from `git diff --name-status -z COMMIT`, which names what the working
/// tree added to the commit (`A`), deleted from it (`D`) and changed.
fn differing_files(root: &Path, listing: &str) -> Vec<FileChange> {
    let mut changes = Vec::new();
    let mut words = listing.split('\0');
    while let (Some(status), Some(path)) = (words.next(), words.next()) {
        let kind = match status {
            "A" => DELETED,
            "D" => CREATED,
            _ => CHANGED,
        };
        let path = root.join(path);
        changes.push(FileChange { path, kind });
    }
    changes
}

/// `shell`: runs a command of the scenario in the copy, and tells the server of the files that it changed.
async fn shell<S: Stage>(scene: &Scene<'_, S>, documents: &mut OpenDocuments, options: &Shell) -> Result<(), Stop> {
    let root = &scene.job.root;
    let line = in_round(&options.command, scene.place.phase.cycle + 1);
    let shown = format!("run `{line}`");
    let before = snapshot(root).await?;
    let mut command = Command::new("sh");
    command.arg("-c").arg(&line).stdout(Stdio::null());
    let patience = scene.deadline(options.deadline);
    let (child, _tied) = start(&mut command, root, &shown)?;
    match tokio::time::timeout(patience, finish(child)).await {
        Ok(finished) => {
            let (status, said) = finished.map_err(Stop::failed(&shown))?;
            require_success(status, &said, shown)?;
        }
        Err(_elapsed) => return Err(Stop::failed(shown)(io::ErrorKind::TimedOut.into())),
    }
    let changes = differences(&before, &snapshot(root).await?);
    note_changes(scene, &watched_changes(scene, &changes));
    announce(scene, documents, &changes).await
}

/// True for the files of a git repository, where git reads commands that it runs.
fn is_in_repository(below: &Path) -> bool {
    below.iter().any(|part| part.eq_ignore_ascii_case(".git"))
}

async fn snapshot(root: &Path) -> Result<BTreeMap<PathBuf, FileState>, Stop> {
    let root = root.to_owned();
    let files = run_blocking(move || files::snapshot(&root)).await;
    files.map_err(Stop::failed("list the files of the workspace"))
}

fn differences(before: &BTreeMap<PathBuf, FileState>, after: &BTreeMap<PathBuf, FileState>) -> Vec<FileChange> {
    let mut changes = Vec::new();
    for (path, state) in after {
        let kind = match before.get(path) {
            None => CREATED,
            Some(earlier) if earlier != state => CHANGED,
            Some(_) => continue,
        };
        let path = path.clone();
        changes.push(FileChange { path, kind });
    }
    for path in before.keys().filter(|path| !after.contains_key(*path)) {
        let (path, kind) = (path.clone(), DELETED);
        changes.push(FileChange { path, kind });
    }
    changes
}

/// The output of git in the copy. No hook of the repository runs, and no variable leads git to another repository.
async fn git(root: &Path, words: &[&str]) -> Result<String, Stop> {
    let mut command = Command::new("git");
    command
        .args(["--git-dir=.git", "--work-tree=."])
        .args([
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "core.fsmonitor=false",
            "-c",
            "core.quotePath=false",
            "-c",
            "core.logAllRefUpdates=true",
            "-c",
            "submodule.recurse=false",
        ])
        .args(words);
    let shown = format!("run `git {}`", words.join(" "));
    command.stdout(Stdio::piped());
    let (child, _tied) = start(&mut command, root, &shown)?;
    let output = child.wait_with_output().await.map_err(Stop::failed(&shown))?;
    require_success(output.status, &String::from_utf8_lossy(&output.stderr), shown)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Starts a command in the copy; `shown` is what it does, for messages.
fn start(command: &mut Command, root: &Path, shown: &str) -> Result<(Child, TiedProgram), Stop> {
    command
        .current_dir(root)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    for variable in GIT_VARIABLES {
        command.env_remove(variable);
    }
    #[cfg(unix)]
    proctree::child::tie(command.as_std_mut());
    proctree::host::start(|| command.spawn(), Child::id).map_err(Stop::failed(shown))
}

/// Waits for a command whose output nobody needs. Returns the beginning of what it wrote to stderr. Processes that it leaves
/// behind may hold that pipe.
async fn finish(mut child: Child) -> io::Result<(ExitStatus, String)> {
    let mut said = Vec::new();
    let status = match child.stderr.take() {
        None => child.wait().await?,
        Some(mut stderr) => {
            let mut listening = pin!(async {
                (&mut stderr).take(MOST_SAID).read_to_end(&mut said).await?;
                tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await
            });
            tokio::select! {
                status = child.wait() => {
                    // The last words may still be in the pipe.
                    let _ = tokio::time::timeout(LAST_WORDS, listening).await;
                    status?
                }
                _ = &mut listening => child.wait().await?,
            }
        }
    };
    Ok((status, String::from_utf8_lossy(&said).into_owned()))
}

fn require_success(status: ExitStatus, said: &str, shown: String) -> Result<(), Stop> {
    if status.success() {
        return Ok(());
    }
    let why = format!("{status} {}", said.trim());
    Err(Stop::failed(shown)(io::Error::other(why)))
}

/// `settings`: the profile's settings with these in them, from now on.
async fn settings<S: Stage>(scene: &Scene<'_, S>, options: &Settings) -> Result<(), Stop> {
    let client = &scene.session.client;
    let mut answers = client.answers();
    merge(&mut answers.settings, &Value::Object(options.0.clone()));
    let settings = answers.settings.clone();
    client.set_answers(answers);
    scene
        .asker
        .notify("workspace/didChangeConfiguration", &json!({ "settings": settings }))
        .await?;
    scene.asker.flushed().await
}

/// Puts the members of `changes` into `settings`, tables into tables.
fn merge(settings: &mut Value, changes: &Value) {
    let Value::Object(changes) = changes else {
        settings.clone_from(changes);
        return;
    };
    if !settings.is_object() {
        *settings = json!({});
    }
    for (name, value) in changes {
        merge(&mut settings[name], value);
    }
}

/// `folders`: adds and removes workspace folders.
async fn folders<S: Stage>(scene: &Scene<'_, S>, options: &Folders) -> Result<(), Stop> {
    let client = &scene.session.client;
    let root = scene.job.root.clone();
    let globs = options.add.clone();
    let found = run_blocking(move || files::directories(&root, &globs)).await;
    let found = found.map_err(Stop::failed("list the directories of the workspace"))?;
    let mut answers = client.answers();
    let before = std::mem::take(&mut answers.folders);
    let mut added = Vec::new();
    for directory in &found {
        let folder = workspace_folder(&scene.job.root.join(directory));
        added.extend(folder.filter(|folder| !before.contains(folder)));
    }
    let (removed, mut kept): (Vec<WorkspaceFolder>, Vec<WorkspaceFolder>) = before
        .into_iter()
        .partition(|folder| is_removed(folder, &scene.job.root, options));
    if added.is_empty() && removed.is_empty() {
        warn(
            scene,
            "`folders` changed nothing: no directory matches that is not a folder yet, and no folder".to_owned(),
        );
        return Ok(());
    }
    let event = json!({ "event": { "added": added, "removed": removed } });
    kept.extend(added);
    answers.folders = kept;
    client.set_answers(answers);
    scene
        .asker
        .notify("workspace/didChangeWorkspaceFolders", &event)
        .await?;
    scene.asker.flushed().await
}

fn is_removed(folder: &WorkspaceFolder, root: &Path, options: &Folders) -> bool {
    let path = crate::drive::uri::to_path(folder.uri.as_str()).unwrap_or_default();
    let Ok(below) = path.strip_prefix(root) else {
        return false;
    };
    let below = if below == Path::new("") { Path::new(".") } else { below };
    options.remove.iter().any(|glob| glob.matches(below))
}

fn shown(path: &Path, root: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}

fn warn<S: Stage>(scene: &Scene<'_, S>, text: String) {
    let kind = WarningKind::Scenario;
    scene.stage.record(Event::Warning(Warning { kind, text }));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn action(text: &str) -> DiskAction {
        let step: Disk = crate::config::place::read(&format!("path = \"a\"\n{text}")).expect("it is valid");
        step.actions().remove(0).1
    }

    /// The content of `a.txt`, which begins as `one`, and the kinds of change after an action.
    fn content_and_kinds_after(text: &str) -> (Option<String>, Vec<u8>) {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let path = root.join("a.txt");
        std::fs::write(&path, "one").unwrap();
        let changes = change_file(&root, &path, &action(text), 2).unwrap();
        let kinds = changes.iter().map(|change| change.kind).collect();
        (std::fs::read_to_string(&path).ok(), kinds)
    }

    #[test]
    fn each_action_changes_the_file_and_names_the_kind_of_change() {
        for (text, content, kinds) in [
            ("write = \"round ${round}\"", Some("round 2"), vec![CHANGED]),
            ("append = \" more\"", Some("one more"), vec![CHANGED]),
            (
                "replace = { text = \"n\", with = \"${round}\" }",
                Some("o2e"),
                vec![CHANGED],
            ),
            ("delete = true", None, vec![DELETED]),
            ("rename = \"b/c.txt\"", None, vec![DELETED, CREATED]),
            ("touch = true", Some("one"), vec![CHANGED]),
        ] {
            assert_eq!(
                content_and_kinds_after(text),
                (content.map(str::to_owned), kinds),
                "{text}"
            );
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_the_copy_leads_no_write_out_of_it() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let (copy, outside) = (root.join("copy"), root.join("outside"));
        for made in [&copy, &outside] {
            std::fs::create_dir(made).unwrap();
        }
        std::os::unix::fs::symlink(&outside, copy.join("link")).unwrap();
        std::os::unix::fs::symlink(outside.join("file"), copy.join("file")).unwrap();
        for path in ["link/file", "file", "link/deep/file"] {
            let written = change_file(&copy, &copy.join(path), &action("write = \"x\""), 1);
            assert!(written.is_err(), "{path}");
        }
        let renamed = action("rename = \"link/file\"");
        std::fs::write(copy.join("own"), "x").unwrap();
        assert!(change_file(&copy, &copy.join("own"), &renamed, 1).is_err());
        assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
    }

    #[test]
    fn settings_are_merged_table_by_table() {
        let mut settings = json!({ "a": { "b": 1, "c": 2 }, "d": [1] });
        merge(&mut settings, &json!({ "a": { "b": 3 }, "d": [], "e": { "f": true } }));
        assert_eq!(
            settings,
            json!({ "a": { "b": 3, "c": 2 }, "d": [], "e": { "f": true } })
        );
    }

    #[test]
    fn what_a_commit_lacks_is_deleted_by_its_checkout() {
        let changes = differing_files(Path::new("/w"), "A\0new.py\0D\0gone.py\0M\0src/a b.py\0");
        let kinds: Vec<(&Path, u8)> = changes
            .iter()
            .map(|change| (change.path.as_path(), change.kind))
            .collect();
        assert_eq!(
            kinds,
            [
                (Path::new("/w/new.py"), DELETED),
                (Path::new("/w/gone.py"), CREATED),
                (Path::new("/w/src/a b.py"), CHANGED),
            ]
        );
    }
}
