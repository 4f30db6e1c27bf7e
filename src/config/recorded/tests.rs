//! Each format is read into the same session, and each mistake has its line.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::*;

const ROOT: &str = "file:///home/me/shop";

/// Reads a file with this text.
fn session(name: &str, text: &str) -> Result<Recorded, BadRecording> {
    let directory = tempfile::tempdir().expect("there is a place for temporary files");
    let path: PathBuf = directory.path().join(name);
    std::fs::write(&path, text).expect("the directory is ours");
    read(&path)
}

fn initialize() -> Value {
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": { "rootUri": ROOT, "capabilities": {} } })
}

fn opened() -> Value {
    let document = json!({ "uri": format!("{ROOT}/a.py"), "languageId": "python", "version": 1, "text": "x\n" });
    json!({ "jsonrpc": "2.0", "method": "textDocument/didOpen", "params": { "textDocument": document } })
}

fn hover(id: u64) -> Value {
    let params =
        json!({ "textDocument": { "uri": format!("{ROOT}/a.py") }, "position": { "line": 0, "character": 0 } });
    json!({ "jsonrpc": "2.0", "id": id, "method": "textDocument/hover", "params": params })
}

/// A line of the JSON form of VS Code's trace.
fn traced(kind: &str, message: &Value, millis: u64) -> String {
    let object = json!({ "isLSPMessage": true, "type": kind, "message": message, "timestamp": millis });
    format!("[LSP   - 10:11:12 AM] {object}\n")
}

fn json_trace() -> String {
    [
        traced("send-request", &initialize(), 1_000),
        traced(
            "send-notification",
            &json!({ "method": "initialized", "params": {} }),
            1_100,
        ),
        traced("send-notification", &opened(), 1_200),
        traced("send-request", &hover(1), 1_300),
        traced("send-request", &hover(2), 1_400),
        traced("receive-response", &json!({ "id": 1, "result": null }), 1_500),
        traced(
            "send-notification",
            &json!({ "method": "$/cancelRequest", "params": { "id": 2 } }),
            1_600,
        ),
        traced("send-request", &hover(3), 1_700),
        traced("send-request", &json!({ "id": 4, "method": "shutdown" }), 1_800),
        traced("send-request", &initialize(), 9_000),
    ]
    .concat()
}

/// Method, milliseconds, kind, and the requests that came before, of each message.
fn messages(recorded: &Recorded) -> Vec<(&str, u64, SentKind, Vec<usize>)> {
    let mut all = Vec::new();
    for sent in &recorded.messages {
        all.push((sent.method.as_str(), sent.at / 1_000_000, sent.kind, sent.after.clone()));
    }
    all
}

#[test]
fn a_session_is_what_an_editor_sent_with_its_times_cancellations_and_the_answers_it_waited_for() {
    let recorded = session("trace.log", &json_trace()).unwrap();
    let (answered, open) = (
        SentKind::Request { is_answered: true },
        SentKind::Request { is_answered: false },
    );
    assert_eq!(
        messages(&recorded),
        [
            ("textDocument/didOpen", 100, SentKind::Notification, vec![]),
            ("textDocument/hover", 200, answered, vec![]),
            ("textDocument/hover", 300, answered, vec![]),
            ("$/cancelRequest", 500, SentKind::Cancel(2), vec![1]),
            ("textDocument/hover", 600, open, vec![]),
        ]
    );
    assert_eq!(recorded.language, Some(Language::Id("python".to_owned())));
    assert_eq!(recorded.root.uris, [ROOT]);
    assert_eq!((recorded.more_sessions, recorded.has_times), (1, true));
}

#[test]
fn the_text_form_has_seconds_which_its_messages_share_and_answers_of_the_editor() {
    let text = format!(
        "[Info - 1:02:02 PM] something else\n\
         [Trace - 1:02:03 PM] Sending request 'initialize - (0)'.\n\
         Params: {}\n\n\n\
         [Trace - 1:02:03 PM] Sending notification 'initialized'.\nParams: {{}}\n\n\n\
         [Trace - 1:02:04 PM] Received request 'workspace/configuration - (7)'.\n\
         Params: {{\n    \"items\": [ {{ \"section\": \"a\" }} ]\n}}\n\n\n\
         [Trace - 1:02:04 PM] Sending response 'workspace/configuration - (7)'. Processing request took 1ms\n\
         Result: [\n    5\n]\n\n\n\
         [Trace - 1:02:04 PM] Sending notification 'textDocument/didOpen'.\nParams: {}\n\n\n\
         [Trace - 1:02:04 PM] Sending request 'textDocument/hover - (1)'.\nParams: {}\n\n\n\
         [Trace - 1:02:05 PM] Received response 'textDocument/hover - (1)' in 900ms.\nNo result returned.\n\n\n\
         [Trace - 1:02:05 PM] Sending notification 'textDocument/didClose'.\nParams: {}\n\n\n",
        initialize()["params"],
        opened()["params"],
        hover(1)["params"],
        json!({ "textDocument": { "uri": format!("{ROOT}/a.py") } }),
    );
    let recorded = session("trace.log", &text).unwrap();
    let read: Vec<(&str, u64, Vec<usize>)> = messages(&recorded)
        .into_iter()
        .map(|(method, at, _, after)| (method, at, after))
        .collect();
    // `initialized` is half of the first second.
    assert_eq!(
        read,
        [
            ("textDocument/didOpen", 1_000, vec![]),
            ("textDocument/hover", 1_250, vec![]),
            ("textDocument/didClose", 2_000, vec![1]),
        ]
    );
    assert_eq!(
        recorded.answers,
        [Answered {
            method: "workspace/configuration".to_owned(),
            params: json!({ "items": [{ "section": "a" }] }),
            result: json!([5]),
        }]
    );
}

#[test]
fn a_replay_file_has_no_times_and_each_request_waits_for_the_one_before() {
    let rows = [
        json!({ "rootDirUriPlaceholder": "@URI@", "rootDirPlaceholder": "@DIR@" }),
        json!({ "kind": "request", "method": "initialize", "params": { "rootUri": "@URI@" } }),
        json!({ "kind": "notification", "method": "initialized", "params": {} }),
        json!({ "kind": "request", "method": "textDocument/hover", "params": {} }),
        json!({ "kind": "request", "method": "textDocument/hover", "params": {} }),
    ];
    let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
    let recorded = session("replay.jsonl", &text).unwrap();
    let after: Vec<Vec<usize>> = recorded.messages.iter().map(|sent| sent.after.clone()).collect();
    assert_eq!(after, [vec![], vec![0]]);
    assert!(!recorded.has_times);
    assert_eq!(recorded.root.uris, ["@URI@"]);
    assert_eq!(recorded.root.paths, ["@DIR@"]);
}

#[test]
fn of_a_file_without_senders_the_specification_says_who_sent_what() {
    let ask = json!({ "jsonrpc": "2.0", "id": 1, "method": "window/showMessageRequest", "params": { "type": 3 } });
    let rows = [
        initialize(),
        json!({ "jsonrpc": "2.0", "id": 0, "result": {} }),
        json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} }),
        ask,
        json!({ "jsonrpc": "2.0", "id": 1, "result": { "title": "Yes" } }),
        opened(),
        hover(1),
        json!({ "jsonrpc": "2.0", "id": 1, "result": null }),
        json!({ "jsonrpc": "2.0", "method": "experimental/serverStatus", "params": {} }),
    ];
    let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
    let recorded = session("devtools.json", &text).unwrap();
    let methods: Vec<&str> = recorded.messages.iter().map(|sent| sent.method.as_str()).collect();
    assert_eq!(methods, ["textDocument/didOpen", "textDocument/hover"]);
    assert_eq!(recorded.answers[0].result, json!({ "title": "Yes" }));
    assert_eq!(recorded.unclear, 1);
}

#[test]
fn a_mistake_is_told_with_its_line_and_a_cure() {
    let header = json!({ "rootDirPlaceholder": "@DIR@" });
    let tail = traced("send-notification", &opened(), 1);
    for (text, words) in [
        (
            format!("{}{{\"isLSPMessage\": tru\n", json_trace()),
            "line 11: it is not JSON",
        ),
        (tail.clone(), "has no `initialize`"),
        (
            format!("{header}\n{{\"kind\": \"reqest\", \"method\": \"a\"}}\n"),
            "line 2: `kind` is \"reqest\"",
        ),
        (
            format!("{header}\n{{\"kind\": \"request\"}}\n"),
            "line 2: it has no `method`",
        ),
        (
            format!("{}\n{{}}\n", initialize()),
            "line 2: it is no message of JSON-RPC",
        ),
        (
            format!("{}\n", initialize()),
            "no message of an editor after `initialized`",
        ),
        (
            "[Trace - 10:11:12 AM] Sending request 'initialize - (0)'.\n".to_owned(),
            "line 1: `initialize` has no parameters",
        ),
        ("format = 1\n".to_owned(), "it is no recorded session"),
    ] {
        let mistake = session("session.log", &text).unwrap_err();
        let told = mistake.words("session.log");
        assert!(told.contains(words) && !mistake.cure.is_empty(), "{told}");
    }
}

#[test]
fn a_session_amounts_to_a_scenario_that_is_valid() {
    let recorded = session("trace.log", &json_trace()).unwrap();
    let text = outline::text("mine", &recorded);
    let scenario: crate::config::Scenario = crate::config::place::read(&text).expect(&text);
    assert_eq!(scenario.phases.len(), 2, "{text}");
    let steps: Vec<&str> = scenario.phases[1].steps.iter().map(crate::config::Step::name).collect();
    assert_eq!(steps, ["open", "hover"], "{text}");
    assert!(text.contains("language = \"python\""), "{text}");
}
