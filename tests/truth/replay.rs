//! A replayed session against what the server received: `lsp-soak wrap` stands before the server and writes it down.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};

use lsp_soak::config::recorded::{self, Params, Recorded, SentKind};

use crate::fixture::SYSTEM;
use crate::ground::{PreparedWorkspace, scenario};

/// The workspace of the recorded session.
const ROOT: &str = "file:///home/somebody/shop";

/// A file of the project that no session opens as it is.
const SHOP: &str = "def price(item):\n    return item\n\n\nprice(1)\nprice(price(2))\n";

/// A ground with the server `wrapped`, whose sessions are recorded in `wrapped/`.
fn ground(options: &str) -> PreparedWorkspace {
    let ground = PreparedWorkspace::new(&scenario("unused", "200ms", ""), SHOP);
    let launcher = ground.join("launcher");
    let out = ground.join("wrapped");
    let program = env!("CARGO_BIN_EXE_lsp-soak");
    let script = format!(
        "#!/bin/sh\nexec '{program}' wrap {options} --out '{}' -- '{SYSTEM}' \"$@\"\n",
        out.display()
    );
    fs::write(&launcher, script).expect("the directory is ours");
    fs::set_permissions(&launcher, fs::Permissions::from_mode(0o755)).expect("the file is ours");
    let server = format!(
        "[server.wrapped]\nprograms = {:?}\nlanguages = ['python']\n",
        [launcher]
    );
    ground.write("servers.toml", &server);
    ground
}

/// The session of the last server, and its record: programs that were only asked for their version have none.
fn received(ground: &PreparedWorkspace) -> (Recorded, PathBuf) {
    let records = ground.records("wrapped").into_iter().rev();
    let mut sessions = records.filter_map(|path| Some((recorded::read(&path).ok()?, path)));
    sessions.next().expect("a session was recorded")
}

/// A line of the JSON form of VS Code's trace.
fn line(kind: &str, millis: u64, message: Value) -> String {
    let object = json!({ "isLSPMessage": true, "type": kind, "message": message, "timestamp": millis });
    format!("[LSP   - 10:11:12 AM] {object}\n")
}

fn sends(millis: u64, method: &str, params: Value) -> String {
    line(
        "send-notification",
        millis,
        json!({ "jsonrpc": "2.0", "method": method, "params": params }),
    )
}

fn asks(millis: u64, id: u64, method: &str, params: Value) -> String {
    let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    let response = json!({ "jsonrpc": "2.0", "id": id, "result": null });
    line("send-request", millis, request) + &line("receive-response", millis + 5, response)
}

fn document() -> Value {
    json!({ "uri": format!("{ROOT}/shop.py") })
}

/// A session of an editor that opens, asks, types, waits, saves and closes.
fn trace() -> String {
    let position = json!({ "line": 0, "character": 5 });
    let at = json!({ "textDocument": document(), "position": position });
    let typed = json!([{ "range": { "start": position, "end": position }, "text": "é" }]);
    let options = json!({ "shop": "/home/somebody/shop/settings" });
    [
        asks(
            0,
            0,
            "initialize",
            json!({ "processId": 1, "rootUri": ROOT, "capabilities": { "general": { "positionEncodings": ["utf-16"] } },
                "initializationOptions": options }),
        ),
        sends(10, "initialized", json!({})),
        sends(
            20,
            "textDocument/didOpen",
            json!({ "textDocument": { "uri": format!("{ROOT}/shop.py"), "languageId": "python", "version": 7,
                "text": "def total():\n    return 1\n" } }),
        ),
        asks(40, 1, "textDocument/hover", at.clone()),
        sends(
            60,
            "textDocument/didChange",
            json!({ "textDocument": { "uri": format!("{ROOT}/shop.py"), "version": 8 }, "contentChanges": typed }),
        ),
        asks(80, 2, "textDocument/definition", at),
        sends(900, "textDocument/didSave", json!({ "textDocument": document() })),
        asks(920, 3, "workspace/symbol", json!({ "query": "total" })),
        sends(940, "textDocument/didClose", json!({ "textDocument": document() })),
        asks(960, 4, "shutdown", Value::Null),
    ]
    .concat()
}

fn methods(recorded: &Recorded) -> Vec<&str> {
    recorded.messages.iter().map(|sent| sent.method.as_str()).collect()
}

/// The parameters of a message, which were recorded as they are.
fn whole(recorded: &Recorded, place: usize) -> &Value {
    match &recorded.messages[place].params {
        Params::Whole(params) => params,
        Params::Outline(outline) => panic!("{outline:?}"),
    }
}

#[test]
fn a_server_receives_what_the_editor_sent_in_the_workspace_that_was_named() {
    let ground = ground("--contents");
    ground.write("trace.log", &trace());
    let words = [
        "replay", "trace.log", "--server", "wrapped", "--workspace", "workspace", "--out", "out",
    ];
    ground.stdout(&words);
    let recorded_once = recorded::read(&ground.join("trace.log")).expect("it was written above");
    let (received, _) = received(&ground);
    assert_eq!(methods(&received), methods(&recorded_once));
    let initialize = received.initialize.as_ref().expect("contents are recorded");
    let root = initialize["rootUri"].as_str().expect("it is there").to_owned();
    assert_ne!(root, ROOT);
    let path = root.strip_prefix("file://").expect("it is a file");
    assert_eq!(initialize["initializationOptions"]["shop"], format!("{path}/settings"));
    assert_eq!(
        initialize["capabilities"]["general"]["positionEncodings"],
        json!(["utf-16"])
    );
    for place in 0..received.messages.len() {
        let sent = whole(&recorded_once, place).to_string();
        let expected: Value = serde_json::from_str(&sent.replace(ROOT, &root)).expect("it is JSON");
        assert_eq!(whole(&received, place), &expected);
    }
    let waited = received.messages[4].at - received.messages[3].at;
    assert!(waited >= 700_000_000, "the editor paused before it saved: {waited} ns");
    let summary = ground.stdout(&["report", "out", "--format", "json"]);
    assert!(summary.contains("\"textDocument/definition\""), "{summary}");
}

#[test]
fn without_contents_the_same_messages_are_made_for_files_of_the_project() {
    let ground = ground("");
    ground.write("trace.log", &trace());
    let replay = |file: &str, out: &str| {
        let words = [
            "replay", file, "--server", "wrapped", "--workspace", "workspace", "--speed", "max", "--out", out,
        ];
        ground.stdout(&words);
        received(&ground)
    };
    let (first, record) = replay("trace.log", "first");
    let sizes: Vec<Params> = first.messages.iter().map(|sent| sent.params.clone()).collect();
    assert!(first.initialize.is_none() && sizes.iter().all(|params| matches!(params, Params::Outline(_))));
    let (second, _) = replay(&record.display().to_string(), "second");
    assert_eq!(methods(&second), methods(&first));
    for (one, other) in first.messages.iter().zip(&second.messages) {
        let (Params::Outline(one), Params::Outline(other)) = (&one.params, &other.params) else {
            panic!("there are no contents")
        };
        let inserted = |outline: &record::RelayedParams| {
            outline
                .changes
                .iter()
                .map(|change| change.inserted.characters)
                .sum::<u64>()
        };
        assert_eq!((inserted(one), &one.positions), (inserted(other), &other.positions));
    }
    let opened = |recorded: &Recorded| match &recorded.messages[0].params {
        Params::Outline(outline) => outline.text.expect("a text was opened").bytes,
        Params::Whole(params) => panic!("{params}"),
    };
    assert_eq!((opened(&first), opened(&second)), (26, SHOP.len() as u64));
    let is_request = |recorded: &Recorded| matches!(recorded.messages[1].kind, SentKind::Request { is_answered: true });
    assert!(is_request(&first) && is_request(&second));
}

#[test]
fn a_session_without_a_project_and_a_damaged_one_are_refused_before_anything_starts() {
    let ground = ground("--contents");
    ground.write("trace.log", &trace());
    let (_, said) = ground.ends(2, &["replay", "trace.log", "--server", "wrapped"]);
    assert!(
        said.contains("has no project of its own") && said.contains("--workspace"),
        "{said}"
    );
    ground.write(
        "cut.log",
        &(trace() + "[LSP - 10:11:12 AM] {\"isLSPMessage\":true,\"type\""),
    );
    let (_, said) = ground.ends(
        2,
        &["replay", "cut.log", "--server", "wrapped", "--workspace", "workspace"],
    );
    assert!(
        said.contains("`cut.log`, line ") && said.contains("it is not JSON"),
        "{said}"
    );
    assert!(ground.records("wrapped").is_empty(), "nothing was started");
    let (_, said) = ground.ends(
        2,
        &[
            "replay", "scenario.toml", "--server", "wrapped", "--workspace", "workspace",
        ],
    );
    assert!(said.contains("it is no recorded session"), "{said}");
    let (_, said) = ground.ends(2, &["replay", "trace.log", "--server", "wrapped", "--speed", "fast"]);
    assert!(said.contains("write `1x`, `10x`, or `max`"), "{said}");
}

#[test]
fn a_session_is_gated_and_written_as_a_scenario_like_any_other() {
    let ground = ground("--contents");
    ground.write("trace.log", &trace());
    let words = ["replay", "trace.log", "--to-scenario", "mine.toml"];
    ground.stdout(&words);
    let (plan, _) = ground.ends(0, &["check", "mine.toml", "--workspace", "workspace"]);
    assert!(plan.contains("hover") && plan.contains("definition"), "{plan}");
    let words = [
        "gate", "trace.log", "--candidate", "wrapped", "--budget", "peak <= 4 GiB", "--workspace", "workspace",
        "--speed", "max", "--out", "out",
    ];
    let (verdict, _) = ground.ends(0, &words);
    assert!(verdict.contains("PASS"), "{verdict}");
}
