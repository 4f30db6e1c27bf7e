//! Runs interrupted by a person, a kill or a full disk: measured data is on disk, and no process or directory stays.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use analysis::summary::exit_of_run;
use base::exit::Exit;
use record::{Ending, Event, ShutdownStage};
use rustix::process::{Pid, Signal, kill_process};

use crate::ground::PreparedWorkspace;
use crate::outcome::{Outcome, phase};
use crate::soak::{Running, START, Soak};

const WAIT: &str = r#"
[[phase]]
name = "wait"
steps = [{ open = { files = 1 } }, { idle = { for = "300s" } }]
"#;

fn idling(event: &Event) -> bool {
    matches!(event, Event::StepStarted(step) if step.name == "idle")
}

/// Checks that the run was interrupted and its record is complete.
#[track_caller]
fn interrupted(outcome: &Outcome) {
    outcome.exits_with(130);
    let summary = outcome.summary();
    assert_eq!(summary.ending, Some(Ending::Interrupted));
    assert!(!summary.unread.truncated && summary.lifecycle.close.is_some());
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
    let shutdown = outcome.summary().lifecycle.shutdown.expect("it was brought down");
    assert_eq!((shutdown.stage, shutdown.code), (ShutdownStage::Exit, Some(0)));
    assert!(shutdown.survivors.is_empty());
    // The phase table appears as after any run.
    outcome.says(&["private", "start", "interrupted: resume with `lsp-soak run --resume "]);
}

#[test]
fn ctrl_c_in_the_middle_of_a_request_does_not_wait_for_it() {
    let phases = format!(
        "{START}[[phase]]\nname = \"hang\"\nsteps = [{{ open = {{ files = 1 }} }}, {{ hover = {{ deadline = \"10min\" \
         }} }}]"
    );
    let mut run = Soak::new(&phases).server(&["--hang-on", "textDocument/hover"]).start();
    run.wait_for(
        "the hover",
        |event| matches!(event, Event::StepStarted(step) if step.name == "hover"),
    );
    run.signal(Signal::INT);
    let outcome = run.finish();
    interrupted(&outcome);
    let stage = outcome.summary().lifecycle.shutdown.map(|shutdown| shutdown.stage);
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
    let shutdown = outcome.summary().lifecycle.shutdown.expect("it was brought down");
    assert_eq!((shutdown.stage, shutdown.signal), (ShutdownStage::Killed, Some(9)));
    // Without a server there are no findings about one.
    let warnings = outcome.summary().log.warnings;
    assert!(
        warnings.iter().all(|warning| !warning.text.contains("ignored")),
        "{warnings:?}"
    );
    outcome.says(&[
        "shutting the server down; ctrl-c again kills it",
        "interrupted: the server was killed",
    ]);
    // A polite shutdown of this server takes 25 s.
    assert!(outcome.took < Duration::from_secs(15), "{:?}", outcome.took);
}

/// A run at its last shutdown.
fn shutting_down(server: &[&str]) -> Running {
    let mut run = Soak::new(START).server(server).start();
    run.wait_for("the checkpoint", |event| matches!(event, Event::Checkpoint(_)));
    std::thread::sleep(Duration::from_secs(1));
    run
}

#[test]
fn ctrl_c_during_the_last_shutdown_is_an_interrupt_too() {
    let run = shutting_down(&["--hang-on", "shutdown"]);
    run.signal(Signal::INT);
    let outcome = run.finish();
    interrupted(&outcome);
    outcome.says(&["shutting the server down; ctrl-c again kills it"]);
    let stage = outcome.summary().lifecycle.shutdown.map(|shutdown| shutdown.stage);
    assert_eq!(stage, Some(ShutdownStage::Exit), "the server is waited for");
}

#[test]
fn ctrl_c_twice_during_the_last_shutdown_kills_now() {
    let run = shutting_down(&["--ignore-shutdown"]);
    run.signal(Signal::INT);
    std::thread::sleep(Duration::from_millis(300));
    run.signal(Signal::INT);
    let outcome = run.finish();
    interrupted(&outcome);
    let stage = outcome.summary().lifecycle.shutdown.map(|shutdown| shutdown.stage);
    assert_eq!(stage, Some(ShutdownStage::Killed));
    // A polite shutdown of this server takes 25 s.
    assert!(outcome.took < Duration::from_secs(15), "{:?}", outcome.took);
}

#[test]
fn ctrl_c_while_the_report_is_printed_ends_with_130_and_the_second_at_once() {
    for twice in [false, true] {
        let ground = PreparedWorkspace::pair().with_server("base", &[], "");
        let words = [
            "run", "scenario.toml", "--server", "base", "--out", "out", "-q", "--format", "html",
        ];
        // Nobody reads the page, which exceeds a pipe's buffer, so printing blocks.
        let mut child = ground
            .command(&words)
            .stdout(Stdio::piped())
            .spawn()
            .expect("lsp-soak starts");
        let begun = Instant::now();
        while !ground.join("out/report.html").exists() {
            assert!(begun.elapsed() < Duration::from_secs(60), "no page is written");
            std::thread::sleep(Duration::from_millis(50));
        }
        std::thread::sleep(Duration::from_secs(1));
        let pid = Pid::from_raw(child.id().cast_signed()).expect("a process number is not zero");
        kill_process(pid, Signal::INT).expect("lsp-soak is there");
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(
            child.try_wait().expect("it is ours"),
            None,
            "the page is not cut by one"
        );
        let mut page = String::new();
        if twice {
            kill_process(pid, Signal::INT).expect("lsp-soak is there");
        } else {
            let mut out = child.stdout.take().expect("stdout is piped");
            out.read_to_string(&mut page).expect("a page is UTF-8");
        }
        let begun = Instant::now();
        let code = loop {
            if let Some(status) = child.try_wait().expect("it is ours") {
                break status.code();
            }
            assert!(begun.elapsed() < Duration::from_secs(15), "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        };
        assert_eq!(code, Some(130));
        assert!(twice || page.trim_end().ends_with("</html>"), "the page is whole");
    }
}

#[test]
fn ctrl_c_acts_while_files_of_the_workspace_are_pipes() {
    // The pipes have no other end: opening one as a file would block forever.
    let phases =
        format!("{START}[[phase]]\nname = \"touch\"\nsteps = [{{ touch = {{ files = 3, cadence = \"100s\" }} }}]");
    let mut run = Soak::new(&phases).server(&["--replace-files", "pipe"]).start();
    run.wait_for(
        "the step",
        |event| matches!(event, Event::StepStarted(step) if step.name == "touch"),
    );
    std::thread::sleep(Duration::from_millis(500));
    run.signal(Signal::INT);
    let outcome = run.finish();
    interrupted(&outcome);
    assert!(outcome.took < Duration::from_secs(60), "{:?}", outcome.took);
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
    assert_eq!(
        (summary.ending.as_ref(), exit_of_run(&summary)),
        (None, Exit::OwnFailure)
    );
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
    assert!(text.contains("the record ends before the run did"), "{text}");
}

#[test]
fn a_full_disk_ends_the_run_with_a_readable_record() {
    // A file size limit acts like a full disk, and needs no right to mount one.
    let phases = format!(
        "{START}[[phase]]\nname = \"hover\"\nrepeat = {{ times = 1000 }}\nsteps = [{{ open = {{ files = 3 }} }}, {{ \
         hover = {{}} }}]"
    );
    let begun = Instant::now();
    let outcome = Soak::new(&phases)
        .wrap(&["sh", "-c", "ulimit -f 40; trap '' XFSZ; exec \"$@\"", "sh"])
        .server(&["--children", "1,1MiB"])
        .run();
    assert!(begun.elapsed() < Duration::from_secs(60));
    outcome.exits_with(2);
    outcome.says(&[
        "the record ends early, because a write failed",
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
        outcome
            .summary()
            .lifecycle
            .shutdown
            .expect("it was brought down")
            .survivors
            .len(),
        1
    );
}

/// A server with a slow `--version`, which signals that it was asked: for its allocator if `first`, else for its
/// version, because it printed none before. Both happen during preparation.
fn slow_to_answer(first: bool) -> String {
    let quick = if first { "false" } else { "mkdir \"$TMPDIR/looked-at\"" };
    format!(
        "if [ \"$1\" = --version ]; then {quick} 2>/dev/null && exit; touch \"$TMPDIR/asked\"; sleep 25; fi; exec \
         \"$FIXTURE\" \"$@\""
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
        // lsp-soak respects an ignored SIGHUP, which tests under `nohup` would inherit.
        let listening = ["env", "--default-signal=HUP"];
        let mut run = Soak::new(START).script(&slow_to_answer(first)).wrap(&listening).start();
        run.wait_for_file("asked");
        let pressed = Instant::now();
        run.signal(signal);
        let outcome = run.finish();
        outcome.exits_with(130);
        assert!(pressed.elapsed() < Duration::from_secs(15), "{:?}", pressed.elapsed());
        assert!(!outcome.record.exists(), "nothing was started, so nothing is recorded");
        outcome.says(&["interrupted before the server started; nothing was recorded"]);
        assert!(!outcome.stderr.contains("records:"), "{}", outcome.output());
        let left = outcome.scratch();
        assert!(left.is_empty(), "left behind: {left:?}");
    }
}

#[test]
fn ctrl_c_while_the_workspace_is_copied_removes_what_was_copied() {
    let run = Soak::new(START);
    // Enough files for a slow copy.
    for number in 0..20_000 {
        fs::write(run.workspace().join(format!("{number}.txt")), "x").expect("the directory is ours");
    }
    let run = run.start();
    let user = rustix::process::geteuid().as_raw();
    let home = run.directory().join(format!("lsp-soak-{user}"));
    let begun = Instant::now();
    while !holds_copy(&home) {
        assert!(begun.elapsed() < Duration::from_secs(60), "no copy is begun");
        std::thread::sleep(Duration::from_millis(1));
    }
    run.signal(Signal::INT);
    let outcome = run.finish();
    outcome.exits_with(130);
    outcome.says(&["interrupted before the server started; nothing was recorded"]);
    assert!(outcome.scratch().is_empty());
}

fn holds_copy(home: &Path) -> bool {
    let places = fs::read_dir(home).into_iter().flatten().flatten();
    places
        .map(|place| place.path())
        .any(|path| path.join("workspace").is_dir())
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
