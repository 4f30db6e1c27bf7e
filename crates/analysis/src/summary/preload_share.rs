//! Judges from its own report at the end of the run if the preloaded library served the server's memory.

use crate::summary::Summary;
use base::units;
use record::{AllocatorFamily, Checkpoint, Confidence, Ending};

use super::tree::{LiveProcess, Tree};
use super::unset_settings::Unset;

/// The process that had the most private memory at a checkpoint, and how much the whole tree had then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leader {
    program: String,
    private: u64,
    tree: u64,
}

/// A process that the preloaded library served only in part, by its own report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partly {
    /// The short name of its program.
    pub program: String,
    /// The most memory that the library had, in bytes.
    pub held: u64,
    /// Its private memory in bytes.
    pub private: u64,
}

/// The confirmation of a preload if no process reported in the run, for people.
pub const UNCONFIRMED: &str = "its loading (no allocator gave an account of its memory when the server ended)";

/// Share of the largest process's memory from which the library counts as serving it: half.
const SERVES: u64 = 2;

/// And the part below which it is not used: a quarter. An account is of all that it ever had, and of what an interpreter has
/// some never goes through `malloc`.
const UNUSED: u64 = 4;

/// A smaller process is not judged.
const LEAST: u64 = 16 << 20;

/// Memory that an allocator reserves without serving any. mimalloc 2 takes 32 MiB at once, and does not report how
/// much of it is in use.
fn reserved(family: AllocatorFamily) -> u64 {
    match family {
        AllocatorFamily::Mimalloc => 0,
        AllocatorFamily::Jemalloc => 9 << 20,
        _ => 4 << 20,
    }
}

/// Keeps the largest process of all checkpoints.
pub fn update_leader(leader: &mut Option<Leader>, checkpoint: &Checkpoint, tree: &Tree) {
    let known: Vec<(&LiveProcess, u64)> = tree
        .owners(checkpoint)
        .filter_map(|(live, private)| Some((live, private?)))
        .collect();
    let Some((largest, private)) = known.iter().max_by_key(|(_, private)| *private) else {
        return;
    };
    if leader.as_ref().is_none_or(|leader| leader.private < *private) {
        *leader = Some(Leader {
            program: largest.name.clone(),
            private: *private,
            tree: known.iter().fold(0, |sum, (_, private)| sum.saturating_add(*private)),
        });
    }
}

/// Compares the library's account of its memory with the memory of the largest process, and corrects the server's facts.
/// Returns the preload as an unset setting if it served next to nothing. If only some of the `processes` gave an account,
/// nothing is known of the largest.
pub fn judge_served_memory(summary: &mut Summary, leader: Option<&Leader>, processes: u64) -> Option<Unset> {
    let server = &mut summary.header.server;
    let path = server.preload.as_ref()?.path.clone();
    let facts = server.allocator.as_mut()?;
    let family = facts.family;
    let accounts = summary.lifecycle.close.as_ref()?.held.as_ref()?;
    // Beside a virtual machine it serves little, as it should.
    if matches!(
        family,
        AllocatorFamily::V8 | AllocatorFamily::Jvm | AllocatorFamily::Go | AllocatorFamily::Pymalloc
    ) {
        return None;
    }
    let Leader { program, private, tree } = leader?;
    if *private < LEAST {
        return None;
    }
    let knob = server
        .knobs
        .iter_mut()
        .find(|knob| knob.option.is_none() && knob.requested == path)?;
    let held = accounts.iter().max().copied().unwrap_or_default();
    let served = held.saturating_sub(reserved(family));
    if served >= private / SERVES {
        // Of mimalloc that may be what its threads do not use.
        if family != AllocatorFamily::Mimalloc {
            let (held, private) = (units::mib(held), units::mib(*private));
            let account = format!("its own account: it had at most {held} MiB, `{program}` {private} MiB");
            (knob.seen, knob.taken) = (Some(account), Some(true));
            knob.effective = Some(path);
        }
        return None;
    }
    if (accounts.len() as u64) < processes {
        // One that crashed could give none.
        if summary.ending == Some(Ending::Completed) {
            (knob.seen, knob.taken, knob.effective) = (Some(UNCONFIRMED.to_owned()), None, None);
            facts.confidence = facts.confidence.min(Some(Confidence::Likely));
        }
        return None;
    }
    if served >= private / UNUSED {
        summary.allocator.partly = Some(Partly {
            program: program.clone(),
            held,
            private: *private,
        });
        return None;
    }
    Some(Unset {
        variable: knob.variable.clone(),
        value: None,
        library: true,
        program: program.clone(),
        private: *private,
        tree: *tree,
        held: Some(held),
    })
}
