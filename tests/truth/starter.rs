//! The files of `lsp-soak init` are playable unchanged.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use analysis::summary;

use crate::fixture::{JEMALLOC, MIMALLOC, SYSTEM};

#[test]
fn the_starter_of_a_project_runs_as_it_is() {
    let directory = tempfile::tempdir().expect("there is a place for temporary files");
    let shop = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/workspaces/shop");
    let copied = Command::new("cp")
        .arg("-r")
        .arg(shop)
        .arg(directory.path().join("shop"))
        .status();
    assert!(copied.expect("cp is everywhere").success());
    for words in [
        &["init"][..],
        &["check", "lsp-soak/soak.toml"],
        &[
            "run", "lsp-soak/soak.toml", "--server", SYSTEM, "--out", "reports/first",
        ],
    ] {
        output_of(soak(directory.path(), words));
    }
    let record = directory.path().join("shop/reports/first/run-001-fixture-system.jsonl");
    let summary = summary::read(record::open(&record).expect("it was written")).expect("it is whole");
    let phases: Vec<&str> = summary.phases.iter().map(|phase| phase.phase.name.as_str()).collect();
    assert_eq!(phases, ["start", "goto", "completions", "symbols", "decay"]);
}

/// lsp-soak in the project `shop` of this directory.
fn soak(directory: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lsp-soak"));
    command
        .args(words)
        .current_dir(directory.join("shop"))
        .env("TMPDIR", directory);
    command
}

/// All that a command printed, which must succeed.
#[track_caller]
fn output_of(mut command: Command) -> String {
    let output = command.output().expect("lsp-soak is built beside its tests");
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{command:?}: {said}");
    said
}

/// The fixture takes the name of a known server, on each allocator in turn.
#[test]
fn the_second_server_of_the_starter_has_a_setting_that_its_allocator_takes() {
    for (program, variable) in [
        (JEMALLOC, "_RJEM_MALLOC_CONF = "),
        (MIMALLOC, "MIMALLOC_PURGE_DELAY = "),
        (SYSTEM, "MALLOC_ARENA_MAX = "),
    ] {
        let directory = tempfile::tempdir().expect("there is a place for temporary files");
        let place = &directory.path().join("shop");
        fs::create_dir(place).expect("the directory is ours");
        fs::write(place.join("a.py"), "def price(item):\n    return item\n").expect("the directory is ours");
        fs::create_dir(place.join("bin")).expect("the directory is ours");
        symlink(program, place.join("bin/ty")).expect("nothing is there yet");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths([place.join("bin")].into_iter().chain(std::env::split_paths(&path)));
        let path = path.expect("no directory has a colon");
        let mut init = soak(directory.path(), &["init"]);
        init.env("PATH", &path);
        output_of(init);
        let servers: PathBuf = place.join("lsp-soak/servers.toml");
        let text = fs::read_to_string(&servers).expect("it was written");
        let lines = text
            .lines()
            .skip_while(|line| !line.starts_with("# [server.ty-variant]"));
        let variant: Vec<&str> = lines.take(3).map(|line| line.trim_start_matches("# ")).collect();
        assert!(variant[2].contains(variable), "{variant:?}");
        // The real server has a serve argument that the fixture does not have.
        let edited = format!("[server.ty]\nargs = []\n{}\nargs = []\n", variant.join("\n"));
        fs::write(&servers, edited).expect("it is ours");
        let words = [
            "check", "lsp-soak/soak.toml", "--server", "ty", "--server", "ty-variant",
        ];
        let mut check = soak(directory.path(), &words);
        check.env("PATH", &path);
        let said = output_of(check);
        assert!(said.contains("`ty-variant` offers"), "{said}");
    }
}
