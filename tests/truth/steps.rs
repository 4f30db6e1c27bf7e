//! Steps do what their options say, on the real fixture.

use lsp_soak::record::{Ending, Event, WarningKind};

use crate::soak::{START, Soak, passing};

#[test]
fn a_restart_writes_down_the_end_of_the_first_server_too() {
    let phases = format!(
        "{START}[[phase]]\nname = \"again\"\nsteps = [{{ open = {{ files = 1 }} }}, {{ restart = {{}} }}, {{ document-symbol = {{}} }}]"
    );
    let outcome = Soak::new(&phases).server(&["--garbage-stdout", "3"]).run();
    outcome.exits_with(0);
    let entries = outcome.entries();
    let count = |is: fn(&Event) -> bool| entries.iter().filter(|entry| is(&entry.event)).count();
    assert_eq!(count(|event| matches!(event, Event::Spawned { .. })), 2);
    assert_eq!(count(|event| matches!(event, Event::Shutdown(_))), 2);
    assert_eq!(
        count(|event| matches!(event, Event::Closed(close) if close.noise > 0)),
        2
    );
}

#[test]
fn a_text_of_the_scenario_is_completed_after_its_trigger_and_at_its_end() {
    let phases = String::from(
        "[[phase]]\nname = \"type\"\nsteps = [{ open = { files = 1 } }, { type-and-complete = { files = 1, per-file = 2, text = \"x${n} = os.pa\", cadence = \"1ms\", expect = \"anything\" } }]",
    );
    let summary = passing(&phases, &[]);
    let step = summary.phases[1]
        .steps
        .iter()
        .find(|step| step.name == "type-and-complete")
        .expect("it was played");
    assert_eq!(step.requests, Some(4), "after the dot and at the end, twice");
}

#[test]
fn a_file_that_is_not_utf_8_is_passed_over_and_named() {
    let phases = format!(
        "{START}[[phase]]\nname = \"open\"\nsteps = [{{ open = {{ files = 20 }} }}, {{ document-symbol = {{}} }}]"
    );
    let outcome = Soak::new(&phases).file("workspace/latin.py", b"name = '\xe9'\n").run();
    outcome.exits_with(0);
    let warnings: Vec<String> = outcome
        .entries()
        .into_iter()
        .filter_map(|entry| match entry.event {
            Event::Warning(warning) if warning.kind == WarningKind::Scenario => Some(warning.text),
            _ => None,
        })
        .collect();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("latin.py"), "{warnings:?}");
}

#[test]
fn rest_and_wedges_are_judged_alike_however_rare_the_samples() {
    let phases = format!(
        "{START}[[phase]]\nname = \"hover\"\nsteps = [{{ open = {{ files = 1 }} }}, {{ hover = {{ deadline = \"8s\" }} }}]"
    );
    let outcome = Soak::new(&phases)
        .options(&["--interval", "10s"])
        .server(&["--hang-on", "textDocument/hover"])
        .run();
    outcome.exits_with(4);
    let entries = outcome.entries();
    // Less than one interval: nobody waited for the next sample.
    let interval = 10_000_000_000;
    let ready = entries.iter().find_map(|entry| match &entry.event {
        Event::Ready(ready) => Some(ready.after),
        _ => None,
    });
    assert!(ready.is_some_and(|after| after < interval), "{ready:?}");
    let settled = entries.iter().find_map(|entry| match &entry.event {
        Event::Checkpoint(checkpoint) => Some((checkpoint.settled, checkpoint.waited)),
        _ => None,
    });
    assert!(settled.is_some_and(|(_, waited)| waited < interval), "{settled:?}");
    let ending = entries.iter().rev().find_map(|entry| match &entry.event {
        Event::Ended(ending) => Some(ending),
        _ => None,
    });
    assert!(matches!(ending, Some(Ending::Wedged { .. })), "{ending:?}");
}
