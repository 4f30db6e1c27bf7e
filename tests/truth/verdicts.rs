//! The files and output of a gate; an interrupted gate resumes to the same verdict.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};
use std::{fs, thread};

use serde_json::Value;

use crate::ground::{LINKED_SYSTEM, PreparedWorkspace, ended};

/// Longer than a handful of short runs takes on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Two servers that can purge; `more` has 3 % more.
fn ground() -> PreparedWorkspace {
    let ground = PreparedWorkspace::pair()
        .ending_idle()
        .with_server("base", &["--ballast", "200MiB"], LINKED_SYSTEM);
    ground.with_server("more", &["--ballast", "206MiB"], LINKED_SYSTEM)
}

const GATE: [&str; 13] = [
    "gate", "scenario.toml", "--baseline", "base", "--candidate", "more", "--lens", "purged", "--runs", "5", "--out",
    "out", "-q",
];

fn read(ground: &PreparedWorkspace, name: &str) -> String {
    fs::read_to_string(ground.join(name)).expect("it is there")
}

/// The first usable processor in `/proc/self/status`.
fn first_processor() -> String {
    let status = fs::read_to_string("/proc/self/status").expect("Linux has it");
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let first = list.and_then(|list| list.trim().split(['-', ',']).next());
    first.expect("there is a processor").to_owned()
}

#[test]
fn a_verdict_is_kept_beside_its_records_and_is_the_same_from_them_in_every_format() {
    let ground = ground();
    ground.write("summary.md", "");
    let cpu = first_processor();
    let words = [&GATE[..], &["--cpus", &cpu, "--format", "json"]].concat();
    let mut inside = ground.command(&words);
    let inside = inside
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_STEP_SUMMARY", ground.join("summary.md"));
    let (said, errors) = ended(1, &words, inside.output().expect("lsp-soak starts"));
    assert_eq!(said, read(&ground, "out/gate.json"));
    let verdict: Value = serde_json::from_str(&said).expect("it is one document");
    assert_eq!(
        (&verdict["outcome"], &verdict["exit_code"]),
        (&"fail".into(), &1.into())
    );
    for (format, file) in [
        ("markdown", "out/gate.md"),
        ("json", "out/gate.json"),
        ("junit", "out/gate.xml"),
    ] {
        let (again, _) = ground.ends(1, &["gate", "--from", "out", "--runs", "5", "--format", format]);
        assert_eq!(again, read(&ground, file), "{format}");
    }
    let markdown = read(&ground, "out/gate.md");
    assert!(markdown.starts_with("### FAIL: purged private +"), "{markdown}");
    assert_eq!(read(&ground, "summary.md").trim_end(), markdown.trim_end());
    let told: Vec<&str> = errors.lines().filter(|line| line.starts_with("::")).collect();
    assert!(
        told.len() == 1 && told[0].starts_with("::error title=gate pair::purged private"),
        "{errors}"
    );
    for format in ["bencher", "github-action-benchmark"] {
        let (text, _) = ground.ends(1, &["gate", "--from", "out", "--runs", "5", "--format", format]);
        assert!(text.contains("candidate") && !text.contains("baseline"), "{text}");
        let _: Value = serde_json::from_str(&text).expect("it is one document");
    }
    for record in ground.records("out") {
        let text = fs::read_to_string(record).expect("it can be read");
        let header: Value = serde_json::from_str(text.lines().next().expect("it has a header")).expect("it is JSON");
        let facts = header.to_string();
        assert!(facts.contains(&format!("\"affinity\":\"{cpu}\"")), "{facts}");
    }
}

#[test]
fn a_gate_that_was_killed_goes_on_and_says_the_same() {
    let ground = ground();
    let mut child = ground
        .command(&GATE)
        .stdout(Stdio::null())
        .spawn()
        .expect("lsp-soak starts");
    let began = Instant::now();
    while ground.records("out").len() < 5 {
        assert!(began.elapsed() < PATIENCE, "the fifth run does not begin");
        thread::sleep(Duration::from_millis(20));
    }
    child.kill().expect("it is running");
    child.wait().expect("it is ours");
    assert!(!ground.join("out/gate.md").exists(), "there is no verdict yet");
    let whole: Vec<(PathBuf, Vec<u8>)> = ground.records("out")[..4]
        .iter()
        .map(|path| (path.clone(), fs::read(path).expect("it can be read")))
        .collect();
    let (_, errors) = ground.ends(2, &["run", "--resume", "out"]);
    assert!(errors.contains("use `lsp-soak gate --resume`"), "{errors}");
    let out = ground
        .join("out")
        .canonicalize()
        .expect("it is there")
        .display()
        .to_string();
    let resume = ["gate", "--resume", &out];
    let resumed = ground
        .command(&resume)
        .current_dir("/")
        .output()
        .expect("lsp-soak starts");
    let (said, _) = ended(1, &resume, resumed);
    assert_eq!(ground.records("out").len(), 12, "two warm-ups and five runs of each");
    for (path, bytes) in whole {
        assert_eq!(
            fs::read(&path).expect("it can be read"),
            bytes,
            "{} was played again",
            path.display()
        );
    }
    let (uncut, _) = ground.ends(1, &[&GATE[..11], &["uncut", "-q"]].concat());
    let verdicts = said.lines().filter(|line| line.starts_with("FAIL: ")).count();
    assert!(
        said.contains("FAIL: ") && uncut.contains("FAIL: ") && verdicts == 1,
        "{said}\n{uncut}"
    );
    assert_eq!(ground.ends(1, &["gate", "--from", "out", "--runs", "5"]).0, said);
}
