//! Requests of the client: deadlines, retries, cancellation, and the outcome of answers.

use std::time::{Duration, Instant};

use lsp::{CONTENT_MODIFIED, REQUEST_CANCELLED, Reply, SERVER_CANCELLED, Shape, UnreadReason};
use serde_json::{Value, json};

use super::peer::{ask, brief, next, usual, violation};

#[tokio::test]
async fn an_answer_tells_shape_size_and_count_and_gives_the_body_when_wanted() {
    let (client, _incoming, mut peer) = usual();
    let serve = async {
        for _ in 0..2 {
            let request = peer.receive().await;
            peer.answer(
                &request,
                json!({"isIncomplete": false, "items": [{"label": "a"}, {"label": "b"}]}),
            )
            .await;
        }
    };
    let drive = async {
        let unkept = client.request("textDocument/completion", json!({}), ask()).await;
        (
            unkept,
            client
                .request("textDocument/completion", json!({}), ask().keeping())
                .await,
        )
    };
    let ((), (unkept, kept)) = tokio::join!(serve, drive);
    let Reply::Answer {
        shape: Shape::Full,
        items: Some(2),
        body: Err(UnreadReason::Unwanted),
        retries: 0,
        bytes,
        ..
    } = unkept
    else {
        panic!("{unkept:?}")
    };
    let Reply::Answer { body: Ok(body), .. } = kept else {
        panic!("{kept:?}")
    };
    assert_eq!(bytes, body.get().len() as u64);
    assert_eq!(
        serde_json::from_str::<Value>(body.get()).unwrap()["items"][1]["label"],
        json!("b")
    );
}

#[tokio::test]
async fn parameters_go_out_as_given_without_a_token_for_partial_results() {
    let (client, _incoming, mut peer) = usual();
    let params = json!({"query": "é\"\\", "context": {"includeDeclaration": true}});
    let drive = client.request("workspace/symbol", &params, brief());
    let (sent, _reply) = tokio::join!(peer.receive(), drive);
    assert_eq!(
        (&sent["params"], &sent["method"]),
        (&params, &json!("workspace/symbol"))
    );
}

#[tokio::test]
async fn many_requests_may_be_open_and_answers_may_come_in_any_order() {
    let (client, _incoming, mut peer) = usual();
    let asking: Vec<_> = (0..50)
        .map(|number| {
            let client = client.clone();
            tokio::spawn(async move {
                client
                    .request("workspace/symbol", json!({ "n": number }), ask().keeping())
                    .await
            })
        })
        .collect();
    let mut requests = Vec::new();
    for _ in 0..asking.len() {
        requests.push(peer.receive().await);
    }
    assert_eq!(client.traffic().open, 50);
    for request in requests.iter().rev() {
        peer.answer(request, json!([request["params"]["n"]])).await;
    }
    for (number, task) in asking.into_iter().enumerate() {
        let Reply::Answer { body: Ok(body), .. } = task.await.unwrap() else {
            panic!("no answer")
        };
        assert_eq!(body.get(), format!("[{number}]"));
    }
    assert_eq!(client.traffic().open, 0);
}

#[tokio::test]
async fn stale_answers_to_reading_requests_are_asked_for_again_and_counted() {
    for code in [CONTENT_MODIFIED, SERVER_CANCELLED, REQUEST_CANCELLED] {
        let (client, _incoming, mut peer) = usual();
        let serve = async {
            for _ in 0..3 {
                let request = peer.receive().await;
                peer.refuse(&request, code, Value::Null).await;
            }
            let request = peer.receive().await;
            peer.answer(&request, json!([1])).await;
        };
        let ((), reply) = tokio::join!(serve, client.request("textDocument/definition", json!({}), ask()));
        assert!(
            matches!(
                reply,
                Reply::Answer {
                    retries: 3,
                    shape: Shape::Full,
                    ..
                }
            ),
            "{code} {reply:?}"
        );
        assert_eq!((client.totals().retries, client.totals().requests), (3, 4));
    }
}

#[tokio::test]
async fn requests_that_change_something_are_never_sent_twice() {
    for method in [
        "textDocument/rename",
        "textDocument/formatting",
        "textDocument/codeAction",
        "workspace/executeCommand",
    ] {
        let (client, _incoming, mut peer) = usual();
        let serve = async {
            let request = peer.receive().await;
            peer.refuse(&request, CONTENT_MODIFIED, Value::Null).await;
        };
        let ((), reply) = tokio::join!(serve, client.request(method, json!({}), ask()));
        assert!(
            matches!(
                reply,
                Reply::Error {
                    code: CONTENT_MODIFIED,
                    retries: 0,
                    ..
                }
            ),
            "{method} {reply:?}"
        );
    }
}

#[tokio::test]
async fn the_server_may_say_that_asking_again_is_no_use() {
    let (client, _incoming, mut peer) = usual();
    let serve = async {
        let request = peer.receive().await;
        peer.refuse(&request, SERVER_CANCELLED, json!({"retriggerRequest": true}))
            .await;
        let request = peer.receive().await;
        peer.refuse(&request, SERVER_CANCELLED, json!({"retriggerRequest": false}))
            .await;
    };
    let ((), reply) = tokio::join!(serve, client.request("textDocument/diagnostic", json!({}), ask()));
    assert!(
        matches!(
            reply,
            Reply::Error {
                code: SERVER_CANCELLED,
                retries: 1,
                ..
            }
        ),
        "{reply:?}"
    );
}

#[tokio::test]
async fn retries_come_to_an_end() {
    let (client, _incoming, mut peer) = usual();
    let serve = async {
        loop {
            let request = peer.receive().await;
            peer.refuse(&request, CONTENT_MODIFIED, Value::Null).await;
        }
    };
    let reply = tokio::select! {
        () = serve => unreachable!("the peer goes on for ever"),
        reply = client.request("textDocument/hover", json!({}), ask()) => reply,
    };
    assert!(
        matches!(
            reply,
            Reply::Error {
                code: CONTENT_MODIFIED,
                retries: 8,
                ..
            }
        ),
        "{reply:?}"
    );
}

#[tokio::test]
async fn on_the_deadline_a_request_is_cancelled_and_its_late_answer_is_no_surprise() {
    let (client, mut incoming, mut peer) = usual();
    let reply = client.request("textDocument/references", json!({}), brief()).await;
    assert!(matches!(reply, Reply::TimedOut), "{reply:?}");
    let request = peer.receive().await;
    let cancel = peer.receive().await;
    assert_eq!(
        (&cancel["method"], &cancel["params"]["id"]),
        (&json!("$/cancelRequest"), &request["id"])
    );
    peer.refuse(&request, REQUEST_CANCELLED, Value::Null).await;
    peer.send(json!({"jsonrpc": "2.0", "method": "after"})).await;
    let event = next(&mut incoming).await;
    assert!(matches!(event, lsp::Incoming::Notification { .. }), "{event:?}");
}

#[tokio::test]
async fn a_request_nobody_waits_for_any_more_is_cancelled() {
    let (client, _incoming, mut peer) = usual();
    let dropped = tokio::time::timeout(Duration::from_millis(20), client.request("x/y", (), ask())).await;
    assert!(dropped.is_err());
    let request = peer.receive().await;
    assert_eq!(peer.receive().await["params"]["id"], request["id"]);
    assert_eq!(client.traffic().open, 0);
}

#[tokio::test]
async fn a_long_poll_that_stays_open_is_parked_and_no_hang() {
    let (client, _incoming, mut peer) = usual();
    let reply = client
        .request("workspace/diagnostic", json!({}), brief().parking())
        .await;
    assert!(matches!(reply, Reply::Parked), "{reply:?}");
    peer.receive().await;
    assert_eq!(peer.receive().await["method"], json!("$/cancelRequest"));
}

#[tokio::test]
async fn a_long_poll_does_not_count_as_the_oldest_open_request_and_can_be_called_off() {
    let (client, _incoming, mut peer) = usual();
    let asking = client.clone();
    let poll = tokio::spawn(async move { asking.request("workspace/diagnostic", json!({}), ask().parking()).await });
    peer.receive().await;
    assert_eq!((client.traffic().open, client.traffic().oldest), (1, None));
    client.cancel_parked();
    assert!(matches!(poll.await.unwrap(), Reply::Parked));
    assert_eq!(peer.receive().await["method"], json!("$/cancelRequest"));
}

#[tokio::test]
async fn a_second_answer_and_an_answer_to_nothing_are_violations() {
    let (client, mut incoming, mut peer) = usual();
    let serve = async {
        let request = peer.receive().await;
        peer.answer(&request, Value::Null).await;
        peer.answer(&request, Value::Null).await;
        peer.answer(&json!({"id": 77}), Value::Null).await;
        peer.answer(&json!({"id": "text"}), Value::Null).await;
    };
    let ((), reply) = tokio::join!(serve, client.request("x/y", (), ask()));
    assert!(matches!(reply, Reply::Answer { shape: Shape::Null, .. }), "{reply:?}");
    assert!(violation(&mut incoming).await.contains("answered twice"));
    for id in ["`77`", "`text`"] {
        let text = violation(&mut incoming).await;
        assert!(text.contains(id) && text.contains("never sent"), "{text}");
    }
}

#[tokio::test]
async fn an_id_that_comes_back_as_a_string_is_told_and_leaves_its_request_open() {
    let (client, mut incoming, mut peer) = usual();
    let serve = async {
        let first = peer.receive().await;
        peer.answer(&first, Value::Null).await;
        let request = peer.receive().await;
        let id = request["id"].to_string();
        peer.answer(&json!({ "id": id }), Value::Null).await;
        let text = violation(&mut incoming).await;
        assert!(
            text.contains("as a string") && text.contains(&format!("`\"{id}\"`")),
            "{text}"
        );
        assert_eq!(client.traffic().open, 1);
        peer.answer(&request, Value::Null).await;
    };
    let asks = async {
        client.request("initialize", (), ask()).await;
        client.request("x/y", (), ask()).await
    };
    let ((), reply) = tokio::join!(serve, asks);
    assert!(matches!(reply, Reply::Answer { .. }), "{reply:?}");
}

#[tokio::test]
async fn latency_ends_with_the_last_byte_and_not_when_somebody_looks() {
    let (client, _incoming, mut peer) = usual();
    let started = Instant::now();
    let request = client.request("textDocument/hover", json!({}), ask());
    tokio::pin!(request);
    let sent = tokio::select! {
        biased;
        _reply = &mut request => unreachable!("nobody answered yet"),
        sent = peer.receive() => sent,
    };
    peer.answer(&sent, Value::Null).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let Reply::Answer { latency, .. } = request.await else {
        panic!("no answer")
    };
    assert!(
        latency < started.elapsed() / 2,
        "{latency:?} of {:?}",
        started.elapsed()
    );
}

#[tokio::test]
async fn thousands_of_requests_leave_nothing_behind() {
    let (client, _incoming, mut peer) = usual();
    let serve = async {
        for _ in 0..5000 {
            let request = peer.receive().await;
            peer.answer(&request, json!([])).await;
        }
    };
    let drive = async {
        for _ in 0..5000 {
            let reply = client.request("textDocument/hover", json!({}), ask()).await;
            assert!(
                matches!(
                    reply,
                    Reply::Answer {
                        shape: Shape::Empty,
                        ..
                    }
                ),
                "{reply:?}"
            );
        }
    };
    tokio::join!(serve, drive);
    let traffic = client.traffic();
    assert_eq!((traffic.open, traffic.unsent, client.totals().requests), (0, 0, 5000));
}
