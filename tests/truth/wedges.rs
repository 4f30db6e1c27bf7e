//! Servers that do not read what they get, where nothing but notifications is sent.

use lsp_soak::record::{Ending, Event};
use rustix::process::{Pid, Signal, kill_process};

use crate::faults::failed;
use crate::outcome::MIB;
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
