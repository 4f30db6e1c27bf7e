//! The header describes the program that really ran.

use std::fs;
use std::time::SystemTime;

use record::{Event, Header, open};

use crate::soak::{START, Soak};

/// The header of a run whose server is a script with a cache and a slow `--version`.
fn header() -> (Header, crate::outcome::Outcome) {
    let script = "case \"$1\" in --version)
        echo slow 1.2; ls -A >>\"$(dirname \"$0\")/seen\"
        sleep 1; echo x >left; echo x >\"$(dirname \"$0\")/asked\"; exit;;
        esac\nexec \"$FIXTURE\" \"$@\"";
    let profile = "[server.scripted-server]\ncache-env = { SCRIPTED_CACHE = \"scripted\" }\n";
    let outcome = Soak::new(START)
        .script(script)
        .file("servers.toml", profile)
        .file("workspace/pyproject.toml", "[project]\n")
        .file("workspace/.python-version", "3.13\n")
        .run();
    outcome.passed();
    let reader = open(&outcome.record).expect("the run was recorded");
    (reader.header().clone(), outcome)
}

#[test]
fn a_record_knows_the_interpreter_the_environment_and_all_files_of_what_was_run() {
    let (header, outcome) = header();
    let server = &header.server;
    assert_eq!(server.version.as_deref(), Some("slow 1.2"));
    let interpreter = server.interpreter.as_ref().expect("the server is a script");
    assert_eq!(interpreter.program, "/bin/sh");
    assert!(interpreter.sha256.is_some() && interpreter.sha256 != server.sha256);
    assert!(server.env["SCRIPTED_CACHE"].ends_with("/scripted"), "{:?}", server.env);
    assert_eq!(server.inherited.get("PATH"), std::env::var("PATH").ok().as_ref());
    let tree = header.workspace.tree.as_ref().expect("every file can be read");
    assert_eq!((header.workspace.files, tree.files, tree.unread), (3, 5, 0));
    assert_eq!(header.workspace.revision, None, "it is no git checkout");

    // It is asked in a directory that has nothing but the file by which version managers choose.
    let seen = fs::read_to_string(outcome.directory.path().join("seen")).expect("the version was asked for");
    assert_eq!(seen, ".python-version\n", "it is asked there once");
    for place in ["left", "workspace/left"] {
        assert!(!outcome.directory.path().join(place).exists(), "{place}");
    }
    let asked = outcome.directory.path().join("asked");
    let asked = fs::metadata(asked).and_then(|meta| meta.modified());
    let asked = asked
        .expect("the version was asked for")
        .duration_since(SystemTime::UNIX_EPOCH);
    let started: jiff::Timestamp = header.started.parse().expect("it is RFC 3339");
    let asked = asked.expect("it is after 1970").as_millis();
    assert!(
        started.as_millisecond() >= i64::try_from(asked).expect("it is before the year 292278994"),
        "{} was before the fingerprint was taken",
        header.started
    );
    if fs::exists("/proc/pressure/memory").unwrap_or(false) {
        let entries = outcome.entries();
        let told = entries.iter().filter(|entry| matches!(entry.event, Event::Pressure(_)));
        assert_eq!(told.count(), 2);
        assert!(
            outcome
                .summary()
                .pressure
                .is_some_and(|pressure| pressure.memory_some.is_some())
        );
    }
}

#[test]
fn settings_of_memory_from_the_shell_do_not_reach_the_server_and_the_record_names_them() {
    const SHELL: [&str; 8] = [
        "PYTHONMALLOC=malloc",
        "JAVA_TOOL_OPTIONS=-Xmx64m",
        "DENO_V8_FLAGS=--max-old-space-size=64",
        "TBB_MALLOC_USE_HUGE_PAGES=1",
        "mimalloc_purge_delay=0",
        "GHCRTS=-M64m",
        "RUST_MIN_STACK=1048576",
        "UNRELATED=kept",
    ];
    let outcome = Soak::new(START)
        .wrap(&[&["env"][..], &SHELL].concat())
        .script("env >\"$(dirname \"$0\")/seen\"\nexec \"$FIXTURE\" \"$@\"")
        .options(&["--env", "RUST_MIN_STACK=2097152"])
        .run();
    outcome.passed();
    let seen = fs::read_to_string(outcome.directory.path().join("seen")).expect("the server wrote it");
    let has = |line: &str| seen.lines().any(|one| one == line);
    assert!(has("UNRELATED=kept") && has("RUST_MIN_STACK=2097152"), "{seen}");
    let reader = open(&outcome.record).expect("the run was recorded");
    let server = &reader.header().server;
    assert_eq!(server.env["RUST_MIN_STACK"], "2097152");
    for setting in &SHELL[..7] {
        let (name, _) = setting.split_once('=').expect("it is a setting");
        assert!(!has(setting), "{seen}");
        assert!(
            server.scrubbed.iter().any(|one| one == name),
            "{name}: {:?}",
            server.scrubbed
        );
    }
}
