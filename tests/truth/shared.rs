//! Known shared memory, and processes that run in one address space.

use analysis::summary::Summary;
use record::{AddressSpaceRule, Event, Rollup};

use crate::fixture::SYSTEM;
use crate::outcome::{KIB, MIB, Outcome, changed, increment, phase, private};
use crate::peer::same;
use crate::soak::{START, Soak, passing};

const HOVER: &str = r#"
[[phase]]
name = "open"
steps = [{ open = { files = 3 } }, { hover = { per-file = 2 } }]
[[phase]]
name = "hover"
steps = [{ hover = { per-file = 4 } }]
"#;

/// The exact counters of the first process at the last checkpoint.
fn last_rollup(outcome: &Outcome) -> Rollup {
    let entries = outcome.entries().into_iter().rev();
    let mut rollups = entries.filter_map(|entry| match entry.event {
        Event::Checkpoint(taken) => taken.rollups.first().copied(),
        _ => None,
    });
    rollups.next().expect("there is a checkpoint")
}

#[test]
fn shared_memory_without_a_name_is_private() {
    let plain = passing(HOVER, &[]);
    for via in ["memfd", "system-v", "zero"] {
        let summary = passing(HOVER, &["--via", via, "--ballast", "200MiB"]);
        let more = private(&summary, "hover") - private(&plain, "hover");
        assert!(more.abs_diff(200 * MIB) < 512 * KIB, "{via}: {more}");
        let taken = phase(&summary, "hover").checkpoint.as_ref().expect("it was taken");
        same(taken.own_shared.expect("it is known"), 200 * MIB);
        same(
            taken.private_sampled.expect("Linux tells it"),
            private(&summary, "hover"),
        );
        assert!(
            summary
                .memory
                .private_peak
                .is_some_and(|peak| peak >= private(&summary, "hover"))
        );
    }
}

#[test]
fn a_page_that_is_mapped_three_times_counts_once() {
    let plain = passing(HOVER, &[]);
    let outcome = Soak::new(&format!("{START}{HOVER}"))
        .server(&["--via", "memfd-thrice", "--ballast", "100MiB"])
        .run();
    let summary = outcome.passed();
    same(private(&summary, "hover") - private(&plain, "hover"), 100 * MIB);
    let taken = phase(&summary, "hover").checkpoint.as_ref().expect("it was taken");
    same(taken.shared_again.expect("it is known"), 200 * MIB);
    outcome.says(&["sampled private memory counts 200.0 MiB of shared memory more than once"]);
}

#[test]
fn three_mappings_do_not_exceed_a_limit_that_their_memory_keeps() {
    let outcome = Soak::new(&format!("{START}{HOVER}"))
        .server(&["--via", "memfd-thrice", "--ballast", "100MiB"])
        .options(&["--memory-limit", "200 MiB"])
        .run();
    outcome.exits_with(0);
    let over = Soak::new(&format!("{START}{HOVER}"))
        .server(&["--via", "memfd", "--ballast", "220MiB"])
        .options(&["--memory-limit", "200 MiB"])
        .run();
    over.exits_with(4);
    over.says(&["lsp-soak killed it at the limit of 200.0 MiB"]);
}

#[test]
fn a_leak_into_shared_memory_is_its_size_times_its_requests() {
    let summary = passing(HOVER, &["--via", "memfd", "--leak", "1MiB-per=textDocument/hover"]);
    changed(increment(&summary, "hover"), (12 * MIB).cast_signed());
}

#[test]
fn the_code_of_a_program_that_lies_on_a_tmpfs_is_not_private() {
    let directory = tempfile::tempdir_in("/dev/shm").expect("Linux has it");
    let program = directory.path().join("fixture-system");
    std::fs::copy(SYSTEM, &program).expect("there is room");
    let plain = passing(HOVER, &["--via", "memfd", "--ballast", "20MiB"]);
    let outcome = Soak::new(&format!("{START}{HOVER}"))
        .program_at(program.to_str().expect("it is text"))
        .server(&["--via", "memfd", "--ballast", "20MiB"])
        .run();
    let summary = outcome.passed();
    same(private(&summary, "hover"), private(&plain, "hover"));
    let named = last_rollup(&outcome).shared_memory.expect("it is read").named;
    assert!(named > MIB, "{named} of its code are resident");
    let taken = phase(&summary, "hover").checkpoint.as_ref().expect("it was taken");
    same(
        taken.private_sampled.expect("Linux tells it"),
        private(&summary, "hover"),
    );
}

/// Some ticks of the sampler, in nanoseconds.
const TICKS: u64 = 200_000_000;

/// Exact private memory, the curve at that time, and the sum of the private figures of the programs.
fn three_ways(summary: &Summary, name: &str) -> [u64; 3] {
    let taken = phase(summary, name).checkpoint.as_ref().expect("it was taken");
    let around = [taken.at.saturating_sub(TICKS), taken.at + TICKS];
    let curve = summary.memory.curves.private.reduce(&around)[0];
    let programs = summary.processes.programs.iter().filter_map(|program| program.private);
    [
        private(summary, name),
        curve.expect("it was sampled").high(),
        programs.sum(),
    ]
}

#[test]
fn a_clone_in_the_address_space_of_its_parent_has_no_memory_of_its_own() {
    let plain = passing(HOVER, &[]);
    let summary = passing(HOVER, &["--children", "2,200MiB,cloned"]);
    for value in three_ways(&summary, "hover") {
        same(value, private(&plain, "hover") + 200 * MIB);
    }
    let taken = phase(&summary, "hover").checkpoint.as_ref().expect("it was taken");
    assert_eq!((taken.processes, taken.forked), (3, 0));
    assert!(summary.header.settings.address_spaces.is_some());
}

#[test]
fn a_clone_does_not_exceed_a_limit_that_its_parent_keeps() {
    let outcome = Soak::new(&format!("{START}{HOVER}"))
        .server(&["--children", "2,200MiB,cloned"])
        .options(&["--memory-limit", "300 MiB"])
        .run();
    outcome.exits_with(0);
}

#[test]
fn a_fork_that_rewrites_its_pages_has_them_twice_and_returns_nothing() {
    let phases = r#"
[[phase]]
name = "hover"
steps = [{ open = { files = 3 } }, { hover = { per-file = 1 } }]
[[phase]]
name = "rest"
steps = [{ idle = { for = "2s" } }]
"#;
    let plain = passing(phases, &["--children", "1,0,forked"]);
    let summary = passing(
        phases,
        &[
            "--children",
            "1,200MiB,forked",
            "--kill-children",
            "10-on=textDocument/hover",
        ],
    );
    let rule = summary.header.settings.address_spaces;
    same(private(&summary, "start") - private(&plain, "start"), 200 * MIB);
    for name in ["hover", "rest"] {
        same(private(&summary, name) - private(&plain, name), 400 * MIB);
    }
    if rule == Some(AddressSpaceRule::Kernel) {
        for value in three_ways(&summary, "rest") {
            same(value - private(&plain, "rest"), 400 * MIB);
        }
    }
    let returned = summary.phases.iter().filter_map(|phase| phase.returned.private);
    let released = summary
        .windows
        .iter()
        .filter_map(|window| window.private.as_ref()?.share);
    for share in returned.chain(released) {
        assert!(share < 0.1, "{share}");
    }
}
