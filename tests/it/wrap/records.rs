//! The record of a session.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use record::{Event, MessageKind, Outcome, Relayed, Side};
use serde_json::json;

use super::{Editor, events, framed};

/// A server that answers the messages of the editor with these.
fn answering(answers: &[serde_json::Value], directory: &Path) -> String {
    let text: String = answers.iter().map(|answer| framed(&answer.to_string())).collect();
    let path = directory.join("answers");
    fs::write(&path, text).unwrap();
    // The first byte of the requests comes before the first of the answers.
    format!("head -c 1 >/dev/null; cat '{}'; cat >/dev/null", path.display())
}

fn relayed(events: &[Event]) -> Vec<&Relayed> {
    let mut list = Vec::new();
    for event in events {
        if let Event::Relayed(relayed) = event {
            list.push(&**relayed);
        }
    }
    list
}

fn document() -> serde_json::Value {
    json!({"uri": "file:///home/me/project/secret.py"})
}

#[test]
fn a_session_has_its_messages_with_methods_sizes_and_latencies() {
    let directory = tempfile::tempdir().unwrap();
    let answers = [
        json!({"id": 1, "result": {"capabilities": {"textDocumentSync": 2}, "serverInfo": {"name": "s", "version": "v1.2.3"}}}),
        json!({"id": "a", "result": {"contents": "words"}}),
        json!({"id": 7, "method": "workspace/configuration", "params": {"items": [{}, {}]}}),
        json!({"method": "textDocument/publishDiagnostics", "params": {"uri": document()["uri"], "diagnostics": [{}]}}),
    ];
    let mut editor = Editor::with_script(&answering(&answers, directory.path()));
    let position = json!({"line": 3, "character": 4});
    let requests = [
        json!({"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "Neovim"}}}),
        json!({"id": "a", "method": "textDocument/hover", "params": {"textDocument": document(), "position": position}}),
    ];
    let text: String = requests.iter().map(|request| framed(&request.to_string())).collect();
    editor.send(text.as_bytes());
    let last = framed(&answers[3].to_string());
    read_until(&mut editor, &last);
    editor.send(framed(&json!({"id": 7, "result": [null, null]}).to_string()).as_bytes());
    let (_, record, _kept) = editor.close();
    let events = events(&record);
    let messages = relayed(&events);
    assert_eq!(messages.len(), 7);
    let hover = messages[1];
    assert_eq!(
        (hover.from, hover.kind, hover.request),
        (Side::Client, MessageKind::Request, Some(1))
    );
    assert_eq!(hover.bytes, requests[1].to_string().len() as u64);
    let params = hover.params.as_ref().unwrap();
    assert_eq!((params.positions[0].line, params.positions[0].character), (3, 4));
    let answer = messages[3];
    assert_eq!(
        (answer.request, answer.method.as_deref()),
        (Some(1), Some("textDocument/hover"))
    );
    assert_eq!(answer.outcome, Some(Outcome::Hit));
    assert!(answer.latency.is_some());
    let diagnostics = messages[5].params.as_ref().unwrap();
    assert_eq!(diagnostics.document, params.document);
    assert_eq!(diagnostics.elements, Some(1));
    let configuration = messages[6];
    assert_eq!(
        (configuration.from, configuration.method.as_deref()),
        (Side::Client, Some("workspace/configuration"))
    );
    assert!(
        events
            .iter()
            .any(|event| matches!(event, Event::Request(request) if request.method == "textDocument/hover"))
    );
    let mut asked = events.iter();
    assert!(asked.any(|event| matches!(event, Event::ServerRequest { refused: false, .. })));
    let version = events.iter().find_map(|event| match event {
        Event::Initialized(initialized) => initialized.version.clone(),
        _other => None,
    });
    assert_eq!(version.as_deref(), Some("v1.2.3"));
}

fn read_until(editor: &mut Editor, end: &str) {
    use std::io::Read;
    let mut read = Vec::new();
    let mut byte = [0];
    while !read.ends_with(end.as_bytes()) {
        editor.output.read_exact(&mut byte).unwrap();
        read.push(byte[0]);
    }
}

#[test]
fn memory_of_the_process_tree_is_in_the_record() {
    let mut editor = Editor::with_script("sleep 1000 & echo ready; cat >/dev/null; kill $!");
    assert_eq!(editor.read_line(), "ready");
    let directory = editor.directory.path().join("records");
    let begun = std::time::Instant::now();
    loop {
        let sampled = fs::read_dir(&directory).into_iter().flatten().flatten().any(|file| {
            let text = fs::read_to_string(file.path()).unwrap_or_default();
            text.matches("\"process\":{").count() >= 2 && text.contains("\"sample\"")
        });
        if sampled {
            break;
        }
        assert!(begun.elapsed().as_secs() < 60, "nothing is sampled");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let (_, record, _kept) = editor.close();
    let text = fs::read_to_string(record).unwrap();
    assert!(
        text.lines().next().unwrap().contains("\"wrapped\":{\"has\":["),
        "the first line says what is in it"
    );
}

#[test]
fn contents_are_recorded_only_if_they_were_asked_for() {
    let request = json!({"id": 1, "method": "textDocument/hover", "params": {"textDocument": document()}});
    for (options, expected) in [(&["--contents"][..], Some(request.clone())), (&[], None)] {
        let mut editor = Editor::with_options(options, "cat >/dev/null");
        editor.send(framed(&request.to_string()).as_bytes());
        let (_, record, _kept) = editor.close();
        let events = events(&record);
        assert_eq!(relayed(&events)[0].contents, expected);
    }
}

#[test]
fn a_record_never_grows_over_64_mib_and_still_has_its_end() {
    let text = "x".repeat(1 << 20);
    let change = json!({"method": "textDocument/didChange", "params": {"contentChanges": [{"text": text}]}});
    let message = framed(&change.to_string());
    let mut editor = Editor::with_options(&["--contents"], "cat >/dev/null");
    for _ in 0..80 {
        editor.send(message.as_bytes());
    }
    let (_, record, _kept) = editor.close();
    assert!(fs::metadata(&record).unwrap().len() <= 64 << 20);
    let events = events(&record);
    assert!(matches!(events.last(), Some(Event::Ended(_))));
    let close = events.iter().find_map(|event| match event {
        Event::Closed(close) => Some(close),
        _other => None,
    });
    let close = close.unwrap();
    assert!(close.dropped > 0 && close.sent > 80 << 20, "{close:?}");
}

/// Records a session with one request.
fn a_session() -> (PathBuf, tempfile::TempDir) {
    let mut editor = Editor::with_script("cat >/dev/null");
    editor.send(framed(&json!({"id": 1, "method": "textDocument/hover"}).to_string()).as_bytes());
    let (_, record, directory) = editor.close();
    (record, directory)
}

/// The output of an `lsp-soak` that succeeds.
fn printed(words: &[&str], records: &[&Path]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lsp-soak"));
    let output = command.args(words).args(records).output().unwrap();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_report_says_what_a_session_lacks() {
    let (record, _kept) = a_session();
    let text = printed(&["report", "--details"], &[&record]);
    assert!(text.starts_with("wrapped session on server\n"), "{text}");
    for words in ["it has no checkpoints", "workspace  not recorded", "textDocument/hover"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn a_comparison_of_sessions_says_what_they_lack() {
    let ((one, _kept), (other, _kept_too)) = (a_session(), a_session());
    let text = printed(&["compare"], &[&one, &other]);
    assert!(text.starts_with("wrapped session: server\n"), "{text}");
    assert!(text.contains("sessions of editors have no checkpoints"), "{text}");
}
