//! Failing servers: each run ends properly and in time, with a readable record, no orphan, and a helpful message.
//!
//! `Running::finish` checks every run for its end and for left processes.

use analysis::summary::exit_of_run;
use base::exit::Exit;
use record::{Ending, Event, Outcome as Answer, ShutdownStage, WarningKind};

use crate::fixture::SYSTEM;
use crate::ground::PreparedWorkspace;
use crate::outcome::{MIB, Outcome, phase};
use crate::soak::{START, Soak, passing};

const HOVER: &str = r#"
[[phase]]
name = "hover"
steps = [{ open = { files = 2 } }, { hover = { per-file = 5, deadline = "4s" } }]
"#;

/// Sends hovers after a start.
#[track_caller]
fn hover(server: &[&str]) -> Outcome {
    Soak::new(&format!("{START}{HOVER}")).server(server).run()
}

/// Checks that the run failed and its record is complete.
#[track_caller]
pub fn failed(outcome: &Outcome) -> Ending {
    outcome.exits_with(4);
    let summary = outcome.summary();
    assert_eq!(exit_of_run(&summary), Exit::ServerFailed);
    assert!(!summary.unread.truncated && summary.lifecycle.shutdown.is_some() && summary.lifecycle.close.is_some());
    let entries = outcome.entries();
    assert!(matches!(entries.last().map(|last| &last.event), Some(Event::Ended(_))));
    summary.ending.expect("the record says how the run ended")
}

#[test]
fn a_crash_is_told_with_its_place_its_signal_and_the_last_words() {
    let outcome = hover(&["--crash-after", "4"]);
    match failed(&outcome) {
        Ending::Crashed { code, signal, during } => {
            assert_eq!((code, signal), (None, Some(6)));
            assert_eq!(during, "phase `hover`, step `hover`");
        }
        ending => panic!("{ending:?}"),
    }
    outcome.says(&[
        "the server crashed during phase `hover`, step `hover`: signal 6",
        "fixture: `textDocument/hover` is one request too many",
    ]);
    let summary = outcome.summary();
    let hovers = summary
        .traffic
        .methods
        .iter()
        .find(|method| method.method == "textDocument/hover");
    let hovers = hovers.expect("some were sent");
    assert!(hovers.lost >= 1 && hovers.hits >= 1, "{hovers:?}");
    assert_eq!(
        summary.lifecycle.shutdown.map(|shutdown| shutdown.stage),
        Some(ShutdownStage::AlreadyGone)
    );
    // Earlier measurements stay.
    assert!(phase(&outcome.summary(), "start").private.is_some());
}

#[test]
fn what_a_phase_used_is_known_though_no_sample_was_taken_before_its_crash() {
    let outcome = Soak::new(&format!("{START}{HOVER}"))
        .server(&["--spike", "200MiB-in=textDocument/hover", "--crash-after", "4"])
        .options(&["--interval", "10s"])
        .run();
    assert!(matches!(failed(&outcome), Ending::Crashed { signal: Some(6), .. }));
    let summary = outcome.summary();
    let cut = phase(&summary, "hover");
    // Three spikes of huge pages are 300 faults and more than a tick of processor time.
    assert!(cut.minor_faults.is_some_and(|faults| faults >= 300), "{cut:?}");
    assert!(cut.cpu.is_some_and(|cpu| cpu >= 10_000_000), "{cut:?}");
    // The process was gone before its memory could be read.
    let peak = cut.peak.expect("it was seen when the phase began");
    assert_eq!(peak.upper, None);
}

#[test]
fn a_child_that_crashes_fails_the_run_though_the_server_lives_on() {
    let outcome = hover(&["--children", "1,40MiB", "--kill-children", "6-on=textDocument/hover"]);
    match failed(&outcome) {
        Ending::ProcessCrashed {
            name, cause, during, ..
        } => {
            assert!(SYSTEM.ends_with(&name), "{name}");
            assert!(cause.is_crash(), "{cause:?}");
            assert!(during.starts_with("phase `hover`"), "{during}");
        }
        ending => panic!("{ending:?}"),
    }
    outcome.says(&["a process of the server crashed", "crashed in `hover` with 41."]);
    // The phases before keep their figures.
    assert!(phase(&outcome.summary(), "start").private.is_some());
}

#[test]
fn a_child_that_is_told_to_end_does_not_fail_the_run_and_is_named() {
    for signal in ["15-on=textDocument/hover", "9-on=textDocument/hover"] {
        let outcome = hover(&["--children", "1,400MiB", "--kill-children", signal]);
        outcome.exits_with(0);
        outcome.says(&["ended in `hover` with 401.", "though nobody asked it to", "† hover"]);
        let summary = outcome.summary();
        assert_eq!(summary.processes.lost.len(), 1);
        assert!(!phase(&summary, "start").incomplete && phase(&summary, "hover").incomplete);
    }
}

#[test]
fn a_failure_that_the_server_reports_after_it_was_ready_fails_the_run() {
    let failures = "failures = [{ notification = { method = 'textDocument/publishDiagnostics' } }]\n";
    let ground = PreparedWorkspace::pair().with_server("server", &[], failures);
    let (said, _) = ground.ends(4, &["run", "scenario.toml", "--server", "server", "--out", "out", "-q"]);
    assert!(said.contains("✗ the server reported a failure"), "{said}");
    assert!(said.contains("during phase `goto`"), "{said}");
}

#[test]
fn a_server_that_exceeds_its_memory_limit_is_killed_with_its_children_in_time() {
    let outcome = Soak::new(&format!("{START}{HOVER}"))
        .server(&[
            "--run-away",
            "2GiB-in=textDocument/hover",
            "--hang-on",
            "textDocument/hover",
        ])
        .server(&["--children", "1,16MiB"])
        .options(&["--memory-limit", "300 MiB"])
        .run();
    match failed(&outcome) {
        Ending::OverLimit {
            excess,
            during,
            in_flight,
            ..
        } => {
            assert!(excess.is_exact && excess.private > 300 * MIB, "{excess:?}");
            assert!(excess.private < 812 * MIB, "{excess:?}");
            assert!(excess.rate.is_some_and(|rate| rate > 200 * MIB), "{excess:?}");
            assert!(during.starts_with("phase `hover`"), "{during}");
            assert!(
                in_flight.iter().any(|method| method == "textDocument/hover"),
                "{in_flight:?}"
            );
        }
        ending => panic!("{ending:?}"),
    }
    outcome.says(&[
        "exceeded the memory limit",
        "lsp-soak killed it at the limit of 300.0 MiB",
    ]);
    // What it took while it was killed.
    let peak = outcome.summary().memory.private_peak.expect("Linux tells it");
    assert!(peak < 812 * MIB, "{peak}");
}

#[test]
fn a_server_below_its_memory_limit_is_left_alone() {
    let outcome = Soak::new(&format!("{START}{HOVER}"))
        .server(&["--ballast", "100MiB"])
        .options(&["--memory-limit", "300 MiB"])
        .run();
    outcome.exits_with(0);
    assert_eq!(outcome.summary().header.settings.memory_limit, Some(300 * MIB));
}

#[test]
fn a_crash_takes_the_children_with_it() {
    let outcome = hover(&[
        "--crash-after", "4", "--children", "2,1MiB", "--children", "1,1MiB,forked",
    ]);
    assert!(matches!(failed(&outcome), Ending::Crashed { signal: Some(6), .. }));
}

#[test]
fn a_server_that_does_not_start_up_is_told_with_its_last_words() {
    let outcome = Soak::new(START).script("echo 'no license found' >&2; exit 3").run();
    assert!(matches!(
        failed(&outcome),
        Ending::Crashed {
            code: Some(3),
            signal: None,
            ..
        }
    ));
    outcome.says(&["exit code 3", "no license found"]);
}

#[test]
fn a_program_that_nothing_can_run_is_told_with_what_is_missing_and_makes_no_record() {
    let outcome = Soak::new(START).program("#!/no/such/interpreter\n").run();
    outcome.exits_with(2);
    outcome.says(&["its first line names the interpreter `/no/such/interpreter`, which does not exist"]);
    assert_eq!(outcome.stdout, "", "there is nothing to report");
    assert!(
        !outcome.record.exists() && !outcome.stderr.contains("records:"),
        "{}",
        outcome.output()
    );
}

#[test]
fn a_hang_is_wedged_at_its_deadline_and_not_before() {
    let outcome = hover(&["--hang-on", "textDocument/hover"]);
    match failed(&outcome) {
        Ending::Wedged {
            method,
            after,
            unsent,
            during,
        } => {
            assert_eq!((method.as_str(), unsent), ("textDocument/hover", 0));
            assert_eq!(during, "phase `hover`, step `hover`");
            assert!(after >= 4_000_000_000, "the deadline: {after}");
        }
        ending => panic!("{ending:?}"),
    }
    outcome.says(&[
        "the server hangs: `textDocument/hover` has been open for",
        "attach a debugger",
    ]);
    let methods = outcome.summary().traffic.methods;
    let hover = methods.iter().find(|method| method.method == "textDocument/hover");
    assert_eq!(
        hover.map(|hover| (hover.count, hover.lost)),
        Some((1, 1)),
        "what hangs is written down"
    );
    let summary = outcome.summary();
    let step = &phase(&summary, "hover").steps[1];
    assert_eq!((step.requests, step.hits), (Some(1), Some(0)), "and counts");
    outcome.says(&["hover / hover 0/1"]);
}

#[test]
fn a_hang_with_busy_processors_is_a_timeout() {
    let limits = "[readiness]\nquiet = \"300ms\"\ntimeout = \"2s\"\n[settle]\nquiet = \"300ms\"\nat-most = \"1s\"\n";
    let outcome = Soak::with_limits(limits, &format!("{START}{HOVER}"))
        .script("(while :; do :; done) &\nexec \"$FIXTURE\" \"$@\"")
        .server(&["--hang-on", "textDocument/hover"])
        .run();
    match failed(&outcome) {
        Ending::TimedOut { method, after, .. } => {
            assert_eq!((method.as_str(), after), ("textDocument/hover", 4_000_000_000));
        }
        ending => panic!("{ending:?}"),
    }
    outcome.says(&["`textDocument/hover` was not answered within 4", "a longer `deadline`"]);
}

#[test]
fn noise_between_messages_is_counted_and_said() {
    let outcome = hover(&["--garbage-stdout", "30"]);
    let summary = outcome.passed();
    let close = summary.lifecycle.close.expect("the connection was closed");
    assert!(close.noise > 0 && !close.noise_sample.is_empty(), "{close:?}");
    assert!(
        summary
            .log
            .warnings
            .iter()
            .any(|warning| warning.kind == WarningKind::Noise)
    );
    outcome.says(&["to stdout that are not LSP", "write logs to stderr"]);
}

#[test]
fn nothing_but_noise_is_no_connection() {
    let outcome = Soak::new(START).script("exec yes 'Listening on port 4389'").run();
    match failed(&outcome) {
        Ending::Disconnected { reason } => assert!(reason.contains("that are not LSP"), "{reason}"),
        ending => panic!("{ending:?}"),
    }
    outcome.says(&[
        "the server closed its connection",
        "does it need an option for stdio? (in phase `start`, step `start`)",
    ]);
}

#[test]
fn a_program_that_says_nothing_is_wedged_in_the_handshake() {
    let limits = "[readiness]\nquiet = \"300ms\"\ntimeout = \"4s\"\n";
    let outcome = Soak::with_limits(limits, START)
        .script("echo ready; exec sleep 300")
        .run();
    match failed(&outcome) {
        Ending::Wedged { method, .. } => assert_eq!(method, "initialize"),
        ending => panic!("{ending:?}"),
    }
    outcome.says(&["`initialize` has been open for", "starting with `ready`"]);
}

#[test]
fn a_result_that_is_no_json_is_an_error_and_no_hit() {
    for result in ["[garbage !!]", "[NaN]", "[,,,]"] {
        let outcome = hover(&["--raw-result", &format!("{result}-in=textDocument/hover")]);
        match failed(&outcome) {
            Ending::Empty { steps } => {
                let error = steps[0].error.as_deref().unwrap_or_default();
                assert!(error.starts_with("-32700: the answer is not JSON: byte "), "{error}");
            }
            ending => panic!("{ending:?}"),
        }
        let methods = outcome.summary().traffic.methods;
        let hover = methods.iter().find(|method| method.method == "textDocument/hover");
        let hover = hover.expect("hover was asked");
        assert_eq!((hover.hits, hover.errors), (0, hover.count), "{result}");
        outcome.says(&["a message is not a JSON object: byte 35 begins `", "is expected"]);
    }
    let outcome = hover(&["--raw-result", "{\"contents\":\"[NaN]\"}-in=textDocument/hover"]);
    outcome.passed();
}

#[test]
fn a_first_answer_that_cannot_be_read_says_what_came_and_what_was_expected() {
    for (form, words) in [
        ("bom", "it begins with a byte order mark, where `{` is expected"),
        ("utf16", "it is UTF-16, where UTF-8 is expected"),
        (
            "trailing",
            "begins `and more`, where the end of the message is expected",
        ),
        ("text-id", "its id as a string (`\"1\"`) where the request had a number"),
        ("no-id", "a message has neither a method nor an id"),
    ] {
        let outcome = Soak::new(START).server(&["--first-answer", form]).run();
        match failed(&outcome) {
            Ending::Refused { reason } => {
                let start = "the answer to `initialize` cannot be read: ";
                assert!(reason.starts_with(start) && reason.contains(words), "{form}: {reason}");
            }
            ending => panic!("{form}: {ending:?}"),
        }
    }
    let outcome = Soak::new(START).server(&["--first-answer", "all-utf16"]).run();
    match failed(&outcome) {
        Ending::Disconnected { reason } => assert!(reason.contains("writes UTF-16"), "{reason}"),
        ending => panic!("{ending:?}"),
    }
}

#[test]
fn a_failing_server_shows_its_reason_and_not_the_calls_that_led_to_it() {
    let calls = "for n in $(seq 60); do echo \"    at <unknown> (file:///x.js:$n:1)\" >&2; done";
    let outcome = Soak::new(START)
        .script(&format!("echo \"Error: Cannot find module 'x'\" >&2; {calls}; exit 1"))
        .run();
    failed(&outcome);
    outcome.says(&["the server crashed", "Error: Cannot find module 'x'"]);
    let without_stdio = "Error: Connection input stream is not set. Use arguments of createConnection or set command \
                         line parameters: '--node-ipc', '--stdio' or '--socket={number}'";
    let outcome = Soak::new(START)
        .script(&format!("echo \"{without_stdio}\" >&2; {calls}; exit 1"))
        .run();
    failed(&outcome);
    outcome.says(&[
        "does it need an argument such as `--stdio`?",
        "Connection input stream is not set",
    ]);
}

#[test]
fn a_server_that_closes_its_input_ends_the_run_soon_with_the_write_error() {
    let outcome = Soak::new(START).script("exec 0<&-; exec sleep 300").run();
    match failed(&outcome) {
        Ending::Disconnected { reason } => {
            let reason = reason.to_lowercase();
            assert!(
                reason.contains("does not read its input any more: broken pipe"),
                "{reason}"
            );
        }
        ending => panic!("{ending:?}"),
    }
}

#[test]
fn stale_answers_are_asked_for_again_and_counted() {
    let outcome = hover(&["--content-modified", "5"]);
    let summary = outcome.passed();
    let retries: u64 = summary.traffic.methods.iter().map(|method| method.retries).sum();
    assert_eq!(retries, 5);
    assert!(
        summary.traffic.methods.iter().all(|method| method.errors == 0),
        "{:?}",
        summary.traffic.methods
    );
}

#[test]
fn a_server_that_waits_for_its_own_answers_gets_them() {
    let summary = hover(&["--block-until-answered"]).passed();
    for refresh in ["codeLens", "semanticTokens", "inlayHint", "diagnostic"] {
        let asked = summary
            .traffic
            .server_requests
            .get(&format!("workspace/{refresh}/refresh"));
        assert_eq!(asked.map(|one| (one.count, one.refused)), Some((1, 0)), "{refresh}");
    }
}

#[test]
fn a_step_that_finds_nothing_fails_the_run_and_says_which() {
    let outcome = hover(&["--empty-results"]);
    match failed(&outcome) {
        Ending::Empty { steps } => {
            assert_eq!(steps.len(), 1);
            assert_eq!((steps[0].step.as_str(), steps[0].requests), ("hover", 10));
        }
        ending => panic!("{ending:?}"),
    }
    outcome.says(&[
        "`hover` in phase `hover`: 10 requests, nothing found",
        "expect = \"anything\"",
    ]);
    assert!(
        phase(&outcome.summary(), "hover").private.is_some(),
        "it was played to its end"
    );
}

#[test]
fn a_step_of_errors_fails_the_run_whatever_is_expected() {
    for phases in [
        HOVER.to_owned(),
        HOVER.replace("per-file = 5", "per-file = 5, expect = \"anything\""),
    ] {
        let outcome = Soak::new(&format!("{START}{phases}"))
            .server(&["--refuse", "textDocument/hover"])
            .run();
        match failed(&outcome) {
            Ending::Empty { steps } => assert_eq!((steps[0].requests, steps[0].errors), (10, 10)),
            ending => panic!("{ending:?}"),
        }
        outcome.says(&[
            "errors only after",
            "10 requests, 10 errors, most often: -32603: Internal error",
        ]);
    }
}

#[test]
fn a_scenario_may_expect_nothing() {
    let phases = HOVER.replace("per-file = 5", "per-file = 5, expect = \"anything\"");
    let summary = passing(&phases, &["--empty-results"]);
    let step = &phase(&summary, "hover").steps[1];
    assert_eq!((step.requests, step.hits), (Some(10), Some(0)));
}

const RENAME: &str = r#"
[[phase]]
name = "refactor"
steps = [{ open = { files = 1 } }, { hover = { per-file = 1 } }, { rename = {} }]
"#;

#[test]
fn what_the_server_does_not_offer_ends_the_run_where_it_is_needed() {
    let outcome = Soak::new(&format!("{START}{RENAME}")).run();
    match failed(&outcome) {
        Ending::Unsupported { steps } => {
            assert_eq!(steps, ["`rename` in phase `refactor` needs `textDocument/rename`"]);
        }
        ending => panic!("{ending:?}"),
    }
    outcome.says(&[
        "`rename` in phase `refactor` needs `textDocument/rename`",
        "--allow-unsupported",
    ]);
    let driven = outcome
        .entries()
        .iter()
        .filter(|entry| matches!(&entry.event, Event::StepStarted(step) if step.name == "rename"))
        .count();
    assert_eq!(driven, 0);
}

#[test]
fn what_a_profile_knows_not_to_be_offered_is_said_before_anything_is_driven() {
    let profile = "[server.fixture-lacking]\ninherits = \"fixture-system\"\nbuild = []\n\
                   unsupported = { \"textDocument/rename\" = \"it renames nothing\" }\n";
    let program = format!("{profile}programs = [\"{SYSTEM}\"]\n");
    let outcome = Soak::new(&format!("{START}{RENAME}"))
        .file("servers.toml", program)
        .named("fixture-lacking")
        .run();
    match failed(&outcome) {
        Ending::Unsupported { steps } => assert!(steps[0].contains("it renames nothing"), "{steps:?}"),
        ending => panic!("{ending:?}"),
    }
    assert!(outcome.summary().traffic.methods.is_empty());
}

#[test]
fn what_the_server_does_not_offer_may_be_left_out() {
    let outcome = Soak::new(&format!("{START}{RENAME}"))
        .options(&["--allow-unsupported"])
        .run();
    let summary = outcome.passed();
    let skipped: Vec<bool> = phase(&summary, "refactor")
        .steps
        .iter()
        .map(|step| step.skipped)
        .collect();
    assert_eq!(skipped, [false, false, true]);
}

#[test]
fn slow_is_not_wedged() {
    let summary = hover(&["--slow", "500ms"]).passed();
    let hovers = summary
        .traffic
        .methods
        .iter()
        .find(|method| method.method == "textDocument/hover");
    let hovers = hovers.expect("they were sent");
    assert_eq!((hovers.timeouts, hovers.lost), (0, 0));
    assert!(hovers.p50 >= Some(500_000_000), "{hovers:?}");
}

#[test]
fn a_long_poll_is_no_hang() {
    let phases = r#"
[[phase]]
name = "poll"
steps = [
    { open = { files = 1 } },
    { request = { method = "textDocument/diagnostic", params = { textDocument = { uri = "${uri}" } }, deadline = "1s", optional = true } },
    { hover = { per-file = 2 } },
]
"#;
    let outcome = Soak::new(&format!("{START}{phases}"))
        .file(
            "servers.toml",
            "[server.fixture-system]\nparks = [\"textDocument/diagnostic\"]\n",
        )
        .server(&["--pull", "static", "--park", "textDocument/diagnostic"])
        .run();
    let summary = outcome.passed();
    let poll = summary
        .traffic
        .methods
        .iter()
        .find(|method| method.method == "textDocument/diagnostic");
    assert_eq!(poll.map(|poll| (poll.count, poll.parked)), Some((1, 1)));
    let entries = outcome.entries();
    let parked = entries.iter().filter(|entry| match &entry.event {
        Event::Request(request) => request.outcome == Answer::Parked && !request.editor,
        _ => false,
    });
    assert_eq!(parked.count(), 1);
}

#[test]
fn a_token_that_is_never_begun_holds_nothing_up() {
    let outcome = Soak::new(&format!("{START}{HOVER}"))
        .server(&["--hoard", "token"])
        .run();
    let summary = outcome.passed();
    let entries = outcome.entries();
    let ready = entries.iter().find_map(|entry| match &entry.event {
        Event::Ready(ready) => Some(ready),
        _ => None,
    });
    assert!(ready.is_some_and(|ready| ready.after < 20_000_000_000), "{ready:?}");
    for phase in &summary.phases {
        let checkpoint = phase.checkpoint.as_ref();
        assert!(checkpoint.is_some_and(|checkpoint| checkpoint.settled), "{phase:?}");
    }
}
