//! Checkpoints of the purged lens that do not count, because a process with more than a little memory was not purged:
//! freed memory is still in the figure.

use std::collections::BTreeMap;

use base::lens::Lens;
use record::{AllocatorFamily, Checkpoint, Listening, PhaseRef, Release, ServerFacts};

use super::tree::{LiveProcess, Tree};

/// Unpurged memory that is tolerated, in bytes: half the difference that a gate tolerates (2 MiB).
const TRIFLE: u64 = 1 << 20;

/// And as a part of the tree, where that is more: half of the 1 % that a gate tolerates through this lens. Were all of it
/// free, and on one side only, it would still decide nothing.
const TRIFLING_SHARE: u64 = 200;

/// A checkpoint that does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnpurgedCheckpoint {
    pub phase: PhaseRef,
    /// The unpurged processes, the largest first.
    pub processes: Vec<UnpurgedProcess>,
    /// Private memory of the whole tree in bytes, freed memory included; `None` unless it is known for every process.
    pub tree: Option<u64>,
    /// The errors of the attempt, for people.
    pub errors: Vec<String>,
}

/// A process that did not release its freed memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnpurgedProcess {
    pub pid: u32,
    pub program: String,
    /// Its private memory in bytes; `None` where that is not known.
    pub private: Option<u64>,
    pub why: PurgeFailure,
}

/// The reason why a process released nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PurgeFailure {
    /// It did not answer.
    Silent,
    /// It answered for the C library, and another allocator within its program has the memory.
    Within(AllocatorFamily),
    /// It answered for the C library, and its `malloc` is that of this other library.
    Malloc(String),
    /// It lacks this library, which was to be preloaded and receives the purge signal.
    Without(String),
    /// The server's own command did not collect, or did not report live memory afterwards as it should.
    Uncollected(String),
    /// This variable, which tells its allocator to purge, was changed or removed in its environment.
    Unset(String),
}

/// The means by which processes are purged.
pub(super) enum PurgeMethod<'r> {
    /// By force before each checkpoint: these processes listen.
    Forced(&'r [Listening]),
    /// By settings of the allocator, which then purges at once.
    Told {
        /// The path of the allocator's library, if it was preloaded.
        library: Option<&'r str>,
        variables: &'r BTreeMap<String, String>,
    },
    /// By the server's own command before each checkpoint, which collects garbage.
    Collected {
        command: &'r str,
        /// True if it reports live memory too.
        reports_live: bool,
        variables: &'r BTreeMap<String, String>,
    },
}

impl PurgeMethod<'_> {
    /// The method of a run; `None` for a server as shipped.
    pub fn for_run<'r>(server: &'r ServerFacts, listening: &'r [Listening]) -> Option<PurgeMethod<'r>> {
        let lens = &server.lens;
        if lens.forced {
            return Some(PurgeMethod::Forced(listening));
        }
        if lens.name == Lens::AsShipped {
            return None;
        }
        Some(match &lens.collected_by {
            Some(command) => PurgeMethod::Collected {
                command,
                reports_live: lens.reports_live(),
                variables: &lens.env,
            },
            None => PurgeMethod::Told {
                library: server.preload.as_ref().map(|preload| preload.path.as_str()),
                variables: &lens.env,
            },
        })
    }

    /// The reason why a process was not purged; `None` if it was, or if that is unknown.
    fn failure(&self, live: &LiveProcess, release: &Release) -> Option<PurgeFailure> {
        match self {
            PurgeMethod::Forced(listening) => forced_failure(live.pid, release, listening),
            PurgeMethod::Told { library, variables } => setting_failure(live, *library, variables),
            PurgeMethod::Collected {
                command,
                reports_live,
                variables,
            } => {
                if is_collected(release, *reports_live) {
                    setting_failure(live, None, variables)
                } else {
                    Some(PurgeFailure::Uncollected((*command).to_owned()))
                }
            }
        }
    }
}

/// The unpurged processes at a checkpoint of the purged lens; `None` if they hold so little that it counts.
pub(super) fn unpurged(checkpoint: &Checkpoint, tree: &Tree, method: &PurgeMethod<'_>) -> Option<UnpurgedCheckpoint> {
    let no_release = Release::default();
    let release = checkpoint.released.as_ref().unwrap_or(&no_release);
    let mut processes: Vec<UnpurgedProcess> = Vec::new();
    let mut tree_total = Some(0_u64);
    for (live, private) in tree.owners(checkpoint) {
        tree_total = add(tree_total, private);
        if let Some(why) = method.failure(live, release) {
            processes.push(UnpurgedProcess {
                pid: live.pid,
                program: live.name.clone(),
                private,
                why,
            });
        }
    }
    let unpurged = processes
        .iter()
        .try_fold(0_u64, |sum, process| add(Some(sum), process.private));
    let trifle = tree_total.map_or(TRIFLE, |total| TRIFLE.max(total / TRIFLING_SHARE));
    if unpurged.is_some_and(|unpurged| unpurged <= trifle) {
        return None;
    }
    processes.sort_by_key(|process| std::cmp::Reverse(process.private));
    Some(UnpurgedCheckpoint {
        phase: checkpoint.phase.clone(),
        processes,
        tree: tree_total,
        errors: release.missing.clone(),
    })
}

fn add(sum: Option<u64>, value: Option<u64>) -> Option<u64> {
    Some(sum?.saturating_add(value?))
}

/// The library or variable that a process lacks, so that its allocator was not told to purge.
fn setting_failure(
    live: &LiveProcess,
    library: Option<&str>,
    variables: &BTreeMap<String, String>,
) -> Option<PurgeFailure> {
    if let Some(path) = library
        && live.missing_libraries.iter().any(|missing| missing == path)
    {
        return Some(PurgeFailure::Without(path.to_owned()));
    }
    let environment = live.environment.as_ref()?;
    let unset = variables.keys().find(|name| environment.lacks(name))?;
    Some(PurgeFailure::Unset(unset.clone()))
}

fn is_collected(release: &Release, reports_live: bool) -> bool {
    if reports_live {
        release.live_memory().is_some()
    } else {
        !release.used.is_empty()
    }
}

/// The reason why a process did not release its memory on request; `None` if it did.
fn forced_failure(pid: u32, release: &Release, listening: &[Listening]) -> Option<PurgeFailure> {
    let answered = release
        .used
        .iter()
        .any(|releaser| releaser.pid == Some(pid) && releaser.what.contains("malloc_trim"));
    if !answered {
        return Some(PurgeFailure::Silent);
    }
    // The last entry is of the program that the process runs now.
    let listener = listening.iter().rfind(|listener| listener.pid == pid)?;
    if let Some(family) = listener.within {
        return Some(PurgeFailure::Within(family));
    }
    match &listener.malloc {
        Some(path) if !is_c_library(path) => Some(PurgeFailure::Malloc(path.clone())),
        _ => None,
    }
}

/// `libc.so.6`, or `libc-2.31.so` as it was called before 2.34; a program linked statically has no library that listens.
fn is_c_library(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.starts_with("libc.so") || name.starts_with("libc-2.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::summarised;
    use crate::summary::{PrivateMetric, Summary};
    use record::golden::Session;
    use record::{Entry, Event, LensFacts, Libraries, PreloadFacts, ReleasedBy, Releaser};

    const MIB: u64 = 1 << 20;
    const LIBC: &str = "/lib/x86_64-linux-gnu/libc.so.6";

    /// A shell, and a server of 80 MiB under it, with one checkpoint before which these answered.
    fn session(shell: u64, answered: &[u32]) -> Session {
        let mut session = Session::new("server");
        session.header.server.lens.forced = true;
        session.spawn(0, "sh", None, shell, 0);
        session.spawn(1, "ty", Some(0), 80, 4);
        session.phase("start");
        session.settle(true);
        let Event::Checkpoint(taken) = session.last_checkpoint() else {
            panic!("there is one")
        };
        let used = answered.iter().map(|process| Releaser {
            by: ReleasedBy::Allocator,
            what: "malloc_trim".to_owned(),
            pid: Some(4_000 + process),
            answer: "malloc_trim=1".to_owned(),
            accounted: None,
            took: 1,
        });
        taken.released = Some(Release {
            used: used.collect(),
            ..Release::default()
        });
        session
    }

    #[test]
    fn without_a_report_of_live_memory_nothing_was_collected() {
        for accounted in [Some(70 * MIB), None] {
            let mut session = session(0, &[0, 1]);
            session.header.server.lens = LensFacts {
                name: Lens::Purged,
                collected_by: Some("gopls.mem_stats".to_owned()),
                ..LensFacts::default()
            };
            let Event::Checkpoint(taken) = session.last_checkpoint() else {
                panic!("there is one")
            };
            let phase = taken.phase.clone();
            taken.released = Some(Release {
                used: vec![Releaser {
                    by: ReleasedBy::Server,
                    what: "gopls.mem_stats".to_owned(),
                    pid: None,
                    answer: String::new(),
                    accounted,
                    took: 1,
                }],
                ..Release::default()
            });
            let summary = summarised(&session);
            assert_eq!(summary.live_memory(&phase), accounted);
            assert_eq!(summary.allocator.unpurged.is_empty(), accounted.is_some());
            let measures = crate::figures::Measure::all(&summary).into_iter();
            let mut live = measures.filter(|one| one.figure == crate::figures::Figure::Live);
            assert_eq!(
                live.find_map(|one| one.value(&summary)),
                accounted.map(|bytes| bytes as f64)
            );
        }
    }

    #[test]
    fn a_command_that_reports_no_live_memory_has_collected_when_it_was_answered() {
        for answered in [true, false] {
            let mut session = session(0, &[1]);
            session.header.server.lens = LensFacts {
                name: Lens::Purged,
                collected_by: Some("custom/runGC".to_owned()),
                without_live: true,
                ..LensFacts::default()
            };
            let Event::Checkpoint(taken) = session.last_checkpoint() else {
                panic!("there is one")
            };
            if !answered {
                taken.released = Some(Release::default());
            }
            let summary = summarised(&session);
            assert_eq!(summary.allocator.unpurged.is_empty(), answered);
            assert_eq!(summary.phases[0].private.is_some(), answered);
        }
    }

    fn listens(session: &mut Session, malloc: &str, within: Option<AllocatorFamily>) {
        let listening = Listening {
            pid: 4_001,
            malloc: Some(malloc.to_owned()),
            within,
        };
        let entry = Entry {
            at: 0,
            event: Event::Listening(listening),
        };
        session.entries.insert(0, entry);
    }

    fn whys(summary: &Summary) -> Vec<(&str, &PurgeFailure)> {
        let all = summary.allocator.unpurged.iter().flat_map(|one| &one.processes);
        all.map(|one| (one.program.as_str(), &one.why)).collect()
    }

    #[test]
    fn memory_counts_where_all_but_a_trifle_was_told_to_give_back() {
        for (shell, answered, counts) in [
            (0, [0, 1].as_slice(), true),
            (0, &[1], true),
            // 980 KiB and 1.96 MiB of a shell: a fiftieth of its memory is lazily freed.
            (1, &[1], true),
            (2, &[1], false),
            (0, &[0], false),
            (0, &[], false),
        ] {
            let summary = summarised(&session(shell, answered));
            assert_eq!(summary.allocator.unpurged.is_empty(), counts, "{shell} {answered:?}");
            let phase = &summary.phases[0];
            let taken = phase.checkpoint.as_ref().unwrap();
            let known = [phase.private, phase.exact, taken.resident, taken.proportional];
            assert!(known.iter().all(|value| value.is_some() == counts), "{known:?}");
            assert_eq!(taken.processes, 2, "what is no memory is known all the same");
            let programs = summary
                .processes
                .programs
                .iter()
                .filter(|program| program.private.is_some());
            assert_eq!(programs.count(), if counts { 2 } else { 0 });
        }
        let mut shipped = session(6, &[1]);
        shipped.header.server.lens.forced = false;
        assert!(
            summarised(&shipped).allocator.unpurged.is_empty(),
            "nothing was to be given back"
        );
    }

    #[test]
    fn of_a_large_tree_half_a_per_cent_is_a_trifle() {
        let mut session = Session::new("server");
        session.header.server.lens.forced = true;
        session.spawn(0, "sh", None, 5, 0);
        session.spawn(1, "ty", Some(0), 1_100, 4);
        session.phase("start");
        session.settle(true);
        let Event::Checkpoint(taken) = session.last_checkpoint() else {
            panic!("there is one")
        };
        taken.released = Some(Release {
            used: vec![Releaser {
                by: ReleasedBy::Allocator,
                what: "malloc_trim".to_owned(),
                pid: Some(4_001),
                answer: String::new(),
                accounted: None,
                took: 1,
            }],
            ..Release::default()
        });
        assert_eq!(summarised(&session).allocator.unpurged, []);
    }

    /// A run in which the server answered, and its `malloc` is that of this library.
    fn run_with_malloc(malloc: &str, within: Option<AllocatorFamily>) -> Summary {
        let mut session = session(0, &[0, 1]);
        listens(&mut session, malloc, within);
        summarised(&session)
    }

    #[test]
    fn an_answer_for_the_c_library_is_none_for_another_allocator() {
        for libc in [LIBC, "/lib64/libc-2.31.so"] {
            assert!(run_with_malloc(libc, None).allocator.unpurged.is_empty());
        }
        let jemalloc = PurgeFailure::Within(AllocatorFamily::Jemalloc);
        let summary = run_with_malloc(LIBC, Some(AllocatorFamily::Jemalloc));
        assert_eq!(whys(&summary), [("ty", &jemalloc)]);
        let other = "/usr/lib/libmimalloc.so.2";
        assert_eq!(
            whys(&run_with_malloc(other, None)),
            [("ty", &PurgeFailure::Malloc(other.to_owned()))]
        );
    }

    const JEMALLOC: &str = "/usr/lib/libjemalloc.so.2";

    /// A run through a lens with [`JEMALLOC`] preloaded, in which the server lacks these libraries.
    fn run_with_preload(missing: &[&str], lens: Lens) -> Summary {
        let mut session = session(0, &[]);
        session.header.server.lens = LensFacts {
            name: lens,
            ..LensFacts::default()
        };
        session.header.server.preload = Some(PreloadFacts {
            path: JEMALLOC.to_owned(),
            ..PreloadFacts::default()
        });
        let entry = Entry {
            at: session.at,
            event: Event::Libraries(Libraries {
                process: 1,
                mapped: Vec::new(),
                missing: missing.iter().map(|path| (*path).to_owned()).collect(),
            }),
        };
        let place = session
            .entries
            .iter()
            .position(|entry| matches!(entry.event, Event::Checkpoint(_)));
        session.entries.insert(place.unwrap(), entry);
        summarised(&session)
    }

    #[test]
    fn what_was_started_without_the_library_that_was_told_to_purge_does_not_count() {
        let without = PurgeFailure::Without(JEMALLOC.to_owned());
        assert_eq!(whys(&run_with_preload(&[JEMALLOC], Lens::Purged)), [("ty", &without)]);
        assert_eq!(whys(&run_with_preload(&["/lib/other.so"], Lens::Purged)), []);
        assert_eq!(whys(&run_with_preload(&[JEMALLOC], Lens::AsShipped)), []);
    }

    #[test]
    fn one_checkpoint_that_does_not_count_leaves_the_others_exact() {
        let mut session = session(0, &[0, 1]);
        session.phase("work");
        session.settle(true);
        let summary = summarised(&session);
        assert_eq!(summary.memory.private_metric, PrivateMetric::Exact);
        let known: Vec<bool> = summary.phases.iter().map(|phase| phase.private.is_some()).collect();
        assert_eq!(known, [true, false]);
        assert_eq!(summary.allocator.unpurged[0].phase.name, "work");
        assert_eq!(
            whys(&summary),
            [("ty", &PurgeFailure::Silent), ("sh", &PurgeFailure::Silent)]
        );
        assert!(summary.allocator.unpurged[0].tree.is_some_and(|tree| tree > 70 * MIB));
    }
}
