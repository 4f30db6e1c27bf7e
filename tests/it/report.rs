//! `lsp-soak report` on several records, damaged ones, and pipes.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

fn golden(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/records")
        .join(format!("{name}.jsonl"))
}

fn report() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lsp-soak"));
    command.arg("report");
    command
}

#[track_caller]
fn text(output: &Output, code: i32) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    String::from_utf8(output.stdout.clone()).expect("a report is text")
}

#[test]
fn an_answer_fits_on_a_screen_of_80_columns() {
    let kept = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("reports/ty-allocators");
    let one = "run-002-ty-jemalloc.jsonl.gz";
    // Three servers over five phases, and one run.
    for (records, most) in [(kept.clone(), 30), (kept.join(one), 24)] {
        let output = report().arg(records).env("COLUMNS", "80").output();
        let shown = text(&output.expect("lsp-soak runs"), 0);
        assert!(shown.lines().count() <= most, "{shown}");
    }
}

#[test]
fn one_record_is_an_object_and_several_are_one_list() {
    assert!(json(&["crashed"]).is_object());
    let both = json(&["crashed", "completed"]);
    let labels: Vec<&Value> = both.as_array().expect("two are a list").iter().collect();
    assert_eq!(labels.len(), 2);
    assert_eq!(labels[0]["run"]["server"]["label"], "clangd");
}

/// The report on golden records of which one crashed.
#[track_caller]
fn json(names: &[&str]) -> Value {
    serde_json::from_str(&document(names, "json", 4)).expect("all of it is JSON")
}

/// The report on golden records in a format, which ends with this code.
#[track_caller]
fn document(names: &[&str], format: &str, code: i32) -> String {
    let paths = names.iter().map(|name| golden(name));
    let output = report().args(paths).args(["--format", format]).output();
    text(&output.expect("lsp-soak runs"), code)
}

#[test]
fn a_directory_is_a_list_however_few_records_are_below_it() {
    let directory = tempfile::tempdir().expect("there is a place for temporary files");
    let inside = directory.path().join("goto");
    fs::create_dir(&inside).expect("the directory is ours");
    fs::copy(golden("completed"), inside.join("run-001-ty.jsonl")).expect("the directory is ours");
    assert_eq!(list_length(directory.path()), Some(1));
}

/// The length of the list that a directory's report is in JSON.
#[track_caller]
fn list_length(directory: &Path) -> Option<usize> {
    let text = text(&report_on(directory, &["--format", "json"]), 0);
    let list: Value = serde_json::from_str(&text).expect("it is JSON");
    list.as_array().map(Vec::len)
}

fn report_on(path: &Path, words: &[&str]) -> Output {
    report().arg(path).args(words).output().expect("lsp-soak runs")
}

#[test]
fn a_record_that_lies_compressed_gives_the_same_report() {
    let directory = tempfile::tempdir().expect("there is a place for temporary files");
    let compressed = directory.path().join("run-001-ty.jsonl.gz");
    let mut encoder = GzEncoder::new(
        File::create(compressed).expect("the directory is ours"),
        Compression::best(),
    );
    let record = fs::read(golden("completed")).expect("the record is there");
    encoder.write_all(&record).expect("the directory is ours");
    encoder.finish().expect("the directory is ours");
    let plain = report().arg(golden("completed")).output();
    let below = report().arg(directory.path()).output();
    let (plain, below) = (
        text(&plain.expect("lsp-soak runs"), 0),
        text(&below.expect("lsp-soak runs"), 0),
    );
    assert_eq!(below, plain);
}

#[test]
fn records_are_one_page_or_picture_or_table_and_the_exit_code_is_theirs() {
    let picture = document(&["completed", "crashed"], "svg", 4);
    assert_eq!(picture.matches("<svg").count(), 1);
    assert!(picture.contains("<title id=\"title\">"), "{picture}");
    let one = document(&["completed"], "html", 0);
    assert!(one.contains("<h1>completions on ty</h1>") && one.contains("completed.jsonl"));
    assert!(
        !one.contains(env!("CARGO_MANIFEST_DIR")),
        "directories tell nothing to others"
    );
    let table = document(&["completed"], "markdown", 0);
    assert!(table.starts_with("### completions on ty\n") && table.contains("<sub>completed.jsonl, "));
    assert!(!table.contains(env!("CARGO_MANIFEST_DIR")));
    let tables = document(&["completed", "crashed"], "markdown", 4);
    assert!(
        tables.starts_with("### completions: clangd against ty 0.4.2\n") && tables.contains("| after | ty | clangd |"),
        "{tables}"
    );
    for (names, code) in [(&["completed"][..], 0), (&["completed", "crashed"], 4)] {
        let cases = document(names, "junit", code);
        assert_eq!(cases.matches("<testsuites ").count(), 1, "{cases}");
        assert!(
            cases.contains("classname=\"ty\" name=\"runs\"") && cases.contains("median "),
            "{cases}"
        );
        assert_eq!(cases.contains("<error message=\"clangd failed"), code == 4, "{cases}");
    }
    let both = document(&["completed", "crashed"], "html", 4);
    assert_eq!(both.matches("<!DOCTYPE html>").count(), 1);
    assert!(both.contains("clangd"));
}

#[test]
fn samples_of_several_records_have_one_head_and_say_which_record_they_are_of() {
    let paths = [golden("crashed"), golden("tree")];
    let output = report().args(&paths).args(["--format", "csv"]).output();
    let text = text(&output.expect("lsp-soak runs"), 4);
    let mut lines = text.lines();
    assert!(
        lines
            .next()
            .is_some_and(|head| head.starts_with("record,server,seconds,kind,"))
    );
    for path in &paths {
        let start = format!("{},", path.display());
        assert!(text.lines().filter(|line| line.starts_with(&start)).count() > 20);
    }
    assert_eq!(lines.filter(|line| line.starts_with("record,")).count(), 0);
}

#[test]
fn a_result_is_exported_in_several_formats_at_once_as_each_would_be_printed() {
    let directory = tempfile::tempdir().expect("there is a place for temporary files");
    let files = ["markdown", "json", "csv", "html"].map(|format| (format, directory.path().join(format)));
    // The record can be read once.
    let mut command = report();
    command
        .arg("-")
        .stdin(File::open(golden("completed")).expect("it is checked in"));
    for (format, file) in &files {
        command.arg(format!("--export-{format}")).arg(file);
    }
    let terminal = text(&command.output().expect("lsp-soak runs"), 0);
    assert_eq!(terminal, document(&["completed"], "terminal", 0));
    for (format, file) in &files {
        let exported = fs::read_to_string(file).expect("it was exported");
        let (path, name) = (golden("completed").display().to_string(), "completed.jsonl");
        let named = document(&["completed"], format, 0)
            .replace(&path, "-")
            .replace(name, "-");
        assert!(
            exported == named || *format == "html" && exported.ends_with("</html>"),
            "{format}"
        );
    }
    assert_eq!(
        fs::read_dir(directory.path()).expect("it is there").count(),
        files.len()
    );
    let both = report()
        .arg(golden("completed"))
        .args(["--format", "json", "--export-json", "-"])
        .output();
    assert_eq!(
        text(&both.expect("lsp-soak runs"), 0),
        document(&["completed"], "json", 0).repeat(2)
    );
}

#[test]
fn a_file_that_cannot_be_exported_to_is_refused_before_anything_is_read() {
    let directory = tempfile::tempdir().expect("there is a place for temporary files");
    let nowhere = directory.path().join("nowhere/report.json");
    for file in [nowhere.as_path(), directory.path()] {
        let output = report()
            .arg("none.jsonl")
            .arg("--export-json")
            .arg(file)
            .output()
            .expect("lsp-soak runs");
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(
            text(&output, 2).is_empty() && message.contains("cannot export to"),
            "{message}"
        );
        assert!(
            message.contains("name a file in a directory that can be written"),
            "{message}"
        );
        assert!(
            !message.contains("none.jsonl") && !message.contains("os error"),
            "{message}"
        );
    }
}

#[test]
fn records_of_several_servers_are_compared_and_each_is_shown_where_that_is_asked_for() {
    let directory = tempfile::tempdir().expect("there is a place for temporary files");
    for name in ["completed", "tree"] {
        fs::copy(golden(name), directory.path().join(format!("{name}.jsonl"))).expect("the directory is ours");
    }
    let mut compare = Command::new(env!("CARGO_BIN_EXE_lsp-soak"));
    let compare = compare.arg("compare").arg(directory.path()).output();
    let compared = report_on(directory.path(), &[]);
    assert_eq!(text(&compared, 4), text(&compare.expect("lsp-soak runs"), 0));
    assert!(String::from_utf8_lossy(&compared.stderr).contains("`lsp-soak report --each`"));
    let each = report_on(directory.path(), &["--each"]);
    let [completed, tree] = [("completed", 0), ("tree", 4)].map(|(name, code)| {
        let path = directory.path().join(format!("{name}.jsonl"));
        text(&report_on(&path, &[]), code)
    });
    assert_eq!(text(&each, 4), format!("{completed}\n{tree}"));
    assert!(each.stderr.is_empty());
    let error = report_on(directory.path(), &["--baseline", "nobody"]);
    assert!(text(&error, 2).is_empty() && String::from_utf8_lossy(&error.stderr).contains("no server is called"));
}

/// Records of two scenarios have nothing to compare, and JSON of a directory is a list however many it has.
#[test]
fn a_directory_of_unlike_scenarios_is_a_list() {
    let directory = tempfile::tempdir().expect("there is a place for temporary files");
    let record = fs::read_to_string(golden("completed")).expect("it is checked in");
    fs::write(directory.path().join("one.jsonl"), &record).expect("the directory is ours");
    assert_eq!(list_length(directory.path()), Some(1));
    let other = record.replacen("\"name\":\"completions\"", "\"name\":\"hovers\"", 1);
    fs::write(directory.path().join("two.jsonl"), other).expect("the directory is ours");
    assert_eq!(list_length(directory.path()), Some(2));
    let listed = text(&report_on(directory.path(), &[]), 0);
    assert_eq!(listed, text(&report_on(directory.path(), &["--each"]), 0));
    assert!(
        listed.contains("completions on") && listed.contains("hovers on"),
        "{listed}"
    );
    for format in ["html", "markdown"] {
        let document = text(&report_on(directory.path(), &["--format", format]), 0);
        for words in [
            "2 runs: completions, hovers",
            "Phases: completions on ty",
            "Phases: hovers on ty",
        ] {
            assert!(document.contains(words), "{format}: {words}");
        }
    }
}

#[test]
fn a_record_comes_through_a_pipe_in_every_format() {
    for format in ["terminal", "json", "csv", "markdown"] {
        let by_path = document(&["completed"], format, 0);
        let input = Stdio::from(File::open(golden("completed")).expect("it is checked in"));
        let piped = report().arg("-").args(["--format", format]).stdin(input).output();
        let piped = text(&piped.expect("lsp-soak runs"), 0);
        let named = format!("{},", golden("completed").display());
        let by_path = by_path
            .replace(&named, "-,")
            .replace("<sub>completed.jsonl,", "<sub>-,");
        assert!(piped == by_path, "{format}");
    }
}

#[cfg(unix)]
#[test]
fn a_device_that_can_be_read_once_is_read_once() {
    let cat = Command::new("cat")
        .arg(golden("completed"))
        .stdout(Stdio::piped())
        .spawn();
    let mut cat = cat.expect("there is a cat");
    let pipe = cat.stdout.take().expect("it has a pipe");
    let output = report().args(["/dev/stdin", "--format", "csv"]).stdin(pipe).output();
    assert!(text(&output.expect("lsp-soak runs"), 0).lines().count() > 50);
    cat.wait().expect("it is a child of ours");
}

#[test]
fn a_record_that_cannot_be_read_keeps_no_other_from_being_shown() {
    let paths = [PathBuf::from("none.jsonl"), golden("completed"), golden("none")];
    let output = report().args(paths).args(["--format", "json"]).output();
    let output = output.expect("lsp-soak runs");
    let list: Value = serde_json::from_str(&text(&output, 2)).expect("it is JSON");
    assert_eq!(list.as_array().map(Vec::len), Some(1));
    assert_eq!(String::from_utf8_lossy(&output.stderr).matches("error: ").count(), 2);
}

#[test]
fn a_damaged_record_is_reported_without_its_damage() {
    let directory = tempfile::tempdir().expect("there is a place for temporary files");
    let record = directory.path().join("damaged.jsonl");
    let whole = fs::read_to_string(golden("completed")).expect("it is checked in");
    let mut lines: Vec<&str> = whole.lines().collect();
    lines[41] = "\u{0}\u{0}";
    fs::write(&record, format!("{}\n", lines.join("\n"))).expect("the directory is ours");
    let output = report().arg(&record).arg("--details").env("COLUMNS", "160").output();
    assert!(text(&output.expect("lsp-soak runs"), 0).contains("(line 42 skipped)"));
    let output = report().arg(&record).args(["--format", "csv"]).output();
    let output = output.expect("lsp-soak runs");
    text(&output, 0);
    assert!(String::from_utf8_lossy(&output.stderr).contains("(line 42 skipped)"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_under_stdout_is_an_error_and_a_reader_that_left_changes_no_exit_code() {
    for format in ["terminal", "json", "csv", "markdown"] {
        let full = File::options().write(true).open("/dev/full").expect("Linux has it");
        let output = report()
            .arg(golden("completed"))
            .args(["--format", format])
            .stdout(full)
            .output();
        let output = output.expect("lsp-soak runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{format}: {said}");
        assert!(
            said.contains("cannot print") && said.contains("No space left"),
            "{format}: {said}"
        );
        for (record, code) in [("completed", 0), ("crashed", 4)] {
            let (reader, writer) = std::io::pipe().expect("there are pipes");
            drop(reader);
            let output = report()
                .arg(golden(record))
                .args(["--format", format])
                .stdout(writer)
                .output();
            text(&output.expect("lsp-soak runs"), code);
        }
    }
}

#[test]
fn what_is_no_record_is_told_once_with_a_cure() {
    for (name, words) in [
        (
            "none.jsonl",
            "cannot read the record `none.jsonl`: there is no such file; name a record, or",
        ),
        ("Cargo.toml", "this is not an lsp-soak record: line 1 is not a header"),
    ] {
        let output = report()
            .arg(name)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .expect("lsp-soak runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(words), "{said}");
        assert_eq!(said.matches("cannot read").count(), 1, "{said}");
        assert!(said.matches("os error").count() == 0, "{said}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_under_stderr_changes_no_exit_code() {
    for (record, code) in [("none", 2), ("crashed", 4)] {
        let full = File::options().write(true).open("/dev/full").expect("Linux has it");
        let output = report()
            .arg(golden(record))
            .args(["--format", "csv"])
            .stderr(full)
            .output();
        assert_eq!(output.expect("lsp-soak runs").status.code(), Some(code), "{record}");
    }
}

#[test]
fn colours_are_there_where_they_are_wanted_and_only_there() {
    assert!(!is_colored("", &[]), "it is no terminal");
    assert!(is_colored("CLICOLOR_FORCE", &[]));
    assert!(is_colored("", &["--color", "always"]));
    assert!(!is_colored("NO_COLOR", &[]));
    assert!(!is_colored("CLICOLOR_FORCE", &["--color", "never"]));
    // NO_COLOR wins over CLICOLOR_FORCE unless it is empty; the option wins over both.
    assert!(!is_colored("NO_COLOR CLICOLOR_FORCE", &[]));
    assert!(is_colored("NO_COLOR= CLICOLOR_FORCE", &[]));
    assert!(is_colored("NO_COLOR", &["--color", "always"]));
}

/// True if the report has escape sequences. Blanks separate the variables; one without a value is 1.
fn is_colored(variables: &str, args: &[&str]) -> bool {
    let mut command = report();
    command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    for variable in variables.split_terminator(' ') {
        let (name, value) = variable.split_once('=').unwrap_or((variable, "1"));
        command.env(name, value);
    }
    let output = command.arg(golden("completed")).args(args).output();
    output.expect("lsp-soak runs").stdout.contains(&0x1b)
}
