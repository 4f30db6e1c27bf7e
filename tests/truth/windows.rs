//! Idle windows: their start, their light traffic, and the allocator that explains their end.

use analysis::summary::decay::WindowKind;
use record::WindowEnd;

use crate::decay::{course, one};
use crate::fixture::SYSTEM;
use crate::outcome::{MIB, changed};
use crate::soak::{START, Soak};

/// The server answers the barrier after three seconds, and releases memory half a second after the last message:
/// before the window, but within its step.
#[test]
fn what_came_back_before_everything_was_read_is_none_of_the_window() {
    let phases = r#"
[[phase]]
name = "work"
steps = [{ open = { files = 1 } }, { idle = { mode = "silent", for = "2s" } }]
"#;
    let outcome = Soak::new(&format!("{START}{phases}"))
        .server(&["--decay", "32MiB-after=500ms", "--slow", "3s"])
        .run();
    let summary = outcome.passed();
    let window = one(&summary, WindowKind::Silent);
    let step = summary.phases.last().and_then(|phase| phase.steps.last());
    let step = step.and_then(|step| step.took).expect("it was played");
    assert!(step > window.took + 2_500_000_000, "{step} {window:?}");
    changed(course(window).released(), 0);
    let [first, rest @ ..] = course(window).at;
    assert_eq!((first, rest), (Some(course(window).before), [None; 3]));
    outcome.says(&["nothing released while idle"]);
}

#[test]
fn what_closing_gives_back_before_it_was_read_is_not_the_silences() {
    let phases = r#"
[[phase]]
name = "work"
steps = [
    { open = { files = 1 } },
    { hover = { files = 1, per-file = 1 } },
    { close = {} },
    { idle = { mode = "silent", for = "2s" } },
]
"#;
    let outcome = Soak::new(&format!("{START}{phases}"))
        .server(&["--retain-open", "32MiB", "--slow", "2s"])
        .run();
    let summary = outcome.passed();
    changed(course(one(&summary, WindowKind::Silent)).released(), 0);
    changed(
        course(one(&summary, WindowKind::Closed)).released(),
        (32 * MIB).cast_signed(),
    );
}

/// A server that takes 600 ms per answer receives no more messages, and at the usual intervals.
#[test]
fn light_traffic_keeps_its_clock_while_an_answer_is_open() {
    let phases = r#"
[[phase]]
name = "simmer"
steps = [{ open = { files = 1 } }, { idle = { mode = "simmer", every = "100ms", for = "4s" } }]
"#;
    let runs = [["--slow", "600ms"].as_slice(), &[]].map(|options| {
        let soak = Soak::new(&format!("{START}{phases}")).server(options);
        std::thread::spawn(|| soak.run())
    });
    let [slow, quick] = runs.map(|run| {
        let outcome = run.join().expect("it passes");
        let summary = outcome.passed();
        let window = one(&summary, WindowKind::Simmer).clone();
        // The last answer may come after the window, when no message is due.
        let due = 4_000 / 100;
        assert!((window.sent + window.left_out).abs_diff(due) <= 1, "{window:?}");
        (window.sent, window.left_out, outcome)
    });
    assert!(slow.0 * 2 < quick.0 && slow.1 > 2 * quick.1, "{} {}", slow.0, quick.0);
    slow.2
        .says(&["40 messages were not sent, because an answer was still open"]);
}

/// The C library releases nothing while idle, which is certain after a dwell of 12 s: a window of nine is too short.
#[test]
fn a_window_that_is_over_before_the_dwell_is_too_short_and_nothing_in_it_moved() {
    let phases = "[[phase]]\nname = \"decay\"\nsteps = [{ idle = { mode = \"silent\", until = \"settled\", at-most = \"9s\" } }]\n";
    let outcome = Soak::new(&format!("{START}{phases}")).run();
    let summary = outcome.passed();
    let window = one(&summary, WindowKind::Silent);
    assert_eq!(window.end_reason(), Some(WindowEnd::TooShort), "{window:?}");
    assert_eq!(
        (window.settled, window.needed),
        (None, Some(12_000_000_000)),
        "{window:?}"
    );
    assert_eq!(window.moving, "");
    outcome.says(&["too short: memory was stable", "of the 12.0 s needed"]);
}

/// Detection finds the C library: a guess for a shell that starts an unknown server, and wrong for a server behind a
/// shell that has most of the memory. A server and a child of the same program share their allocator.
#[test]
fn a_guessed_allocator_or_that_of_a_wrapper_is_not_blamed() {
    let phases = "[[phase]]\nname = \"decay\"\nsteps = [{ idle = { mode = \"silent\", until = \"settled\" } }]\n";
    let soak = || Soak::new(&format!("{START}{phases}"));
    let execs = format!("exec '{}' \"$@\"", SYSTEM);
    let runs = [
        (soak().script("\"$FIXTURE\" \"$@\"\nexit $?"), WindowEnd::Settled),
        (
            soak().script(&format!(
                "hold=$(head -c 64000000 /dev/zero | tr '\\0' x)\n{}\nexit $?",
                &execs[5..]
            )),
            WindowEnd::Settled,
        ),
        (
            soak().script(&execs).server(&["--children", "1,64MiB"]),
            WindowEnd::Held,
        ),
        (soak().script(&execs), WindowEnd::Held),
    ];
    let runs = runs.map(|(soak, end)| std::thread::spawn(move || (soak.run(), end)));
    for run in runs {
        let (outcome, end) = run.join().expect("it ends");
        let summary = outcome.passed();
        let window = one(&summary, WindowKind::Silent);
        assert_eq!(window.end_reason(), Some(end), "{window:?}");
        let is_held = end == WindowEnd::Held;
        assert_eq!(window.decay.is_some(), is_held, "{window:?}");
        assert_eq!(outcome.output().contains("purges only on activity"), is_held);
    }
}
