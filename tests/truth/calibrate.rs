//! A server against itself: a calibration measures its noise, and later runs use it.

use std::fs;

use serde_json::Value;

use crate::ground::{LINKED_SYSTEM, PreparedWorkspace};

/// Two servers: `base`, and `more` with 50 % more.
fn pair() -> PreparedWorkspace {
    let ground = PreparedWorkspace::pair().with_server("base", &["--ballast", "40MiB"], "");
    ground.with_server("more", &["--ballast", "60MiB"], "")
}

/// The stderr of a command that must succeed.
#[track_caller]
fn stderr(pair: &PreparedWorkspace, words: &[&str]) -> String {
    pair.ends(0, words).1
}

/// The calibrations on disk.
fn kept(pair: &PreparedWorkspace) -> Vec<Value> {
    let mut all = Vec::new();
    for file in fs::read_dir(pair.join("calibrations")).expect("it was made") {
        let path = file.expect("it can be listed").path();
        if path.extension().is_some_and(|ending| ending == "json") {
            let text = fs::read_to_string(path).expect("it can be read");
            all.push(serde_json::from_str(&text).expect("it is JSON"));
        }
    }
    all
}

const AUTO: [&str; 9] = [
    "run", "scenario.toml", "--server", "base", "--server", "more", "--runs", "auto", "--looks",
];

#[test]
fn the_fixture_has_next_to_no_noise_and_the_next_runs_know_it() {
    let pair = pair();
    let auto = [&AUTO[..], &["5"]].concat();
    let before = stderr(&pair, &auto);
    assert!(before.contains("the detectable difference is not known"), "{before}");
    assert!(before.contains("calibrate scenario.toml --server base"), "{before}");

    let output = pair.run(&["calibrate", "scenario.toml", "--server", "base", "--lens", "as-shipped"]);
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{report}");
    assert!(report.contains("base against itself, as-shipped, 12 runs"), "{report}");
    let recommended = "a gate between versions of `base` needs 3 runs of each, as-shipped: ";
    let report = report.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(report.contains(recommended), "{report}");
    assert!(
        report.contains("lsp-soak gate scenario.toml --baseline base --candidate NEW"),
        "{report}"
    );
    let stored = kept(&pair).remove(0);
    assert_eq!((&stored["runs"], &stored["recommended_runs"]), (&12.into(), &3.into()));
    let noise = stored["noise"].as_array().expect("it is a list");
    let decisive: Vec<&Value> = noise.iter().filter(|one| one["primary"] == true).collect();
    assert_eq!(decisive.len(), 2, "{stored:#}");
    for one in decisive {
        assert!(one["variation"].as_f64().is_some_and(|cv| cv < 0.01), "{one:#}");
    }

    // A calibration belongs to the program and its settings, whatever the label.
    let sides = ["gate", "scenario.toml", "--baseline", "base", "--candidate", "more"];
    let gate = [&sides[..], &["--lens", "as-shipped", "--looks", "5"]].concat();
    let (_, other) = pair.ends(1, &gate);
    assert!(
        other.contains("smallest growth that shows: private goto (CV "),
        "{other}"
    );
    let typed = [
        "--server", "x: A=1 base", "--server", "more", "--runs", "auto", "--looks", "2",
    ];
    let other = stderr(&pair, &[&["run", "scenario.toml"][..], &typed].concat());
    assert!(other.contains("was made with another environment"), "{other}");
    assert!(
        other.contains("calibrate scenario.toml --server 'A=1 base' --lens as-shipped`"),
        "{other}"
    );

    let (report, after) = pair.ends(0, &auto);
    assert!(report.contains("`--runs auto` makes interim analyses"), "{report}");
    assert!(
        after.contains("smallest growth that shows: private goto (CV "),
        "{after}"
    );
    assert!(after.contains("by `calibrations/"), "{after}");

    let scenario = fs::read_to_string(pair.join("scenario.toml")).expect("it can be read");
    pair.write("scenario.toml", &scenario.replace("per-file = 2", "per-file = 1"));
    let other = stderr(&pair, &auto);
    assert!(other.contains("was made with another scenario"), "{other}");
    assert!(!other.contains("smallest growth that shows"), "{other}");
}

#[test]
fn two_servers_are_calibrated_at_once_and_a_gate_of_both_decides_after_three_runs() {
    let pair = pair();
    let report = pair.stdout(&[
        "calibrate", "scenario.toml", "--server", "base", "--server", "more", "--lens", "as-shipped", "--out", "own",
        "-q",
    ]);
    let next = "lsp-soak gate scenario.toml --baseline base --candidate more --lens as-shipped\n";
    assert_eq!(report.matches(next).count(), 1, "{report}");
    assert!(
        report.contains("base against itself") && report.contains("more against itself"),
        "{report}"
    );
    assert_eq!(kept(&pair).len(), 2);
    let gate = [
        "gate", "scenario.toml", "--baseline", "base", "--candidate", "more", "--lens", "as-shipped", "-q",
    ];
    let (said, _) = pair.ends(1, &gate);
    assert!(!said.contains("second group"), "{said}");
    // The baseline's three runs are kept for the next gate.
    let runs = kept(&pair).into_iter();
    let mut runs: Vec<u64> = runs
        .map(|stored| stored["runs"].as_u64().expect("it has runs"))
        .collect();
    runs.sort_unstable();
    assert_eq!(runs, [3, 12, 12]);
    // The runs of a calibration are not judged by it.
    let own = [
        "gate", "--from", "own", "--baseline", "base", "--candidate", "more", "-q",
    ];
    let (said, _) = pair.ends(1, &own);
    assert!(said.contains("second group"), "{said}");
}

#[test]
fn a_calibration_is_of_the_lens_that_a_gate_decides_by_and_names_what_is_missing() {
    let purgeable = PreparedWorkspace::pair().with_server("base", &["--ballast", "40MiB"], LINKED_SYSTEM);
    let calibrate = ["calibrate", "scenario.toml", "--server", "base", "--runs", "6"];
    let report = purgeable.stdout(&calibrate);
    assert!(report.contains("base against itself, purged, 6 runs"), "{report}");
    assert!(
        report.contains("6 more calibration runs let a gate decide after 3 runs"),
        "{report}"
    );
    let next = "\nlsp-soak calibrate scenario.toml --server base --lens purged --runs 6\n";
    assert!(report.contains(next), "{report}");
    let report = purgeable.stdout(&calibrate);
    assert!(
        report.contains("\nlsp-soak gate scenario.toml --baseline base --candidate NEW\n"),
        "{report}"
    );
    let ignored = fs::read_to_string(purgeable.join("calibrations/.gitignore"));
    assert_eq!(ignored.expect("it was made"), "*\n");
}

#[test]
fn a_time_budget_says_how_many_runs_fit() {
    let pair = pair();
    let words = ["run", "scenario.toml", "--server", "base", "--time-budget", "1s"];
    let (_, said) = pair.ends(2, &words);
    assert!(said.contains("into 1.00 s after the warm-up"), "{said}");
    assert!(said.contains("run 1, base") && !said.contains("run 1 of"), "{said}");
    assert!(said.contains("the detectable difference is not known"), "{said}");
}

#[test]
fn a_time_budget_without_time_for_a_run_says_that_none_counts() {
    let pair = pair();
    for servers in [&["--server", "base"][..], &["--server", "base", "--server", "more"]] {
        let words = [&["run", "scenario.toml", "-q", "--time-budget", "1ms"][..], servers].concat();
        let (said, why) = pair.ends(2, &words);
        assert!(said.contains("no run counts, so there is no result"), "{said}");
        assert!(!said.contains("Private memory"), "{said}");
        assert!(why.contains("of the budget of 1.00 ms; set --time-budget to "), "{why}");
    }
}

#[test]
fn five_runs_are_too_few_to_know_a_noise() {
    let pair = pair();
    let output = pair.run(&["calibrate", "scenario.toml", "--server", "base", "--runs", "5"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(!pair.join("reports").exists());
}

#[test]
fn processors_are_kept_to_and_recorded() {
    let pair = pair();
    let status = fs::read_to_string("/proc/self/status").expect("Linux has it");
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let first: String = allowed
        .expect("it is there")
        .trim()
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    let run = [
        "run", "scenario.toml", "--server", "base", "--format", "json", "-q", "--cpus",
    ];
    let output = pair.run(&[&run[..], &[&first]].concat());
    let report: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!(report["run"]["host"]["affinity"], first.as_str());
    let output = pair.run(&[&run[..], &["60000"]].concat());
    assert_eq!(output.status.code(), Some(2));
}
