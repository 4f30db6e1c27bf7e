//! The rounds of a repeated part.

use std::time::Instant;

use crate::config::Repeat;

/// Counts the rounds of a `repeat`; one round without it.
pub(super) struct Rounds {
    repeat: Repeat,
    done: u64,
    begun: Instant,
}

impl Rounds {
    pub(super) fn new(repeat: Option<Repeat>) -> Rounds {
        Rounds {
            repeat: repeat.unwrap_or(Repeat::Times(1)),
            done: 0,
            begun: Instant::now(),
        }
    }

    pub(super) fn next(&mut self) -> bool {
        let more = match self.repeat {
            Repeat::Times(times) => self.done < times,
            Repeat::For(span) => self.done == 0 || self.begun.elapsed() < span.0,
        };
        self.done += u64::from(more);
        more
    }
}
