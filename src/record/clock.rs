//! The one time base of a run: nanoseconds since the first spawn, for driver and sampler alike.

use std::time::{Duration, Instant};

use super::Nanos;

/// A monotonic clock whose zero is the first spawn of the server. Copies share that zero.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Instant,
}

impl Clock {
    /// A clock that reads zero now.
    pub fn start() -> Clock {
        Clock { origin: Instant::now() }
    }

    /// Nanoseconds since the start.
    pub fn now(&self) -> Nanos {
        self.at(Instant::now())
    }

    /// When that was; moments before the start are 0.
    pub fn at(&self, instant: Instant) -> Nanos {
        nanos(instant.saturating_duration_since(self.origin))
    }

    /// The moment that `at` names: what a thread that keeps absolute deadlines sleeps until.
    pub fn instant(&self, at: Nanos) -> Instant {
        self.origin + Duration::from_nanos(at)
    }
}

/// A length of time in the unit of the record; 584 years is the most it holds.
pub fn nanos(duration: Duration) -> Nanos {
    Nanos::try_from(duration.as_nanos()).unwrap_or(Nanos::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_and_its_nanoseconds_name_the_same_moment() {
        let clock = Clock::start();
        assert_eq!(clock.at(clock.instant(1_234_567)), 1_234_567);
    }

    #[test]
    fn what_was_before_the_start_is_zero() {
        let before = Instant::now();
        assert_eq!(Clock::start().at(before), 0);
    }

    #[test]
    fn a_length_past_the_unit_is_the_most_there_is() {
        assert_eq!(nanos(Duration::MAX), u64::MAX);
    }
}
