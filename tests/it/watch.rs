//! `lsp-soak watch` samples processes that somebody else started.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

/// A process of the test, ended with it.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(script: &str) -> Started {
    let mut command = Command::new("sh");
    let child = command.args(["-c", script]).stdin(Stdio::null()).spawn();
    Started(child.expect("sh is here"))
}

/// `lsp-soak watch` with these words, whose record goes to `out`.
fn watch(words: &[&str], out: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lsp-soak"))
        .args(["watch", "--format", "json", "--out"])
        .arg(out)
        .args(words)
        .output()
        .expect("lsp-soak runs")
}

fn report(output: &Output) -> Value {
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("it is JSON")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_running_tree_is_sampled_without_the_processes_that_share_its_group() {
    let out = tempfile::tempdir().expect("there is a place for temporary files");
    // Both children have the group of this test.
    let watched = start("sleep 10 & wait");
    let _beside = start("sleep 11 & wait");
    let pid = watched.0.id().to_string();
    let report = report(&watch(&["--pid", &pid, "--for", "500ms"], &out.path().join("watched")));
    let phase = &report["phases"][0];
    assert_eq!(phase["name"], "watch");
    assert!(phase["private"].as_u64().is_some_and(|bytes| bytes > 0), "{phase}");
    assert_eq!(phase["checkpoint"]["processes"], 2, "the shell and its child: {phase}");
    let said = report["findings"].to_string();
    assert!(said.contains("watched from outside"), "{said}");
}

#[test]
fn a_watch_ends_with_its_process_and_says_what_it_had_last() {
    let out = tempfile::tempdir().expect("there is a place for temporary files");
    let watched = start("sleep 5; true");
    let pid = watched.0.id().to_string();
    let report = report(&watch(&["--pid", &pid], &out.path().join("watched")));
    let said = report["findings"].to_string();
    assert!(
        said.contains("ended while it was watched") && said.contains("KiB private"),
        "{said}"
    );
    assert_eq!(
        report["phases"][0]["private"],
        Value::Null,
        "nothing was read at the end"
    );
}

#[test]
fn a_process_that_is_not_there_and_a_name_that_several_have_come_with_a_cure() {
    let out = tempfile::tempdir().expect("there is a place for temporary files");
    let out = out.path().join("watched");
    let script = out.with_extension("lsp-soak-test.sh");
    std::fs::write(&script, "sleep 10\n").expect("the directory is ours");
    let name = script.file_name().expect("it has one").to_string_lossy().into_owned();
    let missing = watch(&["--name", &name], &out);
    assert_eq!(missing.status.code(), Some(2));
    assert!(
        stderr(&missing).contains("no process is called"),
        "{}",
        stderr(&missing)
    );
    let line = format!("sh '{}'; true", script.display());
    let both = [start(&line), start(&line)];
    // The shells inside are started a moment later.
    let mut several = String::new();
    for _ in 0..100 {
        several = stderr(&watch(&["--name", &name, "--for", "1ms"], &out));
        if several.contains("2 processes are called") {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
        let _ = std::fs::remove_dir_all(&out);
    }
    assert!(
        several.contains("choose one with --pid") && several.matches("--pid ").count() == 2,
        "{several}"
    );
    drop(both);
    let own = watch(&["--pid", "4194304"], &out);
    assert_eq!(own.status.code(), Some(2));
    assert!(
        stderr(&own).contains("there is none: `ps -e` lists"),
        "{}",
        stderr(&own)
    );
}
