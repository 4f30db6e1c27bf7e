//! Known memory of several processes.

use std::collections::BTreeSet;

use analysis::summary::Summary;
use record::{Event, Process};

use crate::outcome::{MIB, phase, private};
use crate::peer::same;
use crate::soak::{START, Soak, passing};

const SPIKE: &str = r#"
[[phase]]
name = "before"
steps = [{ open = { files = 1 } }, { hover = { per-file = 1 } }]
[[phase]]
name = "spike"
steps = [{ references = { files = 1, per-file = 1 } }]
"#;

/// The peak of the phase `spike` covers the truth: the resident memory of a single-process run, this tree's
/// additional private memory, and the spike. Shared code counts once.
///
/// (`Pss` would not do: it shrinks when other programs use the same libraries.)
#[track_caller]
fn holds_spike(summary: &Summary, single: &Summary, size: u64) {
    let resident = phase(single, "before")
        .checkpoint
        .as_ref()
        .and_then(|taken| taken.resident);
    let more = private(summary, "before") - private(single, "before");
    let truth = resident.expect("Linux tells it") + more + size;
    let slack = (truth / 50).max(256 << 10);
    let peak = phase(summary, "spike").peak.expect("every phase has marks");
    let upper = peak.upper.expect("every process has a mark");
    assert!(peak.lower <= upper, "{peak:?}");
    assert!(
        peak.lower <= truth + slack && truth <= upper + slack,
        "{truth} is not in {peak:?}"
    );
    // The bracket is narrow: a single process is known exactly.
    let alone = resident.expect("Linux tells it") + size;
    assert!(peak.lower + slack >= alone, "{alone}, {peak:?}");
}

#[test]
fn children_and_grandchildren_are_in_every_total_once() {
    let plain = passing(SPIKE, &[]);
    let bare = passing(SPIKE, &["--children", "2,0", "--grandchildren"]);
    let outcome = Soak::new(&format!("{START}{SPIKE}"))
        .server(&["--children", "2,16MiB", "--grandchildren"])
        .server(&["--spike", "40MiB-in=textDocument/references"])
        .run();
    let summary = outcome.passed();
    same(private(&summary, "start") - private(&bare, "start"), 64 * MIB);
    holds_spike(&summary, &plain, 40 * MIB);

    let processes: Vec<Process> = outcome
        .entries()
        .into_iter()
        .filter_map(|entry| match entry.event {
            Event::Process(process) => Some(process),
            _ => None,
        })
        .collect();
    let root = processes[0].process;
    assert_eq!(processes[0].parent, None);
    let children = children_of(root, &processes);
    assert_eq!(children.len(), 2, "{processes:#?}");
    assert!(
        children.iter().all(|child| children_of(*child, &processes).len() == 1),
        "{processes:#?}"
    );
    assert_eq!(summary.processes.most_at_once, 5);
    assert_eq!(
        summary
            .processes
            .programs
            .iter()
            .map(|program| program.count)
            .sum::<u64>(),
        5
    );
    let checkpoint = phase(&summary, "spike").checkpoint.as_ref();
    assert_eq!(checkpoint.map(|taken| taken.processes), Some(5));
}

fn children_of(parent: u32, processes: &[Process]) -> BTreeSet<u32> {
    processes
        .iter()
        .filter(|process| process.parent == Some(parent))
        .map(|process| process.process)
        .collect()
}

#[test]
fn a_page_that_forks_share_is_counted_once() {
    let plain = passing(SPIKE, &[]);
    let spike = ["--spike", "40MiB-in=textDocument/references"];
    let summary = passing(SPIKE, &["--children", "3,32MiB,forked", spike[0], spike[1]]);
    same(private(&summary, "start") - private(&plain, "start"), 32 * MIB);
    let resident = phase(&summary, "start")
        .checkpoint
        .as_ref()
        .and_then(|taken| taken.resident);
    assert!(
        resident.is_some_and(|sum| sum > 128 * MIB),
        "the pages are in four processes: {resident:?}"
    );
    holds_spike(&summary, &plain, 40 * MIB);
    assert_eq!(summary.processes.most_at_once, 4);
}

#[test]
fn both_kinds_of_children_add_up() {
    let phases = "[[phase]]\nname = \"look\"\nsteps = [{ workspace-symbol = { queries = [\"total\"] } }]";
    let bare = passing(phases, &["--children", "2,0,forked", "--children", "1,0"]);
    let summary = passing(phases, &["--children", "2,24MiB,forked", "--children", "1,24MiB"]);
    same(private(&summary, "start") - private(&bare, "start"), 48 * MIB);
    let sum: i64 = summary.phases.iter().filter_map(|phase| phase.increment).sum();
    let change = private(&summary, "look").cast_signed() - private(&summary, "start").cast_signed();
    assert_eq!(sum, change);
}

#[test]
fn processes_that_come_and_go_between_two_looks_are_said() {
    let phases = "[[phase]]\nname = \"wait\"\nsteps = [{ pause = { for = \"3s\" } }]";
    // Three shells without children, each of which has some for a moment at another time. Children that end together
    // with a sampled process are not counted.
    let script = r#"
for n in 5 7 9; do
    mkfifo "$TMPDIR/start-$n"
    (read -r go <"$TMPDIR/start-$n"; /bin/true; /bin/true; /bin/true; exec sleep 1) &
    (sleep 0.$n; echo go >"$TMPDIR/start-$n") &
done
exec "$FIXTURE" "$@""#;
    let outcome = Soak::new(&format!("{START}{phases}"))
        .script(script)
        .options(&["--interval", "500ms"])
        .run();
    let summary = outcome.passed();
    assert!((1..=9).contains(&summary.sampling.unseen), "{:?}", summary.sampling);
    outcome.says(&["lived too briefly to be sampled"]);
}

#[test]
fn an_orphan_of_the_tree_stays_in_it_and_is_ended_with_it() {
    // The shell in the middle ends at once, so its child in another session has no parent in the tree.
    let script = "sh -c '\"$0\" child --size 24MiB --outlive >/dev/null 2>&1 &' \"$FIXTURE\"\nexec \"$FIXTURE\" \"$@\"";
    let outcome = Soak::new(START).script(script).run();
    outcome.exits_with(4);
    outcome.says(&["1 process outlived the server and was killed"]);
    let summary = outcome.summary();
    let (plain, bare) = (passing("", &[]), passing("", &["--children", "1,0"]));
    let child = private(&bare, "start") - private(&plain, "start");
    same(private(&summary, "start") - private(&plain, "start") - child, 24 * MIB);
    assert_eq!(
        summary.lifecycle.shutdown.map(|shutdown| shutdown.survivors.len()),
        Some(1)
    );
}

#[test]
fn a_daemon_that_forks_itself_anew_all_the_time_is_ended_with_its_server() {
    for every in ["5ms", "20ms", "50ms"] {
        // The run checks at its end that no started process is alive.
        let outcome = Soak::new(START).server(&["--respawn", every]).run();
        outcome.exits_with(4);
        outcome.says(&["outlived the server and", "killed"]);
        let survivors = outcome.summary().lifecycle.shutdown.map(|shutdown| shutdown.survivors);
        assert!(survivors.is_some_and(|survivors| !survivors.is_empty()), "{every}");
    }
}
