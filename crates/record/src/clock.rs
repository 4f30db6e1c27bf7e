//! The time base of a run, shared by driver and sampler.

use std::time::{Duration, Instant};

use super::Nanos;

/// A monotonic clock that is zero at the first spawn of the server. Copies share that zero.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Instant,
}

impl Clock {
    pub fn start() -> Clock {
        Clock { origin: Instant::now() }
    }

    pub fn now(&self) -> Nanos {
        self.since_start(Instant::now())
    }

    /// Nanoseconds from the start to `instant`; 0 for an earlier instant.
    fn since_start(&self, instant: Instant) -> Nanos {
        nanos(instant.saturating_duration_since(self.origin))
    }

    /// The instant that a thread with absolute deadlines sleeps until.
    pub fn instant(&self, at: Nanos) -> Instant {
        self.origin + Duration::from_nanos(at)
    }
}

/// A duration in the unit of the record, which holds 584 years.
pub fn nanos(duration: Duration) -> Nanos {
    Nanos::try_from(duration.as_nanos()).unwrap_or(Nanos::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_and_its_nanoseconds_name_the_same_moment() {
        let clock = Clock::start();
        assert_eq!(clock.since_start(clock.instant(1_234_567)), 1_234_567);
    }

    #[test]
    fn what_was_before_the_start_is_zero() {
        let before = Instant::now();
        assert_eq!(Clock::start().since_start(before), 0);
    }

    #[test]
    fn a_length_past_the_unit_is_the_most_there_is() {
        assert_eq!(nanos(Duration::MAX), u64::MAX);
    }
}
