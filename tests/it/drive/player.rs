//! Phases, rounds and steps: what the server receives and what the journal records.

use std::fs;

use base::Cancel;
use lsp_soak::config::{Profile, Scenario};
use lsp_soak::drive::documents::OpenDocuments;
use lsp_soak::drive::workspace::select;
use lsp_soak::drive::{Job, Player, Stop};
use lsp_soak::resolve::{Program, ServerChoice};
use record::{BARRIER, Ending, Event, StepEnd};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::oneshot;

use super::relay::Relay;
use super::stage::Fake;
use crate::lsp::peer::Peer;

pub const METHOD_NOT_FOUND: i64 = -32601;

const HEAD: &str = r#"
format = 1
name = "scripted"
[readiness]
start-grace = "150ms"
quiet = "150ms"
[settle]
quiet = "150ms"
[[phase]]
name = "start"
steps = [{ start = {} }]
"#;

/// A play over one Python file, with the test as server.
pub struct Play {
    pub job: Job,
    pub stage: Fake,
    pub peer: Peer,
    /// Keeps the relay and the directory for the duration of the play.
    pub place: (Relay, TempDir),
}

pub fn play(top: &str, phases: &str) -> Play {
    let workspace = tempfile::tempdir().unwrap();
    let root = workspace.path().canonicalize().unwrap();
    let names = (0..20).map(|number| format!("value_{number} = {number}\n"));
    fs::write(root.join("a.py"), names.collect::<String>()).unwrap();
    let (relay, peer) = Relay::new();
    let scenario: Scenario = toml::from_str(&format!("{top}{HEAD}{phases}")).unwrap();
    let job = Job {
        folders: Vec::new(),
        scenario,
        choice: ServerChoice::plain("relay", Profile::default(), Program::File("/bin/sh".into())),
        decay: None,
        runtime_settings: std::collections::BTreeMap::new(),
        native: std::path::PathBuf::new(),
        launch: relay.launch(),
        library: None,
        no_library: String::new(),
        selection: select(
            &root,
            &"*.py".parse().unwrap(),
            &[],
            "python",
            1 << 20,
            &Cancel::default(),
        )
        .unwrap(),
        root,
        capabilities: "default".to_owned(),
        seed: 1,
        allow_unsupported: false,
        probe: false,
        trace: None,
        report: None,
    };
    Play {
        job,
        stage: Fake::idle(),
        peer,
        place: (relay, workspace),
    }
}

/// Acts as the server until it is ready.
pub async fn get_ready(peer: &mut Peer) {
    let initialize = method(peer, "initialize").await;
    let capabilities = json!({ "textDocumentSync": 2, "hoverProvider": true, "codeActionProvider": true });
    peer.answer(&initialize, json!({ "capabilities": capabilities })).await;
    method(peer, "initialized").await;
    let barrier = peer.receive().await;
    assert_eq!(barrier["method"], BARRIER);
    peer.refuse(&barrier, METHOD_NOT_FOUND, Value::Null).await;
}

/// The next message, which must have this method. Answers lsp-soak's own requests on the way.
pub async fn method(peer: &mut Peer, method: &str) -> Value {
    loop {
        let message = peer.receive().await;
        if message["method"] != BARRIER {
            assert_eq!(message["method"], method, "{message}");
            return message;
        }
        peer.refuse(&message, METHOD_NOT_FOUND, Value::Null).await;
    }
}

/// Plays the phases to their end while a ready server follows the script. Returns the recorded events and the
/// script's result.
async fn played<T>(phases: &str, script: impl AsyncFnOnce(&mut Peer) -> T) -> (Fake, T) {
    let (stage, found, rest) = heard(phases, script).await;
    assert!(rest.iter().all(|method| method == BARRIER), "{rest:?}");
    (stage, found)
}

/// As [`played`], with the methods received after the script. Answers lsp-soak's own requests.
pub async fn heard<T>(phases: &str, script: impl AsyncFnOnce(&mut Peer) -> T) -> (Fake, T, Vec<String>) {
    let Play {
        job,
        stage,
        mut peer,
        place: _place,
    } = play("", phases);
    let (over, mut is_over) = oneshot::channel::<()>();
    let server = async {
        get_ready(&mut peer).await;
        let found = script(&mut peer).await;
        let mut rest = Vec::new();
        loop {
            let message = tokio::select! {
                _ = &mut is_over => return (found, rest),
                message = peer.receive() => message,
            };
            rest.push(message["method"].as_str().unwrap().to_owned());
            if message["method"] == BARRIER {
                peer.refuse(&message, METHOD_NOT_FOUND, Value::Null).await;
            }
        }
    };
    let mut player = Player::new(&job, &stage, OpenDocuments::new(&job, &Cancel::default()));
    let play = async {
        let result = player.play().await;
        drop(over);
        result
    };
    let (result, (found, rest)) = tokio::join!(play, server);
    result.unwrap();
    drop(player);
    (stage, found, rest)
}

pub fn step_end(stage: &Fake, name: &str) -> StepEnd {
    let mut ends = stage.events().into_iter().filter_map(|event| match event {
        Event::StepEnded(end) if end.name == name => Some(*end),
        _ => None,
    });
    ends.next_back().unwrap()
}

#[tokio::test]
async fn initialize_says_who_we_are_and_what_we_can() {
    let mut play = play("", "");
    let server = async {
        let initialize = method(&mut play.peer, "initialize").await;
        let params = &initialize["params"];
        assert_eq!(
            params["processId"],
            std::process::id(),
            "a server leaves when this process is gone"
        );
        let general = &params["capabilities"]["general"];
        assert_eq!(general["positionEncodings"], json!(["utf-8", "utf-16", "utf-32"]));
        assert_eq!(general["staleRequestSupport"]["cancel"], true);
    };
    let mut player = Player::new(
        &play.job,
        &play.stage,
        OpenDocuments::new(&play.job, &Cancel::default()),
    );
    tokio::select! {
        () = server => {}
        _ = player.play() => panic!("the server has not answered"),
    }
}

#[tokio::test]
async fn an_initialize_that_cannot_be_read_is_refused_with_what_it_is_and_the_limit() {
    let deep = format!("{{\"x\":{}1{}}}", "[".repeat(200), "]".repeat(200));
    let long = format!("{{\"x\":\"{}\"}}", "x".repeat(1 << 20));
    let dense = format!("[{}1]", "{\"\":0},".repeat(100_000));
    for (result, words) in [
        ("null".as_bytes(), "is null, not an object"),
        ("[1]".as_bytes(), "is a list, not an object"),
        (
            r#"{"capabilities":"\ud800"}"#.as_bytes(),
            "cannot be read: its result has a lone surrogate",
        ),
        (
            b"{\"x\":\"\xff\"}".as_slice(),
            "cannot be read: byte 24 begins `\u{fffd}\"}}`, where UTF-8 is expected",
        ),
        (
            deep.as_bytes(),
            "cannot be read: its result is nested over 127 levels deep",
        ),
        (
            long.as_bytes(),
            "cannot be read: its result has 1.0 MiB, and messages over 1.0 MiB are not kept",
        ),
        (
            dense.as_bytes(),
            "cannot be read: as a tree it would need over 16.0 MiB",
        ),
        (
            "{\"x\":tru}".as_bytes(),
            "cannot be read: byte 26 begins `}}`, where the rest of `true`",
        ),
    ] {
        let mut play = play("", "");
        let server = async {
            let id = method(&mut play.peer, "initialize").await["id"].clone();
            let body = [format!("{{\"id\":{id},\"result\":").as_bytes(), result, b"}"].concat();
            let head = format!("Content-Length: {}\r\n\r\n", body.len());
            play.peer.send_raw(&[head.as_bytes(), &body].concat()).await;
        };
        let mut player = Player::new(
            &play.job,
            &play.stage,
            OpenDocuments::new(&play.job, &Cancel::default()),
        );
        let ((), end) = tokio::join!(server, player.play());
        let Err(Stop::Ended(Ending::Refused { reason })) = end else {
            panic!("{end:?}")
        };
        assert!(
            reason.starts_with(&format!("the answer to `initialize` {words}")),
            "{reason}"
        );
    }
}

#[tokio::test]
async fn every_round_of_a_repeat_types_what_was_never_typed_before() {
    let phases = r#"
        [[phase]]
        name = "open"
        steps = [{ open = {} }]
        [[phase]]
        name = "rounds"
        repeat = { times = 3 }
        steps = [{ type = { per-file = 1, text = "x${n}", cadence = "1ms" } }]
    "#;
    let script = async |peer: &mut Peer| {
        method(peer, "textDocument/didOpen").await;
        let mut rounds = Vec::new();
        for _ in 0..3 {
            let mut typed = Vec::new();
            for _ in 0..3 {
                let change = method(peer, "textDocument/didChange").await;
                let text = &change["params"]["contentChanges"][0]["text"];
                typed.push(text.as_str().unwrap().to_owned());
            }
            rounds.push(typed);
        }
        rounds
    };
    let (stage, rounds) = played(phases, script).await;
    // Two keys and one stroke that deletes them.
    assert_eq!(rounds, [["x", "0", ""], ["x", "1", ""], ["x", "2", ""]]);
    let cycles = stage.events().into_iter().filter_map(|event| match event {
        Event::PhaseStarted(phase) if phase.name == "rounds" => Some(phase.cycle),
        _ => None,
    });
    assert_eq!(cycles.collect::<Vec<_>>(), [0, 1, 2]);
}

#[tokio::test]
async fn as_many_requests_as_the_step_says_are_in_flight_together_and_no_more() {
    let phases = r#"
        [[phase]]
        name = "hovers"
        steps = [{ open = {} }, { hover = { per-file = 5, concurrency = 3 } }]
    "#;
    let script = async |peer: &mut Peer| {
        method(peer, "textDocument/didOpen").await;
        let mut open = Vec::new();
        for _ in 0..3 {
            open.push(method(peer, "textDocument/hover").await);
        }
        // The next message answers this request; a fourth request would be wrong.
        peer.ask(json!("t"), "window/workDoneProgress/create", json!({ "token": "t" }))
            .await;
        let end = json!({ "token": "t", "value": { "kind": "end" } });
        peer.send(json!({ "jsonrpc": "2.0", "method": "$/progress", "params": end }))
            .await;
        let found = json!({ "contents": "a value" });
        for _ in 0..2 {
            peer.answer(&open.remove(1), found.clone()).await;
            open.push(method(peer, "textDocument/hover").await);
        }
        for request in open {
            peer.answer(&request, found.clone()).await;
        }
    };
    let (stage, ()) = played(phases, script).await;
    let end = step_end(&stage, "hover");
    assert_eq!((end.requests, end.hits), (5, 5));
}

#[tokio::test]
async fn after_a_wedge_no_further_step_is_played_and_where_it_was_is_said() {
    let phases = r#"
        [[phase]]
        name = "hovers"
        steps = [{ open = {} }, { hover = {} }, { close = {} }]
        [[phase]]
        name = "after"
        steps = [{ open = {} }]
    "#;
    let Play {
        job,
        stage,
        mut peer,
        place: _place,
    } = play("deadline = \"4s\"", phases);
    let mut player = Player::new(&job, &stage, OpenDocuments::new(&job, &Cancel::default()));
    let script = async {
        get_ready(&mut peer).await;
        method(&mut peer, "textDocument/didOpen").await;
        method(&mut peer, "textDocument/hover").await;
    };
    let (result, ()) = tokio::join!(player.play(), script);
    match result {
        Err(Stop::Ended(Ending::Wedged { method, .. })) => assert_eq!(method, "textDocument/hover"),
        other => panic!("{other:?}"),
    }
    assert_eq!(player.during, "phase `hovers`, step `hover`");
    let started = stage.events().into_iter().filter_map(|event| match event {
        Event::StepStarted(start) => Some(start.name),
        _ => None,
    });
    assert_eq!(started.collect::<Vec<_>>(), ["start", "open", "hover"]);
    let end = step_end(&stage, "hover");
    assert_eq!((end.requests, end.hits), (1, 0), "what was asked counts");
    // The cancellation is the last message to the server.
    method(&mut peer, "$/cancelRequest").await;
    drop(player);
    assert!(peer.reads_to_the_end().await);
}

#[tokio::test]
async fn a_code_action_carries_what_the_server_said_of_its_place_and_a_raw_step_its_method() {
    let phases = r#"
        [[phase]]
        name = "actions"
        steps = [
            { open = {} },
            { request = { method = "x/check", expect = "anything" } },
            { code-action = { per-file = 1, expect = "anything" } },
        ]
    "#;
    let [everywhere, nowhere] = [(0, 40, "everywhere"), (100, 101, "nowhere")].map(|(start, end, message)| {
        let range = json!({ "start": { "line": start, "character": 0 }, "end": { "line": end, "character": 0 } });
        json!({ "range": range, "message": message, "data": 7 })
    });
    let script = async |peer: &mut Peer| {
        let opened = method(peer, "textDocument/didOpen").await;
        let uri = &opened["params"]["textDocument"]["uri"];
        let request = method(peer, "x/check").await;
        let params = json!({ "uri": uri, "diagnostics": [everywhere, nowhere] });
        peer.send(json!({ "jsonrpc": "2.0", "method": "textDocument/publishDiagnostics", "params": params }))
            .await;
        peer.answer(&request, Value::Null).await;
        let action = method(peer, "textDocument/codeAction").await;
        peer.answer(&action, json!([])).await;
        action
    };
    let (stage, action) = played(phases, script).await;
    assert_eq!(action["params"]["context"]["diagnostics"], json!([everywhere]));
    let methods = stage.events().into_iter().filter_map(|event| match event {
        Event::StepStarted(start) => Some((start.name, start.method)),
        _ => None,
    });
    let raw = ("request".to_owned(), Some("x/check".to_owned()));
    let methods: Vec<_> = methods.collect();
    assert_eq!(
        methods
            .iter()
            .filter(|(_, method)| method.is_some())
            .collect::<Vec<_>>(),
        [&raw]
    );
}
