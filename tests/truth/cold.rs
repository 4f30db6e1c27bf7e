//! `lsp-soak cold` on commands whose time, memory and exit code are known.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::fixture::SYSTEM;

const MIB: f64 = 1_048_576.0;

fn cold(place: &TempDir, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lsp-soak"));
    command.arg("cold").args(words).args(["--out", "records", "--quiet"]);
    command
        .current_dir(place.path())
        .env("TMPDIR", place.path())
        .stdin(Stdio::null());
    command.output().expect("lsp-soak starts")
}

/// Output of a command that succeeds.
#[track_caller]
fn passed(output: &Output) -> String {
    let [said, errors] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(output.status.success(), "{said}{errors}");
    said
}

fn place() -> TempDir {
    tempfile::tempdir().expect("there is a place for temporary files")
}

/// Resources of a command, from each record of a label.
fn ends(place: &TempDir, label: &str) -> Vec<Value> {
    let files = fs::read_dir(place.path().join("records")).expect("there are records");
    let paths = files.map(|file| file.expect("it can be listed").path());
    let mut own: Vec<PathBuf> = paths.filter(|path| is_of(path, label)).collect();
    own.sort();
    own.iter().map(|record| command_end(record)).collect()
}

fn command_end(record: &Path) -> Value {
    let text = fs::read_to_string(record).expect("a record is text");
    let entries = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("an entry is JSON"));
    let mut ends = entries.filter_map(|entry| entry.pointer("/event/command").cloned());
    ends.next().expect("the command ended")
}

fn is_of(path: &Path, label: &str) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("run-") && name.ends_with(&format!("-{label}.jsonl"))
}

fn number(end: &Value, name: &str) -> f64 {
    end[name].as_f64().expect("it is a number")
}

/// The fixture has its ballast before it looks at its input, which is at its end.
#[test]
fn the_peak_of_a_command_has_its_ballast_and_not_the_memory_of_what_starts_it() {
    let place = place();
    let large = format!("{SYSTEM} --ballast 200MiB");
    let small = format!("{SYSTEM} --ballast 20MiB");
    let output = cold(
        &place,
        &["-i", "-n", "large", "-n", "small", &large, &small, "true", "-r", "3"],
    );
    passed(&output);
    let [large, small, least] = ["large", "small", "true"].map(|label| peaks_in_mib(&place, label));
    assert_eq!((large.len(), small.len(), least.len()), (3, 3, 3));
    for (large, small) in large.iter().zip(&small) {
        assert!((large - small - 180.0).abs() < 1.0, "{large} and {small} MiB");
    }
    // lsp-soak itself has many times that.
    assert!(least.iter().all(|peak| *peak < 4.0), "{least:?}");
}

fn peaks_in_mib(place: &TempDir, label: &str) -> Vec<f64> {
    let ends = ends(place, label);
    ends.iter().map(|end| number(end, "peak") / MIB).collect()
}

#[test]
fn time_is_that_of_the_command_and_its_parts_are_its_processors() {
    let place = place();
    let spin = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
    let output = cold(
        &place,
        &[
            "-n",
            "sleep",
            "-n",
            "spin",
            "sleep 0.3",
            &format!("sh -c '{spin}'"),
            "-r",
            "2",
        ],
    );
    passed(&output);
    for end in ends(&place, "sleep") {
        let used = number(&end, "user") + number(&end, "system");
        assert!(number(&end, "wall") >= 300e6 && used < 100e6, "{end}");
    }
    for end in ends(&place, "spin") {
        let used = number(&end, "user") + number(&end, "system");
        // A busy machine makes it wait, and never gives it more than it has.
        assert!(used > 10e6 && used <= number(&end, "wall") * 1.1, "{end}");
    }
}

#[test]
fn a_code_other_than_0_fails_unless_it_is_ignored() {
    assert_eq!(code_of_one_run(&["sh -c 'exit 3'"]), Some(4));
    assert_eq!(code_of_one_run(&["-i", "sh -c 'exit 3'"]), Some(0));
    assert_eq!(code_of_one_run(&["--ignore-failure=3,5", "sh -c 'exit 3'"]), Some(0));
    assert_eq!(code_of_one_run(&["--ignore-failure=5", "sh -c 'exit 3'"]), Some(4));
    assert_eq!(code_of_one_run(&["no-such-program --flag"]), Some(2));
    let killed = "sh -c 'kill -9 $$'";
    assert_eq!(code_of_one_run(&[killed]), Some(4));
    assert_eq!(code_of_one_run(&["--ignore-failure=137", killed]), Some(0));
    let said = passed(&cold(&place(), &["-i", killed, "-r", "1"]));
    assert!(!said.contains("crashed") && !said.contains("protocol"), "{said}");
}

fn code_of_one_run(words: &[&str]) -> Option<i32> {
    cold(&place(), &[words, &["-r", "1"]].concat()).status.code()
}

#[test]
fn a_crash_within_a_command_that_succeeds_is_told() {
    let place = place();
    fs::write(place.path().join("crash"), "sleep 0.4; kill -SEGV $$; sleep 1\n").expect("the place is ours");
    let crash = format!("sh -c 'sh {} & wait; exit 0'", place.path().join("crash").display());
    let said = passed(&cold(&place, &[&crash, "-r", "1"]));
    assert!(said.contains("a process of the command, crashed"), "{said}");
}

#[test]
fn the_first_run_that_fails_ends_all_and_says_how_to_go_on() {
    let place = place();
    let output = cold(&place, &["false", "sleep 0.01", "-r", "4"]);
    assert_eq!(output.status.code(), Some(4));
    assert_eq!(ends(&place, "false").len(), 1);
    assert!(ends(&place, "sleep-0.01").len() <= 1);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(said.matches("`-i` ignores exit codes").count(), 1, "{said}");
    assert!(said.contains("`false` ended with exit code 1"), "{said}");
}

#[test]
fn without_its_small_program_lsp_soak_starts_commands_and_says_what_it_hides() {
    let place = place();
    let alone = place.path().join("lsp-soak");
    fs::copy(env!("CARGO_BIN_EXE_lsp-soak"), &alone).expect("there is room");
    let output = Command::new(&alone)
        .args(["cold", "sleep 0.01", "-r", "1", "--out", "records"])
        .current_dir(place.path())
        .output()
        .expect("it starts");
    passed(&output);
    let report = Command::new(&alone)
        .args(["report", "records/run-001-sleep-0.01.jsonl"])
        .current_dir(place.path())
        .output()
        .expect("it starts");
    let said = passed(&report);
    assert!(said.contains("may be that of lsp-soak"), "{said}");
    let warned = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(warned.matches("`lsp-soak-start` is not beside").count(), 1, "{warned}");
    let end = ends(&place, "sleep-0.01").remove(0);
    assert!(
        number(&end, "floor") > MIB && number(&end, "floor") <= number(&end, "peak"),
        "{end}"
    );
}

#[test]
fn a_script_that_answers_no_question_has_done_nothing_before_its_run() {
    let place = place();
    fs::create_dir(place.path().join("project")).expect("the place is ours");
    let script = "#!/bin/sh\nmkdir made && mkdir \"$XDG_CACHE_HOME/made\"\n";
    fs::write(place.path().join("work"), script).expect("the place is ours");
    let executable = Command::new("chmod")
        .args(["+x", "work"])
        .current_dir(place.path())
        .status();
    assert!(executable.expect("there is chmod").success());
    passed(&cold(&place, &["--workspace", "project", "./work", "-r", "2"]));
    assert!(!place.path().join("made").exists());
}

#[test]
fn projects_of_one_name_stay_apart_and_a_changed_one_is_seen() {
    let place = place();
    for project in ["v1/shop", "v2/shop"] {
        fs::create_dir_all(place.path().join(project)).expect("the place is ours");
        fs::write(place.path().join(project).join("a.txt"), project).expect("the place is ours");
    }
    let words = ["--workspace", "v1/shop/", "--workspace", "v2/shop/", "true", "-r", "2"];
    passed(&cold(&place, &words));
    let mut sums: Vec<Value> = Vec::new();
    for directory in ["shop", "shop-2"] {
        let records = fs::read_dir(place.path().join("records").join(directory)).expect("it has its own records");
        let mut paths = records.map(|file| file.expect("it can be listed").path());
        let record = paths.find(|path| path.extension().is_some_and(|end| end == "jsonl"));
        let text = fs::read_to_string(record.expect("it was recorded")).expect("a record is text");
        let header: Value = serde_json::from_str(text.lines().next().expect("it has a header")).expect("it is JSON");
        sums.push(header["workspace"]["sha256"].clone());
    }
    assert!(
        sums[0].as_str().is_some_and(|sum| sum.len() == 64) && sums[0] != sums[1],
        "{sums:?}"
    );
}

#[test]
fn a_parameter_is_replaced_around_a_command_too_and_refused_where_it_cannot_be() {
    let place = place();
    let words = ["-L", "word", "one,two", "-p", "echo {word} >>log", "true", "-r", "1"];
    passed(&cold(&place, &words));
    let log = fs::read_to_string(place.path().join("log")).expect("it was written");
    let mut lines: Vec<&str> = log.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["one", "two"]);
    assert_refused(&place, &["-L", "word", "1,2", "true"], "no command contains `{word}`");
    assert_refused(
        &place,
        &["-L", "word", "1,2", "-s", "echo {word}", "echo {word}"],
        "run once for all commands",
    );
    assert_refused(
        &place,
        &["--reference", "true", "true", "true", "-p", "a", "-p", "b"],
        "given 2 times for 3 commands",
    );
    assert_refused(
        &place,
        &["-L", "word", "1,2", "--output", "{word}", "echo {word}"],
        "is one file for all commands",
    );
    assert_refused(
        &place,
        &["-L", "word", "1,2", "-n", "a-{word}", "true", "echo {word}"],
        "the name of `true` contains `{word}`, and it does not",
    );
    assert_refused(&place, &["--input", "nowhere", "true"], "there is no such file");
}

#[track_caller]
fn assert_refused(place: &TempDir, words: &[&str], told: &str) {
    let output = cold(place, words);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains(told), "{said}");
}

#[test]
fn a_command_has_the_name_that_was_given_or_its_own_text() {
    let place = place();
    let words = [
        "-S", "sh", "A='x y' true", "pwd; true", "--reference", "echo", "--reference-name", "base", "-r", "1",
    ];
    passed(&cold(&place, &words));
    for label in ["base", "A-x-y-true", "pwd-true"] {
        assert_eq!(ends(&place, label).len(), 1, "{label}");
    }
}

#[test]
fn what_surrounds_a_run_is_done_around_each_and_not_measured() {
    let place = place();
    let words = [
        "--setup",
        "echo setup >>log",
        "--cleanup",
        "echo cleanup >>log",
        "--prepare",
        "echo prepare >>log; sleep 1",
        "--conclude",
        "echo conclude >>log",
        "sh -c 'echo run >>log'",
        "-r",
        "2",
        "-w",
        "1",
    ];
    let output = cold(&place, &words);
    passed(&output);
    let log = fs::read_to_string(place.path().join("log")).expect("they ran here");
    let round = ["prepare", "run", "conclude"];
    let all = [&["setup"][..], &round, &round, &round, &["cleanup"]].concat();
    assert_eq!(log.lines().collect::<Vec<&str>>(), all);
    for end in ends(&place, "sh--c-echo-run-log") {
        assert!(number(&end, "wall") < 1e9, "{end}");
    }
}

#[test]
fn a_command_runs_in_a_fresh_copy_of_each_project_and_projects_are_joined() {
    let place = place();
    for project in ["one", "two"] {
        fs::create_dir(place.path().join(project)).expect("the place is ours");
        fs::write(place.path().join(project).join("a.txt"), project).expect("the place is ours");
    }
    let words = [
        "--workspace", "one", "--workspace", "two", "-n", "a", "-n", "b", "mv a.txt b.txt", "sh -c 'mv a.txt c.txt'",
    ];
    let output = cold(&place, &[&words[..], &["-r", "2"]].concat());
    let said = passed(&output);
    assert!(place.path().join("one/a.txt").exists() && place.path().join("two/a.txt").exists());
    assert!(
        said.contains("Wall time, all projects") && said.contains("geometric mean"),
        "{said}"
    );
}

#[test]
fn a_resumed_campaign_goes_on_in_the_directories_of_all_its_projects() {
    let place = place();
    for project in ["one", "two"] {
        fs::create_dir(place.path().join(project)).expect("the place is ours");
    }
    let words = ["--workspace", "one", "--workspace", "two", "true", "-r", "3"];
    passed(&cold(&place, &words));
    let records = place.path().join("records");
    fs::remove_dir_all(records.join("two")).expect("it is there");
    fs::remove_file(records.join("one/run-002-true.jsonl")).expect("it is there");
    let said = passed(&resume(&place, "records"));
    assert!(said.contains("Wall time, all projects"), "{said}");
    for project in ["one", "two"] {
        for run in 1..=3 {
            let record = records.join(project).join(format!("run-00{run}-true.jsonl"));
            assert!(record.exists(), "{}", record.display());
        }
    }
    let wrong = resume(&place, ".");
    assert_eq!(wrong.status.code(), Some(2));
}

fn resume(place: &TempDir, directory: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lsp-soak"));
    command.args(["cold", "--resume", directory]).current_dir(place.path());
    command.output().expect("lsp-soak starts")
}

#[test]
fn what_a_command_prints_stands_beside_its_peak() {
    let place = place();
    let [few, many] = [1000, 2500].map(|number| format!("printf 'starting\\n{{\"ops\":{number},\"seed\":7}}\\n'"));
    let words = [
        "--figures", "json", "-n", "few", "-n", "many", "-n", "none", &few, &many, "echo nothing", "-r", "3",
    ];
    let output = cold(&place, &words);
    let said = passed(&output);
    for (label, ops) in [("few", 1000), ("many", 2500)] {
        for end in ends(&place, label) {
            assert_eq!(end["printed"], serde_json::json!({ "ops": ops, "seed": 7 }));
        }
    }
    assert!(said.contains("ops") && said.contains("2,500"), "{said}");
    assert!(!said.contains("seed"), "it is the same in all runs\n{said}");
    let on_one_line = said.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(on_one_line.contains("it printed no figures"), "{said}");
}

#[test]
fn a_printed_figure_without_a_difference_is_told_with_its_interval_and_has_a_table_of_ratios() {
    let place = place();
    // Both print 1001, 1002 and 1003.
    let [one, other] = ["one", "other"]
        .map(|name| format!("sh -c 'echo >>{name}; printf \"{{\\\"ops\\\":%d}}\" $((1000 + $(wc -l <{name})))'"));
    let words = [
        "--figures", "json", "-n", "one", "-n", "other", &one, &other, "-r", "3", "--details",
    ];
    let output = cold(&place, &words);
    let said = passed(&output);
    let on_one_line = said.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(on_one_line.contains(": no measurable difference in ops ("), "{said}");
    assert!(said.contains("Printed figures"), "{said}");
}

#[test]
fn of_several_projects_the_answer_is_one_sentence_for_each_command() {
    let place = place();
    for project in ["one", "two"] {
        fs::create_dir(place.path().join(project)).expect("the place is ours");
    }
    let [few, many] = [1000, 2500].map(|number| format!("printf '{{\"ops\":{number}}}\n'"));
    let words = [
        "--figures", "json", "--workspace", "one", "--workspace", "two", "-n", "few", "-n", "many", "-r", "3", &few,
        &many,
    ];
    let output = cold(&place, &words);
    let said = passed(&output);
    let blocks: Vec<String> = said
        .split("\n\n")
        .map(|block| block.split_whitespace().collect::<Vec<&str>>().join(" "))
        .collect();
    // The fastest is the first, whichever that was.
    let [more, less] =
        [("many", "2.50", "few", "higher"), ("few", "0.40", "many", "lower")].map(|(side, times, first, shown)| {
            format!(
                "{side}: {times} times the ops of {first} in the geometric mean of 2 projects (shown {shown} in 2), "
            )
        });
    assert!(blocks[0].contains(&more) || blocks[0].contains(&less), "{said}");
    assert!(
        !blocks[0].contains("one: ") && blocks[1..].iter().any(|block| block.contains(": ops ")),
        "{said}"
    );
    let joined = blocks.iter().find(|block| block.starts_with("ops, all projects"));
    assert!(joined.is_some_and(|joined| joined.contains(['▴', '▾'])), "{said}");
    assert!(said.lines().all(|line| !line.ends_with(' ')), "{said}");
}

#[test]
fn a_gate_decides_by_the_peak_and_the_time_of_commands() {
    let place = place();
    let [small, large] = ["20MiB", "60MiB"].map(|size| format!("{SYSTEM} --ballast {size}"));
    let words = [
        "-i", "-n", "small", "-n", "same", "-n", "large", &small, &small, &large, "-r", "8",
    ];
    let output = cold(&place, &words);
    passed(&output);
    let (code, said) = gate(&place, &["--candidate", "large"]);
    assert!(
        code == Some(1) && said.contains("peak") && said.contains("wall"),
        "{code:?} {said}"
    );
    // On a busy machine nothing is known of the time of some milliseconds.
    let rules = "format = 1\n[[endpoint]]\nmetric = 'peak'\n";
    fs::write(place.path().join("peak.toml"), rules).expect("the place is ours");
    let (code, said) = gate(&place, &["--candidate", "same", "--gate", "peak.toml"]);
    assert!(code == Some(0) && said.contains("PASS"), "{code:?} {said}");
    let (code, said) = gate(&place, &["--candidate", "same", "--budget", "private <= 9 MiB"]);
    assert!(
        code == Some(2) && said.contains("a command has no private memory"),
        "{code:?} {said}"
    );
}

/// The exit code of a gate on the records, and all that it printed.
fn gate(place: &TempDir, more: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lsp-soak"));
    command.args(["gate", "--from", "records", "--baseline", "small"]);
    let output = command.args(more).current_dir(place.path()).output();
    let output = output.expect("it starts");
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (output.status.code(), said.concat())
}

#[test]
fn several_commands_under_several_allocators_are_each_compared_by_themselves() {
    let place = place();
    let words = [
        "--preload", "system,jemalloc", "sh -c 'exit 0'", "sleep 0.01", "-r", "2",
    ];
    let output = cold(&place, &words);
    let said = passed(&output);
    for directory in ["sh--c-exit-0", "sleep-0.01"] {
        let records = fs::read_dir(place.path().join("records").join(directory)).expect("it has its own records");
        let names = records.map(|file| file.expect("it can be listed").file_name().into_string());
        let names: Vec<String> = names.map(|name| name.expect("it is text")).collect();
        for label in ["-system.jsonl", "-jemalloc.jsonl"] {
            assert_eq!(
                names.iter().filter(|name| name.ends_with(label)).count(),
                2,
                "{names:?}"
            );
        }
    }
    assert!(
        said.contains("Wall time, all commands") && said.contains("geometric mean"),
        "{said}"
    );
}

#[test]
fn the_caches_of_a_command_are_new_in_every_run() {
    let place = place();
    let words = [
        "sh -c 'test -z \"$(ls -A \"$XDG_CACHE_HOME\")\" && touch \"$XDG_CACHE_HOME/warm\"'",
        "-r",
        "3",
    ];
    let output = cold(&place, &words);
    passed(&output);
}

#[test]
fn a_single_run_is_told_by_its_figures() {
    let place = place();
    assert!(cold(&place, &["true", "-r", "1"]).status.success());
    let mut command = Command::new(env!("CARGO_BIN_EXE_lsp-soak"));
    let output = command
        .args(["report", "records/run-001-true.jsonl"])
        .current_dir(place.path())
        .output();
    let said = String::from_utf8(output.expect("it starts").stdout).expect("it is text");
    assert!(
        said.contains("wall time") && said.contains("context switches"),
        "{said}"
    );
    assert!(!said.contains("Phases"), "{said}");
}

#[test]
fn a_command_that_exceeds_the_memory_limit_is_killed_and_its_peak_is_known() {
    let place = place();
    let grow = "python3 -c 'a = []\nwhile len(a) < 200: a.append(bytearray(10**7))'";
    let words = [
        "--runs", "1", "--warmup", "0", "--memory-limit", "300 MiB", "-n", "grow", grow,
    ];
    let output = cold(&place, &words);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let words = said.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(words.contains("lsp-soak killed it at the limit of 300.0 MiB"), "{said}");
    let end = ends(&place, "grow").remove(0);
    let peak = number(&end, "peak") / MIB;
    assert!((300.0..812.0).contains(&peak), "{peak}");
    assert_eq!(end["signal"], 9);
}

#[test]
fn an_export_may_go_into_the_directory_of_the_records() {
    let place = place();
    passed(&cold(
        &place,
        &["true", "-r", "2", "--export-json", "records/result.json"],
    ));
    let text = fs::read_to_string(place.path().join("records/result.json")).expect("it was exported");
    assert!(serde_json::from_str::<Value>(&text).is_ok_and(|result| result["runs"].as_array().is_some()));
}
