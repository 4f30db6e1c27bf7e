//! Rations costly looks: after one that took `c`, the next waits `c ÷ share`, but at least a minimum pause.

use record::Nanos;

/// A share of time that some work may take.
#[derive(Clone, Copy, Debug)]
pub struct Duty {
    share: f64,
    least: Nanos,
    /// The earliest next start.
    next: Nanos,
}

impl Duty {
    /// Work that may take `share` of the time, with at least `least` from one start to the next.
    pub fn new(share: f64, least: Nanos) -> Duty {
        Duty { share, least, next: 0 }
    }

    /// True if the work may start now.
    pub fn ready(&self, now: Nanos) -> bool {
        now >= self.next
    }

    /// Records work that began at `now` and took `cost`; the pause after it is at most `most`. Work before its time
    /// only lengthens the pause.
    pub fn spent(&mut self, now: Nanos, cost: Nanos, most: Nanos) {
        // A float is precise enough for a pause. A share of 0 gives the largest number: never again.
        let pause = (cost as f64 / self.share) as Nanos;
        let next = now.saturating_add(pause.max(self.least).min(most));
        self.next = self.next.max(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_follows_the_cost_but_has_a_least() {
        let mut duty = Duty::new(0.01, 1_000);
        assert!(duty.ready(0));
        duty.spent(0, 1, Nanos::MAX);
        assert_eq!(duty.next, 1_000);
        duty.spent(5_000, 50, Nanos::MAX);
        assert_eq!(duty.next, 10_000);
        assert!(!duty.ready(9_999) && duty.ready(10_000));
    }

    #[test]
    fn work_out_of_turn_does_not_shorten_the_pause() {
        let mut duty = Duty::new(0.01, 0);
        duty.spent(0, 50, Nanos::MAX);
        duty.spent(1_000, 1, Nanos::MAX);
        assert_eq!(duty.next, 5_000);
        duty.spent(2_000, 40, Nanos::MAX);
        assert_eq!(duty.next, 6_000);
    }

    #[test]
    fn no_share_is_never_again_and_does_not_overflow() {
        let mut duty = Duty::new(0.0, 0);
        duty.spent(7, 1, Nanos::MAX);
        assert_eq!(duty.next, Nanos::MAX);
    }
}
