//! Servers that collect their garbage by a command of their own and report what is live.

use serde_json::Value;

use crate::ground::PreparedWorkspace;

/// The fixture as a server with a collector: its word on its live memory comes after a release.
fn profile(asked: &str) -> String {
    format!(
        "allocator = {{ linked = \"v8\" }}\nself-report = {{ ask = {{ request = \"{asked}\" }}, total = \"number\", \
         releases = true }}\n"
    )
}

fn gated(candidate: &str, asked: &str, code: i32) -> Value {
    let own = profile(asked);
    let pair = PreparedWorkspace::pair()
        .with("base", &["--ballast", "200MiB"], &own)
        .with("other", &["--ballast", candidate], &own);
    let (said, _) = pair.ends(
        code,
        &[
            "gate", "scenario.toml", "--baseline", "base", "--candidate", "other", "--runs", "5", "--format", "json",
        ],
    );
    serde_json::from_str(&said).expect("it is JSON")
}

/// The answer of the rule on live memory, which decides alone.
fn answer(gate: &Value) -> &str {
    let [rule] = gate["against"][0]["rules"].as_array().expect("it has rules").as_slice() else {
        panic!("one rule decides: {gate}")
    };
    assert_eq!(rule["figure"], "live", "{gate}");
    gate["findings"][0]["answer"].as_str().expect("it is told")
}

#[test]
fn live_memory_after_a_collection_decides_and_shows_three_per_cent() {
    let same = gated("200MiB", "fixture/liveBytes", 0);
    assert_eq!(answer(&same), "pass", "{same}");
    let more = gated("206MiB", "fixture/liveBytes", 1);
    assert_eq!(answer(&more), "fail", "{more}");
}

#[test]
fn a_server_that_does_not_answer_its_collection_has_no_live_memory() {
    let gate = gated("200MiB", "fixture/nothing", 2);
    assert_eq!(answer(&gate), "inconclusive", "{gate}");
}
