//! Processes, zombies, threads, open descriptors, and processors at rest: each known of the fixture.

use analysis::growth::{Counted, RepeatedCount, repeated_counts};
use analysis::summary::Summary;

use crate::outcome::Outcome;
use crate::soak::{START, Soak};

/// One hover in each of ten rounds.
const ROUNDS: &str = r#"
[[phase]]
name = "open"
steps = [{ open = { files = 1 } }]
[[phase]]
name = "asking"
repeat = { times = 10 }
steps = [{ hover = { files = 1, per-file = 1 } }]
"#;

const HOVER: &str = "textDocument/hover";

fn ask(option: &str) -> Outcome {
    Soak::new(&format!("{START}{ROUNDS}")).server(&[option, HOVER]).run()
}

#[track_caller]
fn count(summary: &Summary, counted: Counted) -> RepeatedCount {
    let all = repeated_counts(summary);
    let mut asking = all.into_iter().filter(|one| one.name == "asking");
    asking.find(|one| one.counted == counted).expect("it was repeated")
}

/// One of `grown` is added in each round, and nothing else grows.
#[track_caller]
fn grows_by_one(summary: &Summary, grown: &[Counted]) {
    for counted in Counted::ALL {
        let count = count(summary, counted);
        let slope = count.slope.expect("ten rounds are enough");
        let expected = if grown.contains(&counted) { 1.0 } else { 0.0 };
        assert_eq!(slope.trend.slope, expected, "{count:?}");
        assert_eq!(count.grows(), expected > 0.0, "{count:?}");
    }
}

#[test]
fn children_that_are_never_reaped_are_zombies() {
    let outcome = ask("--zombie-per");
    let summary = outcome.passed();
    grows_by_one(&summary, &[Counted::Zombies]);
    assert_eq!(count(&summary, Counted::Zombies).last(), Some(10));
    outcome.says(&[
        "zombies grow by 1.0 per round (1.0 to 1.0) in `asking`, to 10",
        "1 process after asking, 10 zombies",
    ]);
}

#[test]
fn helpers_that_are_never_ended_are_processes() {
    let outcome = ask("--process-per");
    let summary = outcome.passed();
    let threads = count(&summary, Counted::Threads);
    assert!(threads.grows(), "{threads:?}");
    assert_eq!(count(&summary, Counted::Processes).last(), Some(11));
    assert!(!count(&summary, Counted::Zombies).grows());
    outcome.says(&[
        "processes grow by 1.0 per round (1.0 to 1.0) in `asking`, to 11",
        "11 processes after asking (",
        "×11)",
    ]);
}

#[test]
fn threads_that_never_end_are_counted() {
    let outcome = ask("--thread-per");
    grows_by_one(&outcome.passed(), &[Counted::Threads]);
    outcome.says(&["threads grow by 1.0 per round (1.0 to 1.0) in `asking`, to 1"]);
}

#[test]
fn files_that_are_never_closed_are_descriptors() {
    let outcome = ask("--descriptor-per");
    grows_by_one(&outcome.passed(), &[Counted::Descriptors]);
    outcome.says(&["open descriptors grow by 1.0 per round (1.0 to 1.0) in `asking`"]);
}

#[test]
fn processors_that_work_while_nothing_is_asked_are_named_with_their_share() {
    let steps = "{ open = { files = 1 } }, { idle = { for = '3s' } }";
    let rest = format!("{START}\n[[phase]]\nname = \"rest\"\nsteps = [{steps}]\n");
    // So little is had on a loaded machine too.
    let outcome = Soak::new(&rest).server(&["--busy", "10"]).run();
    let window = &outcome.passed().windows[0];
    let share = window.cpu.expect("Linux tells it") as f64 / window.took as f64;
    assert!((0.075..0.125).contains(&share), "{share}");
    outcome.says(&["% of a processor while nothing is asked"]);
    let calm = Soak::new(&rest).run();
    calm.passed();
    assert!(!calm.output().contains("while nothing is asked"), "{}", calm.output());
}
