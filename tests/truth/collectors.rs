//! Idle windows of a server whose runtime collects garbage by a clock. The fixture is one by its profile, and releases
//! memory as late as that clock allows.

use analysis::summary::decay::WindowKind;
use record::{Runtime, WindowEnd};

use crate::decay::{course, one};
use crate::fixture::SYSTEM;
use crate::ground::{self, PreparedWorkspace};
use crate::outcome::{MIB, Outcome, changed};
use crate::soak::{START, Soak};

/// A Java virtual machine by its word, with memory that it holds for 18 s of silence.
const JAVA: &str = "allocator = { linked = 'jvm' }\n";

/// Its collector's clock: a window needs twice this and a second.
const CLOCK: &str = "JAVA_TOOL_OPTIONS=-XX:+UseG1GC -XX:G1PeriodicGCInterval=12000";

const PHASES: &str = r#"
[[phase]]
name = "open"
steps = [{ open = { files = 1 } }]
[[phase]]
name = "decay"
steps = [{ idle = { mode = "silent", until = "settled", at-most = "60s" } }]
"#;

fn soak(options: &[&str]) -> Outcome {
    let profile = format!(
        "[server.timed]\nprograms = ['{SYSTEM}']\nargs = ['--decay', '32MiB-after=18s']\nlanguages = ['python']\n{JAVA}"
    );
    Soak::new(&format!("{START}{PHASES}"))
        .file("servers.toml", profile)
        .named("timed")
        .options(options)
        .run()
}

#[test]
fn a_window_shorter_than_the_collectors_clock_proves_nothing() {
    let outcome = soak(&["--env", CLOCK]);
    let summary = outcome.passed();
    let window = one(&summary, WindowKind::Silent);
    assert_eq!(window.end_reason(), Some(WindowEnd::Settled), "{window:?}");
    changed(course(window).released(), 0);
    let short = window.too_short_for.as_ref().expect("it needs 25 s");
    assert_eq!((short.runtime, short.needed), (Runtime::G1, 25_000_000_000));
    assert!(short.full_decay_helps && short.took < 18_000_000_000, "{short:?}");
    outcome.says(&[
        "what is released while idle is not known: the window was",
        "G1 needs about 25 s (`--full-decay`)",
    ]);
    let said = outcome.output();
    assert!(!said.contains("nothing released"), "{said}");
}

#[test]
fn full_decay_waits_for_the_collectors_clock() {
    let outcome = soak(&["--env", CLOCK, "--full-decay"]);
    let summary = outcome.passed();
    assert!(summary.header.settings.full_decay);
    let window = one(&summary, WindowKind::Silent);
    assert_eq!(
        (window.end_reason(), &window.too_short_for),
        (Some(WindowEnd::Settled), &None)
    );
    assert!(window.took >= 25_000_000_000, "{window:?}");
    changed(course(window).released(), (32 * MIB).cast_signed());
    let t50 = course(window).t50.expect("it fell");
    assert!((17_000_000_000..20_000_000_000).contains(&t50), "{t50} ns");
    outcome.says(&["32.0 MiB released while idle (100 % of the growth so far)"]);
}

#[test]
fn a_collector_without_a_clock_is_not_waited_for() {
    let outcome = soak(&["--env", "JAVA_TOOL_OPTIONS=-XX:+UseSerialGC", "--full-decay"]);
    let summary = outcome.passed();
    let window = one(&summary, WindowKind::Silent);
    assert_eq!(
        (window.end_reason(), &window.too_short_for),
        (Some(WindowEnd::Held), &None)
    );
    outcome.says(&["nothing released while idle (Serial releases nothing by itself)"]);
}

/// One fixed window is in each run of each side.
const FIXED: &str = r#"
[[phase]]
name = "start"
steps = [{ start = {} }]
[[phase]]
name = "work"
steps = [{ open = { files = 1 } }, { idle = { for = "1200ms" } }]
"#;

#[test]
fn check_a_comparison_and_a_gate_tell_what_a_window_is_too_short_for() {
    let java = format!("{JAVA}env = {{ JAVA_TOOL_OPTIONS = '-XX:G1PeriodicGCInterval=60000' }}\n");
    let ground = PreparedWorkspace::new(&ground::scenario("fixed", "200ms", FIXED), "price = 1\n")
        .with_server("base", &[], &java)
        .with_server("other", &[], &java);
    ground.write(
        "settled.toml",
        &ground::scenario("settled", "200ms", &format!("{START}{PHASES}")),
    );
    let why = "not known: the window was 1 s, G1 needs about 2 min";
    let gate = [
        "gate", "scenario.toml", "--baseline", "base", "--candidate", "other", "--lens", "as-shipped", "--runs", "2",
        "--out", "gate", "--format", "markdown",
    ];
    // Two runs are too few for a verdict.
    let (said, errors) = ground.ends(3, &gate);
    assert!(said.contains("may release later is"), "{said}{errors}");
    assert!(said.contains(why), "{said}{errors}");
    let compared = ground.stdout(&["compare", "gate", "--format", "json"]);
    let compared: serde_json::Value = serde_json::from_str(&compared).expect("it is JSON");
    let reason = &compared["scenarios"][0]["targets"][0]["decay"][0]["servers"][1]["too_short_for"];
    assert_eq!(
        (&reason["runtime"], &reason["needed"]),
        (&"g1".into(), &121_000_000_000_u64.into()),
        "{compared}"
    );
    let markdown = ground.stdout(&["compare", "gate", "--format", "markdown"]);
    assert!(markdown.contains(why), "{markdown}");
    let checked = ground.stdout(&["check", "scenario.toml", "--server", "base"]);
    assert!(
        !checked.contains("--full-decay"),
        "a fixed window waits for nothing: {checked}"
    );
}
