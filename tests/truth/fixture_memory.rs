//! The fixture's memory options, checked against `/proc` directly.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::fixture::{JEMALLOC, MIMALLOC, SNMALLOC, SYSTEM};
use crate::peer::{Peer, anonymous, proc_bytes, same, wait_until};

const MIB: u64 = 1 << 20;
const URI: &str = "file:///nowhere/one.py";

fn children(peer: &mut Peer) -> Vec<u32> {
    let pids = peer.truth()["children"].as_array().cloned().unwrap_or_default();
    pids.iter()
        .filter_map(Value::as_u64)
        .filter_map(|pid| u32::try_from(pid).ok())
        .collect()
}

fn proportional(pid: u32) -> u64 {
    proc_bytes(pid, "smaps_rollup", "Pss_Anon")
}

#[test]
fn ballast_is_added_to_a_plain_server() {
    let plain = anonymous(Peer::start(&[]).pid());
    let mut loaded = Peer::start(&["--ballast", "40MiB"]);
    same(anonymous(loaded.pid()) - plain, 40 * MIB);
    assert_eq!(loaded.truth()["ballast"], 40 * MIB);
}

#[test]
fn every_message_of_the_method_leaks_its_size() {
    let mut peer = Peer::start(&["--leak", "64KiB-per=textDocument/hover"]);
    let at = json!({ "textDocument": { "uri": URI }, "position": { "line": 0, "character": 0 } });
    peer.request("textDocument/hover", at.clone());
    let before = anonymous(peer.pid());
    for _ in 0..320 {
        peer.request("textDocument/hover", at.clone());
        peer.request("textDocument/documentHighlight", at.clone());
    }
    same(anonymous(peer.pid()) - before, 20 * MIB);
    assert_eq!(peer.truth()["leaked"], 321 * (64 << 10));
}

#[test]
fn memory_of_open_documents_goes_with_them() {
    let mut peer = Peer::start(&["--retain-open", "8MiB"]);
    let before = anonymous(peer.pid());
    for name in ["a", "b", "c"] {
        peer.open(&format!("file:///nowhere/{name}.py"), "x = 1\n");
    }
    assert_eq!(peer.truth()["openDocuments"], 3);
    same(anonymous(peer.pid()) - before, 24 * MIB);
    peer.close("file:///nowhere/b.py");
    peer.close("file:///nowhere/c.py");
    assert_eq!(peer.truth()["retainedOpen"], 8 * MIB);
    same(anonymous(peer.pid()) - before, 8 * MIB);
}

#[test]
fn only_the_high_water_mark_sees_a_spike() {
    let mut peer = Peer::start(&["--spike", "64MiB-in=textDocument/references"]);
    let before = anonymous(peer.pid());
    let resident = proc_bytes(peer.pid(), "status", "VmRSS");
    let at = json!({ "textDocument": { "uri": URI }, "position": { "line": 0, "character": 0 },
        "context": { "includeDeclaration": true } });
    peer.request("textDocument/references", at);
    same(anonymous(peer.pid()), before);
    same(proc_bytes(peer.pid(), "status", "VmHWM") - resident, 64 * MIB);
    assert_eq!(peer.truth()["spikes"], 1);
}

#[test]
fn decaying_memory_is_returned_in_silence() {
    let mut peer = Peer::start(&["--decay", "32MiB-after=2s"]);
    let before = anonymous(peer.pid());
    peer.open(URI, "x = 1\n");
    assert_eq!(peer.truth()["decay"], 32 * MIB);
    same(anonymous(peer.pid()) - before, 32 * MIB);
    let pid = peer.pid();
    wait_until("the return of the memory", || anonymous(pid) < before + MIB);
    peer.close(URI);
    peer.open(URI, "x = 1\n");
    assert_eq!(peer.truth()["decay"], 32 * MIB, "work takes the memory again");
}

#[test]
fn memory_that_waits_for_traffic_is_kept_in_silence() {
    let mut peer = Peer::start(&["--decay-on-traffic", "32MiB", "--traffic-gap", "500ms"]);
    let before = anonymous(peer.pid());
    peer.open(URI, "x = 1\n");
    peer.truth();
    thread::sleep(Duration::from_millis(600));
    assert_eq!(
        peer.truth()["decayOnTraffic"],
        32 * MIB,
        "silence alone returns nothing"
    );
    same(anonymous(peer.pid()) - before, 32 * MIB);
    peer.notify("$/setTrace", json!({ "value": "off" }));
    assert_eq!(peer.truth()["decayOnTraffic"], 0);
    same(anonymous(peer.pid()), before);
}

/// True if a process forked and has not called exec.
fn forked(pid: u32) -> bool {
    let text = std::fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
    proctree::procfs::stat(&text).is_none_or(|stat| stat.forked())
}

#[test]
fn children_and_grandchildren_hold_their_size_each() {
    let mut bare = Peer::start(&["--children", "1,0"]);
    let bare = anonymous(children(&mut bare)[0]);
    let mut peer = Peer::start(&["--children", "2,16MiB", "--grandchildren"]);
    let children = children(&mut peer);
    assert_eq!(children.len(), 2);
    for child in children {
        let grandchildren =
            || std::fs::read_to_string(format!("/proc/{child}/task/{child}/children")).unwrap_or_default();
        wait_until("the grandchild", || !grandchildren().trim().is_empty());
        let grandchild = grandchildren().trim().parse().expect("one process number");
        for pid in [child, grandchild] {
            // Before exec the child has its parent's memory.
            wait_until("its memory", || {
                !forked(pid) && anonymous(pid) >= bare + 16 * MIB - (128 << 10)
            });
            same(anonymous(pid) - bare, 16 * MIB);
        }
    }
}

#[test]
fn forks_share_the_pages_that_were_touched_before() {
    let plain = proportional(Peer::start(&[]).pid());
    let mut peer = Peer::start(&["--children", "3,32MiB,forked"]);
    let forks = children(&mut peer);
    assert_eq!(forks.len(), 3);
    let naive: u64 = forks.iter().map(|pid| anonymous(*pid)).sum();
    assert!(naive >= 96 * MIB, "each fork has the pages: {naive}");
    let family: u64 = forks.iter().map(|pid| proportional(*pid)).sum();
    same(family + proportional(peer.pid()) - plain, 32 * MIB);
}

#[test]
fn children_end_with_their_server() {
    let mut peer = Peer::start(&["--children", "1,1MiB", "--children", "1,1MiB,forked"]);
    let pids = children(&mut peer);
    assert_eq!(pids.len(), 2);
    drop(peer);
    wait_until("the end of the children", || pids.iter().all(|pid| has_ended(*pid)));
}

/// True if the process is gone or a zombie.
pub fn has_ended(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')')
        .is_none_or(|(_, rest)| rest.trim_start().starts_with(['Z', 'X']))
}

/// The memory that the fixture reports as live matches its options at every step, and is all resident. The allocator
/// may keep more.
#[track_caller]
fn keeps_the_account(program: &str) {
    let options = [
        ["--via", "allocator"],
        ["--ballast", "16MiB"],
        ["--retain-open", "4MiB"],
        ["--leak", "64KiB-per=textDocument/hover"],
        ["--spike", "48MiB-in=textDocument/references"],
    ];
    let mut peer = Peer::start_on(program, &options.concat());
    assert_live(&mut peer, 16 * MIB);
    peer.open(URI, "x = 1\n");
    assert_live(&mut peer, (16 + 4) * MIB);
    let at = json!({ "textDocument": { "uri": URI }, "position": { "line": 0, "character": 0 },
        "context": { "includeDeclaration": true } });
    for _ in 0..32 {
        peer.request("textDocument/hover", at.clone());
    }
    assert_live(&mut peer, (20 + 2) * MIB);
    peer.request("textDocument/references", at);
    assert_live(&mut peer, 22 * MIB);
    let mark = proc_bytes(peer.pid(), "status", "VmHWM");
    assert!(mark >= (22 + 48) * MIB, "the spike was {mark}");
    peer.close(URI);
    assert_live(&mut peer, (16 + 2) * MIB);
}

#[track_caller]
fn assert_live(peer: &mut Peer, expected: u64) {
    assert_eq!(peer.request("fixture/liveBytes", Value::Null), expected);
    let held = anonymous(peer.pid());
    assert!(held >= expected, "{held} bytes cannot hold {expected}");
}

#[test]
fn the_system_allocator_keeps_the_account() {
    keeps_the_account(SYSTEM);
}

#[test]
fn jemalloc_keeps_the_account() {
    keeps_the_account(JEMALLOC);
}

#[test]
fn mimalloc_keeps_the_account() {
    keeps_the_account(MIMALLOC);
}

#[test]
fn snmalloc_keeps_the_account() {
    keeps_the_account(SNMALLOC);
}

#[test]
fn the_control_has_no_symbol_of_an_allocator() {
    let program = std::fs::read(SYSTEM).expect("the fixture is built beside its tests");
    let holds = |name: &str| memchr::memmem::find(&program, name.as_bytes()).is_some();
    assert!(holds("malloc"), "the symbols can be seen at all");
    for symbol in [
        "_rjem_", "je_malloc", "mallocx", "mi_malloc", "mi_heap", "sn_rust_", "snmalloc",
    ] {
        assert!(!holds(symbol), "`{symbol}` is linked into the control");
    }
}
