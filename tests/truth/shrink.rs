//! A scenario shrinks to the one step and the one file that show what the server was made to do.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::fixture::SYSTEM;
use crate::ground::{PreparedWorkspace, scenario};

/// Of all these steps only a hover takes memory.
const PHASES: &str = r#"
[[phase]]
name = "start"
steps = [{ start = {} }, { open = { files = 6 } }]
[[phase]]
name = "ask"
steps = [
    { definition = { per-file = 2 } },
    { hover = { per-file = 2, expect = "anything", concurrency = 2 } },
    { document-symbol = { times = 2 } },
]
[[phase]]
name = "edit"
steps = [{ edit = { files = 2, per-file = 2 } }, { pause = { for = "50ms" } }]
"#;

fn project() -> PreparedWorkspace {
    let shop = "def price(item):\n    return item\n\n\nprice(1)\nprice(price(2))\n";
    let project = PreparedWorkspace::new(&scenario("session", "150ms", PHASES), shop);
    for name in ["a", "b", "c", "d", "e", "f"] {
        project.write(&format!("workspace/{name}.py"), shop);
    }
    project.write("workspace/README.md", "A shop.\n");
    project
}

fn shrunk(project: &PreparedWorkspace, words: &[&str]) -> Value {
    serde_json::from_str(&project.stdout(words)).expect("it is JSON")
}

#[test]
fn a_scenario_shrinks_to_the_step_and_the_file_that_take_the_memory() {
    let project = project().with_server("leaky", &["--leak", "60MiB-per=textDocument/hover"], "");
    let words = [
        "shrink", "scenario.toml", "--server", "leaky", "--when", "peak > 50MiB", "--out", "least", "-q", "--format",
        "json", "--interval", "10ms",
    ];
    let report = shrunk(&project, &words);
    assert_eq!(report["confirmed"], true, "{report:#}");
    assert_eq!(report["complete"], true, "{report:#}");
    let after = &report["after"];
    assert_eq!(
        (&after["requests"], &after["files"]),
        (&1.into(), &1.into()),
        "{report:#}"
    );
    assert!(after["steps"].as_u64() <= Some(3), "start, open, hover: {report:#}");
    let text = report["text"].as_str().expect("it is text");
    assert!(text.contains("hover") && !text.contains("definition"), "{text}");
    assert!(!text.contains("concurrency") && !text.contains("edit"), "{text}");
    assert_eq!(
        fs::read_to_string(project.join("least/shrunk.toml")).expect("it is there"),
        text
    );
    let files = fs::read_dir(project.join("least/workspace")).expect("it is there");
    assert_eq!(files.count(), 1);
    // The result plays by itself, and the search goes on from its records without another run.
    project.stdout(&["run", "least/shrunk.toml", "--server", "leaky", "--out", "again", "-q"]);
    let resumed = shrunk(&project, &["shrink", "--resume", "least", "-q", "--format", "json"]);
    assert_eq!((&resumed["text"], &resumed["runs"]), (&report["text"], &report["runs"]));
}

#[test]
fn a_condition_that_the_whole_scenario_does_not_show_is_refused() {
    let project = project().with_server("tight", &[], "");
    let words = [
        "shrink", "scenario.toml", "--server", "tight", "--when", "peak > 900MiB", "--out", "least", "-q",
    ];
    let (_, errors) = project.ends(2, &words);
    assert!(errors.contains("nothing to shrink, `peak > 900 MiB`"), "{errors}");
    assert!(errors.contains("it does not hold"), "{errors}");
    for command in [&["shrink", "--server", "tight"][..], &["check"]] {
        let words = [command, &["scenario.toml", "--when", "peek > 1MiB"]].concat();
        let (_, errors) = project.ends(2, &words);
        assert!(errors.contains("did you mean `peak`?"), "{errors}");
    }
    let said = project.stdout(&["check", "scenario.toml", "--when", "peak in ask > 1MiB"]);
    assert!(
        said.starts_with("`peak in ask > 1 MiB` holds if the resident peak in `ask` is more than"),
        "{said}"
    );
}

#[test]
fn a_candidate_that_only_seemed_to_show_it_is_refused_by_fresh_runs() {
    let project = project();
    // The second of all runs is of the first candidate, which is nothing but the start.
    project.write(
        "launcher",
        &format!(
            "#!/bin/sh\n[ \"$1\" = --version ] && exec {SYSTEM} --version\necho x >> '{count}'\nn=$(wc -l < '{count}')\n[ $n = 2 ] && more='--ballast 60MiB'\n\
             exec {SYSTEM} --leak 60MiB-per=textDocument/hover $more \"$@\"\n",
            count = project.join("count").display()
        ),
    );
    let launcher = project.join("launcher");
    fs::set_permissions(&launcher, fs::Permissions::from_mode(0o755)).expect("the file is ours");
    project.write(
        "servers.toml",
        &format!(
            "[server.flaky]\nprograms = {launcher:?}\nlanguages = ['python']\n",
            launcher = [&launcher]
        ),
    );
    let words = [
        "shrink", "scenario.toml", "--server", "flaky", "--when", "peak > 50MiB", "--out", "least", "--format", "json",
        "--interval", "10ms",
    ];
    let (report, said) = project.ends(0, &words);
    assert!(said.contains("the search goes back a step"), "{said}");
    let report: Value = serde_json::from_str(&report).expect("it is JSON");
    assert_eq!(report["confirmed"], true, "{report:#}");
    assert!(
        report["text"].as_str().is_some_and(|text| text.contains("hover")),
        "{report:#}"
    );
}
