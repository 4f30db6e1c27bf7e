//! What shells and readers of manuals are given works there.

use std::fs;
use std::process::Command;

use lsp_soak::config::{Kind, schema};

/// What `lsp-soak` prints, which must succeed.
fn printed(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_lsp-soak"))
        .args(args)
        .output()
        .expect("lsp-soak runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("it is text")
}

/// Whether a program that is not everywhere is here.
fn is_here(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

/// The words that bash offers at the end of a line.
fn completed(line: &[&str]) -> String {
    let directory = tempfile::tempdir().expect("there is a place for temporary files");
    let script = directory.path().join("lsp-soak.bash");
    fs::write(&script, printed(&["completions", "bash"])).expect("the directory is ours");
    let words: Vec<String> = line.iter().map(|word| format!("'{word}'")).collect();
    let last = words.len() - 1;
    let program = format!(
        "source '{}'; COMP_WORDS=({}); COMP_CWORD={last}; \
         set -- $(complete -p lsp-soak); while [ \"$1\" != -F ]; do shift; done; \"$2\" lsp-soak {} {}; echo \"${{COMPREPLY[*]}}\"",
        script.display(),
        words.join(" "),
        words[last],
        words[last - 1],
    );
    let output = Command::new("bash")
        .args(["--norc", "-c", &program])
        .output()
        .expect("bash is here");
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[test]
fn bash_completes_commands_options_and_values() {
    if !is_here("bash") {
        return;
    }
    assert_eq!(completed(&["lsp-soak", "cal"]), "calibrate");
    assert_eq!(completed(&["lsp-soak", "run", "--time"]), "--time-budget");
    assert_eq!(completed(&["lsp-soak", "compare", "--format", "mark"]), "markdown");
    assert_eq!(completed(&["lsp-soak", "run", "--server", "rust"]), "rust-analyzer");
    assert_eq!(completed(&["lsp-soak", "gate", "--candidate", "base"]), "basedpyright");
    // No name fits: what bash is told then is to look for files.
    assert_eq!(completed(&["lsp-soak", "run", "--server", "./"]), "");
    assert!(printed(&["completions", "bash"]).contains("-o default lsp-soak"));
}

#[test]
fn a_server_is_completed_by_its_name_or_its_path() {
    let zsh = printed(&["completions", "zsh"]);
    let option = zsh
        .lines()
        .find(|line| line.contains("--server="))
        .expect("there is such an option");
    assert!(
        option.contains("servers:server:(") && option.contains("rust-analyzer") && option.contains("_files"),
        "{option}"
    );
    let fish = printed(&["completions", "fish"]);
    let option = fish
        .lines()
        .find(|line| line.contains("-l server -d"))
        .expect("there is such an option");
    assert!(option.contains("-r -F -a \"basedpyright"), "{option}");
    assert!(!zsh.contains("fixture-") && !fish.contains("fixture-"));
}

#[test]
fn directories_are_completed_where_one_is_wanted() {
    let zsh = printed(&["completions", "zsh"]);
    for option in ["--workspace=", "--out=", "--resume="] {
        let line = zsh
            .lines()
            .find(|line| line.contains(option))
            .expect("there is such an option");
        assert!(line.contains("_files -/"), "{line}");
    }
    let from = zsh
        .lines()
        .find(|line| line.contains("--from="))
        .expect("there is such an option");
    assert!(from.contains(":_files'"), "{from}");
}

#[test]
fn every_shell_has_its_completions() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(printed(&["completions", shell]).contains("calibrate"), "{shell}");
    }
}

#[test]
fn every_command_has_a_page_that_groff_finds_nothing_wrong_with() {
    let directory = tempfile::tempdir().expect("there is a place for temporary files");
    let out = directory.path().join("man1");
    printed(&["man", "--out", out.to_str().expect("its name is text")]);
    let pages: Vec<_> = fs::read_dir(&out).expect("it was made").map(Result::unwrap).collect();
    for name in ["lsp-soak.1", "lsp-soak-run.1", "lsp-soak-gate.1"] {
        assert!(out.join(name).is_file(), "{name}");
    }
    assert_eq!(
        fs::read_to_string(out.join("lsp-soak.1")).expect("it was written"),
        printed(&["man"])
    );
    if !is_here("groff") {
        return;
    }
    for page in pages {
        let lint = Command::new("groff")
            .args(["-man", "-Tutf8", "-ww", "-z", "-K", "utf8"])
            .arg(page.path())
            .output()
            .expect("groff is here");
        assert!(
            lint.status.success() && lint.stderr.is_empty(),
            "{}: {}",
            page.path().display(),
            String::from_utf8_lossy(&lint.stderr)
        );
    }
}

#[test]
fn a_schema_is_printed_as_it_is_checked_in() {
    for kind in Kind::ALL {
        assert_eq!(printed(&["schema", kind.name()]), schema::text(kind));
    }
}
