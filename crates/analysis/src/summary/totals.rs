//! Counters that only grow: what processes have used so far.

use base::units::TICK;
use record::{Counters, Nanos, nanos};

/// Counters that only grow, over all processes so far, with those that are gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub cpu: Option<Nanos>,
    /// True if any of the processor time is known in nanoseconds.
    pub exact: bool,
    /// True if any of the processor time is known in ticks only.
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

    pub fn from_counters(counters: &Counters) -> Totals {
        let ticks = counters
            .user
            .zip(counters.system)
            .map(|(user, system)| user.saturating_add(system));
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
        let cpu = self.cpu?;
        if !(self.exact && self.ticks) {
            return Some(cpu);
        }
        let tick = nanos(TICK);
        Some(cpu / tick * tick)
    }

    /// Combines each counter that both sides know.
    fn combine(self, other: Totals, operation: fn(u64, u64) -> u64) -> Totals {
        Totals {
            cpu: self.cpu.zip(other.cpu).map(|(a, b)| operation(a, b)),
            exact: self.exact || other.exact,
            ticks: self.ticks || other.ticks,
            minor: self.minor.zip(other.minor).map(|(a, b)| operation(a, b)),
            major: self.major.zip(other.major).map(|(a, b)| operation(a, b)),
        }
    }

    /// The sum of these totals and those of `others`, if there are any.
    pub fn added_to(self, others: Option<Totals>) -> Totals {
        match others {
            Some(others) => others.combine(self, u64::saturating_add),
            None => self,
        }
    }

    /// The difference to earlier totals.
    pub fn since(self, before: Totals) -> Totals {
        self.combine(before, u64::saturating_sub)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(user: Nanos, cpu: Option<Nanos>) -> Totals {
        Totals::from_counters(&Counters {
            user: Some(user),
            system: Some(0),
            cpu,
            ..Counters::default()
        })
    }

    #[test]
    fn processor_time_of_which_part_is_in_ticks_is_in_whole_ticks() {
        let exact = totals(40_000_000, Some(43_210_001));
        let ticks = totals(20_000_000, None);
        assert_eq!(exact.cpu(), Some(43_210_001));
        assert_eq!(ticks.cpu(), Some(20_000_000));
        assert_eq!(exact.added_to(Some(ticks)).cpu(), Some(60_000_000));
        assert_eq!(exact.added_to(Some(exact)).cpu(), Some(86_420_002));
        assert_eq!(exact.since(Totals::ZERO).cpu(), Some(43_210_001));
    }
}
