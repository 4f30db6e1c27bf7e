//! Tells if the memory that a sweep chooses by had settled, from how the window before its checkpoint ended.

use crate::compare::Played;
use crate::summary::Summary;
use crate::summary::decay::{self, ShortWindow, TooShortFor, Window, WindowKind};
use record::{Delay, Nanos, WindowEnd};

use super::figure::Places;

/// A reason why the memory of a run had not settled.
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

/// Counts the runs of a cell whose memory had not settled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettledState {
    /// True if all runs are known to have settled.
    pub settled: bool,
    /// Runs that are known not to have settled.
    pub moving: u64,
    /// The reason of the first of them.
    pub why: Option<Moving>,
    /// The shortest window that ended before the clock of a garbage collector did: settings are compared at that age.
    pub short: Option<ShortWindow>,
}

/// The state of a run's memory when its last idle window ended.
#[derive(Clone, Debug, PartialEq, Eq)]
enum RunState {
    Settled,
    Moving(Moving),
    /// There was no such window, or its end is no evidence.
    Unknown,
}

pub(super) fn settled_state(runs: &[&Played], places: &Places) -> SettledState {
    let mut joint = SettledState {
        settled: !runs.is_empty(),
        ..SettledState::default()
    };
    for run in runs {
        match run_state(&run.summary, places) {
            RunState::Settled => {}
            RunState::Unknown => joint.settled = false,
            RunState::Moving(why) => {
                joint.settled = false;
                joint.moving += 1;
                joint.why.get_or_insert(why);
            }
        }
    }
    let windows = runs.iter().filter_map(|run| last_window(&run.summary, places));
    let too_short = windows.filter_map(|window| window.too_short_for.as_ref());
    joint.short = too_short.map(TooShortFor::short).min();
    joint
}

/// The last idle window of the phase that settings are chosen by.
fn last_window<'s>(summary: &'s Summary, places: &Places) -> Option<&'s Window> {
    let (phase, _) = places.phase.as_ref()?;
    decay::reported(&summary.windows).rfind(|window| window.kind.is_idle() && window.phase.phase == *phase)
}

fn run_state(summary: &Summary, places: &Places) -> RunState {
    let Some(window) = last_window(summary, places) else {
        return RunState::Unknown;
    };
    match window.end_reason() {
        None => RunState::Unknown,
        Some(WindowEnd::Settled | WindowEnd::Held) => RunState::Settled,
        Some(WindowEnd::TimedOut) => RunState::Moving(Moving::TimedOut(window.moving.clone())),
        // Judged like a window of fixed length.
        Some(WindowEnd::Ended | WindowEnd::TooShort) => state_after_fixed_window(window, &summary.windows),
    }
}

/// Judges a window of fixed length by the allocator's decay.
fn state_after_fixed_window(window: &Window, all: &[Window]) -> RunState {
    let Some(decay) = window.decay else {
        return RunState::Unknown;
    };
    let capped = window.end == Some(WindowEnd::TooShort);
    // A sweep over a garbage collector compares memory at one age; few windows last as long as its clock.
    if decay.runtime.is_some() && decay.idle && !capped {
        return RunState::Unknown;
    }
    // An allocator that never purges in this window has nothing to wait for.
    if decay.delay == Delay::Never || (window.kind == WindowKind::Silent && !decay.idle) {
        return if capped { RunState::Unknown } else { RunState::Settled };
    }
    // A background thread purges while idle and in light traffic; without one, time counts only in light traffic.
    let took = if decay.idle {
        undisturbed_time(window, all)
    } else {
        window.took
    };
    let (Some(needed), Delay::After(decay)) = (decay.needed(), decay.delay) else {
        return RunState::Unknown;
    };
    if decay == 0 || took >= needed {
        RunState::Settled
    } else {
        RunState::Moving(Moving::TooShort { took, decay, capped })
    }
}

/// The time without work until the end of a window: this window and adjoining earlier ones in which the allocator purges
/// too.
fn undisturbed_time(window: &Window, all: &[Window]) -> Nanos {
    let mut earliest = window;
    let mut time = window.took;
    while let Some(earlier) = all.iter().find(|earlier| adjoins(earlier, earliest)) {
        time = time.saturating_add(earlier.took);
        earliest = earlier;
    }
    time
}

/// True if `earlier` is the idle window of the step before `window`, under the same decay.
fn adjoins(earlier: &Window, window: &Window) -> bool {
    earlier.kind.is_idle()
        && earlier.phase == window.phase
        && earlier.step.checked_add(1) == Some(window.step)
        && earlier.decay == window.decay
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::AllocatorDecay;

    const SECOND: Nanos = 1_000_000_000;

    /// A fixed window of this many seconds, for an allocator with a decay time of 1 s.
    fn window(step: u32, kind: WindowKind, seconds: u64, thread: bool) -> Window {
        let mut windows = crate::golden::read("completed").windows;
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

    /// The state at the end of the last of these windows.
    fn judged(windows: &[Window]) -> RunState {
        state_after_fixed_window(windows.last().unwrap(), windows)
    }

    /// The state at the end of two idle windows, the second of them in this step.
    fn judged_with_silence_in_step_4(second_step: u32, thread: bool) -> RunState {
        judged(&[
            window(4, WindowKind::Silent, 3, thread),
            window(second_step, WindowKind::Simmer, 2, thread),
        ])
    }

    /// The state at the end of a window of two seconds that ended so.
    fn judged_by_end(kind: WindowKind, delay: Delay, thread: bool, end: WindowEnd) -> RunState {
        let mut window = window(5, kind, 2, thread);
        window.end = Some(end);
        window.decay = window.decay.map(|decay| AllocatorDecay { delay, ..decay });
        judged(&[window])
    }

    fn too_short(seconds: u64) -> RunState {
        RunState::Moving(Moving::TooShort {
            took: seconds * SECOND,
            decay: SECOND,
            capped: false,
        })
    }

    #[test]
    fn a_thread_purges_through_windows_that_adjoin() {
        use WindowKind::{Silent, Simmer};
        assert_eq!(judged(&[window(5, Simmer, 2, true)]), too_short(2));
        assert_eq!(
            judged_with_silence_in_step_4(5, true),
            RunState::Settled,
            "5 s of 3 s that it may take"
        );
        assert_eq!(
            judged_with_silence_in_step_4(6, true),
            too_short(2),
            "there was work between them"
        );
        assert_eq!(
            judged_with_silence_in_step_4(5, false),
            too_short(2),
            "silence moves no clock without a thread"
        );
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
        for (kind, delay, thread) in [
            (Silent, Delay::After(SECOND), false),
            (Silent, Delay::Untimed, false),
            (Silent, Delay::Never, true),
            (Simmer, Delay::Never, false),
        ] {
            assert_eq!(judged_by_end(kind, delay, thread, WindowEnd::Ended), RunState::Settled);
            assert_eq!(
                judged_by_end(kind, delay, thread, WindowEnd::TooShort),
                RunState::Unknown,
                "{kind:?}, {delay:?}"
            );
        }
        let capped = RunState::Moving(Moving::TooShort {
            took: 2 * SECOND,
            decay: SECOND,
            capped: true,
        });
        for (kind, thread) in [(Silent, true), (Simmer, false)] {
            assert_eq!(
                judged_by_end(kind, Delay::After(SECOND), thread, WindowEnd::TooShort),
                capped
            );
        }
    }

    #[test]
    fn what_is_purged_at_once_needs_no_window() {
        for thread in [true, false] {
            let mut short = window(5, WindowKind::Simmer, 1, thread);
            short.decay = short.decay.map(|decay| AllocatorDecay {
                delay: Delay::After(0),
                ..decay
            });
            assert_eq!(judged(&[short]), RunState::Settled);
        }
    }
}
