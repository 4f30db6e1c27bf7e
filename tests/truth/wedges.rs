//! Servers that do not read what they get, where nothing but notifications is sent.

use lsp_soak::record::{Ending, Event};
use rustix::process::{Pid, Signal, kill_process};

use crate::faults::failed;
use crate::outcome::{MIB, phase};
use crate::soak::{START, Soak};

/// Steps that only send notifications.
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
    let outcome = Soak::with(limits, &phases)
        .server(&["--stop-reading-after", "40"])
        .run();
    match failed(&outcome) {
        Ending::Wedged { method, unsent, .. } => {
            assert_eq!(method, "");
            assert!(unsent > MIB, "{unsent}");
        }
        ending => panic!("{ending:?}"),
    }
    outcome.says(&["the server is wedged: it has taken none of"]);
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
    let driven = |event: &Event| matches!(event, Event::PhaseDriven(phase) if phase.name == "type");
    assert!(
        !outcome.entries().iter().any(|entry| driven(&entry.event)),
        "it is told before all is typed"
    );
}

/// Ninety notifications of a megabyte as fast as they can be made, more than ever waited for a server.
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
    // What comes before the step is `initialize`, `initialized` and the barriers of readiness and of the first checkpoint.
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
