//! What `lsp-soak init` writes is played as it is.

use std::path::Path;
use std::process::Command;

use lsp_soak::analyse;
use lsp_soak::record;

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
    let server = env!("CARGO_BIN_EXE_fixture-system");
    soak(&[
        "run", "lsp-soak/soak.toml", "--server", server, "--out", "reports/first",
    ]);
    let record = directory.path().join("shop/reports/first/run-001-fixture-system.jsonl");
    let summary = analyse::read(record::open(&record).expect("it was written")).expect("it is whole");
    let phases: Vec<&str> = summary.phases.iter().map(|phase| phase.phase.name.as_str()).collect();
    assert_eq!(phases, ["start", "goto", "completions", "symbols", "decay"]);
}
