//! Runs every command in the documents: with every named file in place, the fixture as server, and short waits.

use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use lsp_soak::config::Catalogue;
use tempfile::TempDir;
use toml::{Table, Value};

use crate::fixture::{JEMALLOC, MIMALLOC, SYSTEM};

/// Root of the documents.
const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Most phases played of a scenario.
const MOST_PHASES: usize = 5;

/// Commands at once, of all documents: they mostly wait, but each is several processes.
const AT_ONCE: usize = 10;

/// A command holds one while it runs.
static SEATS: [Mutex<()>; AT_ONCE] = [const { Mutex::new(()) }; AT_ONCE];

/// The seat for which the next command waits.
static SEAT: AtomicUsize = AtomicUsize::new(0);

/// Programs that the documents name, and the fixture that replaces each.
const PROGRAMS: [(&str, &str); 13] = [
    ("bin/ty", JEMALLOC),
    ("bin/ty-system", SYSTEM),
    ("bin/ty-jemalloc", JEMALLOC),
    ("bin/ty-mimalloc", MIMALLOC),
    ("bin/rust-analyzer", SYSTEM),
    ("bin/clangd", SYSTEM),
    ("old/ty", JEMALLOC),
    ("new/ty", JEMALLOC),
    ("target/release/my-server", SYSTEM),
    ("old/target/release/my-server", SYSTEM),
    ("new/target/release/my-server", SYSTEM),
    ("bin/fixture-system", SYSTEM),
    ("bin/lsp-soak", env!("CARGO_BIN_EXE_lsp-soak")),
];

/// Pinned servers and projects, which would be fetched, what the fixture has no command for, and what replaces each.
const REPLACED: [(&str, &str); 8] = [
    ("ty@0.0.1a33", "ty"),
    ("ty@0.0.104", "ty"),
    ("ty@0.0.105", "ty"),
    ("pypi:prefect==3.9.1", "prefect"),
    ("crate:regex-automata@0.4.13", "regex-automata"),
    (" --setup 'cargo fetch'", ""),
    ("'ty-system check'", "'ty-system --version'"),
    ("'ty-jemalloc check'", "'ty-jemalloc --version'"),
];

/// Stands for the laboratory, which the tests of this package do not build.
const LAB: &str = "#!/bin/sh\necho '{\"operations_per_second\": 1000000}'\n";

/// A recorded session.
const SESSION: &str = r#"
{"isLSPMessage":true,"type":"send-request","timestamp":0,"message":{"id":0,"method":"initialize","params":{"rootUri":"file:///shop","capabilities":{}}}}
{"isLSPMessage":true,"type":"receive-response","timestamp":10,"message":{"id":0,"result":{}}}
{"isLSPMessage":true,"type":"send-notification","timestamp":20,"message":{"method":"initialized","params":{}}}
{"isLSPMessage":true,"type":"send-notification","timestamp":30,"message":{"method":"textDocument/didOpen","params":{"textDocument":{"uri":"file:///shop/new.py","languageId":"python","version":1,"text":"x = 1\n"}}}}
{"isLSPMessage":true,"type":"send-request","timestamp":40,"message":{"id":1,"method":"textDocument/hover","params":{"textDocument":{"uri":"file:///shop/new.py"},"position":{"line":0,"character":0}}}}
"#;

/// The lsp-soak commands in a document's code blocks, without comments.
fn commands(document: &str) -> Vec<String> {
    let text = fs::read_to_string(Path::new(ROOT).join(document)).expect("the document is there");
    let mut fenced = false;
    let mut commands = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
        }
        let command = line.trim_start();
        if (fenced || line.starts_with("    ")) && command.starts_with("lsp-soak ") {
            let command = command.split("  #").next().expect("a split has a first part");
            let command = command.trim_end().replace("${{ matrix.part }}", "1");
            commands.push(
                REPLACED
                    .into_iter()
                    .fold(command, |command, (named, local)| command.replace(named, local)),
            );
        }
    }
    commands
}

/// A scenario with short waits and small counts.
fn shortened(text: &str) -> String {
    let mut scenario: Table = text.parse().expect("the scenarios are valid");
    scenario.insert("settle".to_owned(), inline("quiet = '100ms'\nat-most = '2s'"));
    scenario.insert("readiness".to_owned(), inline("start-grace = '200ms'\nquiet = '100ms'"));
    // Its phase may be among those that are left out.
    scenario.remove("result");
    let phases = scenario["phase"].as_array_mut().expect("phases are a list");
    phases.truncate(MOST_PHASES);
    for phase in phases {
        let phase = phase.as_table_mut().expect("a phase is a table");
        phase.remove("settle");
        let steps = phase["steps"].as_array_mut().expect("steps are a list");
        for (step, options) in steps.iter_mut().filter_map(Value::as_table_mut).flatten() {
            shorten(step, options.as_table_mut().expect("a step is a table"));
        }
        if let Some(repeat) = phase.get_mut("repeat").and_then(Value::as_table_mut) {
            *repeat = [("times".to_owned(), Value::Integer(8))].into_iter().collect();
        }
    }
    scenario.to_string()
}

fn shorten(step: &str, options: &mut Table) {
    if step == "idle" {
        options.retain(|name, _| name == "mode");
        options.insert("for".to_owned(), Value::String("50ms".to_owned()));
    }
    for name in ["per-file", "files", "times"] {
        if let Some(Value::Integer(count)) = options.get_mut(name) {
            *count = (*count).min(3);
        }
    }
    if options.contains_key("cadence") {
        options.insert("cadence".to_owned(), Value::String("1ms".to_owned()));
    }
}

fn inline(text: &str) -> Value {
    Value::Table(text.parse().expect("it is written above"))
}

/// A directory with the programs, projects, scenarios and records that the documents name.
struct Place(TempDir);

impl Place {
    /// The directory for this command. With a preload, the server must have no allocator of its own.
    fn for_command(command: &str) -> Place {
        let is_preloaded = command.contains("--preload");
        Place::new(&PROGRAMS.map(|(name, program)| match name {
            "bin/ty" if is_preloaded => (name, SYSTEM),
            _ => (name, program),
        }))
    }

    fn new(programs: &[(&str, &str)]) -> Place {
        let place = Place(tempfile::tempdir().expect("there is a place for temporary files"));
        for (name, program) in programs {
            place.link(name, Path::new(program));
        }
        let root = Path::new(ROOT);
        for below in ["", "new/"] {
            place.link(&format!("{below}fixtures"), &root.join("fixtures"));
            place.write(
                &format!("{below}gate.toml"),
                "format = 1\nbudgets = ['peak <= 600 MiB']\n",
            );
            for scenario in fs::read_dir(root.join("scenarios")).expect("the scenarios are there") {
                let path = scenario.expect("it can be listed").path();
                let name = path.file_name().expect("it is a file").to_string_lossy();
                let text = fs::read_to_string(&path).expect("it is text");
                place.write(&format!("{below}scenarios/{name}"), &shortened(&text));
            }
        }
        place.write("servers.toml", &profiles(programs));
        place.write("session.jsonl", SESSION);
        place.write("trace.log", SESSION);
        place.write("bin/lab", LAB);
        fs::set_permissions(place.path("bin/lab"), Permissions::from_mode(0o755)).expect("the directory is ours");
        place.copy("src/myproject", &root.join("fixtures/workspaces/shop"));
        place.copy("src/mycrate", &root.join("fixtures/workspaces/crate"));
        place.copy("src/myc", &root.join("fixtures/workspaces/cproject"));
        place.copy("prefect", &root.join("fixtures/workspaces/shop"));
        place.copy("regex-automata", &root.join("fixtures/workspaces/crate"));
        place
    }

    /// Records runs of servers with these labels.
    fn record(&self, out: &str, labels: &[&str]) {
        let mut words = vec!["run", "scenarios/completions.toml", "--runs", RECORDED, "--out", out];
        let servers: Vec<String> = labels.iter().map(|label| format!("{label}: ty")).collect();
        words.extend(servers.iter().flat_map(|server| ["--server", server]));
        self.succeeds(&words);
    }

    fn succeeds(&self, words: &[&str]) {
        let output = self.command("lsp-soak").args(words).output().expect("lsp-soak starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}\n{said}");
    }

    /// Records a sweep.
    fn sweep(&self, out: &str) {
        self.write(
            "grid.toml",
            "format = 1\n[[axis]]\nname = 'arenas'\nvalues = [{ label = 'narenas-2', env = { _RJEM_MALLOC_CONF = 'narenas:2' } }]\n",
        );
        let words = [
            "tune",
            "scenarios/completions.toml",
            "--server",
            "ty",
            "--grid",
            "grid.toml",
        ];
        self.succeeds(&[&words[..], &["--rungs", "3", "--out", out]].concat());
    }

    /// Records one run as a file.
    fn record_one(&self, name: &str) {
        self.record("records-of-one", &["ty"]);
        let record = self.path("records-of-one/run-002-ty.jsonl");
        fs::rename(record, self.path(name)).expect("the second run is the first that counts");
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("the directory is ours");
    }

    fn link(&self, name: &str, to: &Path) {
        symlink(to, self.path(name)).expect("the directory is ours");
    }

    /// A writable copy of a project.
    fn copy(&self, name: &str, of: &Path) {
        let copied = Command::new("cp").arg("-r").arg(of).arg(self.path(name)).status();
        assert!(copied.expect("there is cp").success());
    }

    /// A path in the directory, with its parent directories created.
    fn path(&self, name: &str) -> PathBuf {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().expect("it is in the directory")).expect("the directory is ours");
        path
    }

    /// A command with the user's environment.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let inherited = env::var("PATH").expect("there are programs");
        let path = format!("{}:{inherited}", self.0.path().join("bin").display());
        command
            .current_dir(self.0.path())
            .env("PATH", path)
            .env("HOME", self.0.path())
            // Copies of projects have a few fixed directories, which other tests of this user need too.
            .env("TMPDIR", self.0.path());
        // A workflow's summary and annotations are not for tests.
        command.env_remove("GITHUB_ACTIONS").stdin(Stdio::null());
        command
    }
}

/// Profiles with the names and languages of real servers, so a command that opens another language's project fails.
fn profiles(programs: &[(&str, &str)]) -> String {
    let known = Catalogue::built_in();
    programs
        .iter()
        .filter_map(|(name, program)| Some((name.strip_prefix("bin/")?, program)))
        .filter(|(name, _)| *name != "lsp-soak")
        .map(|(name, program)| profile(&known, name, program))
        .collect()
}

/// The profile of a fixture under the name of a real server.
fn profile(known: &Catalogue, name: &str, program: &str) -> String {
    let fixture = program.rsplit('/').next().expect("a path has a last part");
    let real = known.by_program(name).and_then(|real| known.get(real));
    let languages = &real.expect("the documents name servers that are known").languages;
    format!(
        "[server.{name}]\ninherits = '{fixture}'\nbuild = []\nprograms = ['{program}']\nlanguages = {languages:?}\n"
    )
}

/// Runs the commands of a document, each in its own directory with these records, and lists those that fail.
#[track_caller]
fn type_all(document: &str, records: &[(&str, &[&str])], expected: usize) {
    let commands = commands(document);
    assert_eq!(commands.len(), expected, "{commands:#?}");
    let next = AtomicUsize::new(0);
    let wrong = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(command) = commands.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let seat = &SEATS[SEAT.fetch_add(1, Ordering::Relaxed) % AT_ONCE];
                    let _seated = seat.lock().unwrap_or_else(PoisonError::into_inner);
                    if let Err(said) = typed(command, records) {
                        wrong
                            .lock()
                            .expect("nobody panics with it")
                            .push(format!("{command}\n{said}"));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("nobody panics with it");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Runs of each server in the records.
const RECORDED: &str = "3";

/// Runs a command. Any verdict of a gate is fine; bad input, a failing server and a failure of lsp-soak are not.
fn typed(command: &str, records: &[(&str, &[&str])]) -> Result<(), String> {
    let place = Place::for_command(command);
    // A command that writes records gets none.
    let read = records
        .iter()
        .filter(|(out, _)| !command.contains("--out") && command.contains(out));
    for (out, labels) in read {
        match labels {
            _ if command.starts_with("lsp-soak tune") => place.sweep(out),
            [] => place.record_one(out),
            labels => place.record(out, labels),
        }
    }
    let sweep = command.starts_with("lsp-soak tune") && !command.contains("--list") && !command.contains("--from");
    // One run of every setting is enough for a sweep.
    let command = match command.split_once(" --rungs ") {
        Some((command, _)) if sweep => format!("{command} --rungs 1"),
        None if sweep => format!("{command} --rungs 1"),
        _ => command.to_owned(),
    };
    // The documents' records have more runs than these.
    let command = match command.split_once(" --runs ") {
        Some((before, after)) if command.contains("gate --from") => {
            let after = after.split_once(' ').map_or("", |(_, after)| after);
            format!("{before} --runs {RECORDED} {after}")
        }
        _ => command,
    };
    let shell = ["-e", "-o", "pipefail", "-c", &command];
    let output = place.command("bash").args(shell).output().expect("there is a shell");
    let gate = command.starts_with("lsp-soak gate");
    match output.status.code() {
        Some(0) => Ok(()),
        Some(1 | 3) if gate => Ok(()),
        // One run of each is too few to choose.
        Some(3) if sweep => Ok(()),
        code => Err(format!(
            "exit code {code:?}\n{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

#[test]
fn every_command_of_the_readme_does_what_it_promises() {
    let records: [(&str, &[&str]); 2] = [("run.jsonl", &[]), ("reports/20261121-120000-completions", &[])];
    type_all("README.md", &records, 16);
}

#[test]
fn every_command_about_allocators_does_what_it_promises() {
    type_all("docs/allocators.md", &[], 1);
}

#[test]
fn every_command_about_gates_does_what_it_promises() {
    let records: [(&str, &[&str]); 6] = [
        ("reports/20261121-120000-completions", &["baseline", "candidate"]),
        ("records/v1", &["mine"]),
        ("records/v2", &["mine"]),
        ("part-1", &["old", "new"]),
        ("part-2", &["old", "new"]),
        ("part-3", &["old", "new"]),
    ];
    type_all("docs/gate.md", &records, 6);
}

#[test]
fn every_command_about_cold_runs_does_what_it_promises() {
    type_all("docs/cold.md", &[("reports/20261121-120000-cold", &["old", "new"])], 4);
}

#[test]
fn every_command_about_recorded_sessions_does_what_it_promises() {
    type_all("docs/replay.md", &[], 4);
}

#[test]
fn every_command_about_scenarios_does_what_it_promises() {
    type_all("docs/scenarios.md", &[], 4);
}

#[test]
fn every_step_of_a_scenario_is_in_the_document_about_them() {
    let place = Place::new(&PROGRAMS);
    let output = place
        .command("lsp-soak")
        .args(["schema", "scenario"])
        .output()
        .expect("lsp-soak starts");
    let schema: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a schema is JSON");
    let document = fs::read_to_string(Path::new(ROOT).join("docs/scenarios.md")).expect("the document is there");
    let steps = schema["definitions"]["Step"]["oneOf"]
        .as_array()
        .expect("a step is one of several");
    let names = steps
        .iter()
        .flat_map(|step| step["properties"].as_object().expect("a step has a name").keys());
    let missing: Vec<&String> = names.filter(|name| !document.contains(&format!("`{name}`"))).collect();
    assert!(steps.len() > 30 && missing.is_empty(), "{missing:?} of {}", steps.len());
}

#[test]
fn every_command_of_the_workflows_does_what_it_promises() {
    type_all("docs/ci.md", &[("records", &["shipped", "one-arena", "old", "new"])], 8);
}

#[test]
fn every_command_about_sweeps_does_what_it_promises() {
    type_all("docs/tune.md", &[("reports/20261121-120000-completions", &[])], 5);
}

#[test]
fn every_command_of_the_kept_reports_does_what_it_promises() {
    type_all("reports/README.md", &[], 9);
}
