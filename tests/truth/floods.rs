//! Servers that send floods: lsp-soak counts everything, keeps little, and stays small.

use record::Ending;

use crate::outcome::{KIB, MIB};
use crate::soak::{START, Soak};

/// Limit of lsp-soak's own private memory while it drives.
const SMALL: u64 = 32 * MIB;

#[test]
fn a_hundred_mebibytes_of_stderr_leave_a_tail() {
    let phases = "[[phase]]\nname = \"look\"\nsteps = [{ workspace-symbol = { queries = [\"total\"] } }]";
    let outcome = Soak::new(&format!("{START}{phases}"))
        .server(&["--flood-stderr", "100MiB"])
        .run();
    let summary = outcome.passed();
    outcome.says(&["the server wrote 100.0 MiB to stderr, last"]);
    assert_eq!(summary.ending, Some(Ending::Completed));
    let close = summary.lifecycle.close.expect("the connection was closed");
    assert_eq!(close.stderr, 100 * MIB);
    let tail = close.stderr_tail.len() as u64;
    assert!((1..=64 * KIB).contains(&tail), "{tail}");
    assert!(outcome.own_peak < SMALL, "lsp-soak itself had {}", outcome.own_peak);
    let size = std::fs::metadata(&outcome.record).map(|file| file.len());
    assert!(size.is_ok_and(|size| size < MIB));
}

#[test]
fn a_result_of_two_hundred_mebibytes_is_counted_and_not_kept() {
    let phases =
        "[[phase]]\nname = \"look\"\nsteps = [{ workspace-symbol = { queries = [\"total\"], deadline = \"50s\" } }]";
    let outcome = Soak::new(&format!("{START}{phases}"))
        .server(&["--huge-result", "200MiB"])
        .run();
    let summary = outcome.passed();
    let symbols = summary
        .traffic
        .methods
        .iter()
        .find(|method| method.method == "workspace/symbol");
    let symbols = symbols.expect("it was asked for");
    assert_eq!((symbols.count, symbols.hits, symbols.bytes), (1, 1, 200 * MIB));
    assert!(symbols.items > 100_000, "{symbols:?}");
    assert!(outcome.own_peak < SMALL, "lsp-soak itself had {}", outcome.own_peak);
}

#[test]
fn nothing_that_a_server_says_makes_us_grow() {
    // `Running::finish` checks lsp-soak's own memory in every run.
    let phases = "[[phase]]\nname = \"look\"\nsteps = [{ open = { files = 2 } }, { hover = { per-file = 2 } }]";
    for (hoard, words) in [
        ("settings", Some("an answer to `workspace/configuration`")),
        ("registrations", Some("all that is registered")),
        ("trees", Some("the options of a registration")),
        ("tokens", Some("a progress token")),
        ("notifications", None),
        ("diagnostics", None),
        ("choices", None),
    ] {
        let outcome = Soak::new(&format!("{START}{phases}"))
            .file("settings.json", format!("{{\"text\": \"{}\"}}", "x".repeat(1000)))
            .options(&["--settings", "settings.json"])
            .server(&["--hoard", hoard])
            .run();
        let summary = outcome.passed();
        let violations = summary.lifecycle.close.expect("the connection was closed").violations;
        let refused = violations
            .keys()
            .find(|text| text.starts_with("a request of the server was refused: "));
        match words {
            Some(words) => assert!(
                refused.is_some_and(|text| text.contains(words)),
                "{hoard}: {violations:?}"
            ),
            None => assert_eq!(refused, None, "{hoard}"),
        }
    }
}

#[test]
fn a_flood_of_messages_is_counted_and_its_record_stays_small() {
    let phases = "[[phase]]\nname = \"look\"\nsteps = [{ open = { files = 2 } }, { hover = { per-file = 2 } }]";
    let outcome = Soak::new(&format!("{START}{phases}"))
        .server(&["--hoard", "messages"])
        .run();
    let summary = outcome.passed();
    let close = summary.lifecycle.close.clone().expect("the connection was closed");
    assert_eq!(close.notifications["window/logMessage"], 100_000);
    assert!(close.notifications.values().sum::<u64>() >= 200_000);
    let listed = summary.log.messages.iter().map(|message| message.count).sum::<u64>() + summary.log.more_messages;
    let requests = summary.traffic.server_requests["workspace/codeLens/refresh"].count;
    let known = listed + close.unwritten.warnings + requests;
    assert!(
        (200_000_u64.saturating_sub(close.dropped)..=200_000).contains(&known),
        "{known} {}",
        close.dropped
    );
    // A busy machine drops some messages before they are counted as unwritten.
    let unwritten = close.unwritten.warnings + close.dropped;
    assert!(unwritten > 50_000, "{unwritten} {:?}", close.unwritten);
    // A very busy one drops all that are too many, and then none is left to be counted.
    let fate = match close.unwritten.warnings + close.unwritten.requests.values().sum::<u64>() {
        0 => "came faster than the record can hold",
        _ => "were only counted, not recorded",
    };
    outcome.says(&["more errors or warnings from the server", fate]);
    let size = std::fs::metadata(&outcome.record).map_or(u64::MAX, |file| file.len());
    assert!(size < 16 * MIB, "{size}");
}

#[test]
fn a_server_that_asks_and_does_not_read_the_answers_is_let_go() {
    let outcome = Soak::new(START)
        .file("settings.json", format!("{{\"text\": \"{}\"}}", "x".repeat(1000)))
        .options(&["--settings", "settings.json"])
        .server(&["--hoard", "requests", "--stop-reading-after", "2"])
        .run();
    match crate::faults::failed(&outcome) {
        Ending::Disconnected { reason } => {
            assert!(
                reason.contains("does not read the answers to its own requests"),
                "{reason}"
            );
            assert!(reason.ends_with("(in phase `start`, step `start`)"), "{reason}");
        }
        ending => panic!("{ending:?}"),
    }
}
