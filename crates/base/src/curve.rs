//! A value over time: points with gaps, and the columns to which every drawing reduces them.
//!
//! A reduced curve is a selection of its points in their order. No peak is lost, and nothing is between two points that was
//! not measured.

/// Points that a curve keeps: all of three minutes at 20 Hz.
const MOST: usize = 4096;

/// The first length of the stretches into which too many points are divided: a tick at 20 Hz.
const SHORTEST: u64 = 50_000_000;

/// Lowest and highest value of one stretch of time, in their order. A line through spans is thus a selection of the
/// samples in order, and cannot turn more often than they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub first: u64,
    pub then: u64,
}

impl Span {
    /// A stretch in which the value does not change.
    pub fn constant(value: u64) -> Span {
        Span {
            first: value,
            then: value,
        }
    }

    fn low(self) -> u64 {
        self.first.min(self.then)
    }

    pub fn high(self) -> u64 {
        self.first.max(self.then)
    }

    /// Both values, each with the place in the stretch at which it is drawn, from 0 to 1.
    pub fn parts(&self) -> [(f64, u64); 2] {
        [(0.25, self.first), (0.75, self.then)]
    }

    /// Joins this stretch and a later value.
    fn with(self, value: u64) -> Span {
        if value > self.high() {
            Span {
                first: self.low(),
                then: value,
            }
        } else if value < self.low() {
            Span {
                first: self.high(),
                then: value,
            }
        } else {
            self
        }
    }
}

/// Spans of adjacent stretches of time; `None` where nothing is known.
pub type Columns = Vec<Option<Span>>;

/// A moment, and the value from then until the next point; `None` where it is unknown.
pub type Point = (u64, Option<u64>);

/// Times are nanoseconds. Before the first point nothing is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Curve {
    points: Vec<Point>,
    /// Length of the stretches that were thinned; 0 until there were too many points.
    stretch: u64,
}

impl Curve {
    /// Takes the value from a moment on. One that changes nothing is no point, and of several known values of one moment the
    /// last one counts.
    pub fn add(&mut self, at: u64, value: Option<u64>) {
        match self.points.last_mut() {
            Some((_, last)) if *last == value => return,
            Some((then, last)) if at == *then && last.is_some() && value.is_some() => *last = value,
            // A value of an earlier moment comes after the last one, so that no peak is lost.
            Some((then, _)) => {
                let at = if at < *then { then.saturating_add(1) } else { at };
                self.points.push((at, value));
            }
            None => self.points.push((at, value)),
        }
        if self.points.len() > MOST {
            self.make_room();
        }
    }

    fn make_room(&mut self) {
        self.thin(self.stretch.max(SHORTEST));
        // A stretch without a gap keeps three points, so this ends while stretches are no wider than columns of a chart
        // with 1024 of them.
        while self.points.len() > MOST / 4 * 3 {
            self.thin(self.stretch.saturating_mul(2));
        }
    }

    /// Reduces each stretch of this length to its lowest, its highest and its last point, a gap if it has one, and a point
    /// at its very start.
    pub fn thin(&mut self, stretch: u64) {
        if stretch < self.stretch || stretch == 0 {
            return;
        }
        self.stretch = stretch;
        let mut kept = Vec::new();
        let mut rest = &self.points[..];
        while let Some((at, _)) = rest.first() {
            let start = at / stretch * stretch;
            let end = start.saturating_add(stretch);
            let length = rest.iter().take_while(|(at, _)| *at < end).count().max(1);
            let (points, later) = rest.split_at(length);
            if length <= 2 {
                kept.extend_from_slice(points);
            } else {
                select(points, start, &mut kept);
            }
            rest = later;
        }
        self.points = kept;
    }

    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// True if there is a point, and no value was unknown since the first one.
    pub fn is_whole(&self) -> bool {
        !self.points.is_empty() && self.points.iter().all(|(_, value)| value.is_some())
    }

    /// The points with their values, if the curve is whole.
    pub fn known_points(&self) -> Option<Vec<(u64, u64)>> {
        if self.points.is_empty() {
            return None;
        }
        self.points.iter().map(|(at, value)| Some((*at, (*value)?))).collect()
    }

    /// The value at a moment.
    pub fn value_at(&self, moment: u64) -> Option<u64> {
        let after = self.points.partition_point(|(at, _)| *at <= moment);
        self.points.get(after.checked_sub(1)?)?.1
    }

    /// The highest of all values.
    pub fn highest(&self) -> Option<u64> {
        self.points.iter().filter_map(|(_, value)| *value).max()
    }

    /// Reduces the curve to a column between each bound and the next. A column has the extremes of all values that hold in
    /// it; of a thinned curve, where a bound divides a stretch, an extreme may be in the next column too. Bounds do not fall.
    pub fn reduce(&self, bounds: &[u64]) -> Columns {
        let mut columns = Columns::new();
        let mut next = 0;
        for ends in bounds.windows(2) {
            let (from, to) = (ends[0], ends[1]);
            next += self.points[next..].partition_point(|(at, _)| *at <= from);
            let held = next.checked_sub(1).and_then(|before| self.points[before].1);
            let mut span = held.map(Span::constant);
            for (_, value) in self.points[next..].iter().take_while(|(at, _)| *at < to) {
                span = match (span, *value) {
                    (Some(span), Some(value)) => Some(span.with(value)),
                    (None, Some(value)) => Some(Span::constant(value)),
                    (span, None) => span,
                };
            }
            columns.push(span);
        }
        columns
    }

    /// Reduces the curve to the columns of this width from 0 on until a moment, which is in the last one.
    pub fn columns(&self, width: u64, until: u64) -> Columns {
        let width = width.max(1);
        let bounds: Vec<u64> = (0..=until / width + 1)
            .map(|place| place.saturating_mul(width))
            .collect();
        self.reduce(&bounds)
    }
}

/// Adds the points in their order.
impl FromIterator<Point> for Curve {
    fn from_iter<I: IntoIterator<Item = Point>>(points: I) -> Curve {
        let mut curve = Curve::default();
        for (at, value) in points {
            curve.add(at, value);
        }
        curve
    }
}

/// The bounds of this many even columns from 0 to `end`.
pub fn even_bounds(end: u64, columns: u64) -> Vec<u64> {
    let (end, columns) = (u128::from(end), u128::from(columns));
    (0..=columns)
        .map(|column| (end * column / columns.max(1)) as u64)
        .collect()
}

/// Keeps what [`Curve::thin`] says of the points of a stretch, in their order.
fn select(points: &[Point], start: u64, kept: &mut Vec<Point>) {
    let places = points.iter().enumerate();
    let known = places.filter_map(|(place, (_, value))| Some(((*value)?, place)));
    let lowest = known.clone().min().map(|(_, place)| place);
    let highest = known.rev().max_by_key(|(value, _)| *value).map(|(_, place)| place);
    let gap = points.iter().position(|(_, value)| value.is_none());
    let at_start = points.partition_point(|(at, _)| *at <= start).checked_sub(1);
    let mut places = [lowest, highest, gap, at_start, points.len().checked_sub(1)];
    places.sort_unstable();
    let mut last = None;
    for place in places.into_iter().flatten() {
        if last != Some(place) {
            kept.push(points[place]);
        }
        last = Some(place);
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn span(first: u64, then: u64) -> Option<Span> {
        Some(Span { first, then })
    }

    #[test]
    fn a_value_holds_until_the_next() {
        let curve = Curve::from_iter([(5, Some(8)), (10, Some(8)), (20, Some(3))]);
        assert_eq!(curve.points(), [(5, Some(8)), (20, Some(3))]);
        let values = [4, 5, 19, 20, 99].map(|moment| curve.value_at(moment));
        assert_eq!(values, [None, Some(8), Some(8), Some(3), Some(3)]);
        assert_eq!(
            curve.reduce(&[0, 5, 10, 20, 30]),
            [None, span(8, 8), span(8, 8), span(3, 3)]
        );
    }

    #[test]
    fn a_column_has_its_extremes_in_the_order_in_which_they_came() {
        let curve = Curve::from_iter([(0, Some(5)), (1, Some(9)), (2, Some(7)), (3, Some(2)), (4, Some(12))]);
        assert_eq!(curve.reduce(&[0, 3]), [span(5, 9)]);
        assert_eq!(curve.reduce(&[0, 4]), [span(9, 2)]);
        assert_eq!(curve.reduce(&[0, 2, 5]), [span(5, 9), span(2, 12)]);
    }

    #[test]
    fn what_is_not_known_is_a_gap() {
        let gapped = Curve::from_iter([(0, Some(5)), (10, None), (20, Some(6))]);
        assert_eq!(gapped.columns(10, 29), [span(5, 5), None, span(6, 6)]);
        assert_eq!(gapped.known_points(), None);
        assert_eq!(Curve::from_iter([(0, Some(5))]).known_points(), Some(vec![(0, 5)]));
        assert_eq!(Curve::default().known_points(), None);
    }

    #[test]
    fn of_several_values_of_one_moment_the_last_counts() {
        let curve = Curve::from_iter([(10, Some(5)), (10, Some(9)), (10, Some(6)), (4, Some(7))]);
        assert_eq!(curve.points(), [(10, Some(6)), (11, Some(7))]);
    }

    #[test]
    fn a_night_takes_no_more_memory_than_a_few_minutes_and_keeps_a_spike_of_one_tick() {
        let mut curve = Curve::default();
        let ticks = 600_000;
        for tick in 0..ticks {
            let value = if tick == 54_321 { 900 } else { tick % 7 };
            curve.add(tick * SHORTEST, Some(value));
        }
        curve.add(ticks * SHORTEST, None);
        assert!(curve.points.len() <= MOST && curve.stretch < ticks * SHORTEST / 512);
        assert_eq!(curve.highest(), Some(900));
        let columns = curve.columns(ticks * SHORTEST / 80, ticks * SHORTEST);
        assert_eq!(columns.iter().flatten().filter(|span| span.high() == 900).count(), 1);
        assert_eq!(curve.value_at(u64::MAX), None);
    }

    fn points() -> impl Strategy<Value = Vec<Point>> {
        vec((1..400u64, proptest::option::weighted(0.9, 0..1_000u64)), 1..90).prop_map(|steps| {
            let mut at = 0;
            let place = |(step, value)| {
                at += step;
                (at, value)
            };
            steps.into_iter().map(place).collect()
        })
    }

    proptest! {
        #[test]
        fn thin_curves_have_the_same_columns(points in points(), stretch in 1..500u64, times in 1..4u64) {
            let whole = Curve::from_iter(points.iter().copied());
            let mut thin = whole.clone();
            thin.thin(stretch);
            let width = stretch * times;
            prop_assert_eq!(thin.columns(width, 40_000), whole.columns(width, 40_000));
            prop_assert_eq!(thin.is_whole(), whole.is_whole());
        }

        #[test]
        fn every_value_of_a_column_is_one_of_the_curve_and_none_is_beyond_it(points in points(), width in 1..900u64) {
            let curve = Curve::from_iter(points.iter().copied());
            let columns = curve.columns(width, 40_000);
            let values: Vec<u64> = columns.iter().flatten().flat_map(|span| [span.first, span.then]).collect();
            prop_assert!(values.iter().all(|value| points.iter().any(|point| point.1 == Some(*value))));
            prop_assert_eq!(values.into_iter().max(), curve.highest());
        }
    }
}
