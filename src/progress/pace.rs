//! Estimates the remaining time of a campaign from the plan's pauses and the measured runs.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::plan::{Outline, PhaseOutline};

/// The plan, and the times of the measured runs.
#[derive(Clone, Debug, Default)]
pub struct Pace {
    pub outline: Option<Outline>,
    /// Server of each run, in order, by its place on the command line.
    pub runs: Vec<usize>,
    pub budget: Option<Duration>,
    /// Times of complete runs, by server.
    measured: BTreeMap<usize, Vec<Duration>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// Place among the runs, from 0.
    pub run: usize,
    pub elapsed: Duration,
    /// Current phase, and the time spent in it.
    pub phase: Option<(usize, Duration)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remaining {
    /// A lower bound: the scenario's own pauses.
    AtLeast(Duration),
    /// An estimate from earlier runs.
    About(Duration),
}

impl Pace {
    pub fn new(outline: Outline, runs: Vec<usize>, budget: Option<Duration>) -> Pace {
        Pace {
            outline: Some(outline),
            runs,
            budget,
            measured: BTreeMap::new(),
        }
    }

    pub fn record_run(&mut self, server: usize, took: Duration) {
        self.measured.entry(server).or_default().push(took);
    }

    /// The remaining time, including this run; `None` without a plan.
    pub fn remaining(&self, reached: Reached, used: Duration) -> Option<Remaining> {
        let server = *self.runs.get(reached.run)?;
        let least = self.outline.as_ref()?.total.least;
        let rest = self.rest_of(reached);
        let current = self
            .expected(server)
            .map_or(rest, |expected| expected.saturating_sub(reached.elapsed).max(rest));
        let later = &self.runs[reached.run + 1..];
        let later = later
            .iter()
            .map(|server| self.expected(*server).unwrap_or(least))
            .sum::<Duration>();
        let all = current.saturating_add(later);
        // A run that takes longer than the others gives no estimate.
        let is_known = self.expected(server).is_some_and(|expected| expected > reached.elapsed);
        Some(match self.budget.map(|budget| budget.saturating_sub(used)) {
            // As many runs as fit are played, so the budget is the estimate.
            Some(remaining) if remaining > current => Remaining::About(remaining.min(all)),
            Some(_) if is_known => Remaining::About(current),
            Some(_) => Remaining::AtLeast(current),
            None if is_known => Remaining::About(all),
            None => Remaining::AtLeast(all),
        })
    }

    /// The median time of this server's runs, or else of all runs.
    fn expected(&self, server: usize) -> Option<Duration> {
        let own = self.measured.get(&server).cloned().unwrap_or_default();
        upper_median(own).or_else(|| upper_median(self.measured.values().flatten().copied().collect()))
    }

    /// The pauses that remain in this run.
    fn rest_of(&self, reached: Reached) -> Duration {
        let Some(outline) = &self.outline else {
            return Duration::ZERO;
        };
        match reached.phase {
            None => outline.total.least,
            // When the whole scenario repeats, the current phase means little.
            Some(_) if outline.repeat.is_some() => outline.total.least.saturating_sub(reached.elapsed),
            Some((phase, elapsed)) => {
                let rest = &outline.phases[phase.min(outline.phases.len())..];
                let current = rest.first().map_or(Duration::ZERO, |phase| phase.total.least);
                least_time(rest).saturating_sub(elapsed.min(current))
            }
        }
    }
}

fn upper_median(mut times: Vec<Duration>) -> Option<Duration> {
    times.sort_unstable();
    times.get(times.len() / 2).copied()
}

/// The pauses of these phases.
fn least_time(phases: &[PhaseOutline]) -> Duration {
    phases.iter().map(|phase| phase.total.least).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Repeat, Scenario};
    use crate::plan::outline;
    use base::units::Span;

    const SECOND: Duration = Duration::from_secs(1);

    fn seconds(seconds: u64) -> Duration {
        SECOND * u32::try_from(seconds).unwrap()
    }

    /// Two phases of 11 and 21 seconds, three runs of two servers.
    fn pace() -> Pace {
        let text = "format = 1\nname = 'a'\n[[phase]]\nname = 'b'\nsteps = [{ pause = { for = '10s' } }]\n\
                    [[phase]]\nname = 'c'\nsteps = [{ pause = { for = '20s' } }]";
        let scenario: Scenario = crate::config::place::read(text).unwrap();
        Pace::new(outline(&scenario, 1), vec![0, 1, 0], None)
    }

    fn reached(run: usize, elapsed: u64, phase: Option<(usize, u64)>) -> Reached {
        Reached {
            run,
            elapsed: seconds(elapsed),
            phase: phase.map(|(phase, elapsed)| (phase, seconds(elapsed))),
        }
    }

    #[test]
    fn before_anything_was_measured_the_plan_says_the_least() {
        let pace = pace();
        let remaining = |reached| pace.remaining(reached, Duration::ZERO);
        assert_eq!(remaining(reached(0, 5, None)), Some(Remaining::AtLeast(seconds(96))));
        assert_eq!(
            remaining(reached(0, 9, Some((0, 4)))),
            Some(Remaining::AtLeast(seconds(92)))
        );
        // A phase that overruns does not shorten the next ones.
        assert_eq!(
            remaining(reached(0, 99, Some((0, 90)))),
            Some(Remaining::AtLeast(seconds(85)))
        );
        assert_eq!(
            remaining(reached(2, 30, Some((1, 1)))),
            Some(Remaining::AtLeast(seconds(20)))
        );
        assert_eq!(remaining(reached(3, 0, None)), None);
    }

    #[test]
    fn runs_that_were_measured_correct_it() {
        let mut pace = pace();
        pace.record_run(0, seconds(50));
        // Before it is measured, the second server counts as fast as the first.
        assert_eq!(
            pace.remaining(reached(1, 10, Some((0, 1))), Duration::ZERO),
            Some(Remaining::About(seconds(90)))
        );
        pace.record_run(1, seconds(80));
        assert_eq!(
            pace.remaining(reached(2, 20, Some((1, 1))), Duration::ZERO),
            Some(Remaining::About(seconds(30)))
        );
        // A late run still has its remaining pauses.
        assert_eq!(
            pace.remaining(reached(2, 90, Some((1, 1))), Duration::ZERO),
            Some(Remaining::AtLeast(seconds(20)))
        );
        assert_eq!(
            pace.remaining(reached(2, 900, Some((1, 100))), Duration::ZERO),
            Some(Remaining::AtLeast(seconds(0)))
        );
    }

    #[test]
    fn a_budget_is_the_time_that_is_left() {
        let mut pace = pace();
        pace.runs = vec![0; 1_000];
        pace.budget = Some(seconds(600));
        let remaining = pace.remaining(reached(2, 10, Some((0, 1))), seconds(100));
        assert_eq!(remaining, Some(Remaining::About(seconds(500))));
        let last = pace.remaining(reached(2, 10, Some((1, 1))), seconds(599));
        assert_eq!(
            last,
            Some(Remaining::AtLeast(seconds(20))),
            "a run that has begun is finished"
        );
    }

    #[test]
    fn a_scenario_that_is_repeated_as_a_whole_is_its_time_less_what_has_passed() {
        let mut pace = pace();
        let mut outline = pace.outline.take().unwrap();
        outline.repeat = Some(Repeat::For(Span::from_secs(3600)));
        outline.total.least = seconds(3600);
        pace.outline = Some(outline);
        pace.runs = vec![0];
        let remaining = pace.remaining(reached(0, 600, Some((1, 5))), Duration::ZERO);
        assert_eq!(remaining, Some(Remaining::AtLeast(seconds(3000))));
    }
}
