//! Servers that stop reading while lsp-soak sends only notifications.

use std::fs;

use record::{Ending, Entry, Event};
use rustix::process::{Pid, Signal, kill_process};

use crate::faults::failed;
use crate::outcome::{MIB, phase};
use crate::soak::{START, Soak};

/// Steps that send only notifications.
const TYPING: &str = r#"
[[phase]]
name = "open"
steps = [{ open = { files = 2 } }]
[[phase]]
name = "type"
steps = [{ type = { per-file = 400, cadence = "20ms" } }]
[[phase]]
name = "idle"
steps = [{ idle = { for = "1s" } }]
"#;

#[test]
fn a_server_that_stops_reading_is_wedged_with_what_it_did_not_take() {
    let phases = format!(
        "{START}[[phase]]\nname = \"flood\"\nsteps = [{{ notification = {{ method = \"$/setTrace\", times = 3000, params = {{ value = \"off\", pad = \"{}\" }} }} }}]",
        "x".repeat(2000)
    );
    let limits = "[readiness]\nquiet = \"300ms\"\ntimeout = \"40s\"\n[settle]\nquiet = \"300ms\"\n";
    let outcome = Soak::with_limits(limits, &phases)
        .server(&["--stop-reading-after", "40"])
        .run();
    match failed(&outcome) {
        Ending::Wedged { method, unsent, .. } => {
            assert_eq!(method, "");
            assert!(unsent > MIB, "{unsent}");
        }
        ending => panic!("{ending:?}"),
    }
    outcome.says(&["it has read none of"]);
}

#[test]
fn a_server_that_freezes_while_it_gets_notifications_only_is_wedged() {
    let mut run = Soak::new(&format!("{START}{TYPING}")).start();
    run.wait_for(
        "the typing",
        |event| matches!(event, Event::StepStarted(step) if step.name == "type"),
    );
    for pid in run.tree() {
        let pid = Pid::from_raw(pid.cast_signed()).expect("a process number is not zero");
        kill_process(pid, Signal::STOP).expect("the server is there");
    }
    let outcome = run.finish();
    match failed(&outcome) {
        Ending::Wedged { method, unsent, .. } => assert_eq!((method.as_str(), unsent > 0), ("", true)),
        ending => panic!("{ending:?}"),
    }
    assert!(
        !outcome
            .entries()
            .iter()
            .any(|entry| matches!(&entry.event, Event::PhaseDriven(phase) if phase.name == "type")),
        "it is told before all is typed"
    );
}

#[test]
fn a_server_that_closes_its_input_in_the_middle_ends_the_run_at_once_with_the_write_error() {
    let asking = "[[phase]]\nname = \"ask\"\nrepeat = { times = 200 }\n\
                  steps = [{ open = { files = 1 } }, { hover = { per-file = 5 } }, { close = {} }]\n";
    for phases in [asking, TYPING] {
        let limits = "[readiness]\nquiet = \"300ms\"\ntimeout = \"40s\"\n[settle]\nquiet = \"300ms\"\n";
        let outcome = Soak::with_limits(limits, &format!("{START}{phases}"))
            .server(&["--close-stdin-after", "30"])
            .run();
        match failed(&outcome) {
            Ending::Disconnected { reason } => assert!(
                reason
                    .to_lowercase()
                    .contains("does not read its input any more: broken pipe"),
                "{reason}"
            ),
            ending => panic!("{ending:?}"),
        }
        outcome.says(&["does not read its input any more"]);
        assert!(!outcome.output().contains("debugger"), "{}", outcome.output());
        let entries = outcome.entries();
        let last_step = time_of_last(&entries, |event| matches!(event, Event::StepStarted(_)));
        let ended = time_of_last(&entries, |event| matches!(event, Event::Ended(_)));
        // The deadline is 20 s, and a shutdown without stdin takes a few seconds.
        assert!(ended - last_step < 15_000_000_000, "{} ns", ended - last_step);
    }
}

/// The time of the last such event.
#[track_caller]
fn time_of_last(entries: &[Entry], is_wanted: fn(&Event) -> bool) -> u64 {
    let mut latest_first = entries.iter().rev();
    let last = latest_first.find(|entry| is_wanted(&entry.event));
    last.expect("it was recorded").at
}

/// A burst of ninety notifications of a megabyte each.
fn large(server: &[&str]) -> Soak {
    let phases = format!(
        "{START}[[phase]]\nname = \"tell\"\nsteps = [{{ notification = {{ method = \"$/setTrace\", times = 90, cadence = \"0s\", params = {{ value = \"off\", pad = \"{}\" }} }} }}]",
        "x".repeat(1_000_000)
    );
    Soak::new(&phases).server(server)
}

#[test]
fn a_server_that_is_slow_to_read_is_waited_for_and_not_failed_for_what_waits() {
    let outcome = large(&["--stop-reading-after", "10", "--read-on-after", "6s"]).run();
    let summary = outcome.passed();
    let step = &phase(&summary, "tell").steps[0];
    assert_eq!(step.notifications, Some(90));
}

#[test]
fn a_server_that_stops_reading_is_told_with_the_step_in_which_it_did() {
    // Before the step come `initialize`, `initialized`, and the barriers of readiness and of the first checkpoint.
    let outcome = large(&["--stop-reading-after", "6"]).run();
    match failed(&outcome) {
        Ending::Wedged { method, during, .. } => {
            assert_eq!(
                (method.as_str(), during.as_str()),
                ("", "phase `tell`, step `notification`")
            );
        }
        ending => panic!("{ending:?}"),
    }
    outcome.says(&["in phase `tell`, step `notification`"]);
}

#[test]
fn a_server_that_works_and_reads_no_edits_is_told_at_the_deadline_of_the_step() {
    // Each notification has the whole file.
    let phases = format!(
        "{START}[[phase]]\nname = \"type\"\nsteps = [{{ open = {{}} }}, {{ type = {{ per-file = 300, cadence = \"0ms\" }} }}]"
    );
    // From then on the server uses CPU but reads nothing.
    let busy = "mkfifo \"$TMPDIR/go\"\n(read -r _ < \"$TMPDIR/go\"; while :; do :; done) &\nexec \"$FIXTURE\" \"$@\"";
    let soak = Soak::new(&phases)
        .script(&format!(
            "case \"$1\" in --version) exec \"$FIXTURE\" \"$@\";; esac\n{busy}"
        ))
        .server(&["--sync", "full", "--stop-reading-after", "12"]);
    for file in fs::read_dir(soak.workspace()).expect("it was made").flatten() {
        fs::remove_file(file.path()).expect("it is ours");
    }
    let line = "def total(orders):\n    count = len(orders)\n    return count\n\n";
    fs::write(soak.workspace().join("large.py"), line.repeat(8_000)).expect("the directory is ours");
    let mut run = soak.start();
    run.wait_for(
        "the typing",
        |event| matches!(event, Event::StepStarted(step) if step.name == "type"),
    );
    fs::write(run.directory().join("go"), "now\n").expect("somebody reads it");
    let outcome = run.finish();
    match failed(&outcome) {
        Ending::TimedOut {
            method,
            after,
            unsent,
            during,
        } => {
            assert_eq!(method, "textDocument/didChange");
            assert_eq!(after, 20_000_000_000, "the scenario's deadline");
            assert!(unsent > MIB, "{unsent}");
            assert_eq!(during, "phase `type`, step `type`");
        }
        ending => panic!("{ending:?}"),
    }
    outcome.says(&[
        "the server was busy and read almost nothing for 20",
        "in phase `type`, step `type`",
    ]);
}
