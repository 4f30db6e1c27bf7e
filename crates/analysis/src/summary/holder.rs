//! The program that had the most memory of the tree, and its allocator, beside the findings from before the run.

use std::path::Path;

use base::units;
use record::{AllocatorFacts, Confidence, Evidence, Holder, ServerFacts};

/// The processes of the tree at the moment with the most private memory: at a checkpoint, or at an excess.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Held {
    /// Process id, short name and private memory in bytes of each process.
    pub processes: Vec<(u32, String, u64)>,
    /// The server's own program, if the memory limit was exceeded; `None` for a checkpoint, at which the program with the
    /// most memory was examined.
    pub excess_of: Option<String>,
}

impl Held {
    pub fn total(&self) -> u64 {
        self.processes
            .iter()
            .fold(0, |sum, (.., private)| sum.saturating_add(*private))
    }

    /// The name and the private memory of the program that holds the most, with the ids of its processes.
    fn leader(&self) -> Option<(&str, u64, Vec<u32>)> {
        let (_, name, _) = self
            .processes
            .iter()
            .max_by_key(|(_, name, _)| self.total_of_program(name))?;
        let pids = self.processes_of_program(name).map(|(pid, ..)| *pid).collect();
        Some((name, self.total_of_program(name), pids))
    }

    fn total_of_program(&self, program: &str) -> u64 {
        self.processes_of_program(program)
            .fold(0, |sum, (.., private)| sum.saturating_add(*private))
    }

    fn processes_of_program<'h>(&'h self, program: &'h str) -> impl Iterator<Item = &'h (u32, String, u64)> {
        self.processes.iter().filter(move |(_, name, _)| name == program)
    }
}

/// A server's facts from before its run, corrected by the program that had the memory. Another program than the
/// examined one has its own allocator, which the figures are about: settings that only it reads were not checked, and
/// settings that it does not read had no effect.
pub(super) fn correct(server: &mut ServerFacts, held: &Held, holders: &[Holder]) {
    let Some((name, private, pids)) = held.leader() else {
        return;
    };
    let Some(holder) = holders.iter().rev().find(|one| pids.contains(&one.pid)) else {
        let is_another = held.excess_of.as_deref().is_some_and(|server| server != name);
        if is_another {
            server.allocator = None;
        }
        return;
    };
    let share = format!("held {} of {} MiB", units::mib(private), units::mib(held.total()));
    let place = format!("`{name}`, which {share}");
    let before = server.allocator.take().unwrap_or_default();
    server.allocator = Some(match &holder.allocator {
        None => add_evidence(before, format!("`{}` {share}", holder.program)),
        Some(allocator_now) => allocator_of_run(before, allocator_now, &holder.program, &share),
    });
    for knob in &mut server.knobs {
        // A setting that was seen not to be in force stays so.
        if !holder.unread.contains(&knob.variable) || knob.taken == Some(false) {
            continue;
        }
        knob.effective = None;
        knob.seen = Some(format!("the settings that {place}, reads"));
        knob.taken = Some(false);
    }
}

/// Chooses between the allocator from before the run and that of the program that held the memory.
fn allocator_of_run(
    before: AllocatorFacts,
    allocator_now: &AllocatorFacts,
    program: &str,
    share: &str,
) -> AllocatorFacts {
    let is_from_profile = before.evidence.iter().any(|evidence| evidence.source == "profile");
    let is_same = allocator_now.family == before.family && before.confidence > Some(Confidence::Guess);
    // A program that answered the probe is as certain as one whose file shows nothing else.
    let answered_probe = before.family.is_replacement() && before.confidence == Some(Confidence::Certain);
    let is_guess = allocator_now.confidence == Some(Confidence::Guess);
    let keeps_before = is_from_profile || is_same || (answered_probe && is_guess);
    let confidence = match allocator_now.confidence {
        Some(confidence) if !keeps_before => confidence,
        _ => {
            let mut kept = before;
            // A profile names the allocator of what a launcher starts, and not its version.
            if is_from_profile && allocator_now.family == kept.family && kept.version.is_none() {
                kept.version.clone_from(&allocator_now.version);
            }
            return add_evidence(kept, format!("`{program}` {share}"));
        }
    };
    let file = Path::new(program).file_name().unwrap_or_default().to_string_lossy();
    let saw = format!(
        "`{program}` {share}: {allocator_now} in `{file}` ({}), where {before} was found before the run",
        confidence.name()
    );
    let evidence = before
        .evidence
        .into_iter()
        .chain(allocator_now.evidence.iter().cloned())
        .collect();
    add_evidence(
        AllocatorFacts {
            evidence,
            ..allocator_now.clone()
        },
        saw,
    )
}

fn add_evidence(mut facts: AllocatorFacts, saw: String) -> AllocatorFacts {
    facts.evidence.push(Evidence {
        source: "run".to_owned(),
        saw,
    });
    facts
}

#[cfg(test)]
mod tests {
    use record::KnobFacts;

    use super::*;
    use record::AllocatorFamily;

    const MIB: u64 = 1 << 20;

    fn facts(family: AllocatorFamily, confidence: Confidence) -> AllocatorFacts {
        AllocatorFacts {
            family,
            confidence: Some(confidence),
            ..AllocatorFacts::default()
        }
    }

    fn holder(pid: u32, program: &str, allocator: Option<AllocatorFacts>) -> Holder {
        Holder {
            pid,
            program: program.to_owned(),
            allocator,
            unread: vec!["MALLOC_ARENA_MAX".to_owned()],
        }
    }

    /// The facts after a run of a wrapper of 0.2 MiB that was found to be on glibc, and a child with 1913 MiB in two
    /// processes.
    fn corrected(allocator: Option<AllocatorFacts>, evidence: &[&str]) -> ServerFacts {
        let mut server = ServerFacts {
            allocator: Some(facts(AllocatorFamily::Glibc, Confidence::Likely)),
            knobs: vec![KnobFacts {
                variable: "MALLOC_ARENA_MAX".to_owned(),
                taken: Some(true),
                ..KnobFacts::default()
            }],
            ..ServerFacts::default()
        };
        for source in evidence {
            let one = Evidence {
                source: (*source).to_owned(),
                saw: String::new(),
            };
            server.allocator.get_or_insert_default().evidence.push(one);
        }
        let held = Held {
            processes: vec![
                (1, "jdtls".to_owned(), MIB / 5),
                (2, "java".to_owned(), 1900 * MIB),
                (3, "java".to_owned(), 13 * MIB),
            ],
            excess_of: None,
        };
        let holders = [
            holder(1, "/bin/sh", Some(facts(AllocatorFamily::Musl, Confidence::Certain))),
            holder(2, "/jvm/bin/java", allocator),
        ];
        correct(&mut server, &held, &holders);
        server
    }

    #[test]
    fn the_allocator_of_a_run_is_that_of_the_program_that_held_its_memory() {
        let server = corrected(Some(facts(AllocatorFamily::Jvm, Confidence::Certain)), &[]);
        let allocator_now = server.allocator.unwrap();
        assert_eq!(
            (allocator_now.family, allocator_now.confidence),
            (AllocatorFamily::Jvm, Some(Confidence::Certain))
        );
        assert_eq!(
            allocator_now.evidence.last().unwrap().saw,
            "`/jvm/bin/java` held 1913.0 of 1913.2 MiB: jvm in `java` (certain), where glibc was found before the run"
        );
        assert_eq!(server.knobs[0].taken, Some(false), "what it does not read set nothing");
    }

    #[test]
    fn of_an_excess_in_a_program_that_nobody_looked_at_no_allocator_is_known() {
        for (leader, is_known) in [("clangd", false), ("python3", true)] {
            let mut server = ServerFacts {
                allocator: Some(facts(AllocatorFamily::Pymalloc, Confidence::Likely)),
                ..ServerFacts::default()
            };
            let held = Held {
                processes: vec![(1, "python3".to_owned(), 8 * MIB), (2, leader.to_owned(), 2_000 * MIB)],
                excess_of: Some("python3".to_owned()),
            };
            correct(&mut server, &held, &[]);
            assert_eq!(server.allocator.is_some(), is_known, "{leader}");
        }
    }

    #[test]
    fn what_was_found_before_stays_where_the_run_shows_no_other() {
        for (allocator, evidence) in [
            (None, &[][..]),
            (Some(facts(AllocatorFamily::Glibc, Confidence::Likely)), &[]),
            (Some(AllocatorFacts::default()), &[]),
            // A user's word.
            (Some(facts(AllocatorFamily::Jvm, Confidence::Certain)), &["profile"]),
        ] {
            let allocator_now = corrected(allocator, evidence).allocator.unwrap();
            assert_eq!(allocator_now.family, AllocatorFamily::Glibc);
            assert_eq!(
                allocator_now.evidence.last().unwrap().saw,
                "`/jvm/bin/java` held 1913.0 of 1913.2 MiB"
            );
        }
    }
}
