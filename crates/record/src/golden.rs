//! Invented sessions of plausible servers: the golden records in `fixtures/records`, the input of report tests.
//!
//! After a change here, rewrite the files with `UPDATE_RECORDS=1 cargo test --package lsp-soak-record golden`.

mod header;
mod held;
mod session;

use std::path::{Path, PathBuf};

use super::{
    Delays, Ending, Entry, Event, IdleKind, KnobFacts, LateTicks, Outcome, Reader, ShutdownStage, Survivor, WarningKind,
};

pub use session::Session;

/// A complete session of five phases.
pub fn completed() -> Session {
    let mut session = Session::new("ty");
    typical(&mut session);
    session.warn(
        WarningKind::Noise,
        "120 bytes on stdout were not LSP (`Loading…`): they were skipped",
    );
    session.warn(
        WarningKind::Noise,
        "120 bytes on stdout were not LSP (`Loading…`): they were skipped",
    );
    session.put(Event::Delays(Delays {
        samples: 165,
        sum: 178_000_000,
        most: 41_000_000,
    }));
    session.put(Event::Late(LateTicks {
        missed: 3,
        late: 160_000_000,
    }));
    session.shut_down(ShutdownStage::Exit, Vec::new(), Ending::Completed, "");
    session
}

/// A jemalloc setting; `taken` as in [`KnobFacts`].
pub fn knob(taken: Option<bool>) -> KnobFacts {
    KnobFacts {
        variable: "_RJEM_MALLOC_CONF".to_owned(),
        option: Some("dirty_decay_ms".to_owned()),
        requested: "0".to_owned(),
        effective: Some("0".to_owned()),
        seen: Some("its statistics".to_owned()),
        taken,
    }
}

fn typical(session: &mut Session) {
    session.spawn(0, "ty", None, 4, 14);
    session.phase("start");
    session.step("start");
    session.move_memory(0, 21, 2, 80);
    session.initialized("ty", "0.4.2");
    session.ready();
    session.step_end("start", 0, 0);
    session.settle(true);
    session.phase("goto");
    session.step("open");
    session.move_memory(0, 60, 1, 110);
    session.step_end("open", 0, 0);
    session.step("definition");
    session.move_memory(0, 134, 6, 140);
    session.requests("textDocument/definition", 400, 1_900, &Outcome::Null, 12);
    session.step_end("definition", 400, 388);
    session.settle(true);
    session.phase("completions");
    session.step("type-and-complete");
    session.move_memory(0, 152, 9, 95);
    session.requests("textDocument/completion", 200, 14_000, &Outcome::Empty, 3);
    session.step_end("type-and-complete", 200, 197);
    session.settle(true);
    session.phase("workspace-symbols");
    session.step("workspace-symbol");
    session.spike(0, 60);
    session.move_memory(0, 193, 3, 180);
    session.requests("workspace/symbol", 12, 61_000, &Outcome::Null, 0);
    session.step_end("workspace-symbol", 12, 12);
    session.settle(false);
    session.phase("decay");
    session.idle(IdleKind::Silent, 0, 193, 12);
    session.idle(IdleKind::Simmer, 0, 150, 8);
    session.settle(true);
}

/// A crash in the middle of the second phase.
pub fn crashed() -> Session {
    let mut session = Session::new("clangd");
    session.spawn(0, "clangd", None, 9, 30);
    session.phase("start");
    session.step("start");
    session.move_memory(0, 44, 3, 100);
    session.initialized("clangd", "19.1.7");
    session.ready();
    session.step_end("start", 0, 0);
    session.settle(true);
    session.phase("goto");
    session.step("definition");
    session.move_memory(0, 310, 4, 100);
    session.requests("textDocument/definition", 31, 2_400, &Outcome::Null, 1);
    session.requests("textDocument/definition", 1, 1, &Outcome::Lost, 1);
    session.vanish(0);
    let during = "`textDocument/definition` in phase `goto`, step `definition`, after 32 requests".to_owned();
    let ending = Ending::Crashed {
        code: None,
        signal: Some(11),
        during,
    };
    let stderr = "I[09:30:07.101] --> reply:textDocument/definition(31)\nPLEASE submit a bug report\nStack dump:\n#0 \
                  clang::clangd::locateSymbolAt\n#1 clang::clangd::ClangdServer::locateSymbolAt\n";
    session.shut_down(ShutdownStage::AlreadyGone, Vec::new(), ending, stderr);
    session
}

/// A server with helper processes: one ends early, one survives the server.
pub fn tree() -> Session {
    let mut session = Session::new("typescript-language-server");
    session.spawn(0, "node", None, 30, 42);
    session.phase("start");
    session.step("start");
    session.move_memory(0, 48, 1, 90);
    session.spawn(1, "tsserver", Some(0), 25, 42);
    session.spawn(2, "tsserver", Some(0), 25, 42);
    session.move_memory(1, 120, 3, 110);
    session.initialized("typescript-language-server", "5.1.3");
    session.ready();
    session.step_end("start", 0, 0);
    session.settle(true);
    session.phase("goto");
    session.step("definition");
    session.spawn(3, "typings-installer", Some(1), 40, 42);
    session.move_memory(3, 66, 1, 60);
    session.vanish(3);
    session.spike(1, 20);
    session.move_memory(1, 240, 5, 120);
    session.requests("textDocument/definition", 300, 3_100, &Outcome::Empty, 41);
    session.step_end("definition", 300, 259);
    session.settle(true);
    session.phase("decay");
    session.idle(IdleKind::Silent, 1, 180, 10);
    session.settle(true);
    session.warn(
        WarningKind::Protocol,
        "the server ignored `exit` and a closed stdin; it ended on SIGTERM",
    );
    let survivors = vec![Survivor {
        pid: 4_002,
        name: "tsserver".to_owned(),
    }];
    session.shut_down(ShutdownStage::Terminated, survivors, Ending::Completed, "");
    session
}

/// A user pressed ctrl-c in the third phase.
pub fn interrupted() -> Session {
    let mut session = Session::new("ty");
    typical(&mut session);
    let mut entries = session.entries.iter();
    let cut = entries.position(is_step_of_third_phase).unwrap();
    session.entries.truncate(cut);
    session.at = session.entries[cut - 1].at;
    session.shut_down(ShutdownStage::Exit, Vec::new(), Ending::Interrupted, "");
    session
}

fn is_step_of_third_phase(entry: &Entry) -> bool {
    matches!(&entry.event, Event::StepEnded(end) if end.phase.phase == 2)
}

/// The record of a run whose lsp-soak was killed in the middle of a write.
#[cfg(test)]
fn truncated() -> Vec<u8> {
    let bytes = completed().bytes();
    let cut = bytes.len() * 2 / 3;
    let end = cut - usize::from(bytes[cut - 1] == b'\n');
    bytes[..end].to_vec()
}

pub fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join("fixtures/records")
        .join(format!("{name}.jsonl"))
}

pub fn open(name: &str) -> Reader {
    super::open(&path(name)).unwrap()
}

#[test]
fn golden_records_are_what_the_sessions_here_write() {
    let records = [
        ("completed", completed().bytes()),
        ("crashed", crashed().bytes()),
        ("tree", tree().bytes()),
        ("interrupted", interrupted().bytes()),
        ("truncated", truncated()),
    ];
    for (name, bytes) in records {
        if std::env::var_os("UPDATE_RECORDS").is_some() {
            std::fs::write(path(name), &bytes).unwrap();
        }
        let file = std::fs::read(path(name)).unwrap();
        assert!(
            file == bytes,
            "{name} is stale: write it anew with UPDATE_RECORDS=1 cargo test --package lsp-soak-record golden"
        );
    }
}
