//! Invented runs with a known truth: the golden records with one difference each.

pub mod gate;
pub mod tune;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Mutex;

use record::golden::{self, Session};
use record::{
    CallCount, CallKind, EndCause, Entry, PhaseRef, Release, ReleasedBy, Releaser, SelfReport, SystemCalls, TracerFacts,
};

use crate::compare::Played;
use crate::summary::release::{Released, Reported};
use crate::summary::{self, LostProcess, Summary, summarise};

const MIB: u64 = 1 << 20;

/// The summary of a golden record. Each is read once, since whole sweeps are made of one.
pub fn read(name: &'static str) -> Summary {
    static READ: Mutex<BTreeMap<&str, Summary>> = Mutex::new(BTreeMap::new());
    let mut read = READ.lock().unwrap();
    let summary = read
        .entry(name)
        .or_insert_with(|| summary::read(golden::open(name)).unwrap());
    summary.clone()
}

/// The summary of an invented session.
pub fn summarised(session: &Session) -> Summary {
    let entries = session.entries.iter().cloned().map(Ok::<Entry, Infallible>);
    summarise(session.header.clone(), entries).unwrap()
}

/// A helper that held 900 of 912 MiB and ended unasked.
pub fn lost_helper() -> LostProcess {
    LostProcess {
        name: "helper".to_owned(),
        pid: 5,
        at: 1,
        phase: None,
        cause: EndCause::Exited { code: 0 },
        private: Some(900 << 20),
        rest: Some(12 << 20),
        held_most: true,
        replaced: false,
    }
}

/// A traced run in which each phase of the summary made this many `madvise` calls for a page, and the second phase was
/// played twice.
pub fn traced(mut summary: Summary, calls: u64) -> Summary {
    summary.header.plan.traced = Some(TracerFacts {
        name: "strace".to_owned(),
        version: Some("6.1".to_owned()),
    });
    let mut phases: Vec<Option<PhaseRef>> = summary.phases.iter().map(|played| Some(played.phase.clone())).collect();
    let second_again = summary.phases.get(1).map(|second| PhaseRef {
        cycle: 9,
        ..second.phase.clone()
    });
    phases.extend([second_again, None]);
    summary.system_calls = phases
        .into_iter()
        .map(|phase| SystemCalls {
            phase,
            calls: BTreeMap::from([
                (CallKind::MadviseDontneed, calls_for_a_page(calls)),
                (CallKind::Mmap, calls_for_a_page(3)),
            ]),
        })
        .collect();
    summary
}

fn calls_for_a_page(calls: u64) -> CallCount {
    CallCount {
        calls,
        bytes: calls * 4096,
        failed: 0,
    }
}

/// A run with private memory at `percent` of the golden record's.
pub fn run(label: &str, number: u32, percent: u64) -> Played {
    let mut summary = read("completed");
    summary.header.server.label = label.to_owned();
    summary.header.plan.run = number;
    for phase in &mut summary.phases {
        phase.private = phase.private.map(|private| private * percent / 100);
    }
    Played::new(format!("run-{number:03}-{label}.jsonl"), summary)
}

/// A run in which the server released `gave` MiB by force and accounted for `accounted` of 400 MiB.
pub fn with_release(summary: Summary, gave: u64, accounted: Option<u64>) -> Summary {
    with_release_at(summary, 1, gave, accounted)
}

/// A run with a forced release at a step and a self-report at the next one, otherwise as [`with_release`].
pub fn with_release_at(mut summary: Summary, step: u32, gave: u64, accounted: Option<u64>) -> Summary {
    let phase = PhaseRef {
        phase: 4,
        cycle: 0,
        name: "decay".to_owned(),
    };
    let release = Release {
        used: vec![Releaser {
            by: ReleasedBy::Allocator,
            what: "malloc_trim".to_owned(),
            pid: Some(7),
            answer: String::new(),
            accounted: None,
            took: 12_000_000,
        }],
        missing: Vec::new(),
        before: Some(200 * MIB),
        after: Some((200 - gave) * MIB),
        took: 0,
    };
    summary.allocator.released.push(Released {
        phase: phase.clone(),
        step: Some(step),
        release,
        beside: None,
    });
    let report = SelfReport {
        asked: Some("$/memoryUsage".to_owned()),
        missing: accounted.map_or_else(|| "it was not answered".to_owned(), |_| String::new()),
        accounted: accounted.map(|mib| mib * MIB),
        resident: Some(400 * MIB),
        ..SelfReport::default()
    };
    summary.allocator.reported.push(Reported {
        phase,
        step: step + 1,
        report,
    });
    summary
}

/// Moves the releases of a run to the checkpoints of their phases, as the lens asks for them.
pub fn before_checkpoint(mut summary: Summary) -> Summary {
    for released in &mut summary.allocator.released {
        released.step = None;
    }
    summary
}

/// Lets memory grow at the last checkpoint of a run.
pub fn let_grow(run: &mut Played) {
    let last = run
        .summary_mut()
        .phases
        .iter_mut()
        .rev()
        .find_map(|phase| phase.checkpoint.as_mut())
        .unwrap();
    (last.settled, last.growing) = (false, Some(20 << 20));
}
