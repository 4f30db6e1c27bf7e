//! The driver distinguishes wedged, slow, ended and healthy servers.

use std::time::Duration;

use lsp::{Answers, Client, Limits, RequestOptions};
use lsp_soak::drive::{Stop, fault};
use record::Ending;
use serde_json::json;
use tokio::time::timeout;

use super::stage::Fake;
use crate::lsp::peer::{ask, connect, usual};
#[cfg(target_os = "linux")]
use crate::lsp::process::shell;
#[cfg(target_os = "linux")]
use lsp::Gauge;
#[cfg(target_os = "linux")]
use proctree::process::ServerProcess;

const FAULT_DEADLINE: Duration = Duration::from_millis(600);

/// About four fault deadlines.
const WATCHED: Duration = Duration::from_millis(2500);

async fn watch(client: &Client, stage: &Fake) -> Option<Stop> {
    timeout(WATCHED, fault::watch(client, || None, stage, FAULT_DEADLINE))
        .await
        .ok()
}

#[tokio::test]
async fn an_idle_server_that_owes_an_answer_is_wedged() {
    let (client, _incoming, _peer) = usual();
    let asking = client.clone();
    let request = tokio::spawn(async move { asking.request("x/slow", (), ask()).await });
    match fault::watch(&client, || None, &Fake::idle(), FAULT_DEADLINE).await {
        Stop::Ended(Ending::Wedged { method, unsent, .. }) => assert_eq!((method.as_str(), unsent), ("x/slow", 0)),
        other => panic!("{other:?}"),
    }
    request.abort();
}

#[tokio::test]
async fn a_hang_is_not_told_before_the_deadline() {
    let (client, _incoming, _peer) = usual();
    let asking = client.clone();
    let request = tokio::spawn(async move { asking.request("x/slow", (), ask()).await });
    let deadline = WATCHED + FAULT_DEADLINE;
    let idle = Fake::idle();
    let watching = fault::watch(&client, || None, &idle, deadline);
    assert!(timeout(WATCHED, watching).await.is_err());
    request.abort();
}

#[tokio::test]
async fn a_busy_server_that_owes_an_answer_is_slow_and_not_wedged() {
    let (client, _incoming, _peer) = usual();
    let asking = client.clone();
    let request = tokio::spawn(async move { asking.request("x/slow", (), ask()).await });
    assert!(watch(&client, &Fake::busy()).await.is_none());
    request.abort();
}

#[tokio::test]
async fn a_server_that_does_not_read_is_wedged_and_the_unread_bytes_are_told() {
    let (client, _incoming, _peer) = connect(1024, Answers::default(), Limits::default());
    client.notify("x/large", json!({ "text": "x".repeat(100_000) }));
    match fault::watch(&client, || None, &Fake::idle(), FAULT_DEADLINE).await {
        Stop::Ended(Ending::Wedged { method, unsent, .. }) => {
            assert_eq!(method, "");
            assert!(unsent > 90_000, "{unsent}");
        }
        other => panic!("{other:?}"),
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_lies_unread_in_a_pipe_was_not_taken_however_much_is_written_meanwhile() {
    let mut server = ServerProcess::spawn(&shell("exec sleep 1000")).unwrap();
    let (stdout, stdin) = server.take_pipes().unwrap();
    let gauge = Gauge::of(&stdin);
    let (client, _incoming) = Client::connect(stdout, stdin, Answers::default(), Limits::default());
    client.gauge(gauge);
    let typing = async {
        loop {
            client.notify("x/key", json!({}));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let stage = Fake::idle();
    let stop = tokio::select! {
        stop = fault::watch(&client, || None, &stage, FAULT_DEADLINE) => stop,
        () = typing => unreachable!(),
    };
    match stop {
        Stop::Ended(Ending::Wedged { method, unsent, .. }) => {
            assert_eq!((method.as_str(), unsent > 0), ("", true));
        }
        other => panic!("{other:?}"),
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_server_that_reads_what_it_gets_is_not_wedged_and_sees_the_end_of_its_input() {
    let mut server = ServerProcess::spawn(&shell("exec cat >/dev/null")).unwrap();
    let (stdout, stdin) = server.take_pipes().unwrap();
    let gauge = Gauge::of(&stdin);
    let (client, _incoming) = Client::connect(stdout, stdin, Answers::default(), Limits::default());
    client.gauge(gauge);
    client.notify("x/key", json!({}));
    assert!(watch(&client, &Fake::idle()).await.is_none());
    client.close_stdin();
    timeout(crate::lsp::peer::PATIENCE, server.exited()).await.unwrap();
}

#[tokio::test]
async fn a_long_poll_is_no_wedge() {
    let (client, _incoming, _peer) = usual();
    let asking = client.clone();
    let poll = RequestOptions::with_deadline(Duration::from_secs(60)).parking();
    let request = tokio::spawn(async move { asking.request("workspace/diagnostic", (), poll).await });
    assert!(watch(&client, &Fake::idle()).await.is_none());
    request.abort();
}

#[tokio::test]
async fn a_server_that_owes_nothing_may_be_silent() {
    let (client, _incoming, _peer) = usual();
    assert!(watch(&client, &Fake::idle()).await.is_none());
}

#[tokio::test]
async fn a_server_that_is_gone_is_gone_and_not_wedged() {
    let (client, _incoming, _peer) = usual();
    assert!(matches!(
        fault::watch(&client, || Some(Stop::Gone), &Fake::idle(), FAULT_DEADLINE).await,
        Stop::Gone
    ));
}
