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
    let soak = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_lsp-soak"))
            .args(args)
            .current_dir(directory.path().join("shop"))
            .env("TMPDIR", directory.path())
            .output()
            .expect("lsp-soak is built beside its tests");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    soak(&["init"]);
    soak(&["check", "lsp-soak/soak.toml"]);
    let server = SYSTEM;
    soak(&[
        "run", "lsp-soak/soak.toml", "--server", server, "--out", "reports/first",
    ]);
    let record = directory.path().join("shop/reports/first/run-001-fixture-system.jsonl");
    let summary = summary::read(record::open(&record).expect("it was written")).expect("it is whole");
    let phases: Vec<&str> = summary.phases.iter().map(|phase| phase.phase.name.as_str()).collect();
    assert_eq!(phases, ["start", "goto", "completions", "symbols", "decay"]);
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
        let soak = |args: &[&str]| -> String {
            let output = Command::new(env!("CARGO_BIN_EXE_lsp-soak"))
                .args(args)
                .current_dir(place)
                .env("PATH", &path)
                .env("TMPDIR", directory.path())
                .output()
                .expect("lsp-soak is built beside its tests");
            let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
            assert!(output.status.success(), "{program}: {said}");
            said
        };
        soak(&["init"]);
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
        let said = soak(&[
            "check", "lsp-soak/soak.toml", "--server", "ty", "--server", "ty-variant",
        ]);
        assert!(said.contains("`ty-variant` offers"), "{said}");
    }
}
