//! Servers that pour: what they send is counted, little of it is kept, and lsp-soak itself stays small.

use lsp_soak::record::Ending;

use crate::outcome::{KIB, MIB};
use crate::soak::{START, Soak};

/// What lsp-soak may have itself while it drives; a run without any flood has 19 MiB.
const SMALL: u64 = 32 * MIB;

#[test]
fn a_hundred_mebibytes_of_stderr_leave_a_tail() {
    let phases = "[[phase]]\nname = \"look\"\nsteps = [{ workspace-symbol = { queries = [\"total\"] } }]";
    let outcome = Soak::new(&format!("{START}{phases}"))
        .server(&["--flood-stderr", "100MiB"])
        .run();
    let summary = outcome.passed();
    outcome.says(&["the server wrote 100.0 MiB to stderr, ending with"]);
    assert_eq!(summary.ending, Some(Ending::Completed));
    let close = summary.close.expect("the connection was closed");
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
        .methods
        .iter()
        .find(|method| method.method == "workspace/symbol");
    let symbols = symbols.expect("it was asked for");
    assert_eq!((symbols.count, symbols.hits, symbols.bytes), (1, 1, 200 * MIB));
    assert!(symbols.items > 100_000, "{symbols:?}");
    assert!(outcome.own_peak < SMALL, "lsp-soak itself had {}", outcome.own_peak);
}
