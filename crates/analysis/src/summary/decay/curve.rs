//! One quantity over one window, in bounded memory.

use record::Nanos;

/// Points that are kept: at 20 Hz all of a window of three minutes, so that nothing is lost of one that waits for memory
/// to settle.
const MOST: usize = 4096;

/// Values with their times, each valid until the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Curve {
    /// Time since the window began, and the value from then on.
    points: Vec<(Nanos, u64)>,
    /// Least time between two points: 0 until there were too many.
    spacing: Nanos,
    /// The lowest of all values, also of those that are no point any more.
    lowest: Option<u64>,
    /// True if the value was unknown at some moment.
    holes: bool,
}

impl Curve {
    /// Takes the value at a moment; one that changes nothing is no point.
    pub fn add(&mut self, at: Nanos, value: Option<u64>) {
        let Some(value) = value else {
            self.holes = true;
            return;
        };
        self.lowest = Some(self.lowest.map_or(value, |lowest| lowest.min(value)));
        match self.points.last_mut() {
            Some((_, last)) if *last == value => return,
            Some((then, last)) if at.saturating_sub(*then) < self.spacing.max(1) => *last = value,
            Some(_) | None => self.points.push((at, value)),
        }
        if self.points.len() > MOST {
            self.thin();
        }
    }

    fn thin(&mut self) {
        let span = self.points.last().map_or(0, |(at, _)| *at);
        self.spacing = self.spacing.saturating_mul(2).max(span / MOST as u64).max(1);
        let mut kept: Vec<(Nanos, u64)> = Vec::with_capacity(MOST);
        for (at, value) in &self.points {
            match kept.last_mut() {
                Some((then, last)) if at.saturating_sub(*then) < self.spacing => *last = *value,
                Some(_) | None => kept.push((*at, *value)),
            }
        }
        self.points = kept;
    }

    /// The points, if a value was known throughout.
    pub fn points(&self) -> Option<&[(Nanos, u64)]> {
        if self.holes || self.points.is_empty() {
            return None;
        }
        Some(&self.points)
    }

    pub fn lowest(&self) -> Option<u64> {
        self.lowest
    }
}

/// The value that holds at a moment; `None` before the first point.
pub(super) fn value_at(points: &[(Nanos, u64)], moment: Nanos) -> Option<u64> {
    let after = points.partition_point(|(at, _)| *at <= moment);
    points.get(after.checked_sub(1)?).map(|(_, value)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_night_takes_no_more_memory_than_a_minute() {
        let mut curve = Curve::default();
        for tick in 0..600_000u64 {
            curve.add(tick * 50_000_000, Some(1_000_000 - tick));
        }
        curve.add(600_000 * 50_000_000, Some(7));
        assert!(curve.points.len() <= MOST);
        assert_eq!(curve.lowest(), Some(7));
        let points = curve.points().unwrap();
        let middle = value_at(points, 300_000 * 50_000_000).unwrap();
        assert!(middle.abs_diff(700_000) < 2_000, "{middle}");
    }

    #[test]
    fn a_value_holds_until_the_next() {
        let mut curve = Curve::default();
        curve.add(0, Some(5));
        curve.add(10, Some(5));
        curve.add(20, Some(3));
        assert_eq!(curve.points(), Some(&[(0, 5), (20, 3)][..]));
        let points = curve.points().unwrap();
        assert_eq!(
            (value_at(points, 19), value_at(points, 20), value_at(points, 99)),
            (Some(5), Some(3), Some(3))
        );
        curve.add(30, None);
        assert_eq!(curve.points(), None, "what was not known once is not known");
    }
}
