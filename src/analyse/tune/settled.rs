//! Whether the memory that a sweep chooses by had come to rest, by how the window before its checkpoint ended.

use crate::analyse::Summary;
use crate::analyse::compare::Played;
use crate::analyse::decay::{Window, WindowKind};
use crate::record::{Delay, Nanos, WindowEnd};

use super::figure::{Places, told};

/// Beyond twice the decay time, until which an allocator gives back in steps: the same as the driver's, which waits so long.
const BEYOND: Nanos = 1_000_000_000;

/// Why the memory of a run had not settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moving {
    /// The time of the window was up, and this was still moving; empty where the record does not say.
    TimedOut(String),
    /// The window was of a fixed length in which not all could come back.
    TooShort {
        /// How long it was.
        took: Nanos,
        /// How long the allocator keeps what was freed.
        decay: Nanos,
    },
}

/// What is known of the memory of a cell's runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rest {
    /// Whether all of them are known to have settled.
    pub settled: bool,
    /// How many are known not to have.
    pub moving: u64,
    /// Why the first of these had not.
    pub why: Option<Moving>,
}

/// That of these runs.
pub(super) fn rest(runs: &[&Played], places: &Places) -> Rest {
    let ends: Vec<Option<Result<(), Moving>>> = runs.iter().map(|run| end(&run.summary, places)).collect();
    let mut moving = ends.iter().flatten().filter_map(|end| end.as_ref().err());
    let why = moving.next().cloned();
    Rest {
        settled: !ends.is_empty() && ends.iter().all(|end| *end == Some(Ok(()))),
        moving: u64::from(why.is_some()) + moving.count() as u64,
        why,
    }
}

/// How the window ended that the memory of a run is taken after; `None` where that says nothing, or there is none.
fn end(summary: &Summary, places: &Places) -> Option<Result<(), Moving>> {
    let (phase, _) = places.phase.as_ref()?;
    let is_it = |window: &&Window| {
        matches!(window.kind, WindowKind::Silent | WindowKind::Simmer) && window.phase.phase == *phase
    };
    let window = told(summary).rfind(is_it)?;
    match window.why()? {
        WindowEnd::Settled | WindowEnd::Held => Some(Ok(())),
        WindowEnd::TimedOut => Some(Err(Moving::TimedOut(window.moving.clone()))),
        WindowEnd::Ended => fixed(window),
    }
}

/// A window of fixed length, by what is known of the allocator.
fn fixed(window: &Window) -> Option<Result<(), Moving>> {
    let decay = window.decay?;
    // What gives nothing back in such a window has nothing to wait for.
    if decay.delay == Delay::Never || (window.kind == WindowKind::Silent && !decay.idle) {
        return Some(Ok(()));
    }
    let Delay::After(decay) = decay.delay else { return None };
    let took = window.took;
    let is_long = decay == 0 || took >= decay.saturating_mul(2).saturating_add(BEYOND);
    Some(is_long.then_some(()).ok_or(Moving::TooShort { took, decay }))
}
