//! Whether the memory that a sweep chooses by had come to rest, by how the window before its checkpoint ended.

use crate::compare::Played;
use crate::summary::Summary;
use crate::summary::decay::{self, Short, TooShortFor, Window, WindowKind};
use record::{Delay, Nanos, WindowEnd};

use super::figure::Places;

/// Why the memory of a run had not settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moving {
    /// The time of the window was up, and this was still moving; empty where the record does not say.
    TimedOut(String),
    /// The window, of fixed or capped length, ended before all could be released.
    TooShort {
        took: Nanos,
        /// The allocator's decay time.
        decay: Nanos,
        capped: bool,
    },
}

/// Whether the memory of a cell's runs had settled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rest {
    /// Whether all of them are known to have settled.
    pub settled: bool,
    /// How many are known not to have.
    pub moving: u64,
    /// Why the first of these had not.
    pub why: Option<Moving>,
    /// The shortest window that ended before the clock of a garbage collector did: settings are compared at that age.
    pub short: Option<Short>,
}

pub(super) fn rest(runs: &[&Played], places: &Places) -> Rest {
    let ends: Vec<Option<Result<(), Moving>>> = runs.iter().map(|run| end(&run.summary, places)).collect();
    let mut moving = ends.iter().flatten().filter_map(|end| end.as_ref().err());
    let why = moving.next().cloned();
    Rest {
        settled: !ends.is_empty() && ends.iter().all(|end| *end == Some(Ok(()))),
        moving: u64::from(why.is_some()) + moving.count() as u64,
        why,
        short: runs
            .iter()
            .filter_map(|run| last(&run.summary, places)?.too_short_for.as_ref())
            .map(TooShortFor::short)
            .min(),
    }
}

/// The last idle window of the phase that settings are chosen by.
fn last<'s>(summary: &'s Summary, places: &Places) -> Option<&'s Window> {
    let (phase, _) = places.phase.as_ref()?;
    let is_it = |window: &&Window| {
        matches!(window.kind, WindowKind::Silent | WindowKind::Simmer) && window.phase.phase == *phase
    };
    decay::own(&summary.windows).rfind(is_it)
}

/// How the last window before the checkpoint ended; `None` if there is no window or its end says nothing.
fn end(summary: &Summary, places: &Places) -> Option<Result<(), Moving>> {
    let window = last(summary, places)?;
    match window.why()? {
        WindowEnd::Settled | WindowEnd::Held => Some(Ok(())),
        WindowEnd::TimedOut => Some(Err(Moving::TimedOut(window.moving.clone()))),
        // Judged like a window of fixed length.
        WindowEnd::Ended | WindowEnd::TooShort => fixed(window, &summary.windows),
    }
}

/// A window of fixed length, judged by the allocator's decay.
fn fixed(window: &Window, all: &[Window]) -> Option<Result<(), Moving>> {
    let decay = window.decay?;
    let capped = window.end == Some(WindowEnd::TooShort);
    // A sweep over a garbage collector compares memory at one age; few windows last as long as its clock.
    if decay.runtime.is_some() && decay.idle && !capped {
        return None;
    }
    // An allocator that never purges in this window has nothing to wait for.
    if decay.delay == Delay::Never || (window.kind == WindowKind::Silent && !decay.idle) {
        return (!capped).then_some(Ok(()));
    }
    // A background thread purges while idle and in light traffic; without one, time counts only in light traffic.
    let took = if decay.idle {
        left_alone(window, all)
    } else {
        window.took
    };
    let needed = decay.needed()?;
    let Delay::After(decay) = decay.delay else { return None };
    let is_long = decay == 0 || took >= needed;
    Some(is_long.then_some(()).ok_or(Moving::TooShort { took, decay, capped }))
}

/// How long the server was undisturbed at the end of a window: this window and adjacent earlier ones in which the
/// allocator purges too.
fn left_alone(window: &Window, all: &[Window]) -> Nanos {
    let before = |of: &Window| {
        all.iter().find(|one| {
            matches!(one.kind, WindowKind::Silent | WindowKind::Simmer)
                && one.phase == of.phase
                && one.step.checked_add(1) == Some(of.step)
                && one.decay == of.decay
        })
    };
    let adjoining = std::iter::successors(Some(window), |of| before(of));
    adjoining.fold(0, |sum: Nanos, one| sum.saturating_add(one.took))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{AllocatorDecay, golden};

    const SECOND: Nanos = 1_000_000_000;

    /// A fixed window of this many seconds, for an allocator with a decay time of 1 s.
    fn window(step: u32, kind: WindowKind, seconds: u64, thread: bool) -> Window {
        let mut windows = crate::summary::read(golden::open("completed")).unwrap().windows;
        let mut window = windows.pop().unwrap();
        (window.step, window.kind, window.took) = (step, kind, seconds * SECOND);
        (window.end, window.settled) = (Some(WindowEnd::Ended), None);
        window.decay = Some(AllocatorDecay {
            idle: thread,
            delay: Delay::After(SECOND),
            lazy: false,
            runtime: None,
        });
        window
    }

    fn judged(windows: &[Window]) -> Option<Result<(), Moving>> {
        fixed(windows.last().unwrap(), windows)
    }

    fn too_short(seconds: u64) -> Option<Result<(), Moving>> {
        Some(Err(Moving::TooShort {
            took: seconds * SECOND,
            decay: SECOND,
            capped: false,
        }))
    }

    #[test]
    fn a_thread_purges_through_windows_that_adjoin() {
        use WindowKind::{Silent, Simmer};
        let both = |between: u32, thread: bool| {
            judged(&[window(4, Silent, 3, thread), window(4 + between, Simmer, 2, thread)])
        };
        assert_eq!(judged(&[window(5, Simmer, 2, true)]), too_short(2));
        assert_eq!(both(1, true), Some(Ok(())), "5 s of 3 s that it may take");
        assert_eq!(both(2, true), too_short(2), "there was work between them");
        assert_eq!(both(1, false), too_short(2), "silence moves no clock without a thread");
        let short = [window(4, Silent, 1, true), window(5, Simmer, 1, true)];
        assert_eq!(judged(&short), too_short(2), "both together");
        let mut other = [window(4, Silent, 3, true), window(5, Simmer, 2, true)];
        other[0].decay = None;
        assert_eq!(judged(&other), too_short(2), "of the first nothing is known");
        let mut rounds = [window(4, Silent, 3, true), window(5, Simmer, 2, true)];
        rounds[0].phase.cycle += 1;
        assert_eq!(judged(&rounds), too_short(2), "it is of another round");
    }

    #[test]
    fn a_capped_window_in_which_nothing_is_purged_says_nothing() {
        use WindowKind::{Silent, Simmer};
        let end = |kind: WindowKind, delay: Delay, thread: bool, end: WindowEnd| {
            let mut one = window(5, kind, 2, thread);
            one.end = Some(end);
            one.decay = one.decay.map(|decay| AllocatorDecay { delay, ..decay });
            judged(&[one])
        };
        for (kind, delay, thread) in [
            (Silent, Delay::After(SECOND), false),
            (Silent, Delay::Untimed, false),
            (Silent, Delay::Never, true),
            (Simmer, Delay::Never, false),
        ] {
            assert_eq!(end(kind, delay, thread, WindowEnd::Ended), Some(Ok(())));
            assert_eq!(
                end(kind, delay, thread, WindowEnd::TooShort),
                None,
                "{kind:?}, {delay:?}"
            );
        }
        let capped = Some(Err(Moving::TooShort {
            took: 2 * SECOND,
            decay: SECOND,
            capped: true,
        }));
        assert_eq!(end(Silent, Delay::After(SECOND), true, WindowEnd::TooShort), capped);
        assert_eq!(end(Simmer, Delay::After(SECOND), false, WindowEnd::TooShort), capped);
    }

    #[test]
    fn what_is_purged_at_once_needs_no_window() {
        for thread in [true, false] {
            let mut short = window(5, WindowKind::Simmer, 1, thread);
            short.decay = short.decay.map(|decay| AllocatorDecay {
                delay: Delay::After(0),
                ..decay
            });
            assert_eq!(judged(&[short]), Some(Ok(())));
        }
    }
}
