//! What a chart shows beside the memory curve, at the same fixed number of points: exact readings, counters that only
//! grow, requests, and the windows in which nothing was asked.

use std::collections::BTreeMap;

use record::{IdleKind, Nanos, Rollup};

use super::totals::Totals;

/// Buckets before widths double. Twice what the widest terminal can show, in eighths of a character.
pub(super) const BUCKETS: usize = 1024;

/// Width of the first buckets: one tick at 20 Hz.
pub(super) const NARROWEST: Nanos = 50_000_000;

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

    pub fn low(self) -> u64 {
        self.first.min(self.then)
    }

    pub fn high(self) -> u64 {
        self.first.max(self.then)
    }

    /// Both values, each with the place in the stretch at which it is drawn, from 0 to 1.
    pub fn parts(&self) -> [(f64, u64); 2] {
        [(0.25, self.first), (0.75, self.then)]
    }

    /// Joins this stretch and the next one.
    pub fn join(self, later: Span) -> Span {
        let values = [self.first, self.then, later.first, later.then];
        let (low, high) = (self.low().min(later.low()), self.high().max(later.high()));
        let is_low_first = values.iter().find(|value| [low, high].contains(value)) == Some(&low);
        let (first, then) = if is_low_first { (low, high) } else { (high, low) };
        Span { first, then }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    /// Σ `Pss` of the last exact reading of every process that has one.
    pub proportional: Option<Span>,
    /// Σ `AnonHugePages` of the same readings.
    pub huge_pages: Option<Span>,
    /// Processor time that the tree had used by its end, in nanoseconds.
    pub cpu: Option<Nanos>,
    /// Minor page faults of the tree by its end.
    pub faults: Option<u64>,
    pub requests: u64,
}

impl Slot {
    fn join(self, later: Slot) -> Slot {
        Slot {
            proportional: join_known(self.proportional, later.proportional),
            huge_pages: join_known(self.huge_pages, later.huge_pages),
            cpu: later.cpu.or(self.cpu),
            faults: later.faults.or(self.faults),
            requests: self.requests + later.requests,
        }
    }
}

fn join_known(span: Option<Span>, later: Option<Span>) -> Option<Span> {
    match (span, later) {
        (Some(span), Some(later)) => Some(span.join(later)),
        (span, later) => span.or(later),
    }
}

/// An idle window as it was played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub from: Nanos,
    pub to: Nanos,
    pub kind: IdleKind,
}

/// The curves of a run. Levels keep their extremes and counters their totals, so that nothing is lost when slots are
/// joined; their widths double as those of [`super::Timeline`] do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Curves {
    pub width: Nanos,
    /// From time 0.
    pub slots: Vec<Slot>,
    /// Idle windows in their order.
    pub windows: Vec<Window>,
    /// Levels and totals that hold until the next reading.
    last: Slot,
    /// The last exact reading of each process.
    exact: BTreeMap<u32, Exact>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Exact {
    proportional: u64,
    huge_pages: u64,
}

impl Default for Curves {
    fn default() -> Curves {
        Curves {
            width: NARROWEST,
            slots: Vec::new(),
            windows: Vec::new(),
            last: Slot::default(),
            exact: BTreeMap::new(),
        }
    }
}

impl Curves {
    /// Adds the totals of the tree at a moment.
    pub(super) fn totals(&mut self, at: Nanos, totals: Totals) {
        self.extend(at);
        (self.last.cpu, self.last.faults) = (totals.cpu(), totals.minor);
        let last = self.last;
        if let Some(slot) = self.slot(at) {
            (slot.cpu, slot.faults) = (last.cpu.or(slot.cpu), last.faults.or(slot.faults));
        }
    }

    /// Adds the exact counters of a process.
    pub(super) fn rollup(&mut self, at: Nanos, rollup: &Rollup) {
        let exact = Exact {
            proportional: rollup.proportional,
            huge_pages: rollup.huge_pages,
        };
        self.exact.insert(rollup.process, exact);
        self.update_levels(at);
    }

    pub(super) fn process_ended(&mut self, at: Nanos, process: u32) {
        if self.exact.remove(&process).is_some() {
            self.update_levels(at);
        }
    }

    fn update_levels(&mut self, at: Nanos) {
        self.extend(at);
        let proportional = sum_level(self.exact.values().map(|exact| exact.proportional));
        let huge_pages = sum_level(self.exact.values().map(|exact| exact.huge_pages));
        (self.last.proportional, self.last.huge_pages) = (proportional, huge_pages);
        // Never an earlier slot, whatever the time: later ones already hold earlier readings.
        if let Some(slot) = self.slots.last_mut() {
            let now = Slot {
                proportional,
                huge_pages,
                ..Slot::default()
            };
            *slot = slot.join(now);
        }
    }

    pub(super) fn request(&mut self, at: Nanos) {
        self.extend(at);
        if let Some(slot) = self.slot(at) {
            slot.requests += 1;
        }
    }

    pub(super) fn window(&mut self, to: Nanos, kind: IdleKind, took: Nanos) {
        self.windows.push(Window {
            from: to.saturating_sub(took),
            to,
            kind,
        });
    }

    /// Makes the curves reach until `at`.
    pub(super) fn extend(&mut self, at: Nanos) {
        while at / self.width >= BUCKETS as u64 {
            self.width *= 2;
            self.slots = self
                .slots
                .chunks(2)
                .filter_map(|pair| pair.iter().copied().reduce(Slot::join))
                .collect();
        }
        let place = usize::try_from(at / self.width).unwrap_or(BUCKETS);
        while self.slots.len() <= place {
            self.slots.push(self.last);
        }
    }

    /// The slot of a time that the curves reach. Driver and sampler write concurrently, so it need not be the last.
    fn slot(&mut self, at: Nanos) -> Option<&mut Slot> {
        let place = usize::try_from(at / self.width).ok()?;
        self.slots.get_mut(place)
    }
}

/// The sum of all values as a level; `None` without values.
fn sum_level(values: impl Iterator<Item = u64>) -> Option<Span> {
    values.reduce(u64::saturating_add).map(Span::constant)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanos = 1_000_000_000;

    fn rollup(process: u32, proportional: u64) -> Rollup {
        Rollup {
            process,
            proportional,
            huge_pages: proportional / 2,
            ..Rollup::default()
        }
    }

    #[test]
    fn a_level_holds_until_it_is_read_again_and_its_extremes_outlive_a_day() {
        let mut curves = Curves::default();
        curves.rollup(0, &rollup(0, 10));
        curves.rollup(60 * SECOND, &rollup(0, 900));
        curves.rollup(60 * SECOND + 50_000_000, &rollup(0, 10));
        curves.extend(86_400 * SECOND);
        assert!(curves.slots.len() <= BUCKETS);
        let highest = curves
            .slots
            .iter()
            .filter_map(|slot| slot.proportional)
            .reduce(Span::join);
        assert_eq!(highest, Some(Span { first: 10, then: 900 }));
        assert_eq!(curves.slots.last().unwrap().huge_pages, Some(Span::constant(5)));
    }

    #[test]
    fn what_is_not_known_of_anybody_is_nothing() {
        let mut curves = Curves::default();
        curves.rollup(0, &rollup(0, 10));
        curves.rollup(0, &rollup(1, 5));
        curves.process_ended(SECOND, 0);
        curves.process_ended(2 * SECOND, 1);
        curves.extend(3 * SECOND);
        for (second, level) in [(0, Some(15)), (1, Some(5)), (2, None)] {
            let slot = &curves.slots[second * 20 + 1];
            assert_eq!(slot.proportional, level.map(Span::constant), "{second}");
        }
    }

    #[test]
    fn no_request_and_no_time_is_lost_when_slots_are_joined() {
        let mut curves = Curves::default();
        for second in 0..600 {
            curves.request(second * SECOND);
            let used = Some(second * 10);
            curves.totals(
                second * SECOND,
                Totals {
                    cpu: used,
                    minor: used,
                    major: None,
                    ..Totals::default()
                },
            );
        }
        assert_eq!(curves.slots.iter().map(|slot| slot.requests).sum::<u64>(), 600);
        assert_eq!(curves.slots.last().unwrap().cpu, Some(5_990));
    }
}
