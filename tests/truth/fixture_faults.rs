//! The fixture's fault options.

use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::fixture_memory::has_ended;
use crate::peer::{PATIENCE, Peer, wait_until};

const URI: &str = "file:///nowhere/one.py";
/// Long enough for an expected answer. A shorter time could only hide a failure.
const A_WHILE: Duration = Duration::from_millis(500);

fn position(line: u32, character: u32) -> Value {
    json!({ "textDocument": { "uri": URI }, "position": { "line": line, "character": character } })
}

fn shut_down(peer: &mut Peer) -> Option<i32> {
    assert_eq!(peer.request("shutdown", Value::Null), Value::Null);
    peer.notify("exit", Value::Null);
    peer.ended(PATIENCE).expect("the server ends after exit").code()
}

/// The kinds of progress reports, up to the last. tower-lsp merges answers and notifications from two queues, so an
/// answer may overtake earlier reports.
fn indexing(peer: &mut Peer) -> Vec<Value> {
    let mut kinds = Vec::new();
    wait_until("the end of indexing", || {
        peer.truth();
        let reports = peer.seen.get("$/progress").into_iter().flatten();
        kinds = reports
            .map(|report| report["params"]["value"]["kind"].clone())
            .collect();
        kinds.last() == Some(&json!("end"))
    });
    kinds
}

#[test]
fn a_plain_server_greets_registers_reports_and_leaves() {
    let mut peer = Peer::start(&[]);
    for method in [
        "workspace/configuration",
        "client/registerCapability",
        "window/workDoneProgress/create",
    ] {
        assert_eq!(peer.seen.get(method).map(Vec::len), Some(1), "{method}");
    }
    let kinds = indexing(&mut peer);
    assert_eq!(kinds.first(), Some(&json!("begin")));
    assert!(kinds.contains(&json!("report")));
    assert_eq!(shut_down(&mut peer), Some(0));
}

#[test]
fn an_exit_without_shutdown_is_a_failure() {
    let mut peer = Peer::start(&[]);
    peer.notify("exit", Value::Null);
    assert_eq!(peer.ended(PATIENCE).and_then(|status| status.code()), Some(1));
    let mut peer = Peer::start(&[]);
    peer.close_stdin();
    assert_eq!(peer.ended(PATIENCE).and_then(|status| status.code()), Some(1));
}

#[test]
fn a_client_that_goes_without_an_answer_leaves_no_server_behind() {
    let mut peer = Peer::spawn(&[]);
    peer.answers = false;
    peer.initialize();
    peer.notify("initialized", json!({}));
    wait_until("a question of the server", || {
        peer.truth();
        peer.seen.contains_key("workspace/configuration")
    });
    peer.close_stdin();
    assert_eq!(peer.ended(PATIENCE / 4).and_then(|status| status.code()), Some(1));
}

#[test]
fn two_thousand_edits_arrive_in_order() {
    let mut peer = Peer::start(&[]);
    peer.open(URI, "🦀 = \"é\"\n\n");
    let mut expected = "🦀 = \"é\"\n".to_owned();
    for number in 0..2_000u32 {
        let text = format!("{number},");
        let column = expected.lines().nth(1).map_or(0, str::len);
        let place = json!({ "line": 1, "character": column });
        let change = json!([{ "range": { "start": place, "end": place }, "text": text }]);
        expected.push_str(&text);
        let document = json!({ "uri": URI, "version": number + 2 });
        peer.notify(
            "textDocument/didChange",
            json!({ "textDocument": document, "contentChanges": change }),
        );
    }
    // UTF-16: the crab has two columns, so column 2 is behind it.
    let behind = json!({ "start": { "line": 0, "character": 2 }, "end": { "line": 0, "character": 3 } });
    let document = json!({ "uri": URI, "version": 9_999 });
    let change = json!([{ "range": behind, "text": "_" }]);
    peer.notify(
        "textDocument/didChange",
        json!({ "textDocument": document, "contentChanges": change }),
    );
    expected = expected.replacen("🦀 ", "🦀_", 1) + "\n";
    assert_eq!(peer.request("fixture/text", json!({ "uri": URI })), json!(expected));
}

#[test]
fn it_crashes_after_so_many_requests() {
    let mut peer = Peer::start(&["--crash-after", "3"]);
    peer.request("workspace/symbol", json!({ "query": "x" }));
    let id = peer.ask("workspace/symbol", json!({ "query": "x" }));
    assert_eq!(peer.answer(id, PATIENCE), None);
    assert_eq!(
        peer.ended(PATIENCE).and_then(|status| status.signal()),
        Some(Signal::ABORT.as_raw())
    );
}

#[test]
fn a_hung_method_leaves_the_others_alone() {
    let mut peer = Peer::start(&["--hang-on", "textDocument/hover"]);
    let hung: Vec<_> = (0..8).map(|_| peer.ask("textDocument/hover", position(0, 0))).collect();
    for id in hung {
        peer.notify("$/cancelRequest", json!({ "id": id }));
        assert_eq!(peer.answer(id, A_WHILE / 8), None);
    }
    peer.request("workspace/symbol", json!({ "query": "x" }));
}

#[test]
fn a_parked_request_is_answered_when_it_is_cancelled() {
    let mut peer = Peer::start(&["--park", "workspace/diagnostic"]);
    let id = peer.ask("workspace/diagnostic", json!({ "previousResultIds": [] }));
    assert_eq!(peer.answer(id, A_WHILE), None);
    peer.notify("$/cancelRequest", json!({ "id": id }));
    assert_eq!(peer.answer(id, PATIENCE).expect("an answer")["code"], -32800);
}

#[test]
fn a_slow_server_takes_its_time() {
    let mut peer = Peer::start(&["--slow", "300ms"]);
    let asked = Instant::now();
    peer.request("workspace/symbol", json!({ "query": "x" }));
    assert!(asked.elapsed() >= Duration::from_millis(300));
}

#[test]
fn empty_results_are_null_or_empty() {
    let mut peer = Peer::start(&["--empty-results"]);
    peer.open(URI, "def one():\n    return one()\n");
    assert_eq!(peer.request("textDocument/definition", position(1, 12)), Value::Null);
    assert_eq!(peer.request("textDocument/completion", position(1, 12)), json!([]));
    assert_eq!(peer.request("workspace/symbol", json!({ "query": "" })), json!([]));
}

#[test]
fn noise_goes_between_the_messages() {
    let mut peer = Peer::start(&["--garbage-stdout", "5"]);
    indexing(&mut peer);
    assert_eq!(peer.seen[""].len(), 5);
}

#[test]
fn a_flood_on_stderr_must_be_drained() {
    let mut peer = Peer::spawn(&["--flood-stderr", "3MiB"]);
    peer.initialize();
    peer.notify("initialized", json!({}));
    let id = peer.ask("workspace/symbol", json!({ "query": "Order" }));
    assert_eq!(peer.answer(id, A_WHILE), None, "a full pipe blocks the server");
    let drained = peer.drain_stderr();
    assert!(peer.answer(id, PATIENCE).is_some());
    drop(peer);
    assert_eq!(drained.join().expect("the drain ends with the server"), 3 << 20);
}

#[test]
fn a_huge_result_has_the_size_that_was_asked_for() {
    let mut peer = Peer::start(&["--huge-result", "5MiB-in=textDocument/completion"]);
    let resident = crate::peer::anonymous(peer.pid());
    let answer = peer.request("textDocument/completion", position(0, 0));
    assert!(answer.as_array().is_some_and(|items| items.len() > 100_000));
    let envelope = r#"{"jsonrpc":"2.0","id":3,"result":}"#.len();
    assert_eq!(peer.last_length - envelope, 5 << 20);
    crate::peer::same(crate::peer::anonymous(peer.pid()), resident);
}

#[test]
fn a_stubborn_server_only_yields_to_a_kill() {
    let mut peer = Peer::start(&["--ignore-shutdown"]);
    let id = peer.ask("shutdown", Value::Null);
    peer.notify("exit", Value::Null);
    assert_eq!(peer.answer(id, A_WHILE), None);
    peer.close_stdin();
    let pid = Pid::from_raw(peer.pid().cast_signed()).expect("a process number is not zero");
    kill_process(pid, Signal::TERM).expect("the server is there");
    assert_eq!(peer.ended(A_WHILE), None);
    kill_process(pid, Signal::KILL).expect("the server is there");
    assert_eq!(
        peer.ended(PATIENCE).and_then(|status| status.signal()),
        Some(Signal::KILL.as_raw())
    );
}

#[test]
fn the_child_left_behind_is_in_a_session_of_its_own() {
    let mut peer = Peer::start(&["--leave-child-behind"]);
    let pid = peer.truth()["children"][0]
        .as_i64()
        .and_then(|pid| i32::try_from(pid).ok())
        .expect("one child");
    let child = Pid::from_raw(pid).expect("a process number is not zero");
    wait_until("a session of its own", || {
        rustix::process::getsid(Some(child)).is_ok_and(|session| session == child)
    });
    assert_eq!(shut_down(&mut peer), Some(0));
    assert!(!has_ended(pid.cast_unsigned()), "the child survives");
    kill_process(child, Signal::KILL).expect("the child is there");
}

#[test]
fn the_first_read_only_requests_are_content_modified() {
    let mut peer = Peer::start(&["--content-modified", "3"]);
    let answers: Vec<_> = (0..3)
        .map(|_| peer.request("workspace/symbol", json!({ "query": "Order" })))
        .collect();
    // `start` has sent one request already.
    assert_eq!(answers[0]["code"], -32801);
    assert_eq!(answers[1]["code"], -32801);
    assert!(answers[2].is_array());
}

#[test]
fn a_blocked_server_answers_once_it_was_answered_itself() {
    let mut peer = Peer::spawn(&["--block-until-answered"]);
    peer.answers = false;
    peer.initialize();
    peer.notify("initialized", json!({}));
    let id = peer.ask("workspace/symbol", json!({ "query": "Order" }));
    assert_eq!(peer.answer(id, A_WHILE), None);
    assert!(peer.seen.contains_key("workspace/configuration"));

    let mut peer = Peer::start(&["--block-until-answered"]);
    let refreshes = [
        "codeLens", "semanticTokens", "inlineValue", "inlayHint", "diagnostic", "foldingRange",
    ];
    for refresh in refreshes {
        assert!(
            peer.seen.contains_key(&format!("workspace/{refresh}/refresh")),
            "{refresh}"
        );
    }
    assert_eq!(shut_down(&mut peer), Some(0));
}

#[test]
fn a_wedged_server_reads_nothing_more() {
    let mut peer = Peer::start(&["--stop-reading-after", "4"]);
    peer.request("textDocument/hover", position(0, 0));
    let id = peer.ask("workspace/symbol", json!({ "query": "x" }));
    assert_eq!(peer.answer(id, A_WHILE), None);
    assert_eq!(peer.ended(Duration::ZERO), None);
}

#[test]
fn muted_progress_is_neither_created_nor_reported() {
    let peer = Peer::start(&["--mute-progress"]);
    assert!(!peer.seen.contains_key("window/workDoneProgress/create"));
    assert!(!peer.seen.contains_key("$/progress"));
}

#[test]
fn a_delayed_index_shows_its_progress_for_that_long() {
    let started = Instant::now();
    let mut peer = Peer::start(&["--index-delay", "400ms"]);
    assert!(started.elapsed() >= Duration::from_millis(390));
    assert!(indexing(&mut peer).len() >= 5);
}
