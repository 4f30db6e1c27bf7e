//! Steps that do what an editor does by itself: it follows the cursor, formats after a key, and cancels what nobody waits for.

use serde_json::Value;

use crate::ground::{PreparedWorkspace, scenario};

const TEXT: &str = "def price(item):\n    return item\n\n\ndef total(items):\n    return price(items)\n\n\ntotal(1)\n";

/// The report of a run of one step, with these options of the fixture.
fn report(step: &str, options: &[&str]) -> Value {
    let phases = format!(
        "\n[[phase]]\nname = \"start\"\nsteps = [{{ start = {{}} }}, {{ open = {{ files = 1 }} }}]\n[[phase]]\nname = \"step\"\nsteps \
         = [{{ {step} }}]\n"
    );
    let place = PreparedWorkspace::new(&scenario("editor", "200ms", &phases), TEXT).with_server("fixture", options, "");
    let text = place.stdout(&[
        "run", "scenario.toml", "--server", "fixture", "--out", "out", "-q", "--format", "json",
    ]);
    serde_json::from_str(&text).expect("it is JSON")
}

fn find_method<'r>(report: &'r Value, name: &str) -> Option<&'r Value> {
    report["methods"]
        .as_array()
        .expect("it is a list")
        .iter()
        .find(|method| method["method"] == name)
}

fn warnings(report: &Value) -> String {
    report["findings"].to_string()
}

#[test]
fn a_slow_request_is_cancelled_and_its_answer_awaited() {
    let report = report(
        "hover = { per-file = 4, cancel-after = \"50ms\" }",
        &["--slow", "400ms"],
    );
    let hover = find_method(&report, "textDocument/hover").expect("it was requested");
    assert_eq!(
        (&hover["count"], &hover["cancelled"], &hover["errors"]),
        (&4.into(), &4.into(), &0.into()),
        "{report:#}"
    );
    assert_eq!(report["ending"], "completed", "a cancelled request is answered");
}

#[test]
fn a_step_that_cancelled_nothing_says_so() {
    let report = report("hover = { per-file = 4, cancel-after = \"20s\" }", &[]);
    assert!(
        warnings(&report).contains("`hover` cancelled no request after 20.0 s"),
        "{report:#}"
    );
}

#[test]
fn a_cursor_walks_through_names_and_asks_what_editors_ask() {
    let report = report("cursor-walk = { per-file = 5, cadence = \"1ms\" }", &[]);
    let counts = ["hover", "documentHighlight", "signatureHelp"].map(|name| {
        let method = find_method(&report, &format!("textDocument/{name}"));
        method.and_then(|method| method["count"].as_u64()).unwrap_or(0)
    });
    assert_eq!(counts[..2], [5, 5], "{report:#}");
    assert!(
        (1..5).contains(&counts[2]),
        "signatures are asked for in calls alone: {counts:?}"
    );
    assert!(
        warnings(&report).contains("does without `textDocument/inlayHint`"),
        "what the server lacks is named"
    );
}

#[test]
fn a_server_formats_after_a_key_that_is_taken_back() {
    let report = report("on-type-formatting = { per-file = 4 }", &[]);
    let method = find_method(&report, "textDocument/onTypeFormatting").expect("it was requested");
    assert_eq!(
        (&method["count"], &method["hits"], &method["null"]),
        (&4.into(), &2.into(), &2.into()),
        "after `;` every second time"
    );
}

/// The report of a run whose editor dies at its end, as JSON and in a terminal.
fn orphaned(options: &[&str]) -> (Value, String) {
    let phases = "\n[[phase]]\nname = \"start\"\nsteps = [{ start = {} }]\n";
    let scenario = scenario("orphan", "200ms", phases)
        .replace("format = 1", "format = 1\nend = \"editor-dies\"\ndeadline = \"2s\"");
    let place = PreparedWorkspace::new(&scenario, TEXT).with_server("fixture", options, "");
    let text = place.stdout(&[
        "run", "scenario.toml", "--server", "fixture", "--out", "out", "-q", "--format", "json",
    ]);
    let report = serde_json::from_str(&text).expect("it is JSON");
    (report, place.stdout(&["report", "out", "--each", "--details"]))
}

#[test]
fn a_server_whose_editor_dies_is_seen_to_end_by_itself() {
    let (report, text) = orphaned(&[]);
    assert_eq!(report["shutdown"]["stage"], "stdin-closed", "{report:#}");
    assert!(report["shutdown"]["reply"].is_null(), "nothing was said to it");
    assert!(text.contains("after its editor died"), "{text}");
}

#[test]
fn a_server_that_outlives_its_editor_is_reported_with_what_it_keeps() {
    let (report, text) = orphaned(&["--ignore-shutdown"]);
    let kept = report["shutdown"]["orphaned"]["kept"].as_f64().expect("it is known");
    assert!(kept > 1e6, "{report:#}");
    assert_eq!(report["shutdown"]["stage"], "killed");
    assert!(text.contains("outlived its editor"), "{text}");
}

#[test]
fn memory_of_several_windows_is_that_of_all_their_servers() {
    let private = [1, 3].map(|instances| {
        let phases = format!(
            "\n[[phase]]\nname = \"start\"\nsteps = [{{ start = {{ instances = {instances} }} }}, {{ open = {{ files = 1 }} }}]\n"
        );
        let place = PreparedWorkspace::new(&scenario("windows", "200ms", &phases), TEXT).with_server(
            "fixture",
            &["--retain-open", "16MiB"],
            "",
        );
        let text = place.stdout(&[
            "run", "scenario.toml", "--server", "fixture", "--out", "out", "-q", "--format", "json",
        ]);
        let report: Value = serde_json::from_str(&text).expect("it is JSON");
        assert_eq!(report["ending"], "completed");
        report["phases"][0]["private"].as_f64().expect("it was measured")
    });
    let ratio = private[1] / private[0];
    assert!((2.9..3.1).contains(&ratio), "{private:?}");
}

#[test]
fn a_part_of_the_workspace_is_all_that_the_server_is_given() {
    let phases = "\n[[phase]]\nname = \"start\"\nsteps = [{ start = { root = \"inner\" } }]\n[[phase]]\nname = \"search\"\nsteps = \
                  [{ workspace-symbol = { queries = [\"deep\", \"price\"] } }]\n";
    let place = PreparedWorkspace::new(&scenario("part", "200ms", phases), TEXT).with_server("fixture", &[], "");
    place.write("workspace/inner/deep.py", "def deep():\n    return 1\n");
    let text = place.stdout(&[
        "run", "scenario.toml", "--server", "fixture", "--out", "out", "-q", "--format", "json",
    ]);
    let report: Value = serde_json::from_str(&text).expect("it is JSON");
    let symbols = find_method(&report, "workspace/symbol").expect("it was requested");
    assert_eq!(
        (&symbols["count"], &symbols["hits"]),
        (&2.into(), &1.into()),
        "{report:#}"
    );
}
