//! Runs that are cut short: by a person, by a kill, by a full disk. What was seen is on disk, and nothing is left.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use lsp_soak::analyse::{Exit, exit};
use lsp_soak::record::{Ending, Event, ShutdownStage};
use rustix::process::Signal;

use crate::outcome::{Outcome, phase};
use crate::soak::{START, Soak};

const WAIT: &str = r#"
[[phase]]
name = "wait"
steps = [{ open = { files = 1 } }, { idle = { for = "300s" } }]
"#;

fn idling(event: &Event) -> bool {
    matches!(event, Event::StepStarted(step) if step.name == "idle")
}

/// A person interrupted, and the record says so to its end.
#[track_caller]
fn interrupted(outcome: &Outcome) {
    outcome.exits_with(130);
    let summary = outcome.summary();
    assert_eq!(summary.ending, Some(Ending::Interrupted));
    assert!(!summary.truncated && summary.close.is_some());
    let last = outcome.entries().pop().map(|last| last.event);
    assert_eq!(last, Some(Event::Ended(Ending::Interrupted)));
    assert!(phase(&summary, "start").private.is_some(), "what there is is kept");
    outcome.says(&["interrupted"]);
}

#[test]
fn ctrl_c_once_shuts_the_server_down_and_reports() {
    let mut run = Soak::new(&format!("{START}{WAIT}"))
        .server(&["--children", "1,1MiB", "--children", "1,1MiB,forked"])
        .start();
    run.wait_for("the idle step", idling);
    run.signal(Signal::INT);
    let outcome = run.finish();
    interrupted(&outcome);
    let shutdown = outcome.summary().shutdown.expect("it was brought down");
    assert_eq!((shutdown.stage, shutdown.code), (ShutdownStage::Exit, Some(0)));
    assert!(shutdown.survivors.is_empty());
    // The table of phases is there as after any run.
    outcome.says(&["private", "start"]);
}

#[test]
fn ctrl_c_in_the_middle_of_a_request_does_not_wait_for_it() {
    let phases = format!(
        "{START}[[phase]]\nname = \"hang\"\nsteps = [{{ open = {{ files = 1 }} }}, {{ hover = {{ deadline = \"10min\" }} }}]"
    );
    let mut run = Soak::new(&phases).server(&["--hang-on", "textDocument/hover"]).start();
    run.wait_for(
        "the hover",
        |event| matches!(event, Event::StepStarted(step) if step.name == "hover"),
    );
    run.signal(Signal::INT);
    let outcome = run.finish();
    interrupted(&outcome);
    let stage = outcome.summary().shutdown.map(|shutdown| shutdown.stage);
    assert_eq!(stage, Some(ShutdownStage::Exit));
}

#[test]
fn ctrl_c_twice_kills_now() {
    let mut run = Soak::new(&format!("{START}{WAIT}"))
        .server(&["--ignore-shutdown", "--leave-child-behind", "--children", "1,1MiB"])
        .start();
    run.wait_for("the idle step", idling);
    run.signal(Signal::INT);
    std::thread::sleep(Duration::from_millis(500));
    run.signal(Signal::INT);
    let outcome = run.finish();
    interrupted(&outcome);
    let shutdown = outcome.summary().shutdown.expect("it was brought down");
    assert_eq!((shutdown.stage, shutdown.signal), (ShutdownStage::Killed, Some(9)));
    // Nothing is known of a server that was not waited for, so nothing is said of it.
    let warnings = outcome.summary().warnings;
    assert!(
        warnings.iter().all(|warning| !warning.text.contains("ignored")),
        "{warnings:?}"
    );
    outcome.says(&[
        "shutting the server down; ctrl-c again kills it",
        "interrupted: the server was killed",
    ]);
    // The polite way with this server takes 25 s.
    assert!(outcome.took < Duration::from_secs(15), "{:?}", outcome.took);
}

#[test]
fn a_killed_lsp_soak_leaves_a_readable_record_and_no_server() {
    let mut run = Soak::new(&format!("{START}{WAIT}"))
        .server(&["--children", "2,1MiB", "--grandchildren", "--children", "1,1MiB,forked"])
        .start();
    run.wait_for("the idle step", idling);
    assert_eq!(run.tree().len(), 6);
    run.signal(Signal::KILL);
    let outcome = run.finish();
    assert_eq!(outcome.code(), None);
    let summary = outcome.summary();
    assert_eq!((summary.ending.as_ref(), exit(&summary)), (None, Exit::OwnFailure));
    assert!(phase(&summary, "start").private.is_some(), "what was seen is on disk");
    let report = Command::new(env!("CARGO_BIN_EXE_lsp-soak"))
        .arg("report")
        .arg(&outcome.record)
        .output();
    let report = report.expect("lsp-soak is built beside its tests");
    let text = String::from_utf8_lossy(&report.stdout)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(text.contains("the record stops before the run ended"), "{text}");
}

#[test]
fn a_full_disk_ends_the_run_with_a_readable_record() {
    // A limit on the size of files is a full disk for whoever has no right to mount one.
    let phases = format!(
        "{START}[[phase]]\nname = \"hover\"\nrepeat = {{ times = 1000 }}\nsteps = [{{ open = {{ files = 3 }} }}, {{ hover = {{}} }}]"
    );
    let begun = Instant::now();
    let outcome = Soak::new(&phases)
        .wrap(&["sh", "-c", "ulimit -f 40; trap '' XFSZ; exec \"$@\"", "sh"])
        .server(&["--children", "1,1MiB"])
        .run();
    assert!(begun.elapsed() < Duration::from_secs(60));
    outcome.exits_with(2);
    outcome.says(&[
        "the record ends early, because writing it failed",
        "free some space or choose another `--out`",
    ]);
    let summary = outcome.summary();
    assert_eq!(summary.ending, None);
    assert!(phase(&summary, "start").private.is_some(), "what was seen is on disk");
}

#[test]
fn ctrl_c_during_a_restart_brings_the_old_server_down_with_all_it_left() {
    let phases = format!("{START}[[phase]]\nname = \"again\"\nsteps = [{{ restart = {{}} }}]");
    let mut run = Soak::new(&phases)
        .server(&["--ignore-shutdown", "--leave-child-behind"])
        .start();
    run.wait_for(
        "the restart",
        |event| matches!(event, Event::StepStarted(step) if step.name == "restart"),
    );
    run.signal(Signal::INT);
    let outcome = run.finish();
    interrupted(&outcome);
    assert_eq!(
        outcome.summary().shutdown.expect("it was brought down").survivors.len(),
        1
    );
}

/// A server that takes a while to say its version, and says that it is asked: `first` looks at it before any run, and the
/// second time it is asked in the preparation of one.
fn slow_to_answer(first: bool) -> String {
    let quick = if first { "false" } else { "mkdir \"$TMPDIR/looked-at\"" };
    format!(
        "if [ \"$1\" = --version ] && ! {quick} 2>/dev/null; then touch \"$TMPDIR/asked\"; sleep 25; fi; exec \"$FIXTURE\" \"$@\""
    )
}

#[test]
fn ctrl_c_before_a_server_is_started_starts_nothing() {
    for (signal, first) in [
        (Signal::INT, true),
        (Signal::TERM, true),
        (Signal::HUP, true),
        (Signal::INT, false),
    ] {
        // Tests that were started under `nohup` would pass on that SIGHUP is ignored, which lsp-soak keeps to.
        let listening = ["env", "--default-signal=HUP"];
        let mut run = Soak::new(START).script(&slow_to_answer(first)).wrap(&listening).start();
        run.wait_for_file("asked");
        let pressed = Instant::now();
        run.signal(signal);
        let outcome = run.finish();
        outcome.exits_with(130);
        assert!(pressed.elapsed() < Duration::from_secs(15), "{:?}", pressed.elapsed());
        assert!(!outcome.record.exists(), "nothing was started, so nothing is recorded");
        outcome.says(&["interrupted before the server was started; nothing was recorded"]);
        assert!(!outcome.stderr.contains("records:"), "{}", outcome.output());
        let left = outcome.scratch();
        assert!(left.is_empty(), "left behind: {left:?}");
    }
}

#[test]
fn ctrl_c_while_the_workspace_is_copied_removes_what_was_copied() {
    let run = Soak::new(START);
    // Many enough to be copied for a while.
    for number in 0..20_000 {
        fs::write(run.workspace().join(format!("{number}.txt")), "x").expect("the directory is ours");
    }
    let run = run.start();
    let user = rustix::process::geteuid().as_raw();
    let home = run.directory().join(format!("lsp-soak-{user}"));
    let begun = Instant::now();
    let copied = |place: fs::DirEntry| place.path().join("workspace").is_dir();
    while !fs::read_dir(&home).into_iter().flatten().flatten().any(copied) {
        assert!(begun.elapsed() < Duration::from_secs(60), "no copy is begun");
        std::thread::sleep(Duration::from_millis(1));
    }
    run.signal(Signal::INT);
    let outcome = run.finish();
    outcome.exits_with(130);
    outcome.says(&["interrupted before the server was started; nothing was recorded"]);
    assert!(outcome.scratch().is_empty());
}

#[test]
fn ctrl_c_while_the_server_is_built_ends_the_build() {
    let profiles = r#"
[server.built]
build = ["sh", "-c", "touch \"$TMPDIR/asked\"; exec sleep 25"]
"#;
    let mut run = Soak::new(START).file("servers.toml", profiles).named("built").start();
    run.wait_for_file("asked");
    run.signal(Signal::INT);
    let outcome = run.finish();
    outcome.exits_with(130);
    assert!(outcome.took < Duration::from_secs(15), "{:?}", outcome.took);
    assert!(outcome.scratch().is_empty());
}

#[test]
fn a_run_under_nohup_outlives_its_terminal() {
    let phases = format!(
        "{START}[[phase]]\nname = \"wait\"\nsteps = [{{ open = {{ files = 1 }} }}, {{ idle = {{ for = \"3s\" }} }}]"
    );
    let mut run = Soak::new(&phases).wrap(&["nohup"]).start();
    run.wait_for("the idle step", idling);
    run.signal(Signal::HUP);
    run.finish().passed();
}
