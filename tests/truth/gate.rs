//! Gates on servers whose memory is known: what grew fails, what is the same passes, what does less is refused.

use crate::ground::{Ground, SYSTEM};

/// `base` holds 200 MiB, `more` 3 % more, `empty` answers with nothing, of `unknown` nobody says what allocator it has.
fn ground() -> Ground {
    Ground::pair()
        .with("base", &["--ballast", "200MiB"], SYSTEM)
        .with("more", &["--ballast", "206MiB"], SYSTEM)
        .with("empty", &["--ballast", "100MiB", "--empty-results"], SYSTEM)
        .launched("unknown")
}

/// What is printed by a gate that must end with this code.
#[track_caller]
fn ends(code: i32, ground: &Ground, words: &[&str]) -> (String, String) {
    ground.ends(code, &[&["gate"][..], words].concat())
}

#[test]
fn three_per_cent_more_fail_in_three_runs_through_the_purged_lens() {
    let ground = ground();
    let words = [
        "scenario.toml", "--baseline", "base", "--candidate", "more", "--runs", "3", "--lens", "purged", "--out",
        "out", "-q",
    ];
    let (said, _) = ends(1, &ground, &words);
    assert!(said.contains("pair: FAIL"), "{said}");
    assert!(said.contains("approximate, verified"), "{said}");
    assert!(said.contains("purged private at the end: at least +"), "{said}");
    // Three runs of each after a warm-up, and the records give the same verdict.
    let (again, _) = ends(1, &ground, &["--from", "out", "--runs", "3"]);
    assert_eq!(again, said);
    // A budget that is kept changes nothing, and 4 % tolerated let it pass.
    let lax = [
        "--from", "out", "--runs", "3", "--tol", "4%", "--fail", "6%", "--budget", "private <= 300 MiB",
    ];
    let (said, _) = ends(0, &ground, &lax);
    assert!(said.contains("private at the end <= 300.0 MiB"), "{said}");
    ends(1, &ground, &[&lax[..], &["--budget", "peak <= 100 MiB"]].concat());
    // Five runs were never made.
    let (said, _) = ends(3, &ground, &["--from", "out", "--runs", "5"]);
    assert!(said.contains("INCONCLUSIVE"), "{said}");
    ends(0, &ground, &["--from", "out", "--runs", "5", "--inconclusive", "pass"]);
    ends(1, &ground, &["--from", "out", "--runs", "5", "--inconclusive", "fail"]);
}

#[test]
fn a_server_passes_against_itself_and_fails_against_an_anchor_that_needed_less() {
    let ground = ground();
    let same = [
        "scenario.toml", "--baseline", "more", "--candidate", "more", "--lens", "purged", "--out", "same", "-q",
    ];
    let (said, _) = ends(0, &ground, &same);
    assert!(said.contains("pair: PASS"), "{said}");
    let (again, _) = ends(0, &ground, &["--from", "same"]);
    assert_eq!(again, said);
    let anchored = [
        "scenario.toml", "--baseline", "more", "--candidate", "more", "--anchor", "base", "--lens", "purged", "--runs",
        "3", "--out", "anchored", "-q",
    ];
    let (said, _) = ends(1, &ground, &anchored);
    assert!(said.contains("against the anchor"), "{said}");
    let (said, _) = ends(1, &ground, &["--from", "anchored", "--runs", "3"]);
    assert!(said.contains("against the anchor"), "{said}");
}

#[test]
fn a_server_never_fails_against_itself_through_both_lenses() {
    let ground = ground();
    let words = [
        "gate", "scenario.toml", "--baseline", "base", "--candidate", "base", "--looks", "3,5", "-q",
    ];
    let output = ground.run(&words);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}\n{said}", output.status);
    assert!(
        said.contains("pair: PASS") || said.contains("pair: INCONCLUSIVE"),
        "{said}"
    );
}

#[test]
fn a_candidate_that_answers_with_nothing_is_refused_however_little_it_needs() {
    let ground = ground();
    let words = [
        "scenario.toml", "--baseline", "base", "--candidate", "empty", "--runs", "3", "--out", "out", "-q",
    ];
    let (said, _) = ends(4, &ground, &words);
    assert!(said.contains("the candidate failed the scenario"), "{said}");
    assert!(said.contains("pair: REFUSED") && !said.contains("PASS"), "{said}");
}

#[test]
fn mistakes_in_a_gate_file_are_told_before_anything_runs() {
    let ground = ground();
    let file = "format = 1\nbudgets = [\"peek <= 600 MiB\", \"private after gotoo <= 1 GiB\"]\n[[endpoint]]\nmetric = \
                \"privat\"\n[[endpoint]]\nmetric = \"private\"\nphase = \"gto\"\ntol = \"5\"\n[leak]\nslope = \"1 KiB\"\n";
    ground.write("gate.toml", file);
    let words = [
        "scenario.toml", "--baseline", "base", "--candidate", "more", "--gate", "gate.toml", "--out", "out",
    ];
    let (_, errors) = ends(2, &ground, &words);
    for told in [
        "unknown metric `privat`",
        "did you mean `private`?",
        "unknown metric `peek`",
        "did you mean `peak`?",
        "no phase `gto`",
        "did you mean `goto`?",
        "no phase `gotoo`",
        "`5` is not a share",
        "nothing is repeated",
        "gate.toml:4:10",
        "^^^",
    ] {
        assert!(errors.contains(told), "{told} is not in\n{errors}");
    }
    assert!(!ground.join("out").exists());
}

#[test]
fn an_allocator_that_nobody_knows_is_looked_at_as_shipped_and_never_silently() {
    let ground = ground();
    let purged = [
        "scenario.toml", "--baseline", "unknown", "--candidate", "unknown", "--lens", "purged", "--out", "out", "-q",
    ];
    let (_, errors) = ends(2, &ground, &purged);
    assert!(errors.contains("allocator = { linked = \"jemalloc\" }"), "{errors}");
    assert!(!ground.join("out").exists());
    let usual = [
        "scenario.toml", "--baseline", "unknown", "--candidate", "unknown", "--runs", "2", "-q",
    ];
    let output = ground.run(&[&["gate"][..], &usual].concat());
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        said.contains("as-shipped decides: which allocator `baseline` uses is not known"),
        "{said}"
    );
}
