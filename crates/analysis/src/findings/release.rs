//! Forced releases that did not happen.

use crate::summary::{PurgeFailure, Summary, UnpurgedCheckpoint, UnpurgedProcess};
use base::units;

use super::Doubt;

/// A doubt if no process loaded the preloaded library.
pub(super) fn library_not_loaded(summary: &Summary) -> Option<Doubt> {
    let shim = summary.header.server.shim.as_ref()?;
    let has_checkpoint = summary.phases.iter().any(|phase| phase.checkpoint.is_some());
    if !has_checkpoint || !summary.allocator.listening.is_empty() {
        return None;
    }
    let text = format!(
        "`{}` was to be preloaded, but no process loaded it: static and setuid programs ignore preloads",
        shim.path
    );
    Some(Doubt::new("library", text))
}

/// A doubt about the checkpoints that do not count as purged; `None` where all memory was purged.
pub(super) fn not_purged(summary: &Summary) -> Option<Doubt> {
    let most = summary
        .allocator
        .unpurged
        .iter()
        .max_by_key(|checkpoint| unpurged_memory(checkpoint))?;
    let more = match summary.allocator.unpurged.len() {
        1 => String::new(),
        all => format!(" and {}", units::count_of(all as u64 - 1, "other phase")),
    };
    let (largest, rest) = most.processes.split_first()?;
    let mut reasons = vec![describe_processes(largest, rest.len(), most.tree)];
    // Errors of single processes begin with them, and `describe_processes` has said why they did not purge.
    let errors = most.errors.iter().filter(|error| !error.starts_with("process "));
    reasons.extend(errors.cloned());
    let text = format!(
        "freed memory may still be resident after `{}`{more}, so that checkpoint is {} through the purged lens: {}",
        most.phase.name,
        units::UNKNOWN,
        reasons.join("; ")
    );
    Some(Doubt::new("untrimmed", text))
}

fn unpurged_memory(checkpoint: &UnpurgedCheckpoint) -> u64 {
    checkpoint.processes.iter().filter_map(|process| process.private).sum()
}

/// ``process 4711 (`ty`, 84.0 of 85.2 MiB) did not answer the request to purge, and 1 other process did not purge either``.
fn describe_processes(largest: &UnpurgedProcess, others: usize, tree: Option<u64>) -> String {
    let held = units::or_unknown(largest.private, units::mib);
    let size = format!("{held} of {} MiB", units::or_unknown(tree, units::mib));
    let why = match &largest.why {
        PurgeFailure::Silent => "did not answer the request to purge".to_owned(),
        PurgeFailure::Within(family) => {
            format!("purged the C library's memory, but its {family} offers no way to purge")
        }
        PurgeFailure::Malloc(path) => format!("purged the C library's memory, but its `malloc` comes from {path}"),
        PurgeFailure::Uncollected(command) => format!("reported no live memory by `{command}`"),
        PurgeFailure::Unset(name) => format!("has no {name}, by which lsp-soak asked it to purge"),
        PurgeFailure::Without(path) => format!("does not load {path}, the only allocator that was asked to purge"),
    };
    let others = match others {
        0 => String::new(),
        others => format!(
            ", and {} did not purge either",
            units::count_of(others as u64, "other process")
        ),
    };
    format!("process {} (`{}`, {size}) {why}{others}", largest.pid, largest.program)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::summarised;
    use record::golden::Session;
    use record::{AllocatorFamily, Listening, PhaseRef, ShimFacts};

    fn texts(summary: &Summary) -> Vec<String> {
        let doubts = super::super::doubts(summary);
        doubts.into_iter().map(|doubt| doubt.text).collect()
    }

    #[test]
    fn a_library_that_was_not_seen_is_told_once_there_was_a_checkpoint() {
        let mut session = Session::new("server");
        session.phase("start");
        session.settle(true);
        let mut summary = summarised(&session);
        assert_eq!(texts(&summary), Vec::<String>::new());
        summary.header.server.shim = Some(ShimFacts {
            path: "/lib/libpurge_shim.so".to_owned(),
            ..ShimFacts::default()
        });
        assert!(texts(&summary)[0].starts_with("`/lib/libpurge_shim.so` was to be preloaded, but no process"));
        summary.allocator.listening.push(Listening {
            pid: 7,
            malloc: None,
            within: None,
        });
        assert_eq!(texts(&summary), Vec::<String>::new());
        summary.phases.clear();
        summary.allocator.listening.clear();
        assert_eq!(texts(&summary), Vec::<String>::new(), "there was no time to see it");
    }

    fn process(program: &str, why: PurgeFailure) -> UnpurgedProcess {
        UnpurgedProcess {
            pid: 4711,
            program: program.to_owned(),
            private: Some(84 << 20),
            why,
        }
    }

    fn checkpoint(phase: &str, processes: Vec<UnpurgedProcess>) -> UnpurgedCheckpoint {
        UnpurgedCheckpoint {
            phase: PhaseRef {
                phase: 0,
                cycle: 0,
                name: phase.to_owned(),
            },
            processes,
            tree: Some(85 << 20),
            errors: vec![
                "nobody listens".to_owned(),
                "process 4711 did not answer before".to_owned(),
            ],
        }
    }

    #[test]
    fn who_did_not_give_back_is_told_with_what_it_holds() {
        let mut summary = summarised(&Session::new("server"));
        assert_eq!(texts(&summary), Vec::<String>::new());
        let silent = vec![
            process("server", PurgeFailure::Silent),
            process("helper", PurgeFailure::Silent),
        ];
        summary.allocator.unpurged = vec![checkpoint("start", silent), checkpoint("work", Vec::new())];
        assert_eq!(
            texts(&summary),
            [
                "freed memory may still be resident after `start` and 1 other phase, so that checkpoint is n/a through the purged \
                 lens: process \
                 4711 (`server`, 84.0 of 85.0 MiB) did not answer the request to purge, and 1 other process did not purge either; nobody listens"
            ]
        );
        for (why, words) in [
            (
                PurgeFailure::Within(AllocatorFamily::Jemalloc),
                "but its jemalloc offers no way to purge; nobody",
            ),
            (
                PurgeFailure::Malloc("/lib/je.so".to_owned()),
                "but its `malloc` comes from /lib/je.so; nobody",
            ),
        ] {
            summary.allocator.unpurged = vec![checkpoint("start", vec![process("server", why)])];
            assert!(texts(&summary)[0].contains(words), "{:?}", texts(&summary));
        }
    }
}
