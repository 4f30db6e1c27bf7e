//! Decides when memory has settled in an idle window, from facts of the allocator. Pure: takes values and times.

use std::collections::VecDeque;
use std::time::Duration;

use crate::config::step::Idle;
use base::band;
use record::{AllocatorDecay, Delay, WindowEnd};

/// A cap that is always allowed; a slower allocator may have a longer one.
pub const USUAL: Duration = Duration::from_secs(120);

/// Longest cap, however slow the allocator is configured.
const LONGEST: Duration = Duration::from_secs(3_600);

/// Time in which memory may move after an allocator's last purge step.
const SLACK: Duration = Duration::from_secs(5);

/// The cap for an unknown allocator.
const UNKNOWN: Duration = Duration::from_secs(60);

/// Time limits of a watch.
///
/// An allocator with decay time D takes up to 2·D for its last step, with flat stretches in between. With D = 10 s the
/// last step came after 18.2–19.5 s, 12 s after the one before (jemalloc 5.3.0 under ty). So a window lasts at least
/// 2·D + 1 s, and memory must be steady for 1.25·D, between 3 and 15 s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    pub least: Duration,
    /// Time for which memory must be steady.
    pub steady: Duration,
    pub most: Duration,
    /// Set if the allocator releases nothing in this window: after this time without a release, the window ends as
    /// held.
    pub dwell: Option<Duration>,
}

impl Rule {
    /// Earliest end of a window, except by its time limit.
    pub fn floor(&self) -> Duration {
        self.dwell.unwrap_or_default().max(self.least).max(self.steady)
    }

    /// The rule of a window; `silent` means that no traffic is sent in it.
    pub fn for_window(decay: Option<AllocatorDecay>, silent: bool, options: &Idle) -> Rule {
        let steady = Idle::STEADY.0;
        // A full decay is waited for however long it takes.
        let asked = if options.full_decay {
            None
        } else {
            options.at_most.map(|span| span.0)
        };
        let unknown = Rule {
            least: steady,
            steady,
            most: asked.unwrap_or(UNKNOWN),
            dwell: None,
        };
        let Some(decay) = decay else { return unknown };
        let holds = decay.delay == Delay::Never || (silent && !decay.idle);
        if holds {
            return Rule {
                dwell: Some(options.dwell.unwrap_or(Idle::DWELL).0),
                ..unknown
            };
        }
        let Delay::After(delay) = decay.delay else {
            return unknown;
        };
        // A collector's clock runs for minutes: a window waits for that only if it is asked to.
        if decay.runtime.is_some() && !options.full_decay {
            return unknown;
        }
        let delay = Duration::from_nanos(delay);
        let still = delay
            .mul_f64(1.25)
            .clamp(Duration::from_secs(3), Duration::from_secs(15));
        let least = Duration::from_nanos(decay.needed().unwrap_or_default());
        // Without a background thread, the allocator's clock advances only on calls.
        let steady = if decay.idle { still } else { still.max(steady) };
        // A collection that comes late is waited for, since this was asked for.
        let longest = match decay.runtime {
            Some(_) => Duration::MAX,
            None => least.saturating_add(steady + SLACK),
        };
        let most = delay
            .saturating_mul(4)
            .saturating_add(Duration::from_secs(20))
            .min(USUAL.max(longest))
            .min(LONGEST);
        Rule {
            least,
            steady,
            most: asked.map_or(most, |asked| asked.min(most)),
            dwell: None,
        }
    }
}

/// Checks memory repeatedly until it has settled, or will not.
#[derive(Debug)]
pub struct Settling {
    rule: Rule,
    first: Option<u64>,
    /// Recent values, with the time since the start of the window.
    values: VecDeque<(Duration, u64)>,
}

impl Settling {
    /// For a window that starts with `first` bytes of private memory; `None` if unknown.
    pub fn new(rule: Rule, first: Option<u64>) -> Settling {
        Settling {
            rule,
            first,
            values: VecDeque::new(),
        }
    }

    /// Takes private memory (`None` if unknown), true in `is_idle` if the server is idle, and the time since the start of
    /// the window. Returns the reason if the window is over.
    pub fn look(&mut self, at: Duration, private: Option<u64>, is_idle: bool) -> Option<WindowEnd> {
        let Rule { least, most, dwell, .. } = self.rule;
        let is_steady = match private {
            Some(private) => self.add(at, private),
            None => false,
        };
        let is_held = dwell.is_some_and(|dwell| at >= dwell && !self.has_released());
        let earliest = dwell.unwrap_or_default().max(least);
        if is_steady && is_idle && (is_held || at >= earliest) {
            return Some(if is_held { WindowEnd::Held } else { WindowEnd::Settled });
        }
        if at < most {
            return None;
        }
        // Unknown memory may be moving.
        let is_still = is_idle && private.is_some() && !self.moves();
        Some(if is_still {
            WindowEnd::TooShort
        } else {
            WindowEnd::TimedOut
        })
    }

    /// Shortest window after which steady memory counts as settled.
    pub fn needed(&self) -> Duration {
        let first = self.values.front().map_or(Duration::ZERO, |(first, _)| *first);
        self.rule.floor().max(first + self.rule.steady)
    }

    /// True if values cover the whole time that memory must be steady.
    pub fn is_whole(&self, at: Duration) -> bool {
        self.values
            .front()
            .is_some_and(|(first, _)| at.saturating_sub(*first) >= self.rule.steady)
    }

    /// True if memory moved recently.
    pub fn moves(&self) -> bool {
        self.spread()
            .is_some_and(|(least, most)| most - least > band::tolerated_difference(most))
    }

    /// Lowest and highest recent value.
    fn spread(&self) -> Option<(u64, u64)> {
        let least = self.values.iter().map(|(_, value)| *value).min()?;
        let most = self.values.iter().map(|(_, value)| *value).max()?;
        Some((least, most))
    }

    /// Adds a value. Returns true if all recent values lie within the band.
    fn add(&mut self, at: Duration, private: u64) -> bool {
        self.first.get_or_insert(private);
        self.values.push_back((at, private));
        while self
            .values
            .get(1)
            .is_some_and(|(next, _)| at.saturating_sub(*next) >= self.rule.steady)
        {
            self.values.pop_front();
        }
        self.is_whole(at) && !self.moves()
    }

    /// True if memory is below its value at the start of the window.
    fn has_released(&self) -> bool {
        let last = self.values.back().map(|(_, value)| *value);
        let (Some(first), Some(last)) = (self.first, last) else {
            return false;
        };
        first.saturating_sub(last) > band::tolerated_difference(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::units::Span;
    use record::Runtime;

    const MIB: u64 = 1 << 20;

    fn decay(idle: bool, seconds: u64) -> Option<AllocatorDecay> {
        Some(AllocatorDecay {
            idle,
            delay: Delay::After(seconds * 1_000_000_000),
            lazy: false,
            runtime: None,
        })
    }

    fn collects(seconds: u64) -> Option<AllocatorDecay> {
        decay(true, seconds).map(|decay| AllocatorDecay {
            runtime: Some(Runtime::Go),
            ..decay
        })
    }

    fn silent(decay: Option<AllocatorDecay>) -> Rule {
        Rule::for_window(decay, true, &Idle::default())
    }

    /// Memory in MiB that changes once, after `seconds`.
    fn step(seconds: f64, before: u64, after: u64) -> impl Fn(f64) -> u64 + Copy {
        move |at| if at < seconds { before } else { after }
    }

    /// Memory in MiB that grows by 1 MiB/s.
    fn growth(at: f64) -> u64 {
        100 + at as u64
    }

    fn at_most(seconds: u64) -> Idle {
        Idle {
            at_most: Some(Span::from_secs(seconds)),
            ..Idle::default()
        }
    }

    /// The end of a window over this curve, in seconds, and its reason; the server is idle.
    fn ends(rule: Rule, curve: impl Fn(f64) -> u64) -> (f64, WindowEnd) {
        let mut settling = Settling::new(rule, None);
        for tenth in 0.. {
            let at = f64::from(tenth) / 10.0;
            if let Some(end) = settling.look(Duration::from_secs_f64(at), Some(curve(at) * MIB), true) {
                return (at, end);
            }
        }
        unreachable!("every window has a longest time")
    }

    #[test]
    fn the_flat_stretches_of_a_slow_allocator_are_waited_through() {
        // ty with jemalloc's background thread and 10 s decay: last step after 19.5 s, 12 s after the one before.
        let end = ends(silent(decay(true, 10)), |at| match at {
            ..3.5 => 213,
            ..7.3 => 203,
            ..19.5 => 167,
            _ => 163,
        });
        assert_eq!(end, (32.0, WindowEnd::Settled));
        let quick = step(1.5, 194, 163);
        assert_eq!(ends(silent(decay(true, 1)), quick), (4.5, WindowEnd::Settled));
    }

    #[test]
    fn what_cannot_come_back_in_silence_is_not_waited_for_beyond_the_dwell() {
        assert_eq!(ends(silent(decay(false, 10)), |_| 205), (12.0, WindowEnd::Held));
        let never = Some(AllocatorDecay {
            idle: true,
            delay: Delay::Never,
            lazy: false,
            runtime: None,
        });
        assert_eq!(ends(silent(never), |_| 205), (12.0, WindowEnd::Held));
        let short = Idle {
            dwell: Some(Span::from_secs(4)),
            ..Idle::default()
        };
        let held = ends(Rule::for_window(decay(false, 10), true, &short), |_| 205);
        assert_eq!(held, (8.0, WindowEnd::Held), "it has to keep still all the same");
    }

    #[test]
    fn a_server_that_frees_on_a_timer_of_its_own_is_not_called_holding() {
        let timer = step(5.0, 205, 150);
        assert_eq!(ends(silent(decay(false, 10)), timer), (13.0, WindowEnd::Settled));
    }

    #[test]
    fn light_traffic_moves_a_clock_that_silence_does_not() {
        let rule = Rule::for_window(decay(false, 10), false, &Idle::default());
        assert_eq!((rule.least.as_secs(), rule.most.as_secs(), rule.dwell), (21, 60, None));
        let rule = Rule::for_window(decay(false, 1), false, &Idle::default());
        assert_eq!(rule.steady.as_secs(), 8);
    }

    #[test]
    fn a_look_that_is_over_knows_whether_memory_moved_at_its_end() {
        let mut settling = Settling::new(silent(None), None);
        for (at, mib, moved) in [(0, 18, false), (1, 18, false), (2, 4, true)] {
            settling.look(Duration::from_secs(at), Some(mib * MIB), false);
            assert_eq!(settling.moves(), moved, "at {at} s");
        }
    }

    #[test]
    fn what_is_never_still_runs_out_of_time() {
        assert_eq!(ends(silent(None), growth), (60.0, WindowEnd::TimedOut));
        assert_eq!(ends(silent(decay(true, 1)), growth), (24.0, WindowEnd::TimedOut));
        let capped = Rule::for_window(None, true, &at_most(15));
        assert_eq!(ends(capped, growth), (15.0, WindowEnd::TimedOut));
    }

    #[test]
    fn memory_that_keeps_still_for_less_than_is_needed_is_not_called_moving() {
        for (rule, at, needed) in [
            (Rule::for_window(decay(false, 10), true, &at_most(10)), 10.0, 12),
            (Rule::for_window(None, true, &at_most(5)), 5.0, 8),
            (Rule::for_window(decay(true, 10), true, &at_most(15)), 15.0, 21),
            (silent(decay(true, 3_000)), 3_600.0, 6_001),
        ] {
            assert_eq!(ends(rule, |_| 205), (at, WindowEnd::TooShort));
            assert_eq!(rule.floor().as_secs(), needed);
            let falls = step(at - 1.0, 205, 150);
            assert_eq!(ends(rule, falls), (at, WindowEnd::TimedOut));
        }
        let mut late = Settling::new(Rule::for_window(None, true, &at_most(9)), None);
        late.look(Duration::from_secs(4), Some(MIB), true);
        let end = late.look(Duration::from_secs(9), Some(MIB), true);
        assert_eq!(
            (end, late.needed().as_secs()),
            (Some(WindowEnd::TooShort), 12),
            "seen from 4 s on"
        );
    }

    #[test]
    fn a_slow_allocator_is_waited_for_as_long_as_it_was_told_to_take() {
        for seconds in [60, 100, 600] {
            let rule = silent(decay(true, seconds));
            let (end, why) = ends(rule, |_| 205);
            assert_eq!(
                (end, why),
                ((2 * seconds + 1) as f64, WindowEnd::Settled),
                "{seconds} s"
            );
            let late = step(2.0 * seconds as f64, 205, 150);
            assert_eq!(ends(rule, late).1, WindowEnd::Settled, "{seconds} s");
        }
    }

    #[test]
    fn a_collector_is_waited_for_only_if_that_is_asked_for() {
        let late = step(129.0, 500, 130);
        assert_eq!(ends(silent(collects(120)), late), (8.0, WindowEnd::Settled));
        for at_most in [None, Some(Span::from_secs(25))] {
            let full = Idle {
                full_decay: true,
                at_most,
                ..Idle::default()
            };
            let rule = Rule::for_window(collects(120), true, &full);
            assert_eq!(ends(rule, late), (241.0, WindowEnd::Settled), "{at_most:?}");
            assert_eq!(rule.most.as_secs(), 500);
            let traffic = Rule::for_window(collects(120), false, &full);
            assert_eq!(ends(traffic, late), (241.0, WindowEnd::Settled));
            assert_eq!(ends(rule, growth), (500.0, WindowEnd::TimedOut));
        }
    }

    #[test]
    fn a_busy_server_has_not_settled_though_its_memory_keeps_still() {
        let mut settling = Settling::new(silent(None), None);
        for second in 0..60 {
            assert_eq!(settling.look(Duration::from_secs(second), Some(MIB), false), None);
        }
        let end = settling.look(Duration::from_secs(60), Some(MIB), false);
        assert_eq!(end, Some(WindowEnd::TimedOut));
    }

    #[test]
    fn a_flat_stretch_counts_only_when_it_is_long_enough() {
        let fell = step(9.0, 100, 90);
        let early = Rule {
            least: Duration::from_secs(9),
            ..silent(None)
        };
        assert_eq!(ends(early, fell), (17.0, WindowEnd::Settled));
        assert_eq!(ends(silent(None), |_| 100), (8.0, WindowEnd::Settled));
        let small = ends(silent(None), |at| 10 + u64::from(at > 1.0));
        assert_eq!(small, (9.1, WindowEnd::Settled), "half a MiB may move, a whole one not");
    }

    #[test]
    fn memory_that_nobody_saw_has_not_settled() {
        let mut settling = Settling::new(silent(None), None);
        assert_eq!(settling.look(Duration::from_secs(10), None, true), None);
        let end = settling.look(Duration::from_secs(60), None, true);
        assert_eq!(end, Some(WindowEnd::TimedOut));
        assert!(!settling.is_whole(Duration::from_secs(60)));
    }
}
