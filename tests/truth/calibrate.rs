//! A server against itself: its noise is known afterwards, and later runs know what they can see.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

const SCENARIO: &str = r#"
format = 1
name = "pair"
[workspace]
path = "workspace"
language = "python"
files = "*.py"
[readiness]
start-grace = "200ms"
quiet = "200ms"
[settle]
quiet = "100ms"
[[phase]]
name = "start"
steps = [{ start = {} }]
[[phase]]
name = "goto"
steps = [{ open = { files = 1 } }, { definition = { per-file = 2 } }]
"#;

fn write(directory: &Path, name: &str, text: &str) {
    let path = directory.join(name);
    fs::create_dir_all(path.parent().expect("it is in the directory")).expect("the directory is ours");
    fs::write(path, text).expect("the directory is ours");
}

fn pair() -> TempDir {
    let directory = tempfile::tempdir().expect("there is a place for temporary files");
    write(directory.path(), "scenario.toml", SCENARIO);
    write(
        directory.path(),
        "workspace/shop.py",
        "def price(item):\n    return item\n\n\nprice(1)\nprice(price(2))\n",
    );
    let server = |name: &str, ballast: &str| {
        let program = env!("CARGO_BIN_EXE_fixture-system");
        format!(
            "[server.{name}]\nprograms = ['{program}']\nargs = ['--ballast', '{ballast}']\nlanguages = ['python']\n"
        )
    };
    let servers = server("base", "40MiB") + &server("more", "60MiB");
    write(directory.path(), "servers.toml", &servers);
    directory
}

fn lsp_soak(directory: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lsp-soak"));
    command.current_dir(directory).args(words).stdin(Stdio::null());
    command.output().expect("lsp-soak starts")
}

/// What is said beside the report of a command that must succeed.
#[track_caller]
fn told(directory: &Path, words: &[&str]) -> String {
    let output = lsp_soak(directory, words);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words:?}: {}\n{errors}", output.status);
    errors
}

const AUTO: [&str; 9] = [
    "run", "scenario.toml", "--server", "base", "--server", "more", "--runs", "auto", "--looks",
];

#[test]
fn the_fixture_has_next_to_no_noise_and_the_next_runs_know_it() {
    let pair = pair();
    let auto = [&AUTO[..], &["2"]].concat();
    let before = told(pair.path(), &auto);
    assert!(before.contains("what these runs can see is not known"), "{before}");
    assert!(before.contains("calibrate scenario.toml --server base"), "{before}");

    let output = lsp_soak(pair.path(), &["calibrate", "scenario.toml", "--server", "base"]);
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{report}");
    assert!(report.contains("base against itself, as-shipped, 6 runs"), "{report}");
    assert!(report.contains("recommended: 3 runs of each server"), "{report}");
    let mut files = fs::read_dir(pair.path().join("calibrations")).expect("it was made");
    let file = files.next().expect("one was stored").expect("it can be listed").path();
    let text = fs::read_to_string(file).expect("it can be read");
    let stored: Value = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!((&stored["runs"], &stored["recommended_runs"]), (&6.into(), &3.into()));
    let noise = stored["noise"].as_array().expect("it is a list");
    let decisive: Vec<&Value> = noise.iter().filter(|one| one["primary"] == true).collect();
    assert_eq!(decisive.len(), 2, "{stored:#}");
    for one in decisive {
        assert!(one["variation"].as_f64().is_some_and(|cv| cv < 0.01), "{one:#}");
    }

    let after = told(pair.path(), &auto);
    assert!(after.contains("differences are seen in private goto (CV "), "{after}");
    assert!(after.contains("by `calibrations/"), "{after}");

    write(
        pair.path(),
        "scenario.toml",
        &SCENARIO.replace("per-file = 2", "per-file = 1"),
    );
    let other = told(pair.path(), &auto);
    assert!(other.contains("was made with another scenario"), "{other}");
    assert!(!other.contains("differences are seen"), "{other}");
}

#[test]
fn a_time_budget_says_how_many_runs_fit() {
    let pair = pair();
    let words = ["run", "scenario.toml", "--server", "base", "--time-budget", "1s"];
    let said = told(pair.path(), &words);
    assert!(said.contains("into 1.00 s after the warm-up"), "{said}");
    assert!(said.contains("what these runs can see is not known"), "{said}");
}

#[test]
fn five_runs_are_too_few_to_know_a_noise() {
    let pair = pair();
    let output = lsp_soak(
        pair.path(),
        &["calibrate", "scenario.toml", "--server", "base", "--runs", "5"],
    );
    assert_eq!(output.status.code(), Some(2));
    assert!(!pair.path().join("reports").exists());
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
    let output = lsp_soak(pair.path(), &[&run[..], &[&first]].concat());
    let report: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!(report["run"]["host"]["affinity"], first.as_str());
    let output = lsp_soak(pair.path(), &[&run[..], &["60000"]].concat());
    assert_eq!(output.status.code(), Some(2));
}
