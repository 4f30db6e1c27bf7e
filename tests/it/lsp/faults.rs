//! Servers that break the protocol: tolerable faults are tolerated and reported.

use lsp::{Answers, CloseReason, Incoming, Limits, Reply, ServerCapabilities, Shape, Sync, position::Encoding};
use serde_json::{Value, json};

use super::peer::{ask, connect, next, usual, violation};

#[tokio::test]
async fn noise_between_messages_is_skipped_counted_and_kept_for_people() {
    let (client, _incoming, mut peer) = usual();
    let serve = async {
        let request = peer.receive().await;
        let noise = "Welcome to the server\nloading 1/3\r\n\r\n{\"not\": \"lsp\"}";
        peer.send_raw(noise.as_bytes()).await;
        peer.answer(&request, json!([1])).await;
        noise
    };
    let (noise, reply) = tokio::join!(serve, client.request("x/y", (), ask()));
    assert!(matches!(reply, Reply::Answer { shape: Shape::Full, .. }), "{reply:?}");
    assert_eq!(
        (client.totals().noise, client.totals().noise_sample.as_str()),
        (noise.len() as u64, noise)
    );
}

#[tokio::test]
async fn a_message_that_is_shorter_than_announced_is_unfinished_until_the_rest_comes() {
    let (client, _incoming, mut peer) = usual();
    let serve = async {
        let request = peer.receive().await;
        let body = json!({ "jsonrpc": "2.0", "id": request["id"], "result": [1] }).to_string();
        let announced = body.len() as u64 + 7;
        peer.send_raw(format!("Content-Length: {announced}\r\n\r\n{body}").as_bytes())
            .await;
        while client
            .totals()
            .unfinished
            .is_none_or(|message| message.came < announced - 7)
        {
            tokio::task::yield_now().await;
        }
        let unfinished = client.totals().unfinished.expect("it is not whole");
        assert_eq!((unfinished.announced, unfinished.came), (announced, announced - 7));
        peer.send_raw(b"       ").await;
    };
    let ((), reply) = tokio::join!(serve, client.request("x/y", (), ask()));
    assert!(matches!(reply, Reply::Answer { shape: Shape::Full, .. }), "{reply:?}");
    assert_eq!(client.totals().unfinished, None);
}

#[tokio::test]
async fn a_stream_of_nothing_but_noise_is_given_up() {
    let limits = Limits {
        noise: 100_000,
        ..Limits::default()
    };
    let (client, mut incoming, mut peer) = connect(64 * 1024, Answers::default(), limits);
    peer.send_raw(&vec![b'x'; 120_000]).await;
    let Incoming::Closed(CloseReason::Garbage { bytes }) = next(&mut incoming).await else {
        panic!("not closed")
    };
    assert!(bytes > 100_000 && client.totals().noise_sample.len() == 4096);
}

#[tokio::test]
async fn headers_may_be_written_in_any_case_and_with_a_type() {
    let (_client, mut incoming, mut peer) = usual();
    let body = r#"{"jsonrpc":"2.0","method":"x/y"}"#;
    let kind = "content-type: application/vscode-jsonrpc; charset=utf8";
    peer.send_raw(format!("{kind}\r\nCONTENT-LENGTH:{}\r\n\r\n{body}", body.len()).as_bytes())
        .await;
    assert!(matches!(
        next(&mut incoming).await,
        Incoming::Notification { params: None, .. }
    ));
}

#[tokio::test]
async fn a_message_that_arrives_byte_by_byte_is_one_message() {
    let (client, _incoming, mut peer) = usual();
    let serve = async {
        let request = peer.receive().await;
        let body = format!(
            r#"{{"result":{{"contents":"é"}},"jsonrpc":"2.0","id":{}}}"#,
            request["id"]
        );
        for byte in format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes() {
            peer.send_raw(&[*byte]).await;
            tokio::task::yield_now().await;
        }
    };
    let ((), reply) = tokio::join!(serve, client.request("textDocument/hover", json!({}), ask()));
    assert!(
        matches!(
            reply,
            Reply::Answer {
                shape: Shape::Full,
                bytes: 17,
                ..
            }
        ),
        "{reply:?}"
    );
}

#[tokio::test]
async fn a_body_that_is_no_message_is_told_and_the_next_one_is_read() {
    let (client, mut incoming, mut peer) = usual();
    for (body, words) in [
        ("[1,2]", "not a JSON object"),
        ("{\"id\":", "not a JSON object"),
        ("{}", "neither a method nor an id"),
        (
            r#"{"id":null,"error":{"code":-32700,"message":"bad input"}}"#,
            "bad input",
        ),
    ] {
        peer.send_raw(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes())
            .await;
        let text = violation(&mut incoming).await;
        assert!(text.contains(words), "{text}");
    }
    assert_eq!(client.close_reason(), None);
    peer.ask(json!(1), "workspace/codeLens/refresh", Value::Null).await;
}

#[tokio::test]
async fn a_result_that_is_no_json_is_no_hit_and_ends_its_request_at_once() {
    for (before, after) in [("\"id\":2,", ""), ("", ",\"id\":2")] {
        for result in ["[garbage !!]", "[NaN]", "[,,,]", "{\"contents\":[}", "[1]]"] {
            let (client, mut incoming, mut peer) = usual();
            let serve = async {
                let request = peer.receive().await;
                peer.answer(&request, json!(1)).await;
                peer.receive().await;
                let body = format!("{{\"jsonrpc\":\"2.0\",{before}\"result\":{result}{after}}}");
                peer.send_raw(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes())
                    .await;
            };
            let asks = async {
                client.request("initialize", (), ask()).await;
                client.request("x/y", (), ask()).await
            };
            let ((), reply) = tokio::join!(serve, asks);
            assert!(matches!(reply, Reply::Unreadable { .. }), "{result}: {reply:?}");
            let text = violation(&mut incoming).await;
            assert!(text.starts_with("a message is not a JSON object: byte "), "{text}");
        }
    }
}

#[tokio::test]
async fn a_long_result_that_is_no_json_is_no_hit() {
    let (client, _incoming, mut peer) = usual();
    let serve = async {
        let request = peer.receive().await;
        let list = "{\"name\":\"é\"},".repeat(200_000);
        let body = format!("{{\"id\":{},\"result\":[{list}garbage]}}", request["id"]);
        peer.send_raw(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes())
            .await;
    };
    let ((), reply) = tokio::join!(serve, client.request("x/y", (), ask()));
    let Reply::Unreadable { why, .. } = reply else {
        panic!("{reply:?}")
    };
    assert!(why.ends_with("begins `garbage]}`, where a value is expected"), "{why}");
}

#[tokio::test]
async fn a_first_answer_that_answers_nothing_ends_the_handshake_and_a_notification_does_not() {
    let utf16: Vec<u8> = "{\"id\":1,\"result\":{}}"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    for (body, words) in [
        (
            &b"\xef\xbb\xbf{\"id\":1,\"result\":{}}"[..],
            "it begins with a byte order mark",
        ),
        (&utf16, "it is UTF-16"),
        (
            b"{\"id\":1,\"result\":{}} done",
            "begins `done`, where the end of the message is expected",
        ),
        (b"{\"id\":\"1\",\"result\":{}}", "where the request had a number"),
        (b"{\"id\":null,\"result\":{}}", "an id that is null"),
        (b"{\"id\":7,\"result\":{}}", "request `7`, which was never sent"),
        (b"{\"id\":1.5,\"result\":{}}", "request `1.5`, which was never sent"),
        (b"{\"result\":{}}", "neither a method nor an id"),
    ] {
        let (client, _incoming, mut peer) = usual();
        let serve = async {
            peer.receive().await;
            let noise = "{\"method\":\"window/logMessage\",\"params\":[garbage]}";
            peer.send_raw(format!("Content-Length: {}\r\n\r\n{noise}", noise.len()).as_bytes())
                .await;
            let head = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
            peer.send_raw(&[&head, body].concat()).await;
        };
        let ((), reply) = tokio::join!(serve, client.request("initialize", (), ask()));
        let Reply::Unreadable { why, .. } = reply else {
            panic!("{words}: {reply:?}")
        };
        assert!(why.contains(words), "{why}");
    }
}

#[tokio::test]
async fn output_in_utf_16_closes_the_connection() {
    let (_client, mut incoming, mut peer) = usual();
    let text = "Content-Length: 22\r\n\r\n{\"id\":1,\"result\":{}}";
    let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    peer.send_raw(&bytes).await;
    assert!(matches!(
        next(&mut incoming).await,
        Incoming::Closed(CloseReason::Utf16)
    ));
}

#[tokio::test]
async fn every_id_of_a_request_is_repeated_as_it_came_or_told() {
    let (client, mut incoming, mut peer) = usual();
    let long = format!("\"{}\"", "x".repeat(510));
    for id in [
        "9223372036854775808", "-1.5", "1e400", "0", "\"\"", "\"\\u00e9\"", &long,
    ] {
        peer.send_raw(&refresh_message(id)).await;
        let answer = peer.receive_text().await;
        let same = serde_json::from_str::<Value>(id).map_or(id.to_owned(), |id| id.to_string());
        assert!(answer.contains(&format!("\"id\":{same},")), "{id}: {answer}");
    }
    // A lone surrogate is valid JSON, but serde_json cannot read it as text.
    peer.send_raw(&refresh_message("\"\\ud800\"")).await;
    assert!(peer.receive_text().await.contains(r#""id":"\ud800","#));
    let mebibyte = format!("\"{}\"", "x".repeat(1_000_000));
    for (id, words) in [
        ("null", "is null"),
        ("{\"a\":[1]}", "is an object"),
        ("[1]", "is a list"),
        ("true", "is a boolean"),
        (&mebibyte, "has over 512 bytes"),
    ] {
        peer.send_raw(&refresh_message(id)).await;
        let text = violation(&mut incoming).await;
        let whole = format!(
            "a request of the server, `workspace/codeLens/refresh`, has an id that {words}, so that it cannot be answered"
        );
        assert_eq!(text, whole);
    }
    peer.send_raw(b"Content-Length: 22\r\n\r\n{\"id\":[1],\"result\":3}\n")
        .await;
    assert_eq!(
        violation(&mut incoming).await,
        "an answer has an id that is a list, so that it answers no request"
    );
    assert_eq!(client.close_reason(), None);
    peer.ask(json!(1), "workspace/codeLens/refresh", Value::Null).await;
}

/// A request with this id, which is written as it is.
fn refresh_message(id: &str) -> Vec<u8> {
    let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"workspace/codeLens/refresh"}}"#);
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

#[tokio::test]
async fn an_answer_without_result_or_error_counts_as_null_and_is_told() {
    let (client, mut incoming, mut peer) = usual();
    let serve = async {
        let request = peer.receive().await;
        peer.send(json!({"jsonrpc": "2.0", "id": request["id"]})).await;
    };
    let ((), reply) = tokio::join!(serve, client.request("shutdown", (), ask()));
    assert!(
        matches!(
            reply,
            Reply::Answer {
                shape: Shape::Null,
                bytes: 0,
                ..
            }
        ),
        "{reply:?}"
    );
    assert!(violation(&mut incoming).await.contains("neither a result nor an error"));
}

#[tokio::test]
async fn the_end_of_output_loses_what_is_open_and_says_where_it_came() {
    for (last_bytes, reason) in [
        ("", CloseReason::Eof),
        (
            "Content-Length: 100\r\n\r\n{\"id\"",
            CloseReason::Truncated { length: 100, got: 5 },
        ),
        (
            "Content-Length: 2000000\r\n\r\n{\"id\"",
            CloseReason::Truncated {
                length: 2_000_000,
                got: 5,
            },
        ),
    ] {
        let (client, mut incoming, mut peer) = usual();
        let asking = client.clone();
        let open = tokio::spawn(async move { asking.request("x/y", (), ask()).await });
        peer.receive().await;
        peer.send_raw(last_bytes.as_bytes()).await;
        let _input = peer.end();
        assert!(matches!(open.await.unwrap(), Reply::Lost));
        let Incoming::Closed(seen) = next(&mut incoming).await else {
            panic!("not closed")
        };
        assert_eq!((&seen, client.close_reason().as_ref()), (&reason, Some(&reason)));
        assert!(matches!(client.request("x/y", (), ask()).await, Reply::Lost));
    }
}

#[tokio::test]
async fn closing_stdin_drops_what_a_stuck_server_did_not_read() {
    let (client, _incoming, mut peer) = connect(64, Answers::default(), Limits::default());
    client.notify("a/b", json!({"text": "x".repeat(10_000)}));
    client.close_stdin();
    assert!(peer.reads_to_the_end().await);
    assert_eq!(client.traffic().unsent, 0);
    client.wait_until_written().await;
}

#[tokio::test]
async fn what_the_server_chose_is_agreed_on() {
    let (client, _incoming, mut peer) = usual();
    assert_eq!(
        (client.encoding(), client.sync(), client.offers("textDocument/hover")),
        (Encoding::Utf16, Sync::None, false)
    );
    let said = json!({"capabilities": {"positionEncoding": "utf-8", "textDocumentSync": 2, "hoverProvider": true}});
    client.set_server_capabilities(ServerCapabilities::from_result(&said));
    assert_eq!((client.encoding(), client.sync()), (Encoding::Utf8, Sync::Incremental));
    assert!(client.offers("textDocument/hover") && !client.offers("textDocument/formatting"));
    let registrations = json!({"registrations": [{"id": "1", "method": "textDocument/formatting"}]});
    peer.ask(json!(1), "client/registerCapability", registrations).await;
    assert!(client.offers("textDocument/formatting"));
}
