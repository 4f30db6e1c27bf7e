//! Counters that only grow: what processes have used so far.

use crate::record::{Counters, Nanos};

/// Counters that only grow, over all processes so far, with those that are gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    /// Processor time.
    pub cpu: Option<Nanos>,
    /// Minor faults.
    pub minor: Option<u64>,
    /// Major faults.
    pub major: Option<u64>,
}

impl Totals {
    /// Of nobody.
    pub const ZERO: Totals = Totals {
        cpu: Some(0),
        minor: Some(0),
        major: Some(0),
    };

    /// Of one process.
    pub fn of(counters: &Counters) -> Totals {
        let both = counters.user.zip(counters.system);
        let cpu = both.map(|(user, system)| user.saturating_add(system));
        Totals {
            cpu,
            minor: counters.minor_faults,
            major: counters.major_faults,
        }
    }

    fn zip(self, other: Totals, join: impl Fn(u64, u64) -> u64) -> Totals {
        let both = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| join(a, b));
        Totals {
            cpu: both(self.cpu, other.cpu),
            minor: both(self.minor, other.minor),
            major: both(self.major, other.major),
        }
    }

    /// On top of what others have used.
    pub fn after(self, others: Option<Totals>) -> Totals {
        others.map_or(self, |others| others.zip(self, u64::saturating_add))
    }

    /// What was added since then.
    pub fn since(self, before: Totals) -> Totals {
        self.zip(before, u64::saturating_sub)
    }
}
