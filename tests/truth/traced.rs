//! Memory calls of a traced run: the fixture maps, advises and unmaps known amounts.

use std::fs;

use analysis::compare::{compare, is_counted};
use analysis::summary;
use analysis::summary::calls::{PhaseCalls, Traced};
use record::{CallKind, PhaseRef};
use serde_json::Value;

use crate::fixture::SYSTEM;
use crate::ground::PreparedWorkspace;
use crate::outcome::{MIB, Outcome};
use crate::soak::{START, Soak, is_traced};

/// The traced records beside the record: label and summary.
#[track_caller]
fn traced(outcome: &Outcome) -> Vec<(String, summary::Summary)> {
    let out = outcome.record.parent().expect("a record lies in a directory");
    let files = fs::read_dir(out)
        .expect("the directory is there")
        .flatten()
        .map(|entry| entry.path());
    let mut found: Vec<_> = files
        .filter(|path| is_traced(path))
        .map(|path| {
            let reader = record::open(&path).expect("it is a record");
            let summary = summary::read(reader).expect("it can be read");
            (summary.header.server.label.clone(), summary)
        })
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(!found.is_empty(), "{}", outcome.output());
    found
}

#[track_caller]
fn phase<'t>(traced: &'t Traced, name: &str) -> &'t PhaseCalls {
    let found = traced.phases.iter().find(|one| one.name.as_deref() == Some(name));
    found.unwrap_or_else(|| panic!("no phase `{name}`: {traced:?}"))
}

/// Fails unless the calls and bytes are as given, plus at most the allocator's own.
#[track_caller]
fn made(phase: &PhaseCalls, kind: CallKind, (calls, bytes): (u64, u64), (more_calls, more_bytes): (u64, u64)) {
    let count = phase.count(kind);
    assert_eq!(count.failed, 0, "{kind:?}");
    assert!(
        (calls..=calls + more_calls).contains(&count.calls),
        "{kind:?}: {count:?}, not {calls}"
    );
    assert!(
        (bytes..=bytes + more_bytes).contains(&count.bytes),
        "{kind:?}: {count:?}, not {bytes}"
    );
}

#[test]
fn calls_and_bytes_of_a_phase_are_those_that_the_server_made_in_it() {
    let phases = r#"
[[phase]]
name = "open"
steps = [{ open = { files = 1 } }]
[[phase]]
name = "ask"
steps = [{ hover = { per-file = 20 } }]
[[phase]]
name = "rest"
steps = [{ idle = { mode = "silent", for = "500ms" } }]
"#;
    let outcome = Soak::new(&format!("{START}{phases}"))
        .server(&["--advise", "8MiB-in=textDocument/hover"])
        // A second thread sometimes writes an answer: its stack and its arena of 64 MiB are not the hovers'.
        .options(&["--env", "MALLOC_ARENA_MAX=1", "--env", "RUST_MIN_STACK=262144"])
        .options(&["--trace-syscalls"])
        .run();
    let untraced = outcome.passed();
    assert_eq!(Traced::from_summary(&untraced), None);
    let (_, summary) = &traced(&outcome)[0];
    let calls = Traced::from_summary(summary).expect("it was traced");
    assert!(calls.whole);
    let asked = analyse_hovers(summary);
    let ask = phase(&calls, "ask");
    let all = asked * 8 * MIB;
    let exact = (0, 0);
    // Each new mapping is excluded from huge pages.
    made(ask, CallKind::MadviseOther, (asked, all), exact);
    made(ask, CallKind::MadviseFree, (asked, all), exact);
    made(ask, CallKind::MadviseDontneed, (asked, all), exact);
    made(ask, CallKind::MadviseHugepage, (asked, all / 2), exact);
    made(ask, CallKind::Mmap, (asked, all), (20, 2 * MIB));
    made(ask, CallKind::Munmap, (asked, all), (20, 2 * MIB));
    for kind in [CallKind::MadviseFree, CallKind::MadviseHugepage, CallKind::MadviseOther] {
        for other in ["start", "open", "rest"] {
            assert_eq!(phase(&calls, other).count(kind).calls, 0, "{kind:?} in {other}");
        }
    }
    assert!(
        ask.minor_faults >= Some(asked * 8 * MIB / 4096),
        "every page was written to"
    );
    let names: Vec<&str> = summary.phases.iter().map(|phase| phase.phase.name.as_str()).collect();
    let told: Vec<&PhaseRef> = summary
        .system_calls
        .iter()
        .filter_map(|one| one.phase.as_ref())
        .collect();
    assert_eq!(told.iter().map(|phase| phase.name.as_str()).collect::<Vec<_>>(), names);
    // The tracer does not count as a process of the server.
    assert_eq!(summary.processes.most_at_once, 1);
    assert_eq!(outcome.scratch(), Vec::<std::path::PathBuf>::new());
}

/// Number of answered hovers.
fn analyse_hovers(summary: &summary::Summary) -> u64 {
    let method = summary
        .traffic
        .methods
        .iter()
        .find(|one| one.method == "textDocument/hover");
    let hovers = method.expect("it was asked").count;
    assert_eq!(hovers, 20);
    hovers
}

#[test]
fn calls_of_children_count_too() {
    let outcome = Soak::new(START)
        .server(&["--children", "3,4MiB", "--grandchildren", "--ballast", "8MiB"])
        .options(&["--trace-syscalls"])
        .run();
    outcome.passed();
    let (_, summary) = &traced(&outcome)[0];
    let calls = Traced::from_summary(summary).expect("it was traced");
    // Six children of 4 MiB and the server's own 8 MiB, one mapping each.
    made(phase(&calls, "start"), CallKind::MadviseOther, (7, 32 * MIB), (0, 0));
    assert_eq!(summary.processes.most_at_once, 7);
}

#[test]
fn traced_runs_are_made_beside_those_that_count_and_have_no_say() {
    let outcome = Soak::new(START)
        .options(&["--trace-syscalls", "--runs", "2", "--server"])
        .options(&[&format!("second: {}", SYSTEM)])
        .run();
    outcome.exits_with(0);
    outcome.says(&["2 runs + 1 warm-up + 1 traced", "System calls calls and their bytes"]);
    let runs: Vec<_> = traced(&outcome);
    assert_eq!(runs.len(), 2);
    assert!(runs.iter().all(|(_, summary)| !is_counted(summary)));
    let played: Vec<_> = runs
        .into_iter()
        .map(|(record, summary)| analysis::compare::Played::new(record, summary))
        .collect();
    let comparison = compare(&played, None);
    assert!(comparison.rows.is_empty(), "no figure is taken from them");
    assert!(
        comparison
            .sides
            .iter()
            .all(|side| side.traced.is_some() && side.runs.is_empty())
    );
}

#[test]
fn each_setting_is_traced_once_and_what_the_trace_holds_up_decides_nothing() {
    let ground = PreparedWorkspace::new(START, "");
    let work = "kept = b'x' * (int(os.environ.get('SIZE', '60')) << 20)\n";
    // One setting fails where a tracer is, and only there.
    let fails = "import os\nis_traced = 'TracerPid:\\t0\\n' not in open('/proc/self/status').read()\n\
                 if is_traced and 'FAILS' in os.environ: exit(3)\n";
    ground.write("work.py", &format!("{fails}{work}"));
    let cells = "format = 1\n[[cell]]\nlabel = \"small\"\nenv = { SIZE = \"20\", FAILS = \"1\" }\n\
                 [[cell]]\nlabel = \"large\"\nenv = { SIZE = \"160\" }\n";
    ground.write("grid.toml", cells);
    let lax = ["--allow-cpu", "1000000%", "--allow-latency", "1000000%"];
    let tune = [
        "tune", "--command", "python3 work.py", "--grid", "grid.toml", "--rungs", "1,3", "--trace-syscalls", "--out",
        "out", "--details",
    ];
    let said = ground.stdout(&[&tune[..], &lax].concat());
    let before = parse_report(&fs::read_to_string(ground.join("out/tune.json")).expect("it lies beside the records"));
    assert_eq!(before["chosen"], "small", "{said}");
    assert!(said.contains("System calls"), "{said}");
    assert!(!said.contains("  in all  "), "there is one phase\n{said}");
    // What the interpreter maps for itself is the same in both.
    let more = mapped_bytes(&ground, "large") - mapped_bytes(&ground, "default");
    assert!(more.abs_diff(100 * MIB) < 2 * MIB, "{more}");
    assert!(mapped_bytes(&ground, "small") > 0);
    let again = ground.stdout(&[&["tune", "--from", "out", "--format", "json"][..], &lax].concat());
    assert_eq!(parse_report(&again), before);
}

#[track_caller]
fn parse_report(said: &str) -> Value {
    serde_json::from_str(said).unwrap_or_else(|error| panic!("{error}: {said}"))
}

/// Bytes that the traced run of a setting mapped in all.
#[track_caller]
fn mapped_bytes(ground: &PreparedWorkspace, label: &str) -> u64 {
    let record = record::open(&ground.join(&format!("out/traced-{label}.jsonl"))).expect("it was traced");
    let calls = Traced::from_summary(&summary::read(record).expect("it can be read")).expect("its header says so");
    calls.total(CallKind::Mmap).bytes
}
