//! The figures of one quantity over one window. No model of how allocators decay is behind any of them.

use serde::Serialize;

use crate::summary::phases::share;
use base::band;
use base::curve::Curve;
use base::shown;
use base::units;
use record::Nanos;

const SECOND: Nanos = 1_000_000_000;

/// Reported moments after the start, in seconds.
pub const AFTER: [u64; 4] = [1, 5, 10, 30];

/// What one quantity did in a window. Sizes are bytes, times count from the window's beginning.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Course {
    /// When the window began.
    pub before: u64,
    /// When it ended.
    pub after: u64,
    /// The lowest in between.
    pub floor: u64,
    /// At each of [`AFTER`]; `None` where the window was over by then.
    #[serde(flatten, serialize_with = "shown::<AtMoments, _, _>")]
    #[cfg_attr(feature = "schema", schemars(with = "AtMoments"))]
    pub at: [Option<u64>; AFTER.len()],
    /// Time until half of the fall to the floor; `None` if the fall is within noise.
    pub t50: Option<Nanos>,
    /// Until nine tenths had.
    pub t90: Option<Nanos>,
    /// `(peak − floor) / (peak − base)`: the peak of the run until the floor, and its lowest checkpoint, or the floor where that is
    /// lower.
    pub returned: Option<f64>,
    /// `(before − after) / (peak − base)`: its own part of that.
    pub share: Option<f64>,
    /// When memory came within 0.5 % or 512 KiB of the floor for the last time; `None` if it was not there at the end.
    pub settle_time: Option<Nanos>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct AtMoments {
    /// After 1 s; `null` here and below where the window was over by then.
    after_1s: Option<u64>,
    /// After 5 s.
    after_5s: Option<u64>,
    /// After 10 s.
    after_10s: Option<u64>,
    /// After 30 s.
    after_30s: Option<u64>,
}

impl From<&[Option<u64>; AFTER.len()]> for AtMoments {
    fn from([after_1s, after_5s, after_10s, after_30s]: &[Option<u64>; AFTER.len()]) -> AtMoments {
        let (after_1s, after_5s, after_10s, after_30s) = (*after_1s, *after_5s, *after_10s, *after_30s);
        AtMoments {
            after_1s,
            after_5s,
            after_10s,
            after_30s,
        }
    }
}

impl Course {
    /// The figures of a curve over `took`; `peak`, before it began, and `base` are the run's, of the same quantity. `None` where a value
    /// was not known.
    pub(super) fn new(curve: &Curve, took: Nanos, peak: Option<u64>, base: Option<u64>) -> Option<Course> {
        let points = &curve.known_points()?;
        let floor = points.iter().map(|(_, value)| *value).min()?;
        let (before, after) = (points.first()?.1, points.last()?.1);
        // Memory before the floor never exceeds the peak, whenever that was last read.
        let until_floor = points
            .iter()
            .take_while(|(_, value)| *value > floor)
            .map(|(_, value)| *value);
        let peak = peak.map(|peak| until_floor.fold(peak.max(before), u64::max));
        // A run may release memory from before its first checkpoint: bytes and share still refer to one whole.
        let base = base.map(|base| base.min(floor));
        let returned_before = share(peak, Some(before), base);
        let returned_after = share(peak, Some(after), base);
        Some(Course {
            before,
            after,
            floor,
            at: AFTER.map(|seconds| value_after(curve, seconds * SECOND, took)),
            t50: time_of_fall(points, before, floor, 0.5),
            t90: time_of_fall(points, before, floor, 0.9),
            returned: share(peak, Some(floor), base),
            share: returned_after
                .zip(returned_before)
                .map(|(after, before)| after - before),
            settle_time: settle_time(points, floor),
        })
    }

    /// Bytes released between start and end; negative if memory grew.
    pub fn released(&self) -> i64 {
        i64::try_from(i128::from(self.before) - i128::from(self.after)).unwrap_or(0)
    }

    /// True if the release exceeds noise.
    pub fn gave_much(&self) -> bool {
        self.before.saturating_sub(self.after) > band::tolerated_difference(self.before)
    }

    /// Bytes released and taken again before the end; 0 if that is within noise, or if the release lasted.
    pub fn gave_for_a_while(&self) -> u64 {
        let fell = self.before.saturating_sub(self.floor);
        if fell > band::tolerated_difference(self.before) && !self.gave_much() {
            fell
        } else {
            0
        }
    }

    /// Bytes of the fall to the floor, if a table shows that fall while it shows a release of zero; otherwise 0.
    pub fn fell_as_shown(&self) -> u64 {
        let is_fall_shown = units::mib(self.before) != units::mib(self.floor);
        let released = u64::try_from(self.released()).unwrap_or(0);
        let is_release_shown = units::mib(released) != units::mib(0);
        if is_fall_shown && !is_release_shown {
            self.before.saturating_sub(self.floor)
        } else {
            0
        }
    }

    /// True if memory grew by more than noise.
    pub fn grew_much(&self) -> bool {
        self.after.saturating_sub(self.before) > band::tolerated_difference(self.before)
    }
}

/// The value at a moment of a window; `None` if the window was over by then.
fn value_after(curve: &Curve, moment: Nanos, took: Nanos) -> Option<u64> {
    if moment > took {
        return None;
    }
    curve.value_at(moment)
}

/// Time until `part` of the fall from `before` to `floor`; `None` if the fall is within noise.
fn time_of_fall(points: &[(Nanos, u64)], before: u64, floor: u64, part: f64) -> Option<Nanos> {
    let fall = before.saturating_sub(floor);
    if fall <= band::tolerated_difference(before) {
        return None;
    }
    let threshold = before as f64 - fall as f64 * part;
    let (at, _) = points.iter().find(|(_, value)| *value as f64 <= threshold)?;
    Some(*at)
}

/// The time when the curve entered the band above its floor for good.
fn settle_time(points: &[(Nanos, u64)], floor: u64) -> Option<Nanos> {
    let last_outside = points
        .iter()
        .rposition(|(_, value)| value - floor > band::tolerated_difference(floor));
    match last_outside {
        None => Some(0),
        Some(last) => points.get(last + 1).map(|(at, _)| *at),
    }
}
