//! The purged lens of the C library behind wrappers: memory counts only where its process released freed memory.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use analysis::summary::{PurgeFailure, UnpurgedProcess};

use crate::fixture::SYSTEM;
use crate::ground::{LINKED_SYSTEM, PreparedWorkspace, scenario};
use crate::outcome::{MIB, Outcome, phase, private};
use crate::phases::{CLOSE_TWO, HOLDS, KEEPS, OPEN};
use crate::release::library;
use crate::soak::{START, Soak};

/// A server that a shell script starts.
fn behind(script: &str) -> Outcome {
    let soak = Soak::new(&format!("{START}{OPEN}{CLOSE_TWO}"))
        .script(script)
        .server(&HOLDS);
    let program = soak.workspace().with_file_name("scripted-server");
    let profile = format!(
        "[server.behind]\nprograms = ['{}']\nlanguages = ['python']\n{LINKED_SYSTEM}",
        program.display()
    );
    let shim = format!("--purge-shim={}", library().display());
    let options = [&["--lens", "purged", shim.as_str()], KEEPS.as_slice()].concat();
    soak.file("servers.toml", profile)
        .named("behind")
        .options(&options)
        .run()
}

/// A program without a loader that holds 8 MiB until its parent ends.
fn holder(place: &Path) {
    let text = "#include <signal.h>\n#include <stdlib.h>\n#include <string.h>\n#include <sys/prctl.h>\n#include \
                <unistd.h>\n\
                int main(void) {\n    prctl(PR_SET_PDEATHSIG, SIGKILL);\n    memset(malloc(8 << 20), 1, 8 << 20);\n    for (;;) \
                pause();\n}\n";
    let source = place.join("holder.c");
    fs::write(&source, text).expect("the place is ours");
    let built = Command::new("cc")
        .args(["-static", "-o"])
        .arg(place.join("holder"))
        .arg(source)
        .status();
    assert!(built.expect("there is a C compiler").success());
}

/// The processes that kept the last checkpoint from counting.
#[track_caller]
fn deaf(outcome: &Outcome) -> Vec<UnpurgedProcess> {
    let summary = outcome.passed();
    let last = phase(&summary, "close");
    let taken = last.checkpoint.as_ref().expect("it was taken");
    let known = [last.private, taken.resident, taken.proportional, taken.private_sampled];
    assert_eq!(known, [None; 4], "what was freed is in it");
    let unpurged = summary.allocator.unpurged.last().expect("it does not count");
    assert_eq!(unpurged.phase.name, "close");
    unpurged.processes.clone()
}

#[test]
fn a_server_behind_a_shell_counts_where_it_answers_itself() {
    for script in [r#"exec "$FIXTURE" "$@""#, "\"$FIXTURE\" \"$@\"\ntrue"] {
        let outcome = behind(script);
        let summary = outcome.passed();
        assert_eq!(summary.allocator.unpurged, [], "{script}");
        let taken = private(&summary, "close") - private(&summary, "start");
        assert!(taken.abs_diff(16 * MIB) < 2 * MIB, "{script}: {taken}");
        assert!(
            summary.allocator.listening.iter().all(|one| one.within.is_none()),
            "{:?}",
            summary.allocator.listening
        );
    }
}

#[test]
fn a_server_that_its_wrapper_kept_the_library_from_does_not_count_though_the_wrapper_answers() {
    let outcome = behind("env -u LD_PRELOAD \"$FIXTURE\" \"$@\"\ntrue");
    let silent = deaf(&outcome);
    let [server] = silent.as_slice() else {
        panic!("{silent:?}")
    };
    assert_eq!(
        (server.program.as_str(), &server.why),
        ("fixture-system", &PurgeFailure::Silent)
    );
    assert!(
        server.private.is_some_and(|held| held > 40 * MIB),
        "two of three were freed: {server:?}"
    );
    let summary = outcome.summary();
    let shell = summary.allocator.released.last().expect("the shell answered");
    assert!(shell.is_done() && shell.release.used.len() == 1, "{shell:?}");
    outcome.says(&[
        "through the purged lens: process",
        "(`fixture-system`,",
        "did not answer the request to purge",
    ]);
}

#[test]
fn a_static_program_in_the_tree_does_not_count() {
    let place = tempfile::tempdir().expect("there is a place for temporary files");
    holder(place.path());
    let outcome = behind(&format!(
        "'{}/holder' &\nexec \"$FIXTURE\" \"$@\"",
        place.path().display()
    ));
    let silent = deaf(&outcome);
    let names: Vec<&str> = silent.iter().map(|one| one.program.as_str()).collect();
    assert_eq!(names, ["holder"], "the server itself answered");
    assert!(silent[0].private.is_some_and(|held| held >= 8 * MIB), "{silent:?}");
}

#[test]
fn a_gate_does_not_decide_on_memory_that_was_freed() {
    let ground = PreparedWorkspace::new(
        &scenario("behind", "200ms", &format!("{START}{OPEN}{CLOSE_TWO}")),
        "def price(item):\n    return item\n",
    );
    ground.write(
        "launcher",
        &format!("#!/bin/sh\nenv -u LD_PRELOAD {SYSTEM} \"$@\"\ntrue\n"),
    );
    let launcher = ground.join("launcher");
    fs::set_permissions(&launcher, fs::Permissions::from_mode(0o755)).expect("the file is ours");
    let args = format!("args = {HOLDS:?}\n");
    ground.write(
        "servers.toml",
        &format!("[server.behind]\nprograms = [{launcher:?}]\nlanguages = ['python']\n{args}{LINKED_SYSTEM}"),
    );
    let shim = format!("--purge-shim={}", library().display());
    let words = [
        "gate", "scenario.toml", "--baseline", "behind", "--candidate", "behind", "--lens", "purged", "--runs", "2",
        "--out", "out", "-q", "--details", &shim,
    ];
    let (said, _) = ground.ends(2, &words);
    let plain = said.split_whitespace().collect::<Vec<&str>>().join(" ");
    for part in [
        "INCONCLUSIVE: ",
        "no usable data of the baseline",
        "baseline: freed memory may still be resident",
        "(`fixture-system`,",
        "did not answer the request to purge",
    ] {
        assert!(plain.contains(part), "`{part}` is not in\n{said}");
    }
    // The first block is enough to see it.
    assert!(plain.contains("baseline behind, 1 run +"), "{said}");
    assert_eq!(
        ground.ends(2, &["gate", "--from", "out", "--runs", "2", "--details"]).0,
        said
    );
}
