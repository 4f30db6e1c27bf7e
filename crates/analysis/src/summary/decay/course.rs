//! The figures of one quantity over one window. No model of how allocators decay is behind any of them.

use schemars::JsonSchema;
use serde::Serialize;

use crate::summary::phases::share;
use base::band;
use base::shown;
use base::units;
use record::Nanos;

use super::curve::{Curve, at};

const SECOND: Nanos = 1_000_000_000;

/// Reported moments after the start, in seconds.
pub const AFTER: [u64; 4] = [1, 5, 10, 30];

/// What one quantity did in a window. Sizes are bytes, times count from the window's beginning.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Course {
    /// When the window began.
    pub before: u64,
    /// When it ended.
    pub after: u64,
    /// The lowest in between.
    pub floor: u64,
    /// At each of [`AFTER`]; `None` where the window was over by then.
    #[serde(flatten, serialize_with = "shown::<AtMoments, _, _>")]
    #[schemars(with = "AtMoments")]
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

#[derive(Serialize, JsonSchema)]
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
    pub(super) fn of(curve: &Curve, took: Nanos, peak: Option<u64>, base: Option<u64>) -> Option<Course> {
        let points = curve.points()?;
        let floor = curve.lowest()?;
        let (before, after) = (points.first()?.1, points.last()?.1);
        let fell = before.saturating_sub(floor);
        let reached = |part: f64| {
            let value = before as f64 - fell as f64 * part;
            let first = points.iter().find(|(_, one)| *one as f64 <= value);
            first.map(|(at, _)| *at).filter(|_| fell > band::around(before))
        };
        // Memory before the floor never exceeds the peak, whenever that was last read.
        let until = points
            .iter()
            .take_while(|(_, value)| *value > floor)
            .map(|(_, value)| *value);
        let peak = peak.map(|peak| until.fold(peak.max(before), u64::max));
        // A run may release memory from before its first checkpoint: bytes and share still refer to one whole.
        let base = base.map(|base| base.min(floor));
        let part = |value| share(peak, Some(value), base);
        Some(Course {
            before,
            after,
            floor,
            at: AFTER.map(|seconds| at(points, seconds * SECOND).filter(|_| seconds * SECOND <= took)),
            t50: reached(0.5),
            t90: reached(0.9),
            returned: part(floor),
            share: part(after).zip(part(before)).map(|(after, before)| after - before),
            settle_time: settled(points, floor),
        })
    }

    /// Bytes released between start and end; negative if memory grew.
    pub fn gave(&self) -> i64 {
        i64::try_from(i128::from(self.before) - i128::from(self.after)).unwrap_or(0)
    }

    /// Whether the release exceeds noise.
    pub fn gave_much(&self) -> bool {
        self.before.saturating_sub(self.after) > band::around(self.before)
    }

    /// Memory released beyond that and taken again before the end.
    pub fn gave_for_a_while(&self) -> u64 {
        let fell = self.before.saturating_sub(self.floor);
        if fell > band::around(self.before) && !self.gave_much() {
            fell
        } else {
            0
        }
    }

    /// The fall to the floor, if a table would show it but no release.
    pub fn fell_as_shown(&self) -> u64 {
        let shown = units::mib(self.before) != units::mib(self.floor);
        let gave = u64::try_from(self.gave()).unwrap_or(0);
        match shown && units::mib(gave) == units::mib(0) {
            true => self.before.saturating_sub(self.floor),
            false => 0,
        }
    }

    /// Whether memory grew by more than noise.
    pub fn took_much(&self) -> bool {
        self.after.saturating_sub(self.before) > band::around(self.before)
    }
}

/// When the curve entered the band above its floor for good.
fn settled(points: &[(Nanos, u64)], floor: u64) -> Option<Nanos> {
    let outside = |value: u64| value - floor > band::around(floor);
    match points.iter().rposition(|(_, value)| outside(*value)) {
        None => Some(0),
        Some(last) => points.get(last + 1).map(|(at, _)| *at),
    }
}
