//! Every request of the server is answered at once, whatever else happens.

use lsp::{Answers, Id, Incoming, Limits};
use serde_json::{Value, json};

use super::peer::{Peer, ask, connect, next, usual};

fn answers() -> Answers {
    Answers {
        settings: json!({"python": {"analysis": {"mode": "strict"}}}),
        folders: vec![lsp_types::WorkspaceFolder {
            uri: lsp_types::Url::parse("file:///w").unwrap(),
            name: "w".to_owned(),
        }],
        choose: vec!["Import build".to_owned()],
        ..Answers::default()
    }
}

#[tokio::test]
async fn every_request_a_server_is_known_to_wait_for_gets_its_answer() {
    let (_client, _incoming, mut peer) = connect(64 * 1024, answers(), Limits::default());
    let registration = json!({"registrations": [{"id": "1", "method": "textDocument/formatting"}]});
    let question = json!({"type": 3, "message": "?", "actions": [{"title": "Later"}, {"title": "Import build"}]});
    let cases = [
        ("workspace/configuration", json!({"items": []}), json!([])),
        (
            "workspace/configuration",
            json!({"items": [{"section": "python.analysis"}, {"section": "none"}, {"section": ""}]}),
            json!([{"mode": "strict"}, null, {"python": {"analysis": {"mode": "strict"}}}]),
        ),
        ("window/workDoneProgress/create", json!({"token": 7}), Value::Null),
        ("window/workDoneProgress/create", json!({"token": "seven"}), Value::Null),
        ("client/registerCapability", registration, Value::Null),
        (
            "client/unregisterCapability",
            json!({"unregisterations": []}),
            Value::Null,
        ),
        ("workspace/diagnostic/refresh", Value::Null, Value::Null),
        ("workspace/semanticTokens/refresh", Value::Null, Value::Null),
        ("workspace/inlayHint/refresh", Value::Null, Value::Null),
        ("workspace/codeLens/refresh", Value::Null, Value::Null),
        ("workspace/foldingRange/refresh", Value::Null, Value::Null),
        ("workspace/inlineValue/refresh", Value::Null, Value::Null),
        ("window/showMessageRequest", question, json!({"title": "Import build"})),
        (
            "window/showMessageRequest",
            json!({"type": 1, "message": "?"}),
            Value::Null,
        ),
        (
            "window/showDocument",
            json!({"uri": "file:///w/a"}),
            json!({"success": true}),
        ),
        (
            "workspace/workspaceFolders",
            Value::Null,
            json!([{"uri": "file:///w", "name": "w"}]),
        ),
        ("workspace/executeClientCommand", json!({"command": "x"}), json!([])),
    ];
    for (round, (method, params, expected)) in cases.into_iter().enumerate() {
        let answer = peer.ask(json!(round), method, params.clone()).await;
        assert_eq!(answer.get("result"), Some(&expected), "{method}");
        assert_eq!(
            peer.ask(json!(format!("r{round}")), method, params).await.get("result"),
            Some(&expected)
        );
    }
    let edit = peer.ask(json!(1), "workspace/applyEdit", json!({"edit": {}})).await;
    assert_eq!(edit["result"]["applied"], json!(false));
    assert!(edit["result"]["failureReason"].is_string());
}

#[tokio::test]
async fn an_unknown_request_is_refused_and_never_met_with_silence() {
    let (_client, mut incoming, mut peer) = usual();
    let answer = peer.ask(json!("x"), "custom/question", json!({})).await;
    assert_eq!(answer["error"]["code"], json!(-32601));
    assert!(answer.get("result").is_none());
    let Incoming::Answered { method, refused } = next(&mut incoming).await else {
        panic!("no event")
    };
    assert_eq!((method.as_str(), refused), ("custom/question", true));
}

#[tokio::test]
async fn six_refreshes_in_a_row_are_answered_while_requests_are_open() {
    let (client, _incoming, mut peer) = usual();
    let asking = client.clone();
    let open = tokio::spawn(async move { asking.request("textDocument/hover", json!({}), ask()).await });
    let request = peer.receive().await;
    for id in 0..6 {
        peer.send(json!({"jsonrpc": "2.0", "id": id, "method": "workspace/diagnostic/refresh"}))
            .await;
    }
    for id in 0..6 {
        assert_eq!(
            peer.receive().await,
            json!({"jsonrpc": "2.0", "id": id, "result": null})
        );
    }
    assert!(!open.is_finished());
    peer.answer(&request, Value::Null).await;
    open.await.unwrap();
}

#[tokio::test]
async fn answers_come_even_when_nobody_reads_the_events() {
    let (client, incoming, mut peer) = usual();
    for id in 0..10_000 {
        let answer = peer.ask(json!(id), "workspace/inlayHint/refresh", Value::Null).await;
        assert_eq!(answer["result"], Value::Null);
    }
    assert!(incoming.len() <= 4096 && client.totals().dropped_events > 0);
}

#[tokio::test]
async fn registrations_are_told_tracked_and_taken_back() {
    let (client, mut incoming, mut peer) = usual();
    let watchers = json!({"watchers": [{"globPattern": "**/*.py", "kind": 3}]});
    let registrations = json!({"registrations": [
        {"id": "w", "method": "workspace/didChangeWatchedFiles", "registerOptions": watchers},
        {"id": "c", "method": "textDocument/completion", "registerOptions": {"triggerCharacters": ["."]}},
    ]});
    peer.ask(json!(1), "client/registerCapability", registrations).await;
    for expected in ["workspace/didChangeWatchedFiles", "textDocument/completion"] {
        let Incoming::Registered { method } = next(&mut incoming).await else {
            panic!("not told")
        };
        assert_eq!(method, expected);
    }
    assert_eq!(
        client.registrations(),
        ["textDocument/completion", "workspace/didChangeWatchedFiles"]
    );
    assert_eq!(
        client.registration_options("textDocument/completion"),
        [json!({"triggerCharacters": ["."]})]
    );
    assert_eq!(
        (client.watchers()[0].glob.as_str(), client.watchers()[0].kind),
        ("**/*.py", 3)
    );
    let taken_back = json!({"unregisterations": [{"id": "w", "method": "workspace/didChangeWatchedFiles"}]});
    peer.ask(json!(2), "client/unregisterCapability", taken_back).await;
    assert_eq!(client.registrations(), ["textDocument/completion"]);
}

async fn progress(peer: &mut Peer, token: Value, value: Value) {
    let params = json!({"token": token, "value": value});
    peer.send(json!({"jsonrpc": "2.0", "method": "$/progress", "params": params}))
        .await;
}

#[tokio::test]
async fn work_in_progress_is_known_from_its_creation_with_its_words() {
    let (client, mut incoming, mut peer) = usual();
    peer.ask(json!(1), "window/workDoneProgress/create", json!({"token": "load"}))
        .await;
    assert_eq!(client.progress().open[0].token, Id::Text("load".to_owned()));
    progress(
        &mut peer,
        json!("load"),
        json!({"kind": "begin", "title": "Setting up workspace"}),
    )
    .await;
    progress(
        &mut peer,
        json!("load"),
        json!({"kind": "end", "message": "Error loading packages: x"}),
    )
    .await;
    progress(&mut peer, json!(5), json!({"kind": "begin", "title": "indexing"})).await;
    for _ in 0..4 {
        next(&mut incoming).await;
    }
    let seen = client.progress();
    assert_eq!((seen.created, seen.finished, seen.open.len()), (2, 1, 1));
    assert_eq!(seen.ended[0].title, "Setting up workspace");
    assert_eq!(seen.ended[0].message, "Error loading packages: x");
    assert_eq!(seen.open[0].token, Id::Number(5));
}
