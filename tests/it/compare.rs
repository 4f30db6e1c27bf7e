//! `lsp-soak compare` as a person or a workflow runs it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// Records of two servers: two complete runs of `ty`, and a crashed one of `clangd`.
fn records() -> TempDir {
    let directory = tempfile::tempdir().expect("there is a place for temporary files");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/records");
    for (from, number, label) in [("completed", 1, "ty"), ("crashed", 2, "clangd"), ("completed", 3, "ty")] {
        let text = fs::read_to_string(golden.join(format!("{from}.jsonl"))).expect("it is checked in");
        let (header, rest) = text.split_once('\n').expect("it has a header");
        let mut header: Value = serde_json::from_str(header).expect("it is JSON");
        header["plan"]["run"] = number.into();
        let to = directory.path().join(format!("run-{number:03}-{label}.jsonl"));
        fs::write(to, format!("{header}\n{rest}")).expect("the directory is ours");
    }
    directory
}

fn compare(records: &TempDir) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lsp-soak"));
    command.arg("compare").arg(records.path()).stdin(Stdio::null());
    for variable in ["GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"] {
        command.env_remove(variable);
    }
    command
}

/// Stdout and stderr of a command that must succeed.
#[track_caller]
fn output_of(command: &mut Command) -> (String, String) {
    let output = command.output().expect("lsp-soak runs");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{errors}");
    (String::from_utf8(output.stdout).expect("it is text"), errors)
}

#[test]
fn every_format_is_one_document() {
    let records = records();
    for format in ["json", "bencher", "github-action-benchmark"] {
        let document: Value = serde_json::from_str(&document(&records, format)).expect("it is one JSON document");
        assert!(!document.is_null(), "{format}");
    }
    let junit = document(&records, "junit");
    assert!(
        junit.starts_with("<?xml") && junit.contains("<error message=\"clangd failed"),
        "{junit}"
    );
    assert!(document(&records, "markdown").starts_with("### "));
    let html = document(&records, "html");
    assert!(html.starts_with("<!DOCTYPE html>") && html.ends_with("</html>"));
    let picture = document(&records, "svg");
    assert!(picture.starts_with("<svg") && picture.ends_with("</svg>\n"));
    assert!(document(&records, "terminal").contains("clangd against ty"));
}

#[track_caller]
fn document(records: &TempDir, format: &str) -> String {
    output_of(compare(records).args(["--format", format])).0
}

#[test]
fn a_run_counts_once_however_often_it_is_named() {
    let records = records();
    let once = output_of(compare(&records).arg("--details")).0;
    fs::create_dir(records.path().join("copies")).expect("the directory is ours");
    fs::copy(
        records.path().join("run-003-ty.jsonl"),
        records.path().join("copies/of-3.jsonl"),
    )
    .expect("the directory is ours");
    let mut twice = compare(&records);
    let (twice, errors) = output_of(twice.arg("--details").arg(records.path().join("run-001-ty.jsonl")));
    assert!(
        errors.contains("is a copy of") && errors.contains("and so for 1 more"),
        "{errors}"
    );
    let [in_twice, in_once] = [&twice, &once].map(|said| said.lines().find(|line| line.contains("2 runs")));
    assert_eq!(in_twice, in_once);
    assert!(in_once.is_some(), "{once}");
}

#[test]
fn a_workflow_gets_a_summary_and_annotations() {
    let records = records();
    let summary: PathBuf = records.path().join("summary.md");
    fs::write(&summary, "before\n").expect("the directory is ours");
    let (alone, errors) = output_of(compare(&records).args(["--format", "json"]));
    assert!(!errors.contains("::error"), "{errors}");
    let mut command = compare(&records);
    command.args(["--format", "json"]);
    let (inside, errors) = output_of(
        command
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_STEP_SUMMARY", &summary),
    );
    assert_eq!(inside, alone, "what is printed for programs is the same everywhere");
    let annotations: Vec<&str> = errors.lines().filter(|line| line.starts_with("::")).collect();
    assert_eq!(annotations.len(), 1, "{errors}");
    assert!(annotations[0].starts_with("::error title=") && annotations[0].contains("::clangd failed"));
    let markdown = fs::read_to_string(&summary).expect("it is there");
    assert!(markdown.starts_with("before\n### "), "{markdown}");
    let (_, errors) = output_of(command.args(["--baseline", "ty"]));
    assert!(
        !errors.contains("::error"),
        "what the step was told is not told again: {errors}"
    );
    assert_eq!(fs::read_to_string(&summary).expect("it is there"), markdown);
}

#[test]
fn a_summary_that_cannot_be_written_is_no_failure() {
    let records = records();
    let nowhere = records.path().join("nowhere/summary.md");
    let mut command = compare(&records);
    let (_, errors) = output_of(
        command
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_STEP_SUMMARY", nowhere),
    );
    assert!(
        errors.contains("warning: cannot append to the step summary"),
        "{errors}"
    );
}

#[test]
fn runs_whose_figures_are_not_of_one_thing_are_not_pooled() {
    type Change = fn(&mut Value);
    let changes: [(&str, Change); 2] = [
        ("memory settings of ty (mimalloc_purge_delay=0, none)", |header| {
            header["server"]["env"]["mimalloc_purge_delay"] = "0".into();
        }),
        ("memory settings of ty (PYTHONMALLOC=malloc, none)", |header| {
            header["server"]["env"]["PYTHONMALLOC"] = "malloc".into();
        }),
    ];
    for (told, change) in changes {
        let records = records();
        let path = records.path().join("run-003-ty.jsonl");
        let text = fs::read_to_string(&path).expect("it is there");
        let (header, rest) = text.split_once('\n').expect("it has a header");
        let mut header: Value = serde_json::from_str(header).expect("it is JSON");
        change(&mut header);
        fs::write(&path, format!("{header}\n{rest}")).expect("the directory is ours");
        let output = compare(&records).output().expect("lsp-soak runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && errors.contains(told), "{errors}");
    }
}
