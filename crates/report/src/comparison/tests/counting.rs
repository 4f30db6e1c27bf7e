//! Runs that count, and the text if none does.

use super::*;

/// Two servers of which the second crashes while it warms up, so that no more runs are made.
fn crashed_at_once() -> Vec<Played> {
    let mut all = [runs("small", &[100]), runs("crash", &[100])].concat();
    for run in &mut all {
        run.summary_mut().header.plan.warm_up = true;
    }
    all[1].summary_mut().ending = Some(Ending::Crashed {
        code: None,
        signal: Some(11),
        during: String::new(),
    });
    all
}

#[test]
fn a_server_that_crashes_while_it_warms_up_is_an_error_everywhere() {
    let scenarios = compared(crashed_at_once());
    let junit = junit(&suites(&scenarios));
    assert!(junit.contains("failures=\"0\" errors=\"1\""), "{junit}");
    assert!(!junit.contains("the same work"), "{junit}");
    assert!(junit.contains("no run of small counts"), "{junit}");
    let annotations = annotations(&suites(&scenarios));
    let [failed] = annotations.as_slice() else {
        panic!("{annotations:?}")
    };
    assert!(
        failed.starts_with("::error ")
            && failed.contains("crash failed in 1 run: crashed")
            && failed.ends_with(", signal 11: run-001-crash.jsonl"),
        "{failed}"
    );
    let words = "no run counts, so there is no result: crash failed in 1 run: crashed";
    assert!(drawn(crashed_at_once(), 200).contains(words));
    assert!(pasted(crashed_at_once()).contains(words));
    // Where the other has runs, it is still the one that failed that is named.
    let mut some = crashed_at_once();
    some.extend(runs("small", &[100, 101, 100]));
    let text = drawn(some, 200);
    assert!(text.contains("crash failed in 1 run: crashed"), "{text}");
    assert!(
        text.contains("crash cannot be compared with small: crash failed in 1 run"),
        "{text}"
    );
}

#[test]
fn runs_of_one_server_say_what_it_keeps_and_its_peak() {
    let words =
        "ty: 147.0 MiB (145.5–148.5 MiB *) private after decay, peak 226.0 MiB (223.7–228.3 MiB *) resident (3 runs)";
    let runs = runs("ty", &[100, 101, 99]);
    let terminal = drawn(runs.clone(), 200);
    assert!(terminal.contains(words), "{terminal}");
    let markdown = pasted(runs);
    assert!(markdown.contains(&words.replace('*', "\\*")), "{markdown}");
    // Beside another one, its distinguishing facts name it.
    assert!(!pasted(two()).contains("ty-system: 1"));
}

#[test]
fn warm_ups_alone_are_no_run_that_counts() {
    let mut all = runs("small", &[100]);
    all[0].summary_mut().header.plan.warm_up = true;
    for text in [drawn(all.clone(), 100), pasted(all)] {
        assert!(
            text.contains("no run counts, so there is no result: allow more time"),
            "{text}"
        );
    }
}

fn on_epyc(label: &str, percents: &[u64]) -> Vec<Played> {
    on_machine(runs(label, percents), "x86_64-unknown-linux-gnu", "EPYC")
}

fn on_xeon(label: &str, percents: &[u64]) -> Vec<Played> {
    on_machine(runs(label, percents), "x86_64-unknown-linux-gnu", "Xeon")
}

#[test]
fn runs_that_a_ratio_leaves_out_are_not_counted_for_it() {
    let uneven = [
        on_epyc("system", &[100]),
        on_epyc("mimalloc", &[130]),
        on_xeon("system", &[200, 201]),
        on_xeon("mimalloc", &[240, 242]),
    ];
    let text = drawn(uneven.concat(), 160);
    assert!(text.contains("(2 of 3 runs each)"), "{text}");
    assert!(!text.contains("(3 runs each)"), "{text}");
    let apart = [on_epyc("system", &[100, 101]), on_xeon("mimalloc", &[130, 131])];
    let text = drawn(apart.concat(), 160);
    let words = "no machine has 2 runs of both in one part of the plan, and others are not compared";
    assert!(text.contains(words), "{text}");
}
