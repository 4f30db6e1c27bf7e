//! Servers that fail during shutdown or ignore it.

use record::{Ending, ShutdownReply, ShutdownStage};

use crate::faults::failed;
use crate::soak::{START, Soak};

#[test]
fn a_refused_shutdown_is_said_and_ends_in_a_kill() {
    let outcome = Soak::new(START).server(&["--ignore-shutdown"]).run();
    let summary = outcome.passed();
    assert_eq!(summary.ending, Some(Ending::Completed));
    let shutdown = summary.lifecycle.shutdown.expect("it was brought down");
    assert_eq!((shutdown.stage, shutdown.signal), (ShutdownStage::Killed, Some(9)));
    assert_eq!(shutdown.reply, Some(ShutdownReply::Unanswered));
    outcome
        .says(&["did not answer `shutdown` in time, and neither a closed stdin nor SIGTERM ended it; it was killed"]);
}

#[test]
fn an_excess_during_the_shutdown_belongs_to_the_shutdown() {
    let outcome = Soak::new(START)
        .server(&["--run-away", "500MiB-in=shutdown", "--hang-on", "shutdown"])
        .options(&["--memory-limit", "300 MiB"])
        .run();
    match failed(&outcome) {
        Ending::OverLimit { during, .. } => assert_eq!(during, "the shutdown"),
        ending => panic!("{ending:?}"),
    }
    outcome.says(&["private memory during the shutdown"]);
}

#[test]
fn a_child_left_behind_is_killed_and_fails_the_run() {
    let outcome = Soak::new(START).server(&["--leave-child-behind"]).run();
    assert_eq!(failed(&outcome), Ending::Completed);
    let shutdown = outcome.summary().lifecycle.shutdown.expect("it was brought down");
    assert_eq!(shutdown.stage, ShutdownStage::Exit);
    let names: Vec<&str> = shutdown.survivors.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["fixture-system"]);
    outcome.says(&[
        "1 process outlived the server and was killed",
        "fixture-system (process",
    ]);
}

#[test]
fn a_crash_while_the_server_is_shut_down_fails_the_run_and_shows_the_last_words() {
    for (method, exit_sent, when) in [
        (
            "shutdown",
            false,
            "before it answered `shutdown` and before lsp-soak sent `exit`",
        ),
        ("exit", true, "after lsp-soak sent `exit`"),
    ] {
        let outcome = Soak::new(START).server(&["--crash-on", method]).run();
        assert_eq!(failed(&outcome), Ending::Completed);
        let shutdown = outcome.summary().lifecycle.shutdown.expect("it was brought down");
        assert_eq!(
            (shutdown.signal, shutdown.exit_sent),
            (Some(6), Some(exit_sent)),
            "{method}"
        );
        outcome.says(&[
            &format!("the server crashed during shutdown, {when}: signal 6"),
            &format!("fixture: `{method}` is not survived"),
            "completed, but the server did not shut down cleanly",
        ]);
    }
}

#[test]
fn a_crash_before_a_restart_fails_the_run_though_the_next_server_leaves_well() {
    let phases = format!("{START}[[phase]]\nname = \"again\"\nsteps = [{{ restart = {{}} }}]");
    let script = "[ \"$1\" = --version ] && exit; if mkdir \"$TMPDIR/first\"; then exec \"$FIXTURE\" --crash-on exit; \
                  else exec \"$FIXTURE\"; fi";
    let outcome = Soak::new(&phases).script(script).run();
    assert_eq!(failed(&outcome), Ending::Completed);
    assert_eq!(
        outcome.summary().lifecycle.shutdown.map(|shutdown| shutdown.code),
        Some(Some(0))
    );
    outcome.says(&["the server crashed during shutdown", "fixture: `exit` is not survived"]);
}

#[test]
fn an_end_against_the_protocol_is_told_and_does_not_fail_the_run() {
    for (options, said) in [
        (
            ["--hang-on", "shutdown"],
            "the server did not answer `shutdown` in time, and ended on `exit`",
        ),
        (
            ["--refuse", "shutdown"],
            "the server answered `shutdown` with an error (-32603: Internal error), and ended on `exit`",
        ),
        (
            ["--exit-code", "5"],
            "the server ended with exit code 5 after `exit`: the protocol wants exit code 0",
        ),
    ] {
        let outcome = Soak::new(START).server(&options).run();
        outcome.passed();
        outcome.says(&[said]);
        assert!(!outcome.stdout.contains("ignored"), "{}", outcome.stdout);
    }
}
