//! Options of steps, on the real fixture.

use record::{Ending, Entry, Event, WarningKind};

use crate::soak::{START, Soak, passing};

#[test]
fn a_restart_writes_down_the_end_of_the_first_server_too() {
    let phases = format!(
        "{START}[[phase]]\nname = \"again\"\nsteps = [{{ open = {{ files = 1 }} }}, {{ restart = {{}} }}, {{ document-symbol = {{}} }}]"
    );
    let outcome = Soak::new(&phases).server(&["--garbage-stdout", "3"]).run();
    outcome.exits_with(0);
    let entries = outcome.entries();
    assert_eq!(count(&entries, |event| matches!(event, Event::Spawned { .. })), 2);
    assert_eq!(count(&entries, |event| matches!(event, Event::Shutdown(_))), 2);
    assert_eq!(
        count(
            &entries,
            |event| matches!(event, Event::Closed(close) if close.noise > 0)
        ),
        2
    );
}

fn count(entries: &[Entry], is_wanted: fn(&Event) -> bool) -> usize {
    entries.iter().filter(|entry| is_wanted(&entry.event)).count()
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
    // Less than one interval, so nothing waited for the next sample.
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

/// The duration of each `open` with this server profile. The start grace is three seconds.
fn openings(ready: &str) -> Vec<u64> {
    let limits =
        "[readiness]\nstart-grace = \"3s\"\nquiet = \"300ms\"\ntimeout = \"40s\"\n[settle]\nquiet = \"300ms\"\n";
    let open = "{ open = { files = 1 } }";
    let phases = format!("{START}[[phase]]\nname = \"open\"\nsteps = [{open}, {open}]\n");
    let outcome = Soak::with_limits(limits, &phases)
        .file("servers.toml", format!("[server.fixture-system]\n{ready}\n"))
        .run();
    outcome.exits_with(0);
    let entries = outcome.entries();
    let started = entries
        .iter()
        .filter(|entry| matches!(&entry.event, Event::StepStarted(step) if step.name == "open"));
    started
        .map(|start| {
            let mut later = entries.iter().filter(|entry| entry.at >= start.at);
            let end = later.find(|entry| matches!(entry.event, Event::StepEnded(_)));
            end.expect("it ended").at - start.at
        })
        .collect()
}

#[test]
fn the_first_open_waits_for_a_server_that_loads_its_project_only_then() {
    let with = openings("ready.after-open = true");
    let without = openings("ready.after-open = false");
    assert_eq!((with.len(), without.len()), (2, 2));
    assert!(with[0] >= 3_000_000_000, "{with:?}");
    // Neither a later open nor another server's waits.
    assert!(with[1] < with[0] && without[0] < with[0], "{with:?} {without:?}");
}
