//! Diagnostics that the imitated editor pulls by itself, on the real fixture.

use analysis::growth::{Sent, repeated_parts};
use analysis::summary::Summary;
use record::{Entry, Event, Request};

use crate::ground::PreparedWorkspace;
use crate::outcome::{KIB, MIB};
use crate::soak::{START, Soak, passing};

const EDITS: &str = r#"
[[phase]]
name = "open"
steps = [{ open = { files = 2 } }]
[[phase]]
name = "edit"
steps = [{ edit = { files = 1, per-file = 3, cadence = "1ms" } }]
"#;

const DOCUMENT: &str = "textDocument/diagnostic";
const WORKSPACE: &str = "workspace/diagnostic";

/// The profile of the fixture in this editor.
fn imitating(capabilities: &str) -> String {
    format!("[server.fixture-system]\ncapabilities = \"{capabilities}\"\n")
}

/// Requests of this method that the editor sent by itself.
fn pulls<'e>(entries: &'e [Entry], method: &str) -> Vec<&'e Request> {
    let all = entries.iter().filter_map(|entry| match &entry.event {
        Event::Request(request) if request.editor && request.method == method => Some(request),
        _ => None,
    });
    all.collect()
}

/// Number of pulls that the editor sent in each phase.
fn by_phase(summary: &Summary) -> Vec<(&str, u64)> {
    let phases = summary.phases.iter();
    phases
        .map(|phase| (phase.phase.name.as_str(), phase.editor_requests))
        .collect()
}

#[test]
fn open_documents_are_pulled_after_open_and_after_each_burst_and_no_step_counts_it() {
    let outcome = Soak::new(&format!("{START}{EDITS}"))
        .server(&["--pull", "static"])
        .run();
    let summary = outcome.passed();
    // The burst is one pull of its document, and one of the other, which may depend on it.
    assert_eq!(by_phase(&summary), [("start", 0), ("open", 2), ("edit", 2)]);
    assert!(summary.traffic.methods.is_empty(), "{:?}", summary.traffic.methods);
    let steps = summary.phases.iter().flat_map(|phase| &phase.steps);
    assert_eq!(steps.filter_map(|step| step.requests).sum::<u64>(), 0);
    let entries = outcome.entries();
    let answered = pulls(&entries, DOCUMENT);
    assert!(answered.iter().all(|request| request.latency.is_some()), "{answered:?}");
}

#[test]
fn memory_that_a_server_takes_only_when_asked_is_found_and_the_editor_can_be_turned_off() {
    let server = ["--pull", "static", "--leak", "4MiB-per=textDocument/diagnostic"];
    for (capabilities, pulled) in [("default", 4), ("vscode", 4), ("no-pull", 0), ("minimal", 0)] {
        let summary = Soak::new(&format!("{START}{EDITS}"))
            .file("servers.toml", imitating(capabilities))
            .server(&server)
            .run()
            .passed();
        let sent: u64 = summary.traffic.editor.iter().map(|method| method.count).sum();
        assert_eq!(sent, pulled, "{capabilities}");
        assert_eq!(summary.header.settings.pulls_diagnostics, pulled > 0);
        let grown: i64 = summary.phases.iter().filter_map(|phase| phase.increment).sum();
        let expected = (pulled * 4 * MIB) as i64;
        assert!((grown - expected).abs() < 3 * MIB as i64, "{capabilities}: {grown}");
    }
}

#[test]
fn every_registered_provider_that_covers_a_document_is_asked() {
    let outcome = Soak::new(&format!("{START}{EDITS}"))
        .server(&["--pull", "dynamic", "--pull-workspace", "answer"])
        .run();
    let summary = outcome.passed();
    let entries = outcome.entries();
    // Of two providers one is for Python; its files do not depend on each other.
    assert_eq!(pulls(&entries, DOCUMENT).len(), 3, "{:?}", by_phase(&summary));
    // Both are asked for the workspace, at the start and after changes, and once more each time.
    let workspace = pulls(&entries, WORKSPACE);
    assert!((4..=12).contains(&workspace.len()), "{workspace:?}");
}

#[test]
fn unchanged_documents_are_not_reported_again() {
    let phases = r#"
[[phase]]
name = "open"
steps = [{ open = { files = 1 } }]
[[phase]]
name = "ask"
steps = [{ diagnostics = { times = 2 } }]
"#;
    let outcome = Soak::new(&format!("{START}{phases}"))
        .server(&["--pull", "static"])
        .run();
    outcome.passed();
    let entries = outcome.entries();
    let sizes: Vec<u64> = entries
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::Request(request) if request.method == DOCUMENT => Some(request.bytes),
            _ => None,
        })
        .collect();
    let unchanged = r#"{"kind":"unchanged","resultId":"0123456789abcdef"}"#.len() as u64;
    assert_eq!(sizes.len(), 3);
    assert_eq!(sizes.iter().filter(|size| **size == unchanged).count(), 2, "{sizes:?}");
}

#[test]
fn a_refresh_is_obeyed_before_the_checkpoint_and_never_in_an_idle_window() {
    let phases = r#"
[[phase]]
name = "open"
steps = [{ open = { files = 2 } }]
[[phase]]
name = "ask"
steps = [{ hover = { files = 1, per-file = 1, expect = "anything" } }]
[[phase]]
name = "idle"
steps = [{ edit = { files = 1, per-file = 1 } }, { idle = { for = "1500ms" } }]
"#;
    let outcome = Soak::new(&format!("{START}{phases}"))
        .server(&["--pull", "static", "--refresh-on", "textDocument/hover"])
        .run();
    let summary = outcome.passed();
    assert_eq!(by_phase(&summary), [("start", 0), ("open", 2), ("ask", 2), ("idle", 2)]);
    let entries = outcome.entries();
    let began = entries
        .iter()
        .find(|entry| matches!(entry.event, Event::WindowBegan(_)))
        .expect("it was recorded");
    let last = entries.iter().rev().find(|entry| {
        let event = &entry.event;
        matches!(event, Event::Request(request) if request.editor)
    });
    assert!(last.expect("it pulls").at < began.at, "a pull in the window");
}

#[test]
fn a_server_that_wants_to_be_pulled_without_end_never_settles() {
    let phases = r#"
[[phase]]
name = "open"
steps = [{ open = { files = 1 } }]
settle = { at-most = "2s" }
"#;
    let outcome = Soak::new(&format!("{START}{phases}"))
        .server(&["--pull", "static", "--refresh-on", DOCUMENT])
        .run();
    let summary = outcome.passed();
    let taken = summary.phases[1].checkpoint.as_ref().expect("it was taken");
    assert!(!taken.settled, "{taken:?}");
    assert!(summary.phases[1].editor_requests < 20, "{:?}", by_phase(&summary));
}

#[test]
fn diagnostics_of_a_workspace_are_measured_though_their_request_stays_open() {
    let phases = r#"
[[phase]]
name = "ask"
repeat = { times = 3 }
steps = [{ diagnostics = { workspace = true, expect = "anything" } }]
"#;
    let server = [
        "--pull",
        "static",
        "--pull-workspace",
        "park",
        "--leak",
        "8MiB-per=workspace/diagnostic",
    ];
    let summary = passing(phases, &server);
    for phase in &summary.phases[1..] {
        let step = &phase.steps[0];
        assert_eq!((step.requests, step.hits, step.parked), (Some(1), Some(1), Some(0)));
        let increment = phase.increment.expect("it is known");
        assert!((increment - 8 * MIB as i64).abs() < 512 * KIB as i64, "{increment}");
    }
}

/// A Python file of this many lines, of which the fixture reports each once.
fn reported_lines(lines: usize) -> String {
    "name = 1  \n".repeat(lines)
}

/// Elements and hits of the requests for the workspace that the steps sent.
fn workspace_figures(summary: &Summary) -> (u64, u64) {
    let mut methods = summary.traffic.methods.iter();
    let method = methods.find(|method| method.method == WORKSPACE);
    let method = method.expect("it was sent");
    (method.items, method.hits)
}

#[test]
fn diagnostics_of_a_workspace_are_counted_and_not_their_documents() {
    let ask = r#"
[[phase]]
name = "ask"
repeat = { times = 3 }
steps = [{ diagnostics = { workspace = true, expect = "anything" } }]
"#;
    for how in ["answer", "park", "replace"] {
        for (capabilities, by_steps) in [("default", 0), ("no-pull", 5)] {
            let outcome = Soak::new(&format!("{START}{ask}"))
                .file("servers.toml", imitating(capabilities))
                .file("workspace/reported.py", reported_lines(5))
                .server(&["--pull", "static", "--pull-workspace", how])
                .run();
            let summary = outcome.passed();
            // What the editor or the first request was told has not changed afterwards: no elements, but an answer.
            assert_eq!(workspace_figures(&summary), (by_steps, 3), "{how}, {capabilities}");
            let by_editor: u64 = summary.traffic.editor.iter().map(|method| method.items).sum();
            assert_eq!(by_editor + by_steps, 5, "{how}, {capabilities}");
        }
    }
}

#[test]
fn a_part_of_a_result_is_counted_however_long_it_is() {
    let ask = r#"
[[phase]]
name = "ask"
repeat = { times = 2 }
steps = [{ diagnostics = { workspace = true } }]
"#;
    // Some 200 bytes for each of them.
    let lines = 30_000;
    let outcome = Soak::new(&format!("{START}{ask}"))
        .file("servers.toml", imitating("no-pull"))
        .file("workspace/reported.py", reported_lines(lines))
        .server(&["--pull", "static", "--pull-workspace", "park"])
        .run();
    let summary = outcome.passed();
    assert!(
        summary.traffic.methods[0].bytes > 4 * MIB,
        "{:?}",
        summary.traffic.methods
    );
    // The second request has the ids of the results in the long part.
    assert_eq!(workspace_figures(&summary), (lines as u64, 2));
}

#[test]
fn a_step_whose_requests_all_stay_open_fails_the_run_whatever_it_expects() {
    let phases = r#"
[[phase]]
name = "ask"
steps = [
    { open = { files = 1 } },
    { hover = { per-file = 1, expect = "anything" } },
    { request = { method = "workspace/diagnostic", params = { previousResultIds = [] }, expect = "anything" } },
]
"#;
    let outcome = Soak::new(&format!("{START}{phases}"))
        .server(&["--pull", "static", "--pull-workspace", "park"])
        .run();
    outcome.exits_with(4);
    let said = outcome.output();
    assert!(!said.contains("no retention growth"), "{said}");
}

#[test]
fn runs_with_and_without_pulled_diagnostics_are_not_gated_against_each_other() {
    let ground = PreparedWorkspace::pair()
        .with_server("old", &["--pull", "static"], "")
        .with_server("new", &["--pull", "static"], "");
    for server in ["old", "new"] {
        ground.stdout(&[
            "run", "scenario.toml", "--server", server, "--runs", "3", "--quiet", "--out", server,
        ]);
    }
    for record in ground.records("old") {
        let text = std::fs::read_to_string(&record).expect("it is ours");
        let before = text.replacen("\"pulls_diagnostics\":true,", "", 1);
        assert_ne!(text, before, "the header says so");
        std::fs::write(&record, before).expect("it is ours");
    }
    let gate = [
        "gate", "--from", "old", "new", "--baseline", "old", "--candidate", "new",
    ];
    let (said, errors) = ground.ends(2, &gate);
    assert!(
        (said.clone() + &errors).contains("pulled diagnostics"),
        "{said}\n{errors}"
    );
}

#[test]
fn a_phase_without_steps_in_which_the_server_keeps_a_pull_open_is_no_silence() {
    let phases = r#"
[[phase]]
name = "open"
steps = [{ open = { files = 1 } }]
[[phase]]
name = "quiet"
repeat = { times = 8 }
steps = [{ idle = { for = "50ms" } }]
"#;
    for (workspace, sent) in [("park", Sent::Waiting), ("answer", Sent::Nothing)] {
        let summary = passing(phases, &["--pull", "static", "--pull-workspace", workspace]);
        assert_eq!(repeated_parts(&summary)[0].sent, Some(sent), "{workspace}");
    }
}
