//! Files that a server replaces, removes or makes huge while it runs.

use record::Ending;

use crate::faults::failed;
use crate::outcome::phase;
use crate::soak::{START, Soak};

const OPEN_LATER: &str = r#"
[[phase]]
name = "look"
steps = [{ open = { files = 2 } }, { hover = { per-file = 2 } }, { save = {} }, { touch = { files = 3 } }]
"#;

#[test]
fn files_that_a_server_replaces_or_removes_end_the_run_in_time_and_in_words() {
    for (what, why) in [
        ("nothing", "No such file"),
        ("pipe", "it is not a regular file"),
        ("zero", "it is not a regular file"),
        ("hole", "it has over 1.0 MiB"),
    ] {
        let outcome = Soak::new(&format!("{START}{OPEN_LATER}"))
            .server(&["--replace-files", what])
            .run();
        match failed(&outcome) {
            Ending::Emptied { reason } => {
                assert!(
                    reason.contains("can no longer be opened") && reason.contains(why),
                    "{reason}"
                );
            }
            ending => panic!("{ending:?}"),
        }
        outcome.says(&["no file of the workspace can be opened any more", why]);
        assert!(!outcome.stderr.contains("interpreter"), "{}", outcome.stderr);
    }
}

#[test]
fn a_file_that_is_replaced_while_it_is_open_is_told_and_what_is_open_is_asked_about() {
    // Opening comes first: the server replaces its files at the next start.
    let phases = r#"
[[phase]]
name = "look"
steps = [{ open = { files = 2 } }, { restart = { reopen = true } }, { hover = { per-file = 2 } }, { save = {} }, { touch = { files = 3 } }]
"#;
    let again = "case \"$*\" in *--version*) exec \"$FIXTURE\" --version ;; esac\n[ -e \"$0.again\" ] && set -- --replace-files pipe\n: >\"$0.again\"\nexec \"$FIXTURE\" \"$@\"";
    let outcome = Soak::new(&format!("{START}{phases}")).script(again).run();
    let summary = outcome.passed();
    let step = &phase(&summary, "look").steps[2];
    assert_eq!(
        (step.requests, step.hits),
        (Some(4), Some(4)),
        "documents are the client's"
    );
    let texts = summary.log.warnings.iter().map(|warning| warning.text.as_str());
    let told: Vec<&str> = texts
        .filter(|text| text.contains("cannot be written any more"))
        .collect();
    assert_eq!(told.len(), 2, "each step once: {told:?}");
    assert_eq!(told.concat().matches(".py`").count(), 3, "each file once: {told:?}");
}

#[test]
fn a_program_that_its_server_removes_is_no_failure_of_ours() {
    let phases = "[[phase]]\nname = \"again\"\nsteps = [{ restart = {} }]";
    let outcome = Soak::new(&format!("{START}{phases}"))
        .script("case \"$*\" in *--version*) ;; *) rm \"$0\" ;; esac; exec \"$FIXTURE\" \"$@\"")
        .run();
    match failed(&outcome) {
        Ending::Refused { reason } => assert!(reason.contains("could not be started again"), "{reason}"),
        ending => panic!("{ending:?}"),
    }
}

#[test]
fn a_huge_file_of_the_workspace_is_neither_written_out_nor_opened() {
    let soak = Soak::new(&format!("{START}{OPEN_LATER}"));
    let huge = soak.workspace().join("huge.py");
    std::fs::File::create(huge)
        .and_then(|file| file.set_len(8 << 30))
        .expect("the directory is ours");
    let outcome = soak.run();
    let summary = outcome.passed();
    assert!(outcome.took < std::time::Duration::from_secs(60), "{:?}", outcome.took);
    outcome.says(&["1 file matching `files` not opened, beside 3 others: larger than 4.0 MiB (--largest-file)"]);
    let opened = &phase(&summary, "look").steps[0];
    assert_eq!(opened.notifications, Some(2));
}
