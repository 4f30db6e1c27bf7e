//! When a server counts as ready, by which rule, and the message if it does not.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use base::units::{Share, Span};
use lsp::{Client, Incoming};
use lsp_soak::config::{Failure, NotificationSignal, Profile, ReadinessLimits, Ready, Signal};
use lsp_soak::drive::readiness;
use lsp_soak::drive::signal::Signals;
use record::{Readiness, ReadyOutcome, ReadyRule};
use serde_json::{Value, json};
use tokio::sync::mpsc::Receiver;

use super::stage::Fake;
use crate::lsp::peer::{Peer, usual};

const METHOD_NOT_FOUND: i64 = -32601;

fn limits(timeout: u64) -> ReadinessLimits {
    ReadinessLimits {
        start_grace: Some(Span::from_millis(300)),
        quiet: Span::from_millis(150),
        timeout: Span::from_millis(timeout),
        cpu: Share(0.1),
    }
}

fn status() -> NotificationSignal {
    NotificationSignal {
        method: "x/status".to_owned(),
        when: BTreeMap::from([("quiescent".to_owned(), json!(true))]),
        contains: BTreeMap::new(),
    }
}

fn profile(signal: Option<Signal>, failures: Vec<Failure>) -> Profile {
    Profile {
        ready: Ready {
            signal,
            ..Ready::default()
        },
        failures,
        ..Profile::default()
    }
}

async fn wait(
    client: Client,
    mut incoming: Receiver<Incoming>,
    stage: Fake,
    profile: Profile,
    timeout: u64,
) -> Readiness {
    let (signals, limits) = (Signals::new(&profile), limits(timeout));
    let hear = async {
        while let Some(news) = incoming.recv().await {
            if let Incoming::Notification { method, params } = news {
                let params = params.map(|params| serde_json::from_str::<Value>(params.get()).unwrap());
                signals.hear(&method, params.as_ref());
            }
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        ready = readiness::wait(&client, &stage, &limits, &signals, Instant::now()) => ready.0,
        () = hear => unreachable!(),
    }
}

/// Answers the barrier like a server that does not know the method, after everything before it.
async fn answer_barrier(peer: &mut Peer) {
    loop {
        let message = peer.receive().await;
        if message["method"] == "lspSoak/barrier" {
            assert_eq!(
                message["params"],
                json!({}),
                "some servers cannot read a request without parameters"
            );
            return peer.refuse(&message, METHOD_NOT_FOUND, Value::Null).await;
        }
    }
}

const LONG: u64 = 60_000;

#[tokio::test]
async fn a_server_that_does_nothing_has_no_work_and_is_let_be_after_the_grace() {
    let (client, incoming, mut peer) = usual();
    let begun = Instant::now();
    let (ready, ()) = tokio::join!(
        wait(client, incoming, Fake::idle(), profile(None, vec![]), LONG),
        answer_barrier(&mut peer)
    );
    assert_eq!((ready.outcome, ready.progress), (ReadyOutcome::NoWork, 0));
    assert!(
        begun.elapsed() >= Duration::from_millis(300),
        "the grace was not waited for"
    );
}

#[tokio::test]
async fn a_token_that_is_created_and_never_begun_is_no_work() {
    let (client, incoming, mut peer) = usual();
    let begun = Instant::now();
    let script = async {
        peer.ask(json!(1), "window/workDoneProgress/create", json!({ "token": "t" }))
            .await;
        answer_barrier(&mut peer).await;
    };
    let (ready, ()) = tokio::join!(
        wait(client, incoming, Fake::idle(), profile(None, vec![]), LONG),
        script
    );
    assert_eq!((ready.outcome, ready.progress), (ReadyOutcome::NoWork, 1));
    assert!(begun.elapsed() < Duration::from_millis(LONG / 2));
}

#[tokio::test]
async fn progress_counts_from_its_begin_on_and_must_end() {
    let (client, incoming, mut peer) = usual();
    let script = async {
        peer.ask(json!(1), "window/workDoneProgress/create", json!({ "token": "t" }))
            .await;
        let begin = json!({ "token": "t", "value": { "kind": "begin", "title": "indexing" } });
        peer.send(json!({ "jsonrpc": "2.0", "method": "$/progress", "params": begin }))
            .await;
        tokio::time::sleep(Duration::from_millis(700)).await;
        let end = json!({ "token": "t", "value": { "kind": "end" } });
        peer.send(json!({ "jsonrpc": "2.0", "method": "$/progress", "params": end }))
            .await;
        let ended = Instant::now();
        answer_barrier(&mut peer).await;
        ended
    };
    let waited = async {
        let ready = wait(client, incoming, Fake::idle(), profile(None, vec![]), LONG).await;
        (ready, Instant::now())
    };
    let ((ready, at), ended) = tokio::join!(waited, script);
    assert_eq!((ready.outcome, ready.progress), (ReadyOutcome::Ready, 1));
    // A busy machine may delay the barrier's answer.
    assert!(
        matches!(ready.rule, ReadyRule::Progress | ReadyRule::Barrier),
        "decided by {:?}",
        ready.rule
    );
    assert!(
        at.duration_since(ended) >= Duration::from_millis(150),
        "the quiet period after the end was cut short"
    );
}

#[tokio::test]
async fn busy_processors_are_work_and_hold_readiness_back() {
    let (client, incoming, mut peer) = usual();
    let stage = Fake::busy();
    let calm = stage.clone();
    let script = async {
        tokio::time::sleep(Duration::from_millis(800)).await;
        calm.set_busy(false);
        let calmed = Instant::now();
        answer_barrier(&mut peer).await;
        calmed
    };
    let waited = async {
        let ready = wait(client, incoming, stage, profile(None, vec![]), LONG).await;
        (ready, Instant::now())
    };
    let ((ready, at), calmed) = tokio::join!(waited, script);
    assert_eq!(ready.outcome, ReadyOutcome::Ready);
    assert!(at > calmed);
}

#[tokio::test]
async fn a_server_that_stays_busy_is_a_timeout_that_names_the_processors() {
    let (client, incoming, _peer) = usual();
    let ready = wait(client, incoming, Fake::busy(), profile(None, vec![]), 600).await;
    assert_eq!((ready.outcome, ready.rule), (ReadyOutcome::Timeout, ReadyRule::Cpu));
    assert!(ready.missing.contains("of one CPU"), "{}", ready.missing);
}

#[tokio::test]
async fn the_signal_of_the_profile_is_waited_for_while_the_server_says_it_is_busy() {
    let (client, incoming, mut peer) = usual();
    let status_of =
        |quiescent: bool| json!({ "jsonrpc": "2.0", "method": "x/status", "params": { "quiescent": quiescent } });
    let script = async {
        peer.send(status_of(false)).await;
        // Longer than the quiet that would otherwise replace a signal.
        tokio::time::sleep(Duration::from_millis(2500)).await;
        peer.send(status_of(true)).await;
        let told = Instant::now();
        answer_barrier(&mut peer).await;
        told
    };
    let waited = async {
        let signal = Some(Signal::Notification(status()));
        let ready = wait(client, incoming, Fake::idle(), profile(signal, vec![]), LONG).await;
        (ready, Instant::now())
    };
    let ((ready, at), told) = tokio::join!(waited, script);
    assert_eq!(ready.outcome, ReadyOutcome::Ready);
    assert!(at > told);
}

#[tokio::test]
async fn a_signal_that_never_comes_is_not_waited_for_until_the_timeout() {
    let (client, incoming, mut peer) = usual();
    let signal = Some(Signal::Notification(status()));
    let (ready, ()) = tokio::join!(
        wait(client, incoming, Fake::idle(), profile(signal, vec![]), LONG),
        answer_barrier(&mut peer)
    );
    assert_eq!(ready.outcome, ReadyOutcome::NoWork);
}

#[tokio::test]
async fn a_server_that_says_it_cannot_load_the_workspace_has_failed() {
    let (client, incoming, mut peer) = usual();
    let failures = vec![Failure::Message("Error loading".to_owned())];
    let script = async {
        let params = json!({ "type": 1, "message": "Error loading packages: no go.mod" });
        peer.send(json!({ "jsonrpc": "2.0", "method": "window/logMessage", "params": params }))
            .await;
    };
    let (ready, ()) = tokio::join!(
        wait(client, incoming, Fake::idle(), profile(None, failures), LONG),
        script
    );
    assert_eq!((ready.outcome, ready.rule), (ReadyOutcome::Failed, ReadyRule::Signal));
    assert!(ready.missing.contains("no go.mod"), "{}", ready.missing);
}
