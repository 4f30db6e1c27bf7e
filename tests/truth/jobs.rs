//! Runs that are played at once, each by a process of its own on its own processors.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::ground::PreparedWorkspace;

const HOLDS: [&str; 2] = ["--ballast", "40MiB"];

fn pair() -> PreparedWorkspace {
    PreparedWorkspace::pair()
        .with_server("base", &HOLDS, "")
        .with_server("other", &HOLDS, "")
}

fn headers(pair: &PreparedWorkspace, out: &str) -> Vec<Value> {
    let records = pair.records(out);
    records.iter().map(|record| read_header(record)).collect()
}

fn read_header(record: &Path) -> Value {
    let text = fs::read_to_string(record).expect("it is text");
    serde_json::from_str(text.lines().next().expect("it has a first line")).expect("it is JSON")
}

/// True if this machine gives two processors; with one, the refusal is tested.
fn are_two() -> bool {
    thread::available_parallelism().is_ok_and(|processors| processors.get() > 1)
}

#[test]
fn two_runs_at_once_have_processors_of_their_own_and_the_memory_of_one_alone() {
    let pair = pair();
    let jobs = [
        "run", "scenario.toml", "--server", "base", "--server", "other", "--runs", "3",
    ];
    let together = [&jobs[..], &["--jobs", "2", "--out", "together"]].concat();
    if !are_two() {
        let (_, why) = pair.ends(2, &together);
        assert!(why.contains("`--jobs 2` needs a processor for each"), "{why}");
        return;
    }
    let (said, progress) = pair.ends(0, &together);
    assert!(progress.contains("runs 3 to 4 of 8 begin"), "{progress}");
    assert!(
        said.contains("(2 at once)") && !said.contains("CPU time (") && !said.contains("CPU time −"),
        "{said}"
    );
    let headers = headers(&pair, "together");
    assert_eq!(headers.len(), 8);
    assert!(
        headers.iter().all(|header| header["plan"]["jobs"] == 2),
        "{:?}",
        headers[0]
    );
    let shares: BTreeSet<String> = headers
        .iter()
        .map(|header| header["host"]["affinity"].to_string())
        .collect();
    assert_eq!(shares.len(), 2, "{shares:?}");
    let first = shares.first().expect("there are two").trim_matches('"').to_owned();
    let alone = [&jobs[..], &["-q", "--cpus", &first, "--out", "alone"]].concat();
    pair.ends(0, &alone);
    let both = pair.stdout(&[
        "gate", "--from", "together", "alone", "--baseline", "base", "--candidate", "other", "--format", "json",
    ]);
    let gate: Value = serde_json::from_str(&both).expect("it is JSON");
    assert_eq!(gate["outcome"], "pass", "{both}");
}

#[test]
fn every_run_of_a_block_is_played_where_a_block_has_more_runs_than_jobs() {
    if !are_two() {
        return;
    }
    let all = pair().with_server("third", &HOLDS, "");
    let words = [
        "run", "scenario.toml", "--server", "base", "--server", "other", "--server", "third", "--runs", "2", "--jobs",
        "2", "--out", "out", "-q",
    ];
    all.ends(0, &words);
    let headers = headers(&all, "out");
    for label in ["base", "other", "third"] {
        let own = headers.iter().filter(|header| header["server"]["label"] == label);
        assert_eq!(
            own.filter(|header| header["plan"]["warm_up"] == false).count(),
            2,
            "{label}"
        );
    }
}

#[test]
fn an_interrupt_ends_every_run_and_a_resume_plays_them() {
    if !are_two() {
        return;
    }
    let pair = pair();
    let words = [
        "run", "scenario.toml", "--server", "base", "--runs", "4", "--jobs", "2", "--out", "out",
    ];
    let mut child = pair.command(&words).spawn().expect("lsp-soak starts");
    while pair.records("out").len() < 2 {
        thread::sleep(Duration::from_millis(5));
    }
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::INT).expect("it runs");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    let (_, progress) = pair.ends(0, &["run", "--resume", "out"]);
    assert!(progress.contains("begin"), "{progress}");
    let whole = pair
        .records("out")
        .iter()
        .filter(|path| {
            fs::read_to_string(path)
                .is_ok_and(|text| text.lines().last().is_some_and(|line| line.contains("completed")))
        })
        .count();
    assert_eq!(whole, 5);
}
