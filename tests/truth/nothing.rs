//! Scenarios without requests or without targets, and the surroundings of a server without a profile.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use record::{EmptyStep, Ending};

use crate::ground::{PreparedWorkspace, scenario};
use crate::outcome::Outcome;
use crate::soak::{START, Soak};

#[track_caller]
fn empty(outcome: &Outcome) -> Vec<EmptyStep> {
    match outcome.summary().ending {
        Some(Ending::Empty { steps }) => steps,
        ending => panic!("{ending:?}\n{}", outcome.output()),
    }
}

#[test]
fn a_phase_without_a_place_in_any_file_is_told_before_anything_is_driven() {
    let phases = "[[phase]]\nname = \"goto\"\nsteps = [{ open = { files = 3 } }, { definition = {} }]\n";
    let outcome = Soak::new(&format!("{START}{phases}"))
        .options(&["--language", "plaintext", "--files", "*.py"])
        .run();
    outcome.exits_with(2);
    outcome.says(&["`definition` in phase `goto` of `truth` has no target: no names in 3 plaintext files"]);
    assert!(!outcome.record.exists(), "nothing was played");
}

#[test]
fn a_step_without_a_place_ends_the_run_with_the_reason_and_blames_nobody() {
    let phases = r#"
[[phase]]
name = "look"
steps = [{ open = { files = 3 } }, { hover = {} }, { document-symbol = { expect = "anything" } }]
"#;
    let outcome = Soak::new(&format!("{START}{phases}"))
        .options(&["--language", "plaintext", "--files", "*.py"])
        .server(&["--empty-results"])
        .run();
    outcome.exits_with(2);
    let steps = empty(&outcome);
    assert_eq!(steps.len(), 1, "{steps:?}");
    assert_eq!((steps[0].step.as_str(), steps[0].requests), ("hover", 0));
    outcome.says(&[
        "a step found no target in the opened files",
        "`hover` in phase `look` asked nothing: it found no names in 3 open plaintext files",
    ]);
}

#[test]
fn a_step_without_a_place_beside_others_that_found_something_is_a_warning() {
    let phases = r#"
[[phase]]
name = "look"
steps = [{ open = { files = 3 } }, { hover = {} }, { document-symbol = {} }]
"#;
    let outcome = Soak::new(&format!("{START}{phases}"))
        .options(&["--language", "plaintext", "--files", "*.py"])
        .run();
    outcome.exits_with(0);
    outcome.says(&["`hover` of look asked nothing: it found no names in 3 open plaintext files"]);
}

#[test]
fn a_run_whose_every_question_was_left_out_measured_nothing() {
    let phases = r#"
[[phase]]
name = "refactor"
steps = [{ open = { files = 1 } }, { rename = {} }, { implementation = { optional = true } }]
"#;
    let outcome = Soak::new(&format!("{START}{phases}"))
        .options(&["--allow-unsupported"])
        .run();
    outcome.exits_with(4);
    let lacks: Vec<Option<String>> = empty(&outcome).into_iter().map(|step| step.lacks).collect();
    let methods = ["textDocument/rename", "textDocument/implementation"];
    assert_eq!(lacks, methods.map(|method| Some(method.to_owned())));
    outcome.says(&["the server supports nothing that the scenario asks for"]);
}

#[test]
fn a_run_that_typed_has_measured_that_though_every_question_was_left_out() {
    let phases = r#"
[[phase]]
name = "write"
steps = [{ open = { files = 1 } }, { type = { per-file = 1, cadence = "0s" } }, { rename = {} }]
"#;
    let outcome = Soak::new(&format!("{START}{phases}"))
        .options(&["--allow-unsupported"])
        .run();
    outcome.exits_with(0);
}

#[test]
fn a_server_without_a_profile_has_a_home_of_the_run_and_arguments_with_its_directories() {
    let directory = tempfile::tempdir().expect("there is a place for temporary files");
    let told = directory.path().join("told");
    let homes = directory.path().join("homes");
    let script = format!(
        "echo \"$HOME\" >> '{}'\nprintf '%s\\n' \"$HOME\" \"$XDG_CACHE_HOME\" \"$1\" \"$2\" > '{}'\nexec \"$FIXTURE\"",
        homes.display(),
        told.display()
    );
    let phases = "[[phase]]\nname = \"hover\"\nsteps = [{ open = { files = 1 } }, { hover = {} }]\n";
    let outcome = Soak::new(&format!("{START}{phases}"))
        .server(&["--root=${workspace}", "${cache}/data"])
        .script(&script)
        .run();
    outcome.passed();
    let told = fs::read_to_string(told).expect("the server was started");
    let told: Vec<&str> = told.lines().collect();
    let [home, cache, root, data] = told.as_slice() else {
        panic!("{told:?}")
    };
    let user = std::env::var("HOME").unwrap_or_default();
    assert!(home.ends_with("/cache/home") && *home != user, "{told:?}");
    assert!(
        *cache == format!("{home}/.cache") && *data == home.replace("/home", "/data"),
        "{told:?}"
    );
    assert!(root.starts_with("--root=/") && !root.contains('$'), "{told:?}");
    let homes = fs::read_to_string(homes).expect("the server was started");
    // Also when only asked for its version.
    assert!(
        homes.lines().count() > 1 && homes.lines().all(|one| one.ends_with("/cache/home")) && homes.contains(home),
        "{homes}"
    );
}

#[test]
fn nothing_is_started_to_ask_for_the_width_of_a_terminal_that_is_not_there() {
    let directory = tempfile::tempdir().expect("there is a place for temporary files");
    let (tput, ran) = (directory.path().join("tput"), directory.path().join("ran"));
    fs::write(&tput, format!("#!/bin/sh\ntouch '{}'\necho 80\n", ran.display())).expect("the directory is ours");
    fs::set_permissions(&tput, fs::Permissions::from_mode(0o755)).expect("the file is ours");
    let path = format!("PATH={}:/usr/bin:/bin", directory.path().display());
    let phases = "[[phase]]\nname = \"hover\"\nsteps = [{ open = { files = 1 } }, { hover = {} }]\n";
    Soak::new(&format!("{START}{phases}"))
        .wrap(&["setsid", "--wait", "env", "-u", "COLUMNS", &path])
        .run()
        .passed();
    assert!(!ran.exists(), "`tput` ran");
}

#[test]
fn a_server_that_lacks_a_step_is_refused_before_the_warm_up_of_any_other() {
    let phases = "[[phase]]\nname = \"refactor\"\nsteps = [{ open = { files = 1 } }, { rename = {} }]\n";
    let ground = PreparedWorkspace::new(
        &scenario("pair", "200ms", &format!("{START}{phases}")),
        "price = 1\nprice\n",
    )
    .with_server("one", &[], "")
    .with_server("other", &["--ballast", "1MiB"], "");
    let run = ["run", "scenario.toml", "--server", "one", "--server", "other"];
    let (_, said) = ground.ends(4, &[&run[..], &["--runs", "1", "--out", "records"]].concat());
    assert!(said.contains("`one` lacks steps that `pair` requires"), "{said}");
    assert!(
        said.contains("`rename` in phase `refactor` needs `textDocument/rename`"),
        "{said}"
    );
    assert!(said.contains("one run of each server shows no difference"), "{said}");
    assert!(!said.contains("begins"), "{said}");
    assert!(ground.records("records").is_empty());
    let gate = ["gate", "scenario.toml", "--baseline", "one", "--candidate", "other"];
    let (_, said) = ground.ends(4, &gate);
    assert!(said.contains("lacks steps"), "{said}");
}

#[test]
fn a_server_that_fails_to_start_is_seen_before_the_warm_up_of_any_other_and_leaves_no_record() {
    let ground = PreparedWorkspace::pair()
        .with_server("good", &[], "")
        .with_server("bad", &["--nonsense"], "");
    let run = [
        "run", "scenario.toml", "--server", "good", "--server", "bad", "--runs", "3",
    ];
    let (report, said) = ground.ends(4, &run);
    assert!(report.contains("unexpected argument '--nonsense' found"), "{report}");
    assert!(
        said.contains("bad begins") && !said.contains("good begins"),
        "only the one that fails is run: {said}"
    );
    assert!(said.contains("no record is kept: `--out DIR` keeps it"), "{said}");
    assert!(!ground.join("reports").exists());
    ground.ends(4, &[&run[..], &["--out", "kept"]].concat());
    assert_eq!(ground.records("kept").len(), 1);
    let (verdict, _) = ground.ends(
        4,
        &[
            "gate", "scenario.toml", "--baseline", "good", "--candidate", "bad", "--out", "gate",
        ],
    );
    assert!(
        verdict.starts_with("REFUSED: the candidate failed the scenario: crashed"),
        "{verdict}"
    );
    assert!(ground.join("gate/gate.json").exists());
}
