//! The header of a relayed session: the machine and the program, and nothing about the user or the project.

use std::path::Path;
use std::time::Duration;

use proctree::host;
use record::{Header, PhaseRef, PlanFacts, ScenarioFacts, ServerFacts, Settings, Wrapped};

use super::WrapPlan;
use super::place;
use super::private::KnownPrograms;

/// Time between two samples: a session of a day is far longer than a run.
pub const INTERVAL: Duration = Duration::from_millis(200);

/// Label of a server without a profile.
const OTHER: &str = "server";

/// Names that stand in reports for the scenario and its only phase.
const SCENARIO: &str = "wrapped session";
const SESSION: &str = "session";

/// Kinds of facts in a record without contents.
const HAS: [&str; 7] = [
    "the machine: its processor, memory, system and load",
    "the server: SHA-256 and size of its program, name and version that it says itself",
    "each message: its side, size, time, and latency; its method if the LSP specification has it",
    "documents: a hash each, by a salt that was drawn for this record and dropped, with its extension",
    "positions, ranges, versions, and numbers of characters and lines that were opened or inserted",
    "outcome of each request: empty or not, number of elements, code of an error",
    "memory, processor time and threads of each process of the server",
];

/// Kinds of facts that a record without contents lacks.
const LACKS: [&str; 5] = [
    "text of documents, names of files, directories and symbols, queries, and texts of errors, logs and progress",
    "settings, initialization options, and methods outside of the LSP specification",
    "the command line, environment, home and working directory, commit, and what was written to stderr",
    "names of processes that are no well-known programs",
    "checkpoints, exact counters and phases: only a played scenario has those",
];

/// All of a session is one phase, without a checkpoint.
pub fn phase() -> PhaseRef {
    PhaseRef {
        phase: 0,
        cycle: 0,
        name: SESSION.to_owned(),
    }
}

/// The header; `started` is when the server was.
pub fn header(plan: &WrapPlan, known: &KnownPrograms, started: String) -> Header {
    let profile = profile(plan, known);
    let file = place::found(&plan.program);
    let size = file.as_ref().and_then(|file| std::fs::metadata(file).ok());
    Header {
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        started,
        wrapped: Some(wrapped(plan.contents)),
        plan: PlanFacts {
            run: 1,
            ..PlanFacts::default()
        },
        host: host::fingerprint(),
        server: ServerFacts {
            label: profile.clone().unwrap_or_else(|| OTHER.to_owned()),
            profile,
            sha256: file.and_then(|file| host::file_sha256(&file).ok()),
            file_size: size.map(|data| data.len()),
            ..ServerFacts::default()
        },
        scenario: ScenarioFacts {
            name: SCENARIO.to_owned(),
            phases: vec![SESSION.to_owned()],
            ..ScenarioFacts::default()
        },
        settings: Settings {
            interval: record::nanos(INTERVAL),
            address_spaces: proctree::address_spaces(),
            ..Settings::default()
        },
        ..Header::default()
    }
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn wrapped(contents: bool) -> Wrapped {
    let (has, lacks) = if contents {
        let all =
            "each message as it was sent, with all that the user and the server wrote in it, unless it is too long";
        let has = std::iter::once(all).chain(HAS).collect::<Vec<_>>();
        (owned(&has), owned(&LACKS[2..]))
    } else {
        (owned(&HAS), owned(&LACKS))
    };
    Wrapped {
        has,
        lacks,
        contents,
        limit: place::LARGEST,
    }
}

/// The profile of the program, or of a script that it runs: `node …/node_modules/pyright/langserver.index.js`.
fn profile(plan: &WrapPlan, known: &KnownPrograms) -> Option<String> {
    let words = std::iter::once(&plan.program).chain(&plan.args);
    let mut profiles = words.filter_map(|word| {
        let path = Path::new(word);
        let program = path.file_stem().and_then(|stem| known.profile_of(stem.to_str()?));
        program.or_else(|| known.profile_of(package(path)?))
    });
    profiles.next().map(str::to_owned)
}

/// The Node.js package that a file is of.
fn package(path: &Path) -> Option<&str> {
    let mut parts = path.iter().skip_while(|part| *part != "node_modules");
    parts.nth(1)?.to_str()
}
