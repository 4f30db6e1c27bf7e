//! Several runs of several servers: planned, played, cut off, gone on with, compared.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Longer than a loaded machine takes for a handful of short runs.
const PATIENCE: Duration = Duration::from_secs(120);

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
quiet = "200ms"
[[phase]]
name = "start"
steps = [{ start = {} }]
[[phase]]
name = "goto"
steps = [{ open = { files = 1 } }, { definition = { per-file = 2 } }]
"#;

/// A directory with a scenario, a workspace, and two servers: `base`, and `more` with 6 MiB on its 20 MiB.
fn pair() -> TempDir {
    let directory = tempfile::tempdir().expect("there is a place for temporary files");
    let write = |name: &str, text: &str| {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().expect("it is in the directory")).expect("the directory is ours");
        fs::write(path, text).expect("the directory is ours");
    };
    write("scenario.toml", SCENARIO);
    write(
        "workspace/shop.py",
        "def price(item):\n    return item\n\n\nprice(1)\nprice(price(2))\n",
    );
    let server = |name: &str, ballast: &str| {
        let program = env!("CARGO_BIN_EXE_fixture-system");
        format!(
            "[server.{name}]\nprograms = ['{program}']\nargs = ['--ballast', '{ballast}']\nlanguages = ['python']\n"
        )
    };
    write("servers.toml", &(server("base", "20MiB") + &server("more", "26MiB")));
    directory
}

fn lsp_soak(directory: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lsp-soak"));
    command.current_dir(directory).args(words).stdin(Stdio::null());
    command
}

/// What a command prints that must succeed.
#[track_caller]
fn said(directory: &Path, words: &[&str]) -> String {
    let output = lsp_soak(directory, words).output().expect("lsp-soak starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {}\n{errors}", output.status);
    String::from_utf8(output.stdout).expect("reports are UTF-8")
}

fn records(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    let mut records: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    records.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    records.sort();
    records
}

const RUN: [&str; 6] = ["run", "scenario.toml", "--server", "base", "--server", "more"];

#[test]
fn two_servers_run_twice_after_a_warm_up_and_are_compared() {
    let pair = pair();
    let report = said(
        pair.path(),
        &[&RUN[..], &["--runs", "2", "--out", "out", "-q"]].concat(),
    );
    assert_eq!(records(&pair.path().join("out")).len(), 6);
    assert!(report.contains("2 runs + 1 for warming up, the baseline"), "{report}");
    assert!(report.contains("more keeps "), "{report}");
    assert!(
        report.contains(" more private memory than base after goto, 2 runs each"),
        "{report}"
    );
    assert_eq!(
        said(pair.path(), &["compare", "out"]),
        report,
        "a comparison is a function of its records"
    );
}

#[test]
fn a_campaign_that_was_killed_goes_on_where_it_was() {
    let pair = pair();
    let out = pair.path().join("out");
    let words = [&RUN[..], &["--runs", "3", "--out", "out", "-q"]].concat();
    let mut child = lsp_soak(pair.path(), &words)
        .stdout(Stdio::null())
        .spawn()
        .expect("lsp-soak starts");
    let began = Instant::now();
    while records(&out).len() < 5 {
        assert!(began.elapsed() < PATIENCE, "the fifth run does not begin");
        thread::sleep(Duration::from_millis(20));
    }
    child.kill().expect("it is running");
    child.wait().expect("it is ours");
    let before: Vec<(PathBuf, Vec<u8>)> = records(&out)[..4]
        .iter()
        .map(|path| (path.clone(), fs::read(path).expect("it can be read")))
        .collect();
    // Where it is called from does not matter.
    let out_name = out.canonicalize().expect("it is there").display().to_string();
    let report = said(Path::new("/"), &["run", "--resume", &out_name]);
    assert_eq!(records(&out).len(), 8);
    for (path, bytes) in before {
        assert_eq!(
            fs::read(&path).expect("it can be read"),
            bytes,
            "{} was played again",
            path.display()
        );
    }
    assert!(
        report.contains(" more private memory than base after goto, 3 runs each"),
        "{report}"
    );
    assert_eq!(said(pair.path(), &["compare", &out_name]), report);
}

#[test]
fn the_parts_of_a_plan_are_joined() {
    let pair = pair();
    for part in ["1/2", "2/2"] {
        let out = format!("part-{}", &part[..1]);
        said(
            pair.path(),
            &[&RUN[..], &["--runs", "4", "--partition", part, "--out", &out, "-q"]].concat(),
        );
        assert_eq!(
            records(&pair.path().join(&out)).len(),
            6,
            "two blocks and a warm-up of two servers"
        );
    }
    let report = said(pair.path(), &["compare", "part-1", "part-2"]);
    assert!(report.contains("4 runs + 2 for warming up"), "{report}");
    assert!(report.contains("on 2 machines"), "{report}");
}

#[test]
fn a_full_disk_under_stderr_changes_nothing() {
    let pair = pair();
    let full = fs::File::options().write(true).open("/dev/full").expect("Linux has it");
    let output = lsp_soak(
        pair.path(),
        &[&RUN[..], &["--runs", "1", "--server", "third: more", "--out", "out"]].concat(),
    )
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
    let text = said(pair.path(), &words);
    let list: Vec<serde_json::Value> = serde_json::from_str(&text).expect("it is one list");
    assert_eq!(list.len(), 3);
}

#[test]
fn a_baseline_that_is_not_there_is_told_before_anything_runs() {
    let pair = pair();
    let words = [&RUN[..], &["--baseline", "bas", "--out", "out"]].concat();
    let output = lsp_soak(pair.path(), &words).output().expect("lsp-soak starts");
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("no server is called `bas`"), "{errors}");
    assert!(!pair.path().join("out").exists());
}
