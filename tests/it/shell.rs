//! Completions, manual pages and schemas work in their programs.

use std::fs;
use std::path::Path;
use std::process::Command;

use lsp_soak::config::{Kind, schema};

/// The stdout of `lsp-soak`, which must succeed.
fn printed(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_lsp-soak"))
        .args(args)
        .output()
        .expect("lsp-soak runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("it is text")
}

/// True if an optional program is installed.
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
fn who_types_nothing_is_shown_three_commands_to_try() {
    let output = Command::new(env!("CARGO_BIN_EXE_lsp-soak"))
        .output()
        .expect("lsp-soak runs");
    let text = String::from_utf8(output.stderr).expect("it is text");
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty() && text.lines().count() < 12, "{text}");
    assert_eq!(text.matches("\n  lsp-soak ").count(), 3, "{text}");
}

#[test]
fn installed_servers_are_listed_and_the_others_counted() {
    let all = printed(&["servers", "--all"]);
    let few = printed(&["servers"]);
    let last = few.lines().last().expect("there are lines");
    let known = all.lines().skip_while(|line| !line.contains(" more known")).skip(1);
    assert_eq!(
        last,
        format!(
            "{} more are known and not installed: lsp-soak servers --all",
            known.clone().count()
        ),
        "{few}"
    );
    for line in known {
        let name = line.split_whitespace().next().expect("a line begins with a name");
        assert!(!few.contains(&format!("  {name} ")), "{name} is listed as installed");
    }
}

#[test]
fn lines_about_servers_are_as_wide_as_the_terminal() {
    let nothing = tempfile::tempdir().expect("there is a place for temporary files");
    for all in [&["servers"][..], &["servers", "--all"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_lsp-soak"))
            .args(all)
            .env("PATH", nothing.path())
            .env("COLUMNS", "60")
            .output()
            .expect("lsp-soak runs");
        let text = String::from_utf8(output.stdout).expect("it is text");
        assert!(text.contains("no known server is installed"), "{text}");
        let longest = text.lines().map(|line| line.chars().count()).max();
        assert!(longest <= Some(60), "{text}");
    }
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
    // Without a matching name bash completes files.
    assert_eq!(completed(&["lsp-soak", "run", "--server", "./"]), "");
    assert!(printed(&["completions", "bash"]).contains("-o default lsp-soak"));
}

/// Starts of command lines, each with the shell's completion.
const COMPLETED: [(&str, &str); 4] = [
    ("cal", "calibrate"),
    ("run --time", "run --time-budget"),
    ("compare --format mark", "compare --format markdown"),
    ("run --server rust-a", "run --server rust-analyzer"),
];

/// Presses the key in a terminal, since zsh completes nowhere else, and then runs the line.
const ZSH: &str = r#"
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "PS1=@''@; fpath=($1 \$fpath); autoload -U compinit; compinit -u -D; lsp-soak() { print -r -- \"<\$*>\" }"
for line in "${@:2}"; do zpty -r z shown '*@@*'; zpty -w z "lsp-soak $line"$'\t'; zpty -r z shown '*>*'; print -r -- "$shown"; done
"#;

#[test]
fn zsh_fish_and_powershell_complete_commands_options_and_values() {
    let directory = tempfile::tempdir().expect("there is a place for temporary files");
    if is_here("zsh") {
        write_script(directory.path(), "zsh", "_lsp-soak");
        let place = directory.path().display().to_string();
        let lines = COMPLETED.map(|(line, _)| line);
        let shown = output_of("zsh", &[&["-f", "-c", ZSH, "zsh", &place][..], &lines].concat());
        for (line, completed) in COMPLETED {
            assert!(shown.contains(&format!("<{completed}")), "{line}: {shown}");
        }
        assert!(
            !shown.contains("parse error") && !shown.contains("not found"),
            "{shown}"
        );
    }
    for (line, completed) in COMPLETED {
        let last = completed.rsplit(' ').next().unwrap_or_default();
        if is_here("fish") {
            let script = write_script(directory.path(), "fish", "lsp-soak.fish");
            let shown = output_of(
                "fish",
                &["-N", "-c", &format!("source '{script}'; complete -C 'lsp-soak {line}'")],
            );
            assert!(shown.starts_with(last), "{line}: {shown}");
        }
        if is_here("pwsh") {
            let script = write_script(directory.path(), "powershell", "lsp-soak.ps1");
            let words = format!("lsp-soak {line}");
            let ask = format!(
                ". '{script}'; (TabExpansion2 '{words}' {}).CompletionMatches.CompletionText",
                words.len()
            );
            let shown = output_of("pwsh", &["-NoProfile", "-Command", &ask]);
            assert!(shown.starts_with(last), "{line}: {shown}");
        }
    }
}

/// Writes the completions for a shell into a file. Returns its path.
fn write_script(directory: &Path, shell: &str, name: &str) -> String {
    let path = directory.join(name);
    fs::write(&path, printed(&["completions", shell])).expect("the directory is ours");
    path.display().to_string()
}

/// The stdout of a shell that must succeed.
#[track_caller]
fn output_of(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output().expect("the shell is here");
    assert!(
        output.status.success(),
        "{program}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_server_is_completed_by_its_name_or_its_path() {
    let zsh = printed(&["completions", "zsh"]);
    let option = zsh
        .lines()
        .find(|line| line.contains("--server="))
        .expect("there is such an option");
    assert!(
        option.contains(r"servers\:server\:(") && option.contains("rust-analyzer") && option.contains("_files"),
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
    for page in &pages {
        let text = fs::read_to_string(page.path()).expect("it was written");
        let lines: Vec<&str> = text.lines().collect();
        let options = lines.windows(3).filter(|lines| lines[0] == ".TP");
        for option in options {
            assert!(
                !option[2].starts_with(".TP") && !option[2].starts_with(".SH"),
                "{}",
                option[1]
            );
        }
    }
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
