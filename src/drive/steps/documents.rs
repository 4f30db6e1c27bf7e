//! Opening, closing, saving and editing, and changing files on disk.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use lsp_types::TextDocumentIdentifier;
use serde::Serialize;
use serde_json::json;

use crate::config::step::{Change, Close, Edit, EditMode, Open, Pick, Save, Touch};
use crate::drive::document::{self, Document};
use crate::drive::documents::{OpenDocuments, run_blocking};
use crate::drive::language::{id_of, syntax_of};
use crate::drive::{Stage, Stop};
use base::random::Random;
use base::units;
use record::regular_file;
use record::{Ending, Event, Warning, WarningKind};

use super::watchers::{CHANGED, CREATED, DELETED, FileChange, notify_watchers};
use super::{Cadence, Scene, files};

/// `open`: sends `didOpen` for files that are not open yet.
pub async fn open<S: Stage>(scene: &Scene<'_, S>, documents: &mut OpenDocuments, options: &Open) -> Result<(), Stop> {
    let mut cadence = Cadence::new(options.cadence.0);
    let wanted = options.files.get() as usize;
    let mut left = wanted;
    let mut gone = None;
    let mut unused = Unused::new(scene);
    loop {
        let chosen = match options.pick {
            Pick::First => documents.first(wanted),
            Pick::Next => documents.next(left),
        };
        let mut replace = false;
        for file in chosen {
            cadence.tick().await;
            match documents
                .open(file, scene.session.sync(), scene.session.encoding())
                .await
            {
                Ok(document) => {
                    scene.asker.open(document).await?;
                    left -= 1;
                }
                Err(error) => {
                    let name = documents.name(file);
                    match error.kind() {
                        io::ErrorKind::InvalidData => unused.add(name, "opened as text", &error),
                        _changed => {
                            unused.add(name, "opened any more", &error);
                            gone = Some(format!("`{name}` can no longer be opened: {error}"));
                        }
                    }
                    replace = true;
                }
            }
        }
        if !replace {
            break;
        }
    }
    match gone {
        Some(reason) if documents.reach(None) == 0 => Err(Stop::Ended(Ending::Emptied { reason })),
        Some(_) | None => scene.asker.flushed().await,
    }
}

/// Files that a step could not use, by reason. When the step ends, each reason is reported once, with the number of
/// files.
pub(super) struct Unused<'a, S: Stage> {
    stage: &'a S,
    files: BTreeMap<String, Vec<String>>,
}

impl<'a, S: Stage> Unused<'a, S> {
    pub(super) fn new(scene: &Scene<'a, S>) -> Unused<'a, S> {
        Unused {
            stage: scene.stage,
            files: BTreeMap::new(),
        }
    }

    pub(super) fn add(&mut self, name: &str, what: &str, error: &io::Error) {
        let reason = format!("cannot be {what}: {error}");
        self.files.entry(reason).or_default().push(name.to_owned());
    }

    /// The result of writing a file. A file replaced by another process is left alone.
    fn unless_written<T>(
        &mut self,
        documents: &mut OpenDocuments,
        file: usize,
        written: io::Result<T>,
    ) -> Result<Option<T>, Stop> {
        match written {
            Ok(written) => Ok(Some(written)),
            Err(error) if regular_file::is_disk_error(&error) => Err(Stop::failed(format!(
                "write `{}`",
                documents.path(file).display()
            ))(error)),
            Err(error) => {
                if documents.lose(file) {
                    self.add(documents.name(file), "written any more", &error);
                }
                Ok(None)
            }
        }
    }
}

impl<S: Stage> Drop for Unused<'_, S> {
    fn drop(&mut self) {
        for (reason, names) in &self.files {
            self.stage.record(Event::Warning(Warning {
                kind: WarningKind::Scenario,
                text: format!("{} {reason}", named(names)),
            }));
        }
    }
}

/// `` `a`, `b`, `c` and 198 others ``.
fn named(names: &[String]) -> String {
    const MOST: usize = 3;
    let first: Vec<String> = names.iter().take(MOST).map(|name| format!("`{name}`")).collect();
    match names.len().saturating_sub(MOST) {
        0 => first.join(", "),
        rest => format!("{} and {}", first.join(", "), units::count_of(rest as u64, "other")),
    }
}

/// `close`: sends `didClose`, the oldest first.
pub async fn close<S: Stage>(scene: &Scene<'_, S>, documents: &mut OpenDocuments, options: &Close) -> Result<(), Stop> {
    let mut cadence = Cadence::new(options.cadence.0);
    for document in documents.close(files(options.files)) {
        cadence.tick().await;
        scene.session.client.closed_document(document.uri().as_str());
        let params = json!({ "textDocument": document.identifier() });
        scene.asker.notify("textDocument/didClose", &params).await?;
    }
    scene.asker.flushed().await
}

/// `save`: writes the text to the workspace, sends `didSave` and notifies the server's file watchers.
pub async fn save<S: Stage>(scene: &Scene<'_, S>, documents: &mut OpenDocuments, options: &Save) -> Result<(), Stop> {
    let mut cadence = Cadence::new(options.cadence.0);
    let mut unused = Unused::new(scene);
    for index in 0..documents.reach(files(options.files)) {
        cadence.tick().await;
        let file = documents.file(index);
        let (path, text) = (
            documents.path(file).to_owned(),
            documents.document(index).text().to_owned(),
        );
        let written = run_blocking(move || regular_file::write(&path, text.as_bytes())).await;
        if unused.unless_written(documents, file, written)?.is_none() {
            continue;
        }
        scene.asker.note_file_written();
        let document = documents.document(index);
        // Editors tell only servers that want to know.
        let wanted = scene.session.client.save();
        if wanted != lsp::Save::No {
            let saved = Saved {
                text_document: document.identifier(),
                text: match wanted {
                    lsp::Save::WithText => Some(document.text()),
                    _ => None,
                },
            };
            scene.asker.notify("textDocument/didSave", &saved).await?;
        }
        let change = FileChange {
            path: documents.path(file).to_owned(),
            kind: CHANGED,
        };
        notify_watchers(scene, &[change]).await?;
    }
    scene.asker.flushed().await
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Saved<'a> {
    text_document: TextDocumentIdentifier,
    text: Option<&'a str>,
}

/// `edit`: inserts lines of spaces at several places, and undoes them at the end.
///
/// Each line has a new length, so that no server can answer from a cache. Every language accepts it.
pub async fn edit<S: Stage>(scene: &Scene<'_, S>, documents: &mut OpenDocuments, options: &Edit) -> Result<(), Stop> {
    let mut cadence = Cadence::new(options.cadence.0);
    for index in 0..documents.reach(files(options.files)) {
        let first = documents.serials(options.per_file.get() as usize);
        let seed = documents.seed();
        let document = documents.document_mut(index);
        let mark = document.mark();
        for serial in first..first + u64::from(options.per_file.get()) {
            cadence.tick().await;
            let offset = line_start(
                document.text(),
                Random::new(seed ^ serial).below(document.text().len() + 1),
            );
            let blank = format!("{}{}", " ".repeat(1 + (serial % 120) as usize), document.line_end());
            let change = document.insert(offset, &blank);
            send(scene, document, change, options.mode).await?;
        }
        cadence.tick().await;
        let change = document.undo_to(mark);
        send(scene, document, change, options.mode).await?;
    }
    scene.asker.flushed().await
}

/// Sends a change, as the full text if requested.
pub(super) async fn send<S: Stage>(
    scene: &Scene<'_, S>,
    document: &Document,
    change: Option<document::Change>,
    mode: EditMode,
) -> Result<(), Stop> {
    let Some(change) = change else { return Ok(()) };
    let params = document.change(&change, mode == EditMode::Full);
    scene.asker.notify("textDocument/didChange", &params).await?;
    scene.session.client.changed_document(document.uri().as_str());
    Ok(())
}

/// `touch`: changes files on disk and notifies the server's file watchers.
pub async fn touch<S: Stage>(scene: &Scene<'_, S>, documents: &mut OpenDocuments, options: &Touch) -> Result<(), Stop> {
    let mut cadence = Cadence::new(options.cadence.0);
    let mut unused = Unused::new(scene);
    let mut batch: Vec<FileChange> = Vec::new();
    let chosen: Vec<usize> = documents.all().take(options.files.get() as usize).collect();
    let paths: Vec<PathBuf> = chosen.iter().map(|file| documents.path(*file).to_owned()).collect();
    let watched = scene.stage.watched(&paths);
    for (file, is_watched) in chosen.into_iter().zip(watched) {
        cadence.tick().await;
        let (path, serial) = (documents.path(file).to_owned(), documents.serials(1));
        let (how, most) = (options.change, documents.most(file));
        let language = syntax_of(&path, &id_of(&path, documents.language(file)));
        let lines = Lines {
            before: documents.take_appended(file),
            next: language.harmless_line(serial),
        };
        let changed = run_blocking(move || change(&path, how, serial, most, lines)).await;
        if let Some((events, appended)) = unused.unless_written(documents, file, changed)? {
            scene.asker.note_file_written();
            scene.asker.note_watched(is_watched);
            batch.extend(events);
            documents.note_appended(file, appended);
        }
        if !options.batch {
            notify_watchers(scene, &std::mem::take(&mut batch)).await?;
        }
    }
    notify_watchers(scene, &batch).await?;
    scene.asker.flushed().await
}

/// The watcher events of a change, and what is appended to the file now.
type Touched = (Vec<FileChange>, Vec<u8>);

/// The line that `touch` appended to a file before, and the next one.
struct Lines {
    before: Vec<u8>,
    next: String,
}

/// Changes one file of at most `most` bytes. Returns its watcher events and what is appended to it now: a server that
/// compares contents ignores a file that was written with the same bytes.
fn change(path: &Path, change: Change, serial: u64, most: u64, lines: Lines) -> io::Result<Touched> {
    let text = regular_file::read(path, most)?;
    let original = text.strip_suffix(lines.before.as_slice()).unwrap_or(&text);
    let appended = line_after(original, &lines.next);
    let changed = [original, &appended].concat();
    match change {
        Change::Changed => {
            regular_file::write(path, &changed)?;
            Ok((file_changes(path, &[CHANGED]), appended))
        }
        Change::Created => {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let copy = path.with_file_name(format!("soak_{serial}_{name}"));
            regular_file::write(&copy, &changed)?;
            Ok((file_changes(&copy, &[CREATED]), lines.before))
        }
        Change::Recreated => {
            regular_file::remove(path)?;
            regular_file::write(path, &changed)?;
            Ok((file_changes(path, &[DELETED, CREATED]), appended))
        }
    }
}

fn file_changes(path: &Path, kinds: &[u8]) -> Vec<FileChange> {
    let mut changes = Vec::new();
    for kind in kinds {
        let (path, kind) = (path.to_owned(), *kind);
        changes.push(FileChange { path, kind });
    }
    changes
}

/// The bytes to append so that `line` is the last line, with the line ends of the text.
fn line_after(text: &[u8], line: &str) -> Vec<u8> {
    let end = if text.windows(2).any(|pair| pair == b"\r\n") {
        "\r\n"
    } else {
        "\n"
    };
    let is_open = text.last().is_some_and(|last| *last != b'\n');
    let first = if is_open { end } else { "" };
    format!("{first}{line}{end}").into_bytes()
}

/// Takes back what `touch` appended to files, when the scenario is over.
pub async fn take_back_touches(documents: &mut OpenDocuments) {
    for file in documents.with_appended() {
        let (path, most) = (documents.path(file).to_owned(), documents.most(file));
        let appended = documents.take_appended(file);
        // The copy is removed anyway; a file that the server has replaced is its own.
        let _ = run_blocking(move || {
            let text = regular_file::read(&path, most)?;
            match text.strip_suffix(appended.as_slice()) {
                Some(original) => regular_file::write(&path, original),
                None => Ok(()),
            }
        })
        .await;
    }
}

/// Start of the line that contains `offset`.
fn line_start(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset]
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::language::Language;

    #[test]
    fn each_touch_changes_the_content_and_the_last_takes_back_the_one_before() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap().join("a.py");
        std::fs::write(&path, "x = 1").unwrap();
        let touch = |before: Vec<u8>, serial: u64| {
            let next = Language::from_id("python").harmless_line(serial);
            change(&path, Change::Changed, serial, 1 << 20, Lines { before, next })
                .unwrap()
                .1
        };
        let first = touch(Vec::new(), 1);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "x = 1\n# soak 1\n");
        touch(first, 2);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "x = 1\n# soak 2\n");
    }

    #[test]
    fn a_format_without_comments_gets_blanks_and_keeps_its_line_ends() {
        assert_eq!(
            line_after(b"{}\r\n", &Language::from_id("json").harmless_line(2)),
            b"\t \r\n"
        );
        assert_eq!(Language::from_id("css").harmless_line(7), "/* soak 7 */");
    }

    #[test]
    fn a_language_of_which_nothing_is_known_gets_blanks() {
        assert_eq!(Language::from_id("haskell").harmless_line(2), "\t ");
        let lines: std::collections::BTreeSet<String> = (0..500)
            .map(|serial| Language::from_id("json").harmless_line(serial))
            .collect();
        assert_eq!(lines.len(), 500, "no two are alike");
    }

    #[test]
    fn a_touched_file_gets_a_comment_of_its_own_syntax() {
        for (file, language, expected) in [
            ("tsconfig.json", "typescript", "\t"),
            ("Cargo.toml", "rust", "# soak 1"),
            ("a.css", "python", "/* soak 1 */"),
            ("b.ts", "vue", "// soak 1"),
            ("c.py", "python", "# soak 1"),
        ] {
            let path = Path::new(file);
            let line = syntax_of(path, &id_of(path, language)).harmless_line(1);
            assert_eq!(line, expected, "{file}");
        }
    }

    #[test]
    fn of_many_files_three_are_named_and_the_others_counted() {
        let names: Vec<String> = (1..=201).map(|number| format!("{number}.py")).collect();
        assert_eq!(named(&names[..3]), "`1.py`, `2.py`, `3.py`");
        assert_eq!(named(&names), "`1.py`, `2.py`, `3.py` and 198 others");
    }
}
