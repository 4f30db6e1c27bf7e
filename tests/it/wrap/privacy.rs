//! Nothing that the user wrote is in a record without contents: a word is planted wherever it could come from.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use super::{Editor, framed, only_record, wrap};

const WORD: &str = "canary";

/// Messages of an editor with the word in every place where users' words come to stand.
fn said_by_editor() -> Vec<Value> {
    let uri = format!("file:///home/{WORD}/project/{WORD}/{WORD}.{WORD}x.py");
    let document = json!({"uri": uri, "languageId": WORD, "version": 1, "text": format!("def {WORD}(): pass\n")});
    let place = json!({"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}});
    vec![
        json!({"id": WORD, "method": "initialize", "params": {
            "clientInfo": {"name": WORD, "version": WORD}, "rootUri": uri, "rootPath": WORD, "locale": WORD,
            "workspaceFolders": [{"uri": uri, "name": WORD}], "initializationOptions": {WORD: WORD}}}),
        json!({"method": "initialized", "params": {}}),
        json!({"method": "workspace/didChangeConfiguration", "params": {"settings": {WORD: WORD}}}),
        json!({"method": "textDocument/didOpen", "params": {"textDocument": document}}),
        json!({"method": "textDocument/didChange", "params": {"textDocument": {"uri": uri, "version": 2},
            "contentChanges": [{"range": place, "text": WORD}]}}),
        json!({"method": "textDocument/didSave", "params": {"textDocument": {"uri": uri}, "text": WORD}}),
        json!({"id": 2, "method": "workspace/symbol", "params": {"query": WORD}}),
        json!({"id": 3, "method": "textDocument/rename", "params": {"textDocument": {"uri": uri}, "newName": WORD,
            "position": {"line": 0, "character": 4}}}),
        json!({"id": 4, "method": "workspace/executeCommand", "params": {"command": WORD, "arguments": [WORD]}}),
        json!({"id": 5, "method": format!("{WORD}/ownRequest"), "params": {"uri": uri}}),
        json!({"method": format!("$/{WORD}"), "params": {WORD: WORD}}),
        json!({"method": "workspace/didChangeWatchedFiles", "params": {"changes": [{"uri": uri, "type": 2}]}}),
        json!({"method": "workspace/didRenameFiles", "params": {"files": [{"oldUri": uri, "newUri": uri}]}}),
        json!({"method": "workspace/didChangeWorkspaceFolders", "params": {"event": {"added": [{"uri": uri, "name": WORD}], "removed": []}}}),
        json!({"method": "$/cancelRequest", "params": {"id": WORD}}),
        json!({"id": 90, "result": [{WORD: WORD}]}),
        json!({"id": 6, "method": "shutdown"}),
    ]
}

/// Messages of a server that say the word back, and the name and version that are its own.
fn said_by_server() -> Vec<Value> {
    let uri = format!("file:///home/{WORD}/{WORD}.py");
    vec![
        json!({"id": WORD, "result": {"capabilities": {WORD: WORD}, "serverInfo": {"name": "project of canary", "version": "1.2.3-canary.1 built in /home/canary"}}}),
        json!({"id": 90, "method": "workspace/configuration", "params": {"items": [{"section": WORD, "scopeUri": uri}]}}),
        json!({"id": 91, "method": "client/registerCapability", "params": {"registrations": [
            {"id": WORD, "method": format!("{WORD}/method"), "registerOptions": {WORD: WORD}},
            {"id": WORD, "method": "workspace/didChangeWatchedFiles", "registerOptions": {"watchers": [{"globPattern": WORD}]}}]}}),
        json!({"id": 92, "method": format!("{WORD}/ask"), "params": {}}),
        json!({"method": "window/logMessage", "params": {"type": 1, "message": WORD}}),
        json!({"method": "window/showMessage", "params": {"type": 1, "message": WORD}}),
        json!({"method": "$/progress", "params": {"token": WORD, "value": {"kind": "begin", "title": WORD, "message": WORD}}}),
        json!({"method": format!("{WORD}/status"), "params": {WORD: WORD}}),
        json!({"method": "textDocument/publishDiagnostics", "params": {"uri": uri, "diagnostics": [{"message": WORD}]}}),
        json!({"id": 2, "result": [{"name": WORD, "location": {"uri": uri}}]}),
        json!({"id": 3, "error": {"code": -32803, "message": WORD, "data": WORD}}),
        json!({"id": 6, "error": {"code": -32603, "message": WORD}}),
        json!({"method": 7, WORD: WORD}),
    ]
}

fn git(directory: &std::path::Path, words: &[&str]) -> String {
    let mut command = Command::new("git");
    command
        .current_dir(directory)
        .args(["-c", "user.name=canary", "-c", "user.email=canary@example"]);
    let output = command.args(words).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn no_word_of_the_user_is_in_a_record() {
    let directory = tempfile::tempdir().unwrap();
    let home = directory.path().join(WORD);
    fs::create_dir(&home).unwrap();
    git(&home, &["init", "--quiet"]);
    git(&home, &["commit", "--quiet", "--allow-empty", "-m", WORD]);
    let commit = git(&home, &["rev-parse", "HEAD"]);
    // The program has the word in its name and path, and so has a process that it starts.
    let server = home.join("canary-server");
    fs::copy("/bin/sh", &server).unwrap();
    let sleep = home.join("canary-child");
    fs::copy("/bin/sleep", &sleep).unwrap();
    let answers: String = said_by_server()
        .iter()
        .map(|message| framed(&message.to_string()))
        .collect();
    fs::write(home.join("answers"), format!("{answers}{WORD} is no message\n")).unwrap();
    let script = "echo canary >&2; ./canary-child 0.5 & head -c 1 >/dev/null; cat answers; cat >/dev/null; wait";
    let records = directory.path().join("records");
    let mut command = wrap(&records);
    command
        .arg("--")
        .arg(&server)
        .args(["-c", script, WORD, "--settings=canary"]);
    command.current_dir(&home).env("HOME", &home).env("CANARY", WORD);
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{path}", home.display()));
    let mut editor = Editor::start(command, directory);
    let text: String = said_by_editor()
        .iter()
        .map(|message| framed(&message.to_string()))
        .collect();
    editor.send(text.as_bytes());
    editor.send(format!("{WORD} is no message\n").as_bytes());
    let (_, _, directory) = editor.close();
    let text = fs::read_to_string(only_record(&records)).unwrap();
    for planted in [WORD, "Canary", "CANARY", &commit, &commit[..12]] {
        let lines: Vec<&str> = text.lines().filter(|line| line.contains(planted)).collect();
        assert!(lines.is_empty(), "`{planted}` is in the record: {lines:#?}");
    }
    let own = directory.path().to_str().unwrap();
    assert!(!text.contains(own) && !text.contains(&path));
    // Otherwise an empty record would pass.
    for there in [
        "workspace/symbol", "\"version\":\"1.2.3\"", "\"code\":-32803", "\"sample\"", "\"elements\":2",
    ] {
        assert!(text.contains(there), "`{there}` is not in the record");
    }
}
