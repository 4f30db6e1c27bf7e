//! `lsp-soak gate --from`, on records of one machine and of several.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

struct Records(TempDir);

impl Records {
    fn new() -> Records {
        Records(tempfile::tempdir().expect("there is a place for temporary files"))
    }

    /// Writes a record of a server's run into a directory, from a golden one.
    fn put(&self, (directory, golden): (&str, &str), number: u32, label: &str, change: impl Fn(&mut Value)) {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fixtures/records/{golden}.jsonl"));
        let text = fs::read_to_string(golden).expect("it is checked in");
        let (header, rest) = text.split_once('\n').expect("it has a header");
        let mut header: Value = serde_json::from_str(header).expect("it is JSON");
        header["server"]["label"] = label.into();
        header["plan"]["run"] = number.into();
        change(&mut header);
        let path = self.0.path().join(format!("{directory}/run-{number:03}-{label}.jsonl"));
        fs::create_dir_all(path.parent().expect("it is in the directory")).expect("the directory is ours");
        fs::write(path, format!("{header}\n{rest}")).expect("the directory is ours");
    }

    /// Two runs of each of these servers.
    fn two_of(self, directory: &str, first: u32, labels: [&str; 2]) -> Records {
        for (number, label) in (first..).zip(labels.repeat(2)) {
            self.put((directory, "completed"), number, label, |_| {});
        }
        self
    }

    /// Exit code, stdout and stderr.
    fn gate(&self, words: &[&str]) -> (Option<i32>, String, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_lsp-soak"))
            .current_dir(self.0.path())
            .args(["gate", "--format", "json"])
            .args(words)
            .env_remove("GITHUB_ACTIONS")
            .stdin(Stdio::null())
            .output()
            .expect("lsp-soak runs");
        let [said, errors] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("it is text"));
        (output.status.code(), said, errors)
    }

    fn verdict(&self, words: &[&str]) -> Value {
        let (_, said, errors) = self.gate(words);
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}\n{errors}"))
    }

    /// The message about bad input.
    #[track_caller]
    fn refused(&self, words: &[&str]) -> String {
        let (code, said, errors) = self.gate(words);
        assert_eq!((code, said.as_str()), (Some(2), ""), "{words:?}\n{errors}");
        errors
    }
}

const OLD_AND_NEW: [&str; 4] = ["--baseline", "old", "--candidate", "new"];

#[test]
fn the_parts_of_a_plan_are_joined_and_compared_within_each_machine() {
    let records = Records::new();
    for part in 1..=3 {
        let name = format!("part-{part}");
        for (number, label) in [(1, "old"), (2, "new"), (3, "new"), (4, "old")] {
            records.put((&name, "completed"), number, label, |header| {
                header["plan"]["partition"] = format!("{part}/3").into();
            });
        }
    }
    for (parts, runs, machines) in [
        (&["part-1"][..], 2, 1),
        (&["part-1", "part-2"], 4, 2),
        (&["part-1", "part-2", "part-3"], 6, 3),
        (&["."], 6, 3),
    ] {
        let number = runs.to_string();
        let verdict = records.verdict(&[&OLD_AND_NEW, &["--runs", &number, "--from"][..], parts].concat());
        // As shipped and without calibrations, a pass needs five runs.
        let outcome = if runs < 5 { "inconclusive" } else { "pass" };
        assert_eq!(verdict["outcome"], outcome, "{verdict:#}");
        let against = &verdict["against"][0];
        assert_eq!((&against["look"], &against["apart"]), (&runs.into(), &false.into()));
        let evidence = &against["rules"][0]["evidence"];
        assert_eq!(
            (&evidence["machines"], &evidence["candidate_runs"]),
            (&machines.into(), &runs.into())
        );
    }
}

#[test]
fn an_anchor_is_one_server_of_its_records() {
    let records = Records::new()
        .two_of("both", 1, ["old", "new"])
        .two_of("before", 11, ["older", "other"]);
    let errors = records.refused(&anchored_words("before"));
    assert!(
        errors.contains("several servers: older, other; choose with --anchor 'LABEL: RECORDS'"),
        "{errors}"
    );
    let errors = records.refused(&anchored_words("nobody: before"));
    assert!(errors.contains("called `nobody`: there are older, other"), "{errors}");
    let verdict = records.verdict(&anchored_words("older: before"));
    let servers = verdict["servers"].as_array().expect("it is a list");
    let anchor = servers.iter().find(|server| server["role"] == "anchor");
    let anchor = anchor.expect("there is one");
    assert_eq!((&anchor["label"], &anchor["runs"]), (&"older".into(), &2.into()));
}

fn anchored_words(anchor: &str) -> Vec<&str> {
    [&["--from", "both", "--anchor", anchor], &OLD_AND_NEW[..]].concat()
}

#[test]
fn a_copy_of_a_run_is_no_second_run() {
    let records = Records::new()
        .two_of("one", 1, ["old", "new"])
        .two_of("copy", 1, ["old", "new"]);
    let (_, said, errors) = records.gate(&[&OLD_AND_NEW[..], &["--from", "one", "copy"]].concat());
    let verdict: Value = serde_json::from_str(&said).expect("it is one document");
    assert_eq!(verdict["servers"][0]["runs"], 2, "{verdict:#}");
    assert!(
        errors.contains("`copy/run-001-old.jsonl` is a copy of `one/run-001-old.jsonl`, and so for 3 more"),
        "{errors}"
    );
}

#[test]
fn a_run_is_never_compared_with_itself() {
    let records = Records::new().two_of("both", 1, ["old", "new"]);
    for number in [1, 2] {
        records.put(("alone", "completed"), number, "old", |_| {});
        records.put(("renamed", "completed"), number, "new", |_| {});
    }
    for words in [
        &["--from", "both", "--baseline", "old", "--candidate", "old"][..],
        &["--from", "alone", "alone"],
        &["--from", "alone", "renamed"],
        &[
            "--from", "both", "--baseline", "old", "--candidate", "new", "--anchor", "new: both",
        ],
    ] {
        let errors = records.refused(words);
        assert!(errors.contains("name other records"), "{errors}");
    }
    // The older of two releases may be the anchor of the first gate.
    records.verdict(&[&OLD_AND_NEW[..], &["--from", "both", "--anchor", "old: both"]].concat());
}

#[test]
fn a_candidate_that_crashed_is_refused_whatever_the_rules_name() {
    let records = Records::new();
    for number in [1, 2] {
        records.put(("out", "completed"), number, "old", |_| {});
        records.put(("out", "crashed"), number + 2, "new", |_| {});
    }
    let rules = "format = 1\n[leak]\nslope = \"64 KiB\"\n";
    fs::write(records.0.path().join("gate.toml"), rules).expect("the directory is ours");
    let words = [&OLD_AND_NEW[..], &["--from", "out", "--gate", "gate.toml"]].concat();
    let (code, _, errors) = records.gate(&words);
    assert_eq!(code, Some(4), "{errors}");
}

#[test]
fn sides_without_a_common_lens_are_refused_and_told() {
    let records = Records::new();
    for number in [1, 2] {
        records.put(("out", "completed"), number, "old", |_| {});
        records.put(("out", "completed"), number + 2, "new", |header| {
            header["server"]["lens"]["name"] = "purged".into();
        });
    }
    let errors = records.refused(&[&OLD_AND_NEW[..], &["--from", "out", "--inconclusive", "pass"]].concat());
    assert!(
        errors.contains("the baseline as-shipped, the candidate purged; record all sides with --lens both"),
        "{errors}"
    );
}

#[test]
fn a_method_that_no_run_has_is_a_mistake() {
    let records = Records::new().two_of("both", 1, ["old", "new"]);
    let budget = ["--from", "both", "--budget", "p50 of textDocument/nosuch <= 1s"];
    let errors = records.refused(&[&OLD_AND_NEW[..], &budget].concat());
    assert!(
        errors.contains("asks for no `textDocument/nosuch`") && errors.contains("^^^"),
        "{errors}"
    );
}

#[test]
fn a_live_gate_refuses_a_method_that_no_step_asks_for_and_names_the_nearest() {
    let directory = tempfile::tempdir().expect("there is a place for temporary files");
    for (name, text) in [
        (
            "scenario.toml",
            "format = 1\nname = \"live\"\n[workspace]\npath = \".\"\nlanguage = \"python\"\n[[phase]]\nname = \"start\"\nsteps = [{ \
             start = {} }]\n[[phase]]\nname = \"ask\"\nsteps = [{ open = { files = 1 } }, { completion = { per-file = 2 } }]\n",
        ),
        ("a.py", "a = []\na.append(1)\n"),
        (
            "gate.toml",
            "format = 1\n[[endpoint]]\nmetric = \"p50\"\nmethod = \"textDocument/complet\"\n",
        ),
    ] {
        fs::write(directory.path().join(name), text).expect("the directory is ours");
    }
    let server = std::env::current_exe()
        .expect("this is a program")
        .display()
        .to_string();
    let output = Command::new(env!("CARGO_BIN_EXE_lsp-soak"))
        .current_dir(directory.path())
        .args(["gate", "scenario.toml", "--gate", "gate.toml", "--out", "out"])
        .args(["--baseline", &server, "--candidate", &server])
        .env("TMPDIR", directory.path())
        .stdin(Stdio::null())
        .output()
        .expect("lsp-soak runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    for part in [
        "the scenario asks for no `textDocument/complet`",
        "did you mean `textDocument/completion`?",
        "gate.toml:4:10",
    ] {
        assert!(errors.contains(part), "`{part}` is not told:\n{errors}");
    }
    assert!(!directory.path().join("out").exists(), "nothing was started");
}

type Change = fn(&mut Value);

const ALLOWED: &[&str] = &["--allow-different-hosts"];

/// The result of five runs of each when the candidate's headers differ.
fn decided(change: Change, more: &[&str]) -> (Option<i32>, String) {
    let records = Records::new();
    for number in 1..=5 {
        records.put(("out", "completed"), number, "old", |_| {});
        records.put(("out", "completed"), number + 5, "new", change);
    }
    let words = [&OLD_AND_NEW[..], &["--runs", "5", "--from", "out"], more].concat();
    let (code, said, errors) = records.gate(&words);
    (code, format!("{said}{errors}"))
}

#[test]
fn what_hosts_may_differ_in_is_one_table_and_the_option_lets_no_other_quantity_pass() {
    // Runners of one type: noted, and decided.
    let near: [(&str, Change); 2] = [
        ("memory", |header| {
            header["host"]["memory"]["total"] = 34_000_000_000_u64.into()
        }),
        ("kernel", |header| header["host"]["kernel"] = "6.12.99".into()),
    ];
    for (what, change) in near {
        let (code, said) = decided(change, &[]);
        assert!(
            code == Some(0) && said.contains(&format!("\"{what}\"")),
            "{what}: {code:?} {said}"
        );
    }
    // Different hosts are refused, unless an option allows them.
    let hosts: [(&str, Change); 8] = [
        ("memory (", |header| {
            header["host"]["memory"]["total"] = 64_000_000_000_u64.into()
        }),
        ("kernel (", |header| header["host"]["kernel"] = "6.1.0-99-amd64".into()),
        ("page size (", |header| header["host"]["page_size"] = 65_536.into()),
        ("overcommit (", |header| {
            header["host"]["memory"]["overcommit"] = 2.into()
        }),
        ("swap (", |header| {
            header["host"]["memory"]["swap"] = 99_000_000_000_u64.into()
        }),
        ("CPU quota (", |header| header["host"]["cpu_quota"] = 1.5.into()),
        ("architecture (", |header| {
            header["host"]["target"] = "aarch64-unknown-linux-gnu".into()
        }),
        ("C library (", |header| header["host"]["libc"] = "glibc 2.99".into()),
    ];
    for (what, change) in hosts {
        let (code, said) = decided(change, &[]);
        assert!(code == Some(2) && said.contains(what), "{what}: {code:?} {said}");
        assert!(said.contains("--allow-different-hosts"), "{said}");
        assert_eq!(decided(change, ALLOWED).0, Some(0), "{what}");
    }
}

#[test]
fn what_is_no_hosts_is_refused_whatever_is_allowed_and_what_one_side_was_given_is_said() {
    let never: [(&str, Change); 3] = [
        ("operating system (linux, macos)", |header| {
            header["host"]["os"] = "macos".into()
        }),
        ("sampling interval (", |header| {
            header["settings"]["interval"] = 500_000_000.into()
        }),
        ("scenario (", |header| {
            header["scenario"]["sha256"] = "0".repeat(64).into()
        }),
    ];
    for (what, change) in never {
        for more in [&[][..], ALLOWED] {
            let (code, said) = decided(change, more);
            assert!(code == Some(2) && said.contains(what), "{what}: {code:?} {said}");
            assert!(!said.contains("--allow-different-hosts"), "{said}");
        }
    }
    // Settings of one side are reported.
    let (code, said) = decided(|header| header["server"]["env"]["MALLOC_ARENA_MAX"] = "1".into(), &[]);
    assert!(
        code == Some(0) && said.contains("candidate: MALLOC_ARENA_MAX=1"),
        "{said}"
    );
}

#[test]
fn a_verdict_is_exported_and_has_no_samples() {
    let records = Records::new().two_of("all", 1, ["old", "new"]);
    let words = ["--from", "all", "--baseline", "old", "--candidate", "new"];
    let (_, printed, _) = records.gate(
        &[
            &words[..],
            &["--export-json", "gate.json", "--export-markdown", "gate.md"],
        ]
        .concat(),
    );
    let [json, markdown] =
        ["gate.json", "gate.md"].map(|name| fs::read_to_string(records.0.path().join(name)).expect("it was exported"));
    assert_eq!(json, printed);
    assert!(markdown.starts_with('#'));
    let (code, printed, errors) = records.gate(&[&words[..], &["--export-csv", "gate.csv"]].concat());
    assert!(
        code == Some(2) && printed.is_empty() && errors.contains("--export-csv"),
        "{errors}"
    );
}
