//! Gates on servers of known memory: growth fails, equality passes, and less work is refused.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::ground::{LINKED_SYSTEM, PreparedWorkspace};

/// `base` has 200 MiB, `more` has 3 % more, `empty` returns empty results, `unknown` has an unknown allocator.
fn ground() -> PreparedWorkspace {
    PreparedWorkspace::pair()
        .ending_idle()
        .with_server("base", &["--ballast", "200MiB"], LINKED_SYSTEM)
        .with_server("more", &["--ballast", "206MiB"], LINKED_SYSTEM)
        .with_server("empty", &["--ballast", "100MiB", "--empty-results"], LINKED_SYSTEM)
        .launched("unknown")
}

/// The output of a gate that must end with this code.
#[track_caller]
fn ends(code: i32, ground: &PreparedWorkspace, words: &[&str]) -> (String, String) {
    ground.ends(code, &[&["gate", "--details"][..], words].concat())
}

#[test]
fn three_per_cent_more_fail_in_five_runs_through_the_purged_lens() {
    let ground = ground();
    let words = [
        "scenario.toml", "--baseline", "base", "--candidate", "more", "--runs", "5", "--lens", "purged", "--out",
        "out", "-q",
    ];
    let (said, _) = ends(1, &ground, &words);
    assert!(said.contains("FAIL: "), "{said}");
    assert!(
        said.contains("purged lens: system purged before each checkpoint"),
        "{said}"
    );
    assert!(said.contains("purged private +"), "{said}");
    // Five runs of each after a warm-up run; the records give the same verdict.
    let (again, _) = ends(1, &ground, &["--from", "out", "--runs", "5"]);
    assert_eq!(again, said);
    // A budget that is met changes nothing, and a tolerance of 4 % passes.
    let lax = [
        "--from", "out", "--runs", "5", "--tol", "4%", "--fail", "6%", "--budget", "private <= 300 MiB",
    ];
    let (said, _) = ends(0, &ground, &lax);
    assert!(said.contains("private <= 300.0 MiB"), "{said}");
    ends(1, &ground, &[&lax[..], &["--budget", "peak <= 100 MiB"]].concat());
    // Three runs may all be of one of several groups.
    let open = ["--from", "out", "--runs", "3"];
    let (said, _) = ends(3, &ground, &open);
    assert!(said.contains("INCONCLUSIVE"), "{said}");
    let said = said.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(said.contains("nothing is decided before 5 runs of each"), "{said}");
    ends(0, &ground, &[&open[..], &["--inconclusive", "pass"]].concat());
    ends(1, &ground, &[&open[..], &["--inconclusive", "fail"]].concat());
    // No option gives a verdict on eight runs that do not exist.
    for more in [&[][..], &["--inconclusive", "pass"], &["--inconclusive", "fail"]] {
        let (said, _) = ends(2, &ground, &[&["--from", "out", "--runs", "8"], more].concat());
        assert!(said.contains("too few runs to judge"), "{said}");
    }
}

#[test]
fn a_server_passes_against_itself_and_fails_against_an_anchor_that_needed_less() {
    let ground = ground();
    let same = [
        "scenario.toml", "--baseline", "more", "--candidate", "more", "--lens", "purged", "--out", "same", "-q",
    ];
    let (said, _) = ends(0, &ground, &same);
    assert!(said.contains("PASS: "), "{said}");
    let (again, _) = ends(0, &ground, &["--from", "same"]);
    assert_eq!(again, said);
    let anchored = [
        "scenario.toml", "--baseline", "more", "--candidate", "more", "--anchor", "base", "--lens", "purged", "--runs",
        "5", "--out", "anchored", "-q",
    ];
    let (said, _) = ends(1, &ground, &anchored);
    assert!(said.contains("against the anchor"), "{said}");
    let (said, _) = ends(1, &ground, &["--from", "anchored", "--runs", "5"]);
    assert!(said.contains("against the anchor"), "{said}");
}

#[test]
fn a_server_never_fails_against_itself_through_both_lenses() {
    let ground = ground();
    let words = [
        "gate", "scenario.toml", "--baseline", "base", "--candidate", "base", "--looks", "3,5", "--lens", "both", "-q",
    ];
    let output = ground.run(&words);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}\n{said}", output.status);
    assert!(said.contains("PASS: ") || said.contains("INCONCLUSIVE: "), "{said}");
}

/// One server on both sides warms up once.
#[test]
fn what_decides_nothing_is_not_played_unless_it_was_asked_for() {
    let ground = ground();
    let words = [
        "scenario.toml", "--baseline", "base", "--candidate", "base", "--out", "usual",
    ];
    let (said, told) = ends(0, &ground, &words);
    assert!(said.contains("as shipped: not measured (`--lens both`)"), "{said}");
    assert!(told.contains("purged private: "), "{told}");
    let records = ground.records("usual");
    assert!(records.iter().all(|path| is_purged(path)), "{records:?}");
    assert_eq!(records.len() % 2, 1, "{records:?}");
    let file = "format = 1\n[[endpoint]]\nmetric = \"private\"\n[[endpoint]]\nmetric = \"peak\"\nlens = \"as-shipped\"\n\
                advisory = true\n";
    ground.write("gate.toml", file);
    let named = [
        &words[..5],
        &["--gate", "gate.toml", "--runs", "2", "--out", "named", "-q"],
    ]
    .concat();
    ground.run(&[&["gate"][..], &named].concat());
    let records = ground.records("named");
    assert_eq!(
        (records.len(), records.iter().filter(|path| is_purged(path)).count()),
        (9, 5),
        "{records:?}"
    );
}

fn is_purged(record: &Path) -> bool {
    record.to_string_lossy().ends_with("-purged.jsonl")
}

#[test]
fn a_candidate_that_answers_with_nothing_is_refused_however_little_it_needs() {
    let ground = ground();
    let words = [
        "scenario.toml", "--baseline", "base", "--candidate", "empty", "--runs", "3", "--out", "out", "-q",
    ];
    let (said, _) = ends(4, &ground, &words);
    assert!(said.contains("the candidate failed the scenario"), "{said}");
    assert!(said.contains("REFUSED: ") && !said.contains("PASS"), "{said}");
}

#[test]
fn a_candidate_that_lost_its_largest_process_is_refused_however_little_is_left() {
    let children = ["--children", "1,200MiB"];
    let lossy = [&children[..], &["--kill-children", "15-on=textDocument/definition"]].concat();
    let ground = PreparedWorkspace::pair()
        .with_server("whole", &children, LINKED_SYSTEM)
        .with_server("lossy", &lossy, LINKED_SYSTEM);
    let words = [
        "scenario.toml", "--baseline", "whole", "--candidate", "lossy", "--runs", "3", "--out", "out", "-q",
    ];
    let (said, _) = ends(4, &ground, &words);
    assert!(
        said.contains("REFUSED: the candidate lost the process with most of its memory"),
        "{said}"
    );
    assert!(!said.contains("PASS") && !said.contains("FAIL"), "{said}");
    assert!(said.contains("peak (advises): "), "{said}");
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
        "scenario.toml", "--baseline", "unknown", "--candidate", "unknown", "--runs", "2", "-q", "--details",
    ];
    let output = ground.run(&[&["gate"][..], &usual].concat());
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        said.contains("as-shipped decides: the allocator of `baseline` is not known"),
        "{said}"
    );
}

/// Copies records as if their servers ran on jemalloc through the purged lens.
fn on_jemalloc(ground: &PreparedWorkspace, from: &str, to: &str) {
    for record in ground.records(from) {
        let text = fs::read_to_string(&record).expect("it can be read");
        let (header, rest) = text.split_once('\n').expect("it has a header");
        let mut header: Value = serde_json::from_str(header).expect("it is JSON");
        header["server"]["lens"]["name"] = "purged".into();
        header["server"]["lens"]["allocator"] = "jemalloc".into();
        let name = record.file_name().expect("it has a name").to_string_lossy();
        ground.write(&format!("{to}/{name}"), &format!("{header}\n{rest}"));
    }
}

#[test]
fn an_anchor_by_which_nothing_can_be_decided_is_refused_before_the_first_run() {
    let ground = PreparedWorkspace::pair().with_server("base", &["--ballast", "20MiB"], LINKED_SYSTEM);
    let made = ground.run(&[&["gate"][..], &ITSELF, &["--lens", "as-shipped", "--out", "old"]].concat());
    assert_ne!(made.status.code(), Some(2), "{}", String::from_utf8_lossy(&made.stderr));
    on_jemalloc(&ground, "old", "other");
    let anchored = ["--lens", "as-shipped", "--anchor", "baseline: old", "--out", "anchored"];
    let said = ground.run(&[&["gate"][..], &ITSELF, &anchored, &["--details"]].concat());
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.contains("against the anchor") || said.contains("PASS"), "{said}");
    assert_eq!(ground.records("anchored").len(), 1 + 2 * 2);
    assert_refused(
        &ground,
        &["--anchor", "baseline: old"],
        "no run that counts through the purged lens",
    );
    assert_refused(
        &ground,
        &["--anchor", "old"],
        "several servers: baseline, candidate; choose with",
    );
    assert_refused(
        &ground,
        &["--anchor", "baseline: other", "--lens", "purged"],
        "these use jemalloc and system: compare them as shipped",
    );
    let usual = [
        "scenario.toml", "--baseline", "base", "--candidate", "base", "--out", "new",
    ];
    let (_, errors) = ends(2, &ground, &[&usual[..], &anchored[..4]].concat());
    assert!(errors.contains("the anchor has 2 of the 3 runs"), "{errors}");
    let text = fs::read_to_string(ground.join("scenario.toml")).expect("it is there");
    ground.write("scenario.toml", &(text + "# changed\n"));
    assert_refused(&ground, &anchored[..4], "the runs differ in scenario (");
}

/// A gate of a server against itself.
const ITSELF: [&str; 8] = [
    "scenario.toml", "--baseline", "base", "--candidate", "base", "--runs", "2", "-q",
];

/// Checks that [`ITSELF`] with these words is refused before any start.
#[track_caller]
fn assert_refused(ground: &PreparedWorkspace, more: &[&str], told: &str) {
    let (_, errors) = ends(2, ground, &[&ITSELF[..], more, &["--out", "new"]].concat());
    assert!(errors.contains(told), "{told} is not in\n{errors}");
    assert!(!ground.join("new").exists());
}

#[test]
fn a_candidate_alone_is_held_to_its_budgets() {
    let ground = ground();
    let alone = [
        "scenario.toml", "--candidate", "base", "--lens", "as-shipped", "--runs", "5", "-q",
    ];
    let met = ["--budget", "peak <= 600MiB", "--out", "met"];
    let (said, _) = ends(0, &ground, &[&alone[..], &met].concat());
    assert!(said.contains("PASS: as-shipped peak <= 600.0 MiB is kept"), "{said}");
    assert!(!said.contains("against the baseline"), "{said}");
    // The records give the same verdict, and other budgets another.
    let (again, _) = ends(
        0,
        &ground,
        &["--from", "met", "--runs", "5", "--budget", "peak <= 600MiB"],
    );
    assert_eq!(again, said);
    ground.write("gate.toml", "format = 1\nbudgets = [\"private <= 100 MiB\"]\n");
    let file = ["--gate", "gate.toml", "--out", "over"];
    let (said, _) = ends(1, &ground, &[&alone[..], &file].concat());
    assert!(said.contains("private <= 100.0 MiB is exceeded"), "{said}");
    let html = fs::read_to_string(ground.join("over/report.html")).expect("it was written");
    assert!(html.contains("is exceeded"), "{html}");
}

#[test]
fn a_rule_that_needs_a_baseline_is_refused_without_one_before_anything_starts() {
    let ground = ground();
    let alone = ["scenario.toml", "--candidate", "base", "--out", "out"];
    ground.write("gate.toml", "format = 1\n[[endpoint]]\nmetric = \"private\"\n");
    for (more, told) in [
        (&[][..], "without a baseline nothing decides"),
        (
            &["--gate", "gate.toml"],
            "an endpoint compares `private` with a baseline",
        ),
        (
            &["--budget", "peak <= 600MiB", "--fail", "9%"],
            "`--fail` is about the difference from a baseline",
        ),
        (
            &["--budget", "peak <= 600MiB", "--anchor", "more"],
            "--anchor names a second baseline",
        ),
    ] {
        let (_, errors) = ends(2, &ground, &[&alone[..], more].concat());
        assert!(errors.contains(told) && errors.contains("--baseline"), "{errors}");
    }
    assert!(!ground.join("out").exists());
}

#[test]
fn an_open_gate_names_the_command_that_decides_it() {
    let ground = ground();
    let words = [
        "gate", "scenario.toml", "--baseline", "base", "--candidate", "base", "--runs", "3", "--lens", "purged",
        "--out", "out", "-q",
    ];
    let (said, _) = ground.ends(3, &words);
    let first: Vec<&str> = said.lines().take(3).flat_map(str::split_whitespace).collect();
    let first = first.join(" ");
    assert!(first.contains("nothing is decided before 5 runs of each"), "{said}");
    assert!(said.contains("\nlsp-soak gate --resume out --runs 5\n"), "{said}");
    let (said, _) = ground.ends(0, &["gate", "--resume", "out", "--runs", "5", "-q"]);
    assert!(said.contains("PASS: purged private"), "{said}");
    let next = "\nlsp-soak calibrate scenario.toml --server base --lens purged\n";
    assert!(said.contains(next), "{said}");
}
