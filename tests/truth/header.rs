//! The fingerprint of a run is that of what was really run.

use std::fs;
use std::time::SystemTime;

use lsp_soak::record::{Event, Header, open};

use crate::soak::{START, Soak};

/// A server that is a script, keeps a cache, and takes its time to say its version.
fn header() -> (Header, crate::outcome::Outcome) {
    let script =
        "case \"$1\" in --version) sleep 1; echo slow 1.2; echo x >asked; exit;; esac\nexec \"$FIXTURE\" \"$@\"";
    let profile = "[server.scripted-server]\ncache-env = { SCRIPTED_CACHE = \"scripted\" }\n";
    let outcome = Soak::new(START)
        .script(script)
        .file("servers.toml", profile)
        .file("workspace/pyproject.toml", "[project]\n")
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
    assert_eq!((header.workspace.files, tree.files, tree.unread), (3, 4, 0));
    assert_eq!(header.workspace.revision, None, "it is no git checkout");

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
