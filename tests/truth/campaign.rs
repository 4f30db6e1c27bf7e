//! Campaigns: several runs of several servers are planned, played, interrupted, resumed and compared.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use crate::ground::{PreparedWorkspace, ended};

/// Longer than a handful of short runs takes on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Two servers with 20 MiB; `more` has 6 MiB on top.
fn pair() -> PreparedWorkspace {
    let ground = PreparedWorkspace::pair().with_server("base", &["--ballast", "20MiB"], "");
    ground.with_server("more", &["--ballast", "26MiB"], "")
}

const RUN: [&str; 6] = ["run", "scenario.toml", "--server", "base", "--server", "more"];

#[test]
fn two_servers_run_twice_after_a_warm_up_and_are_compared() {
    let pair = pair();
    let report = pair.stdout(&[&RUN[..], &["--runs", "2", "--out", "out", "-q"]].concat());
    assert_eq!(pair.records("out").len(), 6);
    assert!(report.contains("more: private memory after goto +"), "{report}");
    assert!(unwrapped(&report).contains("(2 runs each)"), "{report}");
    assert!(
        report.starts_with("pair: more against base (all fixture-system "),
        "{report}"
    );
    assert_eq!(
        pair.stdout(&["compare", "out"]),
        report,
        "a comparison is a function of its records"
    );
    let page = fs::read_to_string(pair.join("out/report.html")).expect("it lies beside the records");
    assert_eq!(pair.stdout(&["compare", "out", "--format", "html"]), page);
    for (name, format) in [("report.md", "markdown"), ("summary.json", "json")] {
        let beside = fs::read_to_string(pair.join("out").join(name)).expect("it lies beside the records");
        let printed = pair.stdout(&["compare", "out", "--format", format]);
        assert_eq!(printed.replace("out/run-", "run-"), beside);
    }
}

#[test]
fn the_first_server_that_is_named_is_the_baseline_also_of_one_run_each() {
    let pair = pair();
    let report = pair.stdout(&[&RUN[..], &["--runs", "1", "--out", "out", "-q", "--details"]].concat());
    assert!(report.contains("  base  1 run, the baseline"), "{report}");
    assert_eq!(pair.stdout(&["compare", "out", "--details"]), report);
}

#[test]
fn a_server_that_crashes_in_its_first_run_is_said_to_have_failed() {
    let ground = PreparedWorkspace::pair().with_server("base", &[], "").with_server(
        "crash",
        &["--crash-on", "textDocument/definition"],
        "",
    );
    let words = [
        "run", "scenario.toml", "--server", "base", "--server", "crash", "--out", "out", "-q",
    ];
    let (report, _) = ground.ends(4, &words);
    assert!(
        report.contains("no run counts, so there is no result: crash failed"),
        "{report}"
    );
    let junit = ground.stdout(&["compare", "out", "--format", "junit"]);
    assert!(
        junit.contains("errors=\"1\"") && !junit.contains("the same work"),
        "{junit}"
    );
}

#[test]
fn a_campaign_that_was_killed_goes_on_where_it_was() {
    let pair = pair();
    let out = pair.join("out");
    let words = [&RUN[..], &["--runs", "3", "--out", "out", "-q"]].concat();
    let mut child = pair
        .command(&words)
        .stdout(Stdio::null())
        .spawn()
        .expect("lsp-soak starts");
    let began = Instant::now();
    while pair.records("out").len() < 5 {
        assert!(began.elapsed() < PATIENCE, "the fifth run does not begin");
        thread::sleep(Duration::from_millis(20));
    }
    child.kill().expect("it is running");
    child.wait().expect("it is ours");
    let before: Vec<(PathBuf, Vec<u8>)> = pair.records("out")[..4]
        .iter()
        .map(|path| (path.clone(), fs::read(path).expect("it can be read")))
        .collect();
    // The working directory does not matter.
    let out_name = out.canonicalize().expect("it is there").display().to_string();
    let resume = ["run", "--resume", &out_name];
    let resumed = pair
        .command(&resume)
        .current_dir("/")
        .output()
        .expect("lsp-soak starts");
    let (report, _) = ended(0, &resume, resumed);
    assert_eq!(pair.records("out").len(), 8);
    for (path, bytes) in before {
        assert_eq!(
            fs::read(&path).expect("it can be read"),
            bytes,
            "{} was played again",
            path.display()
        );
    }
    assert!(unwrapped(&report).contains("(3 runs each)"), "{report}");
    assert_eq!(pair.stdout(&["compare", &out_name]), report);
}

#[test]
fn runs_are_not_gone_on_with_by_another_server_or_on_another_project() {
    let pair = pair();
    pair.stdout(&[&RUN[..], &["--runs", "2", "--out", "out", "-q"]].concat());
    let servers = fs::read_to_string(pair.join("servers.toml")).expect("it can be read");
    let shop = fs::read_to_string(pair.join("workspace/shop.py")).expect("it can be read");
    for record in &pair.records("out")[4..] {
        fs::remove_file(record).expect("it is ours");
    }
    let resume = ["run", "--resume", "out"];
    for (file, now, changed) in [
        (
            "servers.toml",
            servers.replace("26MiB", "30MiB"),
            "arguments was `--ballast 26MiB` and is `--ballast 30MiB`",
        ),
        ("workspace/shop.py", shop.replace("price", "prize"), "workspace was `"),
    ] {
        let before = fs::read_to_string(pair.join(file)).expect("it can be read");
        pair.write(file, &now);
        let (_, errors) = pair.ends(2, &resume);
        assert!(
            errors.contains("changed since the first run") && errors.contains(changed),
            "{errors}"
        );
        pair.write(file, &before);
    }
    let report = pair.stdout(&resume);
    assert!(unwrapped(&report).contains("(2 runs each)"), "{report}");
    assert!(
        report.starts_with("pair: more against base (all fixture-system "),
        "{report}"
    );
}

#[test]
fn the_parts_of_a_plan_are_joined() {
    let pair = pair();
    for part in ["1/2", "2/2"] {
        let out = format!("part-{}", &part[..1]);
        pair.stdout(&[&RUN[..], &["--runs", "4", "--partition", part, "--out", &out, "-q"]].concat());
        assert_eq!(pair.records(&out).len(), 6, "two blocks and a warm-up of two servers");
    }
    let report = pair.stdout(&["compare", "part-1", "part-2", "--details"]);
    assert!(report.contains("4 runs + 2 warm-up"), "{report}");
    assert!(report.contains("on 2 machines"), "{report}");
}

#[test]
fn a_full_disk_under_stderr_changes_nothing() {
    let pair = pair();
    let full = fs::File::options().write(true).open("/dev/full").expect("Linux has it");
    let output = pair
        .command(&[&RUN[..], &["--runs", "1", "--server", "third: more", "--out", "out"]].concat())
        .stderr(full)
        .output()
        .expect("lsp-soak starts");
    assert_eq!(output.status.code(), Some(0));
    assert!(!output.stdout.is_empty());
}

#[test]
fn several_runs_are_one_list_in_json() {
    let pair = pair();
    let words = [
        "run", "scenario.toml", "--server", "base", "--runs", "2", "--out", "out", "-q", "--format", "json",
    ];
    let text = pair.stdout(&words);
    let list: Vec<serde_json::Value> = serde_json::from_str(&text).expect("it is one list");
    assert_eq!(list.len(), 3);
}

#[test]
fn a_baseline_that_is_not_there_is_told_before_anything_runs() {
    let pair = pair();
    let words = [&RUN[..], &["--baseline", "bas", "--out", "out"]].concat();
    let output = pair.run(&words);
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("no server is called `bas`"), "{errors}");
    assert!(!pair.join("out").exists());
}

#[test]
fn nobody_else_writes_into_a_directory_while_a_campaign_goes_on_there() {
    let pair = pair();
    let words = [&RUN[..], &["--runs", "3", "--out", "out", "-q"]].concat();
    let mut child = pair
        .command(&words)
        .stdout(Stdio::null())
        .spawn()
        .expect("lsp-soak starts");
    let began = Instant::now();
    while pair.records("out").is_empty() {
        assert!(began.elapsed() < PATIENCE, "no run begins");
        thread::sleep(Duration::from_millis(20));
    }
    let holder = format!("process {}", child.id());
    for other in [&["run", "--resume", "out"][..], &words] {
        let (_, errors) = pair.ends(2, other);
        let errors = errors.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(errors.contains("is in use") && errors.contains(&holder), "{errors}");
        assert!(errors.contains("wait until it ends"), "{errors}");
    }
    assert!(child.wait().expect("it is ours").success(), "nobody has disturbed it");
    assert_eq!(pair.records("out").len(), 8);
    let left = fs::read_dir(pair.join("out")).expect("it is there").flatten();
    let names: Vec<String> = left.map(|entry| entry.file_name().display().to_string()).collect();
    let beside = ["invocation.json", "report.html", "report.md", "summary.json"];
    assert!(
        names
            .iter()
            .all(|name| name.ends_with(".jsonl") || beside.contains(&name.as_str())),
        "{names:?}"
    );
}

#[test]
fn a_start_that_failed_leaves_its_directory_to_the_next_try() {
    let broken = "[server.broken]\nbuild = ['false']\nlanguages = ['python']\n";
    let ground = PreparedWorkspace::pair().with_server("base", &[], "");
    let profiles = fs::read_to_string(ground.join("servers.toml")).expect("it was written");
    ground.write("servers.toml", &(profiles + broken));
    let run = ["run", "scenario.toml", "--out", "out", "-q", "--server"];
    ground.ends(2, &[&run[..], &["broken"]].concat());
    assert!(!ground.join("out").exists(), "nothing was recorded");
    ground.stdout(&[&run[..], &["base"]].concat());
    assert_eq!(ground.records("out").len(), 1);
}

#[test]
fn what_changes_only_the_output_may_stand_beside_resume() {
    let ground = PreparedWorkspace::pair().with_server("base", &[], "");
    ground.stdout(&["run", "scenario.toml", "--server", "base", "--out", "out", "-v"]);
    let (json, errors) = ground.ends(0, &["run", "--resume", "out", "-q", "--format", "json"]);
    serde_json::from_str::<serde_json::Value>(&json).expect("it is JSON");
    assert_eq!(errors, "");
    let (_, errors) = ground.ends(2, &["run", "--resume", "out", "--runs", "3"]);
    assert!(errors.contains("--runs") && errors.contains("--resume"), "{errors}");
}

/// A report on one line: where it wraps depends on its figures.
fn unwrapped(report: &str) -> String {
    report.split_whitespace().collect::<Vec<&str>>().join(" ")
}
