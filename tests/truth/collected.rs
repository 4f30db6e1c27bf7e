//! Servers that collect their garbage by a command of their own and report what is live.

use std::fs;

use serde_json::Value;

use crate::ground::PreparedWorkspace;
use crate::soak::{START, Soak};

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
        .with_server("base", &["--ballast", "200MiB"], &own)
        .with_server("other", &["--ballast", candidate], &own);
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

/// A collector in Go whose command reports nothing, as that of tsgo.
const SILENT_COLLECTOR: &str = "allocator = { linked = \"go\" }\nself-report = { ask = { request = \
                                \"fixture/liveBytes\" }, releases = true }\n";

#[test]
fn private_memory_decides_where_a_collection_reports_nothing() {
    for (candidate, code, expected) in [("200MiB", 0, "pass"), ("230MiB", 1, "fail")] {
        let pair = PreparedWorkspace::pair()
            .with_server("base", &["--ballast", "200MiB"], SILENT_COLLECTOR)
            .with_server("other", &["--ballast", candidate], SILENT_COLLECTOR);
        let gate = [
            "gate", "scenario.toml", "--baseline", "base", "--candidate", "other", "--runs", "5", "--format", "json",
        ];
        let (said, _) = pair.ends(code, &gate);
        let gate: Value = serde_json::from_str(&said).expect("it is JSON");
        let rules = gate["against"][0]["rules"].as_array().expect("it has rules");
        assert_eq!(rules[0]["figure"], "private", "{gate}");
        assert_eq!(gate["findings"][0]["answer"], expected, "{gate}");
    }
}

#[test]
fn a_scenario_that_collects_does_so_before_each_checkpoint_as_shipped() {
    let hover = "[[phase]]\nname = \"ask\"\nrepeat = { times = 3 }\nsteps = [{ open = { files = 1 } }, { hover = {} }, { close = {} }]\n";
    for (collects, expected) in [(true, 4), (false, 0)] {
        let soak = Soak::new(&format!("{START}{hover}"))
            .file("servers.toml", format!("[server.fixture-system]\n{SILENT_COLLECTOR}"));
        let scenario = soak.workspace().with_file_name("scenario.toml");
        let text = fs::read_to_string(&scenario).expect("it is ours");
        fs::write(&scenario, format!("collect = {collects}\n{text}")).expect("it is ours");
        let summary = soak.run().passed();
        let releases = summary.allocator.released.iter();
        let at_checkpoints = releases.filter(|release| release.step.is_none() && release.is_done());
        assert_eq!(at_checkpoints.count(), expected);
        let limit = summary.header.server.lens.env.get("GOMEMLIMIT");
        assert_eq!(limit.map(String::as_str), collects.then_some("1"));
    }
}
