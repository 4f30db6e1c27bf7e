//! Counters that only grow: what processes have used so far.

use base::units::TICK;
use record::{Counters, Nanos, nanos};

/// Counters that only grow, over all processes so far, with those that are gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub cpu: Option<Nanos>,
    /// Whether any of that is known in nanoseconds.
    pub exact: bool,
    /// Whether any of it is known in ticks only.
    pub ticks: bool,
    pub minor: Option<u64>,
    pub major: Option<u64>,
}

impl Totals {
    pub const ZERO: Totals = Totals {
        cpu: Some(0),
        exact: false,
        ticks: false,
        minor: Some(0),
        major: Some(0),
    };

    pub fn of(counters: &Counters) -> Totals {
        let both = counters.user.zip(counters.system);
        let ticks = both.map(|(user, system)| user.saturating_add(system));
        Totals {
            cpu: counters.cpu.or(ticks),
            exact: counters.cpu.is_some(),
            ticks: counters.cpu.is_none() && ticks.is_some(),
            minor: counters.minor_faults,
            major: counters.major_faults,
        }
    }

    /// Processor time in nanoseconds, or where part of it is known in ticks only, in whole ticks: its digits are its
    /// resolution, see [`is_in_ticks`](base::units::is_in_ticks).
    pub fn cpu(self) -> Option<Nanos> {
        let tick = nanos(TICK);
        match self.exact && self.ticks {
            true => self.cpu.map(|cpu| cpu / tick * tick),
            false => self.cpu,
        }
    }

    fn zip(self, other: Totals, join: impl Fn(u64, u64) -> u64) -> Totals {
        let both = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| join(a, b));
        Totals {
            cpu: both(self.cpu, other.cpu),
            exact: self.exact || other.exact,
            ticks: self.ticks || other.ticks,
            minor: both(self.minor, other.minor),
            major: both(self.major, other.major),
        }
    }

    /// On top of what others have used.
    pub fn after(self, others: Option<Totals>) -> Totals {
        others.map_or(self, |others| others.zip(self, u64::saturating_add))
    }

    pub fn since(self, before: Totals) -> Totals {
        self.zip(before, u64::saturating_sub)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(user: Nanos, cpu: Option<Nanos>) -> Totals {
        Totals::of(&Counters {
            user: Some(user),
            system: Some(0),
            cpu,
            ..Counters::default()
        })
    }

    #[test]
    fn processor_time_of_which_part_is_in_ticks_is_in_whole_ticks() {
        let exact = of(40_000_000, Some(43_210_001));
        let ticks = of(20_000_000, None);
        assert_eq!(exact.cpu(), Some(43_210_001));
        assert_eq!(ticks.cpu(), Some(20_000_000));
        assert_eq!(exact.after(Some(ticks)).cpu(), Some(60_000_000));
        assert_eq!(exact.after(Some(exact)).cpu(), Some(86_420_002));
        assert_eq!(exact.since(Totals::ZERO).cpu(), Some(43_210_001));
    }
}
