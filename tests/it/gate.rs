//! `lsp-soak gate --from`, on records of several machines.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// Two runs of each of two servers, as part `part` of a plan over so many machines.
fn part(directory: &Path, part: u32) {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/records/completed.jsonl");
    let text = fs::read_to_string(golden).expect("it is checked in");
    let (header, rest) = text.split_once('\n').expect("it has a header");
    let out = directory.join(format!("part-{part}"));
    fs::create_dir(&out).expect("the directory is ours");
    for (number, label) in [(1, "old"), (2, "new"), (3, "new"), (4, "old")] {
        let mut header: Value = serde_json::from_str(header).expect("it is JSON");
        header["server"]["label"] = label.into();
        header["plan"]["partition"] = format!("{part}/3").into();
        let path = out.join(format!("run-{number:03}-{label}.jsonl"));
        fs::write(path, format!("{header}\n{rest}")).expect("the directory is ours");
    }
}

#[test]
fn the_parts_of_a_plan_are_joined_and_compared_within_each_machine() {
    let directory: TempDir = tempfile::tempdir().expect("there is a place for temporary files");
    (1..=3).for_each(|number| part(directory.path(), number));
    let verdict = |parts: &[&str], runs: &str| -> Value {
        let output = Command::new(env!("CARGO_BIN_EXE_lsp-soak"))
            .current_dir(directory.path())
            .args([
                "gate", "--format", "json", "--runs", runs, "--baseline", "old", "--candidate", "new", "--from",
            ])
            .args(parts)
            .env_remove("GITHUB_ACTIONS")
            .stdin(Stdio::null())
            .output()
            .expect("lsp-soak runs");
        serde_json::from_slice(&output.stdout).expect("it is one document")
    };
    for (parts, runs, machines) in [
        (&["part-1"][..], 2, 1),
        (&["part-1", "part-2"], 4, 2),
        (&["part-1", "part-2", "part-3"], 6, 3),
        (&["."], 6, 3),
    ] {
        let verdict = verdict(parts, &runs.to_string());
        assert_eq!(verdict["outcome"], "pass", "{verdict:#}");
        let against = &verdict["against"][0];
        assert_eq!((&against["look"], &against["apart"]), (&runs.into(), &false.into()));
        let evidence = &against["rules"][0]["evidence"];
        assert_eq!(
            (&evidence["machines"], &evidence["candidate_runs"]),
            (&machines.into(), &runs.into())
        );
    }
}
