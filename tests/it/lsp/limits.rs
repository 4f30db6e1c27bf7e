//! A server cannot block its client, flood it, or make it grow.

use std::time::{Duration, Instant};

use lsp::{Answers, CloseReason, Incoming, Limits, Reply, Shape, UnreadReason};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::peer::{PATIENCE, ask, brief, connect, next, usual, violation};

#[tokio::test]
async fn a_server_that_does_not_read_is_still_read() {
    let (client, mut incoming, mut peer) = connect(1024, Answers::default(), Limits::default());
    for version in 0..100 {
        client.notify(
            "textDocument/didChange",
            json!({"version": version, "text": "x".repeat(10_000)}),
        );
    }
    for _ in 0..200 {
        peer.send(json!({"jsonrpc": "2.0", "method": "x/y", "params": {"text": "x".repeat(5000)}}))
            .await;
        assert!(matches!(next(&mut incoming).await, Incoming::Notification { .. }));
    }
    let traffic = client.traffic();
    assert!(traffic.unsent > 900_000 && traffic.sent <= 1024, "{traffic:?}");
    assert!(traffic.received > 1_000_000);
}

#[tokio::test]
async fn two_full_pipes_do_not_make_a_circle() {
    let (client, mut incoming, mut peer) = connect(1024, Answers::default(), Limits::default());
    for id in 0..500 {
        client.notify(
            "textDocument/didChange",
            json!({"version": id, "text": "x".repeat(1000)}),
        );
        // The peer writes all requests before it reads.
        peer.send(json!({"jsonrpc": "2.0", "id": id, "method": "workspace/configuration", "params": {"items": [{}]}}))
            .await;
        next(&mut incoming).await;
    }
    let mut answered = 0;
    for _ in 0..1000 {
        answered += u32::from(peer.receive().await.get("result").is_some());
    }
    assert_eq!(answered, 500);
}

#[tokio::test]
async fn deadlines_fire_while_a_write_is_stuck_and_the_evidence_is_there() {
    let (client, _incoming, _peer) = connect(16, Answers::default(), Limits::default());
    let before = Instant::now();
    let asking = client.clone();
    let slow = tokio::spawn(async move { asking.request("textDocument/hover", json!({}), ask()).await });
    let reply = client.request("textDocument/definition", json!({}), brief()).await;
    assert!(matches!(reply, Reply::TimedOut), "{reply:?}");
    let traffic = client.traffic();
    assert!(traffic.unsent > 0 && traffic.sent == 16);
    assert!(traffic.last_sent.is_some_and(|at| at >= before) && traffic.last_received.is_none());
    let oldest = traffic.oldest.expect("one request is open");
    assert_eq!(oldest.method, "textDocument/hover");
    assert!(oldest.since >= before && !slow.is_finished());
}

#[tokio::test]
async fn flushing_waits_for_the_server_to_read() {
    let (client, _incoming, mut peer) = connect(256, Answers::default(), Limits::default());
    client.notify("a/b", json!({"text": "x".repeat(10_000)}));
    assert!(
        timeout(Duration::from_millis(50), client.wait_until_written())
            .await
            .is_err()
    );
    let (message, flushed) = tokio::join!(peer.receive(), timeout(PATIENCE, client.wait_until_written()));
    assert_eq!((message["method"].as_str(), flushed.is_ok()), (Some("a/b"), true));
    assert_eq!(client.traffic().unsent, 0);
}

#[tokio::test]
async fn answers_that_are_not_read_end_the_connection_instead_of_eating_memory() {
    let limits = Limits {
        answers: 100_000,
        ..Limits::default()
    };
    let answers = Answers {
        settings: json!({ "text": "x".repeat(10_000) }),
        ..Answers::default()
    };
    let (client, mut incoming, mut peer) = connect(64 * 1024, answers, limits);
    // The client's own long messages do not count as a backlog of answers.
    client.notify("a/b", json!({"text": "x".repeat(1_000_000)}));
    for id in 0..100 {
        peer.send(json!({"jsonrpc": "2.0", "id": id, "method": "workspace/configuration", "params": {"items": [{}]}}))
            .await;
    }
    let reason = loop {
        match next(&mut incoming).await {
            Incoming::Answered { .. } => {}
            Incoming::Closed(reason) => break reason,
            other => panic!("{other:?}"),
        }
    };
    let CloseReason::Overflow { unsent, limit: 100_000 } = reason else {
        panic!("{reason:?}")
    };
    assert!((100_000..111_000).contains(&unsent));
    assert!(matches!(client.close_reason(), Some(CloseReason::Overflow { .. })));
    assert!(matches!(client.request("x/y", (), ask()).await, Reply::Lost));
}

#[tokio::test]
async fn requests_wait_for_room_and_keep_their_deadline_meanwhile() {
    let limits = Limits {
        queue: 5_000,
        ..Limits::default()
    };
    let (client, _incoming, mut peer) = connect(64, Answers::default(), limits);
    client.notify("a/b", json!({"text": "x".repeat(8000)}));
    let reply = client.request("x/y", (), brief()).await;
    assert!(matches!(reply, Reply::TimedOut), "{reply:?}");
    assert_eq!(client.totals().requests, 0, "it was never queued");
    assert_eq!(peer.receive().await["method"], json!("a/b"));
    let serve = async {
        let request = peer.receive().await;
        peer.answer(&request, Value::Null).await;
    };
    let ((), reply) = tokio::join!(serve, client.request("x/z", (), ask()));
    assert!(matches!(reply, Reply::Answer { .. }), "{reply:?}");
}

#[tokio::test]
async fn a_huge_result_is_counted_and_not_kept_even_when_its_id_comes_last() {
    let (client, _incoming, mut peer) = usual();
    let item = json!({"label": "name, with \"quotes\"", "kind": 3, "data": [1, 2, {"items": []}]}).to_string();
    let count = 100_000;
    let result = format!("{{\"isIncomplete\":true,\"items\":[{}]}}", vec![item; count].join(","));
    assert!(result.len() > 4 << 20);
    let serve = async {
        let request = peer.receive().await;
        let body = format!("{{\"jsonrpc\":\"2.0\",\"result\":{result},\"id\":{}}}", request["id"]);
        peer.send_raw(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes())
            .await;
        let request = peer.receive().await;
        peer.answer(&request, json!([1])).await;
    };
    let drive = async {
        let huge = client
            .request("textDocument/completion", json!({}), ask().keeping())
            .await;
        (huge, client.request("textDocument/hover", json!({}), ask()).await)
    };
    let ((), (huge, next)) = tokio::join!(serve, drive);
    let Reply::Answer {
        shape: Shape::Full,
        bytes,
        items,
        body: Err(UnreadReason::TooLong { .. }),
        ..
    } = huge
    else {
        panic!("{huge:?}")
    };
    assert_eq!((bytes, items), (result.len() as u64, Some(count as u64)));
    assert!(matches!(next, Reply::Answer { items: Some(1), .. }), "{next:?}");
}

#[tokio::test]
async fn a_message_over_the_limit_closes_the_connection_and_says_so() {
    let (client, mut incoming, mut peer) = usual();
    let asking = client.clone();
    let open = tokio::spawn(async move { asking.request("x/y", (), ask()).await });
    peer.receive().await;
    peer.send_raw(b"Content-Length: 2000000000\r\n\r\n").await;
    let Incoming::Closed(reason) = next(&mut incoming).await else {
        panic!("not closed")
    };
    assert_eq!(
        reason,
        CloseReason::TooLarge {
            length: 2_000_000_000,
            limit: 1 << 30
        }
    );
    assert!(matches!(open.await.unwrap(), Reply::Lost));
}

#[tokio::test]
async fn long_parameters_of_notifications_are_dropped_and_counted() {
    let (client, mut incoming, mut peer) = usual();
    for length in [1000, 100_000, 3_000_000] {
        peer.send(json!({"jsonrpc": "2.0", "method": "x/y", "params": {"text": "x".repeat(length)}}))
            .await;
        let Incoming::Notification { method, params } = next(&mut incoming).await else {
            panic!("no notification")
        };
        assert_eq!((method.as_str(), params.is_some()), ("x/y", length == 1000));
    }
    assert_eq!(
        (client.totals().dropped_params, client.totals().notifications["x/y"]),
        (2, 3)
    );
}

#[tokio::test]
async fn a_request_too_long_to_be_read_is_answered_rightly_or_refused_and_counted() {
    let (client, _incoming, mut peer) = usual();
    let long = "x".repeat(2 << 20);
    let items: Vec<Value> = (0..40_000)
        .map(|_| json!({ "section": "python", "scopeUri": "file:///a" }))
        .collect();
    let registration = json!({ "registrations": [{ "id": long, "method": "textDocument/hover" }] });
    for (id, (method, params)) in [
        ("workspace/configuration", json!({ "items": items })),
        ("client/registerCapability", registration),
        ("window/workDoneProgress/create", json!({ "token": long })),
    ]
    .into_iter()
    .enumerate()
    {
        let answer = peer.ask(json!(id), method, params).await;
        assert_eq!(answer["error"]["code"], json!(-32803), "{method}: {answer}");
        let said = answer["error"]["message"].as_str().unwrap();
        assert!(said.contains(method), "{said}");
    }
    let edit = json!({ "edit": { "changes": { "file:///a": [{ "newText": long }] } } });
    let answer = peer.ask(json!("e"), "workspace/applyEdit", edit).await;
    assert_eq!(answer["result"]["applied"], json!(false));
    let answer = peer.ask(json!("u"), "x/unknown", json!({ "text": long })).await;
    assert_eq!(answer["error"]["code"], json!(-32601));
    assert!(client.registrations().is_empty());
    assert_eq!(client.totals().dropped_params, 5);
}

#[tokio::test]
async fn an_answer_over_the_bound_is_an_error_and_a_violation() {
    let answers = Answers {
        settings: json!({ "text": "x".repeat(1000) }),
        ..Answers::default()
    };
    let (_client, mut incoming, mut peer) = connect(64 * 1024, answers, Limits::default());
    let few = json!({ "items": vec![json!({}); 1000] });
    let answer = peer.ask(json!(1), "workspace/configuration", few).await;
    assert_eq!(answer["result"].as_array().map(Vec::len), Some(1000));
    let many = json!({ "items": vec![json!({}); 250_000] });
    let answer = peer.ask(json!(2), "workspace/configuration", many).await;
    assert_eq!(answer["error"]["code"], json!(-32803), "{answer}");
    assert!(violation(&mut incoming).await.contains("`workspace/configuration`"));
}

#[tokio::test]
async fn registrations_are_kept_up_to_a_bound_in_bytes_and_refused_beyond() {
    let (client, mut incoming, mut peer) = usual();
    let mut refused = 0;
    for number in 0..10 {
        let options = json!({ "watchers": [{ "globPattern": "x".repeat(900_000) }] });
        let answer = peer
            .ask(
                json!(number),
                "client/registerCapability",
                watched_files(number, options),
            )
            .await;
        refused += usize::from(answer["error"]["code"] == json!(-32803));
    }
    assert_eq!((refused, client.watchers().len()), (8, 2));
    assert!(violation(&mut incoming).await.contains("registered"));
    // As a tree these options would need a hundred times their text.
    let params = json!({ "unregisterations": [{ "id": "0", "method": "workspace/didChangeWatchedFiles" }] });
    peer.ask(json!("u"), "client/unregisterCapability", params).await;
    let dense = watched_files(10, json!(vec![json!({ "": 0 }); 100_000]));
    let answer = peer.ask(json!("d"), "client/registerCapability", dense).await;
    assert_eq!(answer["error"]["code"], json!(-32803));
    let name = json!({ "registrations": [{ "id": "x".repeat(1000), "method": "x/y" }] });
    let answer = peer.ask(json!("n"), "client/registerCapability", name).await;
    assert_eq!(answer["error"]["code"], json!(-32803));
    assert_eq!(client.watchers().len(), 1);
}

/// The parameters that register a watcher of files.
fn watched_files(number: usize, options: Value) -> Value {
    let method = "workspace/didChangeWatchedFiles";
    json!({ "registrations": [{ "id": number.to_string(), "method": method, "registerOptions": options }] })
}

#[tokio::test]
async fn a_token_that_is_too_long_to_be_kept_is_refused() {
    let (client, mut incoming, mut peer) = usual();
    let token = json!({ "token": "x".repeat(900_000) });
    let answer = peer.ask(json!(1), "window/workDoneProgress/create", token).await;
    assert_eq!(answer["error"]["code"], json!(-32803));
    assert!(violation(&mut incoming).await.contains("progress token"));
    let odd = json!({ "token": 1.5 });
    let answer = peer.ask(json!(2), "window/workDoneProgress/create", odd).await;
    assert_eq!(answer["result"], Value::Null);
    assert!(client.progress().open.is_empty());
}

#[tokio::test]
async fn events_that_nobody_reads_hold_little() {
    let (client, incoming, mut peer) = usual();
    let params = json!({ "text": "x".repeat(60_000) });
    for method in ["x/y", "$/progress"] {
        for _ in 0..2_000 {
            peer.send(json!({ "jsonrpc": "2.0", "method": method, "params": params }))
                .await;
        }
    }
    peer.ask(json!(1), "workspace/inlayHint/refresh", Value::Null).await;
    assert_eq!((incoming.len(), client.totals().dropped_events), (4001, 0));
    let mut incoming = incoming;
    let mut kept = 0;
    while let Ok(event) = incoming.try_recv() {
        if let Incoming::Notification {
            params: Some(params), ..
        } = event
        {
            kept += params.get().len();
        }
    }
    assert!(kept <= 10 << 20, "{kept}");
}

#[tokio::test]
async fn idle_chatter_is_no_sign_of_work() {
    let (client, mut incoming, mut peer) = usual();
    peer.send(json!({"jsonrpc": "2.0", "method": "window/logMessage", "params": {"type": 4, "message": "tick"}}))
        .await;
    next(&mut incoming).await;
    assert_eq!(client.traffic().last_unprompted, None);
    peer.send(json!({"jsonrpc": "2.0", "method": "textDocument/publishDiagnostics", "params": {}}))
        .await;
    next(&mut incoming).await;
    assert!(client.traffic().last_unprompted.is_some() && client.traffic().last_received.is_some());
}
