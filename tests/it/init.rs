//! `lsp-soak init` writes a valid starter for every language, and overwrites nothing.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Output and exit code of `lsp-soak`.
fn soak(directory: &Path, args: &[&str]) -> (String, Option<i32>) {
    let output = Command::new(env!("CARGO_BIN_EXE_lsp-soak"))
        .args(args)
        .current_dir(directory)
        .output()
        .expect("lsp-soak runs");
    let text = [output.stdout, output.stderr].concat();
    (String::from_utf8_lossy(&text).into_owned(), output.status.code())
}

/// A project of these files.
fn project(files: &[&str]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("there is a place for temporary files");
    for file in files {
        let path = directory.path().join(file);
        fs::create_dir_all(path.parent().expect("it is below the directory")).expect("the directory is ours");
        let manifest = [".json", ".toml", ".mod"].iter().any(|end| file.ends_with(end));
        // A target for requests in any language.
        let text = if manifest { "" } else { "value.member(other)\n" };
        fs::write(path, text).expect("the directory is ours");
    }
    directory
}

#[test]
fn every_language_has_a_starter_without_mistakes() {
    for (language, files) in [
        ("python", &["pyproject.toml", "shop/a.py"][..]),
        ("rust", &["Cargo.toml", "src/main.rs"]),
        ("go", &["go.mod", "main.go"]),
        ("typescript", &["package.json", "tsconfig.json", "src/a.ts"]),
        ("typescriptreact", &["src/a.tsx"]),
        ("javascript", &["package.json", "a.js", "README.md", "b.md"]),
        ("javascriptreact", &["a.jsx"]),
        ("c", &["Makefile", "a.c", "b.c", "a.h"]),
        ("cpp", &["compile_commands.json", "a.cc", "a.h"]),
        ("lua", &["init.lua"]),
        ("zig", &["build.zig", "src/main.zig"]),
    ] {
        let project = project(files);
        let (said, code) = soak(project.path(), &["init"]);
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains(&format!("\n\n{language}: ")), "{said}");
        let command = said
            .lines()
            .find_map(|line| line.trim().strip_prefix("lsp-soak check "));
        let (said, code) = soak(project.path(), &["check", command.expect("it is told")]);
        assert_eq!(code, Some(0), "{language}: {said}");
        let (said, code) = soak(
            project.path(),
            &["servers", "--all", "--servers", "lsp-soak/servers.toml"],
        );
        assert_eq!(code, Some(0), "{language}: {said}");
        for file in ["soak.toml", "servers.toml"] {
            uncomment(&project.path().join("lsp-soak").join(file));
        }
        let (said, code) = soak(project.path(), &["check", command.expect("it is told")]);
        assert_eq!(code, Some(0), "{language}, uncommented: {said}");
        assert!(said.contains("hover-again"), "{said}");
    }
}

/// Uncomments every table and key.
fn uncomment(path: &Path) {
    let text = fs::read_to_string(path).expect("it was written");
    let lines = text.lines().map(|line| match line.strip_prefix("# ") {
        Some(line) if line.starts_with('[') || has_key(line) => line,
        _ => line,
    });
    let edited = lines.collect::<Vec<&str>>().join("\n");
    assert!(edited.lines().count() > 10 && edited != text, "{edited}");
    fs::write(path, edited).expect("it is ours");
}

fn has_key(line: &str) -> bool {
    line.split_once(" = ").is_some_and(|(key, _)| {
        key.chars()
            .all(|one| one.is_ascii_lowercase() || one == '-' || one == '.')
    })
}

#[test]
fn built_javascript_and_what_git_ignores_count_for_nothing() {
    let project = project(&[
        "src/main.ts", "src/main.js", "dist/a.js", "dist/b.js", "dist/c.js", "tsconfig.json", "package.json",
        "generated/a.py", "generated/b.py", "generated/c.py",
    ]);
    fs::write(project.path().join(".gitignore"), "generated/\n").expect("it is ours");
    let (said, code) = soak(project.path(), &["init"]);
    assert!(said.contains("\n\ntypescript: 1 file, tsconfig.json\n"), "{said}");
    assert!(!said.contains("also:") && code == Some(0), "{said}");
}

#[test]
fn what_most_files_are_in_counts_unless_another_language_is_asked_for() {
    let project = project(&[
        "a.py", "b.py", "a.lua", "node_modules/x.ts", "node_modules/y.ts", "node_modules/z.ts",
    ]);
    let (said, _) = soak(project.path(), &["init"]);
    assert!(
        said.contains("\n\npython: 2 files\nalso: lua: 1 file (--language lua)\n"),
        "{said}"
    );
    assert!(said.contains("lsp-soak check lsp-soak/soak.toml\n"), "{said}");
    let (said, code) = soak(project.path(), &["init", "--force", "--language", "lua"]);
    assert!(said.contains("\n\nlua: 1 file\n") && code == Some(0), "{said}");
    let scenario = fs::read_to_string(project.path().join("lsp-soak/soak.toml")).expect("it was written");
    assert!(scenario.contains("language = \"lua\""), "{scenario}");
}

#[test]
fn where_no_server_is_installed_it_is_told_how_one_is() {
    let project = project(&["go.mod", "main.go"]);
    let output = Command::new(env!("CARGO_BIN_EXE_lsp-soak"))
        .arg("init")
        .current_dir(project.path())
        .env("PATH", project.path())
        .output()
        .expect("lsp-soak runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        said.contains("install one, or name yours by its path\n  gopls: go install golang.org/x/tools/gopls@latest\n"),
        "{said}"
    );
}

#[test]
fn the_second_server_of_the_starter_is_the_first_under_other_settings() {
    let project = project(&["a.py"]);
    soak(project.path(), &["init"]);
    let path = project.path().join("lsp-soak/servers.toml");
    let text = fs::read_to_string(&path).expect("it was written");
    let mut uncommented = false;
    // As the comment above those lines instructs.
    let lines = text.lines().map(|line| {
        uncommented = (uncommented || line.contains("-variant]")) && !line.is_empty();
        if uncommented {
            line.trim_start_matches("# ")
        } else {
            line
        }
    });
    let edited = lines.collect::<Vec<&str>>().join("\n");
    assert!(edited.contains("\ninherits = "), "{edited}");
    fs::write(&path, &edited).expect("it is ours");
    let (said, code) = soak(
        project.path(),
        &["servers", "--all", "--servers", "lsp-soak/servers.toml"],
    );
    assert_eq!(code, Some(0), "{said}");
    let first = edited
        .split("inherits = \"")
        .nth(1)
        .and_then(|rest| rest.split('"').next());
    let first = first.expect("it inherits");
    assert_eq!(
        listed_program(&said, first),
        listed_program(&said, &format!("{first}-variant"))
    );
}

/// The last word of a server's line in the list.
#[track_caller]
fn listed_program<'s>(said: &'s str, name: &str) -> Option<&'s str> {
    let line = said.lines().find(|line| line.split_whitespace().next() == Some(name));
    let line = line.unwrap_or_else(|| panic!("no {name}: {said}"));
    line.split_whitespace().last()
}

#[test]
fn what_is_there_is_not_overwritten() {
    let project = project(&["a.py", "lsp-soak/servers.toml"]);
    let (said, code) = soak(project.path(), &["init"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("servers.toml` is there already") && said.contains("--force"),
        "{said}"
    );
    assert!(!project.path().join("lsp-soak/soak.toml").exists());
    assert_eq!(soak(project.path(), &["init", "--force"]).1, Some(0));
}

#[test]
fn a_language_that_is_not_known_is_told_with_those_that_are() {
    let project = project(&["a.cobol"]);
    for (args, words) in [
        (&["init"][..], "there are python, rust, go, c, cpp"),
        (&["init", "--language", "pyhton"], "did you mean `python`?"),
        (&["init", "--language", "rust"], "has no file of the language `rust`"),
        (&["init", "nowhere"], "there is no directory `nowhere`"),
    ] {
        let (said, code) = soak(project.path(), args);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(words), "{said}");
    }
}

#[cfg(unix)]
#[test]
fn a_full_disk_leaves_no_part_of_a_file() {
    let directory = project(&["pyproject.toml", "shop/a.py"]);
    let scenario = directory.path().join("lsp-soak/schemas/scenario.json");
    fs::create_dir_all(scenario.parent().expect("it is below the directory")).expect("the directory is ours");
    fs::write(&scenario, "as it was").expect("the directory is ours");
    // A file size limit acts like a full disk, and needs no right to mount one.
    let output = Command::new("sh")
        .args(["-c", "ulimit -f 16; trap '' XFSZ; exec \"$0\" init --force"])
        .arg(env!("CARGO_BIN_EXE_lsp-soak"))
        .current_dir(directory.path())
        .output()
        .expect("there is a shell");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        text.contains(
            "scenario.json`, which is left as it was; make room, and call `lsp-soak init --force`: File too large"
        ),
        "{text}"
    );
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(fs::read_to_string(&scenario).expect("it is there"), "as it was");
    let beside = fs::read_dir(directory.path().join("lsp-soak/schemas")).expect("it is there");
    assert_eq!(beside.count(), 1, "nothing else is left");
}
