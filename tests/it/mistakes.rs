//! Several mistakes on one command line are reported together, before any start.

use std::fs;
use std::path::Path;
use std::process::Command;

const SCENARIO: &str = r#"format = 1
name = "many"
sed = 3
[workspace]
path = "project"
language = "python"
[[phase]]
name = "start"
steps = [{ start = {} }, { opne = {} }]
"#;

const SERVERS: &str = "[server.mine]\nargz = [\"x\"]\n";

/// Messages of `lsp-soak run` without colours, and its exit code.
fn run(directory: &Path, args: &[&str]) -> (String, Option<i32>) {
    run_by(Command::new(env!("CARGO_BIN_EXE_lsp-soak")), directory, args)
}

/// Messages and exit code of any subcommand.
fn soak(directory: &Path, args: &[&str]) -> (String, Option<i32>) {
    messages_of(Command::new(env!("CARGO_BIN_EXE_lsp-soak")), directory, args)
}

/// As [`run`], with a prepared command.
fn run_by(mut command: Command, directory: &Path, args: &[&str]) -> (String, Option<i32>) {
    command.arg("run");
    messages_of(command, directory, args)
}

fn messages_of(mut command: Command, directory: &Path, args: &[&str]) -> (String, Option<i32>) {
    let output = command
        .args(args)
        .current_dir(directory)
        .env("TMPDIR", directory)
        .output()
        .expect("lsp-soak runs");
    (
        String::from_utf8_lossy(&output.stderr).into_owned(),
        output.status.code(),
    )
}

fn directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("there is a place for temporary files");
    for name in ["project", "full"] {
        fs::create_dir(directory.path().join(name)).expect("the directory is ours");
    }
    for (name, text) in [
        ("project/a.py", "a = 1\n"),
        ("full/old", ""),
        ("scenario.toml", SCENARIO),
        ("servers.toml", SERVERS),
        ("options.json", "{\n  \"a\": tru\n}\n"),
    ] {
        write(&directory, name, text);
    }
    directory
}

fn write(directory: &tempfile::TempDir, name: &str, text: &str) {
    fs::write(directory.path().join(name), text).expect("the directory is ours");
}

#[test]
fn mistakes_of_every_kind_are_told_in_one_list() {
    let directory = directory();
    let line = "scenario.toml none.toml --server no-such-server --server bad*label:mine --init-options options.json \
                --settings none.json --env NOTHING --isolation magic --out full";
    let (said, code) = run(directory.path(), &line.split(' ').collect::<Vec<&str>>());
    assert_eq!(code, Some(2), "{said}");
    for part in [
        "`sed`",
        "scenario.toml:3:1",
        "`opne`",
        "`none.toml`",
        "`argz`",
        "servers.toml:2:1",
        "there is no server `no-such-server`",
        "`bad*label` cannot be a label",
        "options.json:2:10",
        "cannot read `none.json`: there is no such file",
        "`--env NOTHING` sets no variable",
        "`--isolation magic` is unknown",
        "`full` is not empty",
    ] {
        assert!(said.contains(part), "`{part}` is not told:\n{said}");
    }
    assert_eq!(said.matches("error: ").count(), 11, "{said}");
}

#[test]
fn a_server_that_only_a_broken_file_may_know_is_not_called_unknown() {
    let directory = directory();
    fs::write(directory.path().join("servers.toml"), "[server.mine\n").expect("the directory is ours");
    let (said, code) = run(directory.path(), &["scenario.toml", "--server", "mine"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("servers.toml:1") && !said.contains("there is no server"),
        "{said}"
    );
}

#[cfg(unix)]
#[test]
fn an_isolation_that_is_not_possible_here_is_told_before_anything_is_started() {
    let directory = directory();
    let scenario = SCENARIO
        .replace("sed = 3\n", "")
        .replace("{ opne = {} }", "{ open = {} }");
    fs::write(directory.path().join("scenario.toml"), scenario).expect("the directory is ours");
    fs::write(directory.path().join("servers.toml"), "").expect("the directory is ours");
    // An overlay cannot use this path, whoever the user is.
    fs::rename(directory.path().join("project"), directory.path().join("a,b")).expect("the directory is ours");
    let args = "scenario.toml --server none --workspace a,b --isolation overlay";
    let (said, code) = run(directory.path(), &args.split(' ').collect::<Vec<&str>>());
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("cannot mount an overlay over"), "{said}");
    assert!(said.contains("`--isolation copy`"), "{said}");
    assert!(said.contains("there is no server `none`"), "{said}");
    assert!(!directory.path().join("reports").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_tracer_that_is_missing_is_one_of_the_mistakes_and_names_its_package() {
    let directory = directory();
    let mut command = Command::new(env!("CARGO_BIN_EXE_lsp-soak"));
    command.env("PATH", directory.path());
    let line = ["none.toml", "--server", "/bin/true", "--trace-syscalls"];
    let (said, code) = run_by(command, directory.path(), &line);
    assert_eq!(code, Some(2), "{said}");
    for part in ["`none.toml`", "`strace` is not on PATH", "install the package `strace`"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

/// A directory with a valid Python scenario and profiles of installed servers.
fn python() -> tempfile::TempDir {
    let directory = directory();
    let scenario = SCENARIO.replace("sed = 3\n", "").replace(", { opne = {} }", "");
    fs::write(directory.path().join("scenario.toml"), scenario).expect("the directory is ours");
    let servers = "[server.other]\nprograms = ['/bin/true']\nlanguages = ['c', 'cpp']\n\
                   [server.own]\nprograms = ['/bin/true']\nlanguages = ['python']\n\
                   [server.any]\nprograms = ['/bin/true']\n";
    fs::write(directory.path().join("servers.toml"), servers).expect("the directory is ours");
    directory
}

#[cfg(unix)]
#[test]
fn a_server_for_another_language_is_refused_before_anything_is_started() {
    let directory = python();
    for command in ["run", "calibrate", "check", "tune", "gate"] {
        let servers: &[&str] = match command {
            "gate" => &["--baseline", "other", "--candidate", "own"],
            "tune" => &["--server", "other", "--preset", "glibc"],
            _ => &["--server", "other"],
        };
        let args = [&[command, "scenario.toml"], servers].concat();
        let (said, code) = soak(directory.path(), &args);
        assert_eq!(code, Some(2), "{command}: {said}");
        for part in [
            "`other` is for c or cpp, and the workspace of `many` is in python",
            "--workspace DIR --language c",
        ] {
            assert!(said.contains(part), "{command}: {said}");
        }
        assert_eq!(said.matches("error: ").count(), 1, "{command}: {said}");
        assert!(!directory.path().join("reports").exists(), "{command}");
    }
    let lenient = ["check", "scenario.toml", "--server", "any", "--server", "own"];
    let (said, _) = soak(directory.path(), &lenient);
    assert!(!said.contains(" is for "), "{said}");
}

#[test]
fn one_mistake_in_a_server_is_told_once_however_many_allocators_it_would_run_under() {
    let directory = python();
    let args = ["scenario.toml", "--server", "/no/where", "--preload", "system,jemalloc"];
    let (said, code) = run(directory.path(), &args);
    assert_eq!(code, Some(2), "{said}");
    assert_eq!(said.matches("there is no program `/no/where`").count(), 1, "{said}");
}

#[test]
fn a_scenario_that_is_mistyped_is_told_with_the_one_beside_it() {
    let directory = python();
    for (typed, meant) in [("scenari.toml", Some("`scenario.toml`")), ("other.toml", None)] {
        let (said, code) = run(directory.path(), &[typed, "--server", "/bin/true"]);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(&format!("cannot read the scenario `{typed}`")), "{said}");
        match meant {
            Some(meant) => assert!(said.contains(&format!("did you mean {meant}?")), "{said}"),
            None => assert!(!said.contains("did you mean"), "{said}"),
        }
    }
}

#[test]
fn a_sweep_without_settings_says_both_ways_to_name_them() {
    let directory = python();
    let (said, code) = soak(
        directory.path(),
        &["tune", "scenario.toml", "--server", "no-such-server"],
    );
    assert_eq!(code, Some(2), "{said}");
    for part in [
        "there is no server `no-such-server`",
        "--preset NAME or --grid FILE",
        "jemalloc, mimalloc, glibc",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn a_file_of_another_format_is_told_as_what_it_is() {
    let directory = directory();
    fs::write(
        directory.path().join("gate.toml"),
        "format = 1\nbudgets = [\"peak <= 600 MiB\"]\n",
    )
    .expect("it is ours");
    let (said, code) = soak(directory.path(), &["check", "servers.toml", "gate.toml"]);
    assert_eq!(code, Some(2), "{said}");
    for part in [
        "`servers.toml` holds profiles of servers, so it is not a scenario",
        "`lsp-soak servers --servers servers.toml`",
        "`gate.toml` is a gate file, so it is not a scenario",
        "`lsp-soak gate SCENARIO --gate gate.toml`",
    ] {
        assert!(said.contains(part), "{said}");
    }
    assert!(!said.contains("has no workspace"), "{said}");
}

#[test]
fn input_without_an_end_is_refused_with_its_limit() {
    let directory = directory();
    let phase = "[[phase]]\nname = \"start\"\nsteps = [{ start = {} }]\n";
    let head = "format = 1\nname = \"a\"\n";
    // Each file includes the next twice: 2^30 in all.
    for depth in 0..30 {
        let next = depth + 1;
        write(
            &directory,
            &format!("double-{depth}.toml"),
            &format!("{head}include = [\"double-{next}.toml\", \"double-{next}.toml\"]\n"),
        );
        write(
            &directory,
            &format!("chain-{depth}.toml"),
            &format!("{head}include = [\"chain-{next}.toml\"]\n"),
        );
    }
    write(&directory, "double-30.toml", &format!("{head}{phase}"));
    for depth in 30..50 {
        let next = depth + 1;
        write(
            &directory,
            &format!("chain-{depth}.toml"),
            &format!("{head}include = [\"chain-{next}.toml\"]\n"),
        );
    }
    let keys: String = (0..100_000).map(|number| format!("k{number}=\n")).collect();
    write(&directory, "syntax.toml", &keys);
    let phases = "[[phase]]\nname = \"\"\nsteps = []\n".repeat(20_000);
    write(&directory, "phases.toml", &format!("{head}{phases}"));
    let unknown: String = (0..10_000).map(|number| format!("k{number}=1\n")).collect();
    write(&directory, "unknown.toml", &format!("{head}{unknown}"));
    write(&directory, "long.toml", &"#".repeat(2 << 20));
    for (scenario, words) in [
        ("double-0.toml", "this scenario includes over 256 files"),
        ("chain-0.toml", "includes are nested over 32 files deep"),
        ("syntax.toml", "99,900 more mistakes from here on"),
        ("phases.toml", "more mistakes from here on"),
        (
            "unknown.toml",
            "the file has 100 mistakes before here, and was not read further",
        ),
        ("long.toml", "it has over 1.0 MiB"),
        ("/dev/zero", "it is not a regular file"),
    ] {
        let (text, code) = soak(directory.path(), &["check", scenario]);
        assert!(text.contains(words), "{scenario}: {}", &text[..text.len().min(2_000)]);
        assert_eq!(code, Some(2), "{scenario}");
        assert!(text.len() < 200_000, "{scenario}: {}", text.len());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_plan_says_where_the_memory_of_a_run_ends() {
    let mut check = Command::new(env!("CARGO_BIN_EXE_lsp-soak"));
    check.args(["check", "scenarios/goto.toml"]).env("COLUMNS", "100");
    let output = check
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("lsp-soak runs");
    assert!(output.status.success());
    let plan = String::from_utf8(output.stdout).expect("a plan is text");
    let limit = plan
        .lines()
        .find(|line| line.starts_with("memory limit: a run ends above "));
    let limit = limit.expect("there is a limit");
    assert!(limit.contains("iB private memory; change it with"), "{limit}");
}

#[test]
fn a_bisection_that_cannot_begin_says_why_and_starts_nothing() {
    let directory = python();
    let cases: [(&[&str], &str); 7] = [
        (&["--server", "ty@0.0.1..0.0.9"], "--when <CONDITION>|--by <SHARE>"),
        (&["--server", "ty", "--by", "3%"], "`ty` is no range of versions"),
        (
            &["--server", "ty@0.0.1", "--by", "3%"],
            "`ty@0.0.1` is no range of versions",
        ),
        (&["--server", "tyy@1..2", "--by", "3%"], "did you mean `ty@1..2`?"),
        (
            &["--server", "ty@1..2", "--when", "peek > 2GiB"],
            "did you mean `peak`?",
        ),
        (
            &["--server", "ty@1..2", "--by", "3%", "--figure", "peek"],
            "did you mean `peak`?",
        ),
        (
            &[
                "--server", "/bin/true", "--by", "3%", "--git", ".", "a..b", "--build", "make",
            ],
            "`/bin/true` must be a path inside of the checkout",
        ),
    ];
    for (args, part) in cases {
        let args = [&["bisect", "scenario.toml"], args].concat();
        let (said, code) = soak(directory.path(), &args);
        assert_eq!(code, Some(2), "{args:?}: {said}");
        assert!(said.contains(part), "{args:?}: {said}");
        assert!(!directory.path().join("reports").exists(), "{args:?}");
    }
}
