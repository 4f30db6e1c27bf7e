//! Steps that change files, commits, settings and folders: the server is told of each change, and nothing outside of the copy
//! is written.

use std::process::Command;

use serde_json::Value;

use crate::ground::{PreparedWorkspace, scenario};

/// A scenario that starts the server, and then plays these phases.
fn world(phases: &str) -> String {
    let start = "\n[[phase]]\nname = \"start\"\nsteps = [{ start = {} }]\n";
    scenario("world", "200ms", &format!("{start}{phases}"))
}

/// A server that loses 1 MiB with every watched file whose content is new to it.
fn keeper(phases: &str) -> PreparedWorkspace {
    PreparedWorkspace::new(&world(phases), "def price(item):\n    return item\n\n\nprice(1)\n").with_server(
        "keeps",
        &["--leak-per-content", "1MiB"],
        "",
    )
}

fn report(place: &PreparedWorkspace, more: &[&str]) -> Value {
    let words = [
        &[
            "run", "scenario.toml", "--server", "keeps", "--out", "out", "-q", "--format", "json",
        ],
        more,
    ];
    serde_json::from_str(&place.stdout(&words.concat())).expect("it is JSON")
}

fn find_phase<'r>(report: &'r Value, name: &str) -> &'r Value {
    let phases = report["phases"].as_array().expect("it is a list");
    phases
        .iter()
        .find(|phase| phase["name"] == name)
        .expect("it was played")
}

/// Private memory that a phase added, in MiB.
fn increment(report: &Value, phase: &str) -> f64 {
    let bytes = find_phase(report, phase)["increment"].as_f64().expect("it is known");
    bytes / f64::from(1 << 20)
}

#[test]
fn each_file_that_disk_changes_is_announced_once_with_its_new_content() {
    let place = keeper(
        r#"
[[phase]]
name = "write"
steps = [{ disk = { path = "made/new.py", write = "x = 1" } }]
[[phase]]
name = "append"
steps = [{ disk = { glob = "**/*.py", append = "\n# ${round}" } }]
"#,
    );
    let report = report(&place, &[]);
    assert!((0.9..1.3).contains(&increment(&report, "write")), "{report:#}");
    assert!((1.8..2.4).contains(&increment(&report, "append")), "{report:#}");
    let step = &find_phase(&report, "append")["steps"][0];
    assert_eq!(step["notifications"], 1, "in one notification");
    assert!(!place.join("workspace/made").exists(), "the original stays as it was");
}

/// Makes the workspace a git repository with branches `one` and `two`; the second has another file and another text.
fn add_branches(place: &PreparedWorkspace) {
    git(place, &["init", "--quiet", "--initial-branch=one"]);
    git(place, &["add", "--all"]);
    git(place, &["commit", "--quiet", "--message=one"]);
    git(place, &["checkout", "--quiet", "-b", "two"]);
    place.write("workspace/more.py", "y = 2\n");
    place.write("workspace/shop.py", "def price(item):\n    return 2\n\n\nprice(2)\n");
    git(place, &["add", "--all"]);
    git(place, &["commit", "--quiet", "--message=two"]);
    git(place, &["checkout", "--quiet", "one"]);
}

fn git(place: &PreparedWorkspace, words: &[&str]) {
    let done = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
        .args(words)
        .current_dir(place.join("workspace"))
        .status()
        .expect("git is installed");
    assert!(done.success(), "{words:?}");
}

const SWITCHES: &str = r#"
[[phase]]
name = "open"
steps = [{ open = { files = 1 } }]
[[phase]]
name = "switch"
steps = [{ checkout = { rev = "two" } }, { hover = { per-file = 1 } }]
"#;

#[test]
fn a_checkout_announces_the_files_that_differ_and_leaves_the_repository_alone() {
    let place = keeper(SWITCHES);
    add_branches(&place);
    let report = report(&place, &[]);
    assert!((1.8..2.4).contains(&increment(&report, "switch")), "{report:#}");
    let head = std::fs::read_to_string(place.join("workspace/.git/HEAD")).expect("it is there");
    assert_eq!(head.trim(), "ref: refs/heads/one");
}

#[test]
fn a_checkout_that_cannot_be_played_is_refused_before_anything_starts() {
    let place = keeper(SWITCHES);
    let (_, message) = place.ends(2, &["run", "scenario.toml", "--server", "keeps", "--out", "out"]);
    assert!(message.contains("is not the root of a git repository"), "{message}");
    add_branches(&place);
    place.write("scenario.toml", &world(&SWITCHES.replace("two", "three")));
    let (_, message) = place.ends(2, &["run", "scenario.toml", "--server", "keeps", "--out", "out"]);
    assert!(message.contains("has no commit `three`"), "{message}");
}

#[test]
fn a_command_of_a_scenario_runs_only_where_the_user_permits_it() {
    let place = keeper(
        r#"
[[phase]]
name = "generate"
steps = [{ shell = { command = "for i in 1 2 3; do echo $i > made_$i.py; done" } }]
"#,
    );
    let run = ["run", "scenario.toml", "--server", "keeps", "--out", "out"];
    let (_, message) = place.ends(2, &run);
    assert!(
        message.contains("--allow-shell") && message.contains("made_$i.py"),
        "{message}"
    );
    let plan = place.stdout(&["check", "scenario.toml"]);
    assert!(plan.contains("made_$i.py"), "{plan}");
    let report = report(&place, &["--allow-shell"]);
    assert!((2.7..3.5).contains(&increment(&report, "generate")), "{report:#}");
}

#[test]
fn settings_and_folders_are_sent_and_hold_for_a_server_that_is_started_again() {
    let place = keeper(
        r#"
[[phase]]
name = "change"
steps = [{ folders = { add = ["pack*"] } }, { settings = { fixture = { on = true } } }]
[[phase]]
name = "again"
steps = [{ restart = { by = "kill" } }, { folders = { remove = ["pack*"] } }]
"#,
    );
    place.write("workspace/pack/a.py", "x = 1\n");
    let report = report(&place, &[]);
    for phase in ["change", "again"] {
        let steps = find_phase(&report, phase)["steps"].as_array().expect("it is a list");
        let folders = steps
            .iter()
            .find(|step| step["name"] == "folders")
            .expect("it was played");
        assert_eq!(folders["notifications"], 1, "{phase}: the folder is known");
    }
}
