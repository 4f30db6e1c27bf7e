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
    pub fn of(value: u64) -> Span {
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

    /// Both, each with its moment in the drawn stretch.
    pub fn parts(&self) -> [(f64, u64); 2] {
        [(0.25, self.first), (0.75, self.then)]
    }

    /// Of this stretch and the next one.
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
        let both = |a: Option<Span>, b: Option<Span>| a.into_iter().chain(b).reduce(Span::join);
        Slot {
            proportional: both(self.proportional, later.proportional),
            huge_pages: both(self.huge_pages, later.huge_pages),
            cpu: later.cpu.or(self.cpu),
            faults: later.faults.or(self.faults),
            requests: self.requests + later.requests,
        }
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
    /// What holds until something else is read.
    last: Slot,
    /// By process: `Pss` and huge pages as last read.
    exact: BTreeMap<u32, (u64, u64)>,
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
    /// What the tree has used by now.
    pub(super) fn totals(&mut self, at: Nanos, totals: Totals) {
        self.extend(at);
        (self.last.cpu, self.last.faults) = (totals.cpu(), totals.minor);
        let last = self.last;
        if let Some(slot) = self.slot(at) {
            (slot.cpu, slot.faults) = (last.cpu.or(slot.cpu), last.faults.or(slot.faults));
        }
    }

    /// Exact counters of a process were read.
    pub(super) fn rollup(&mut self, at: Nanos, rollup: &Rollup) {
        self.exact
            .insert(rollup.process, (rollup.proportional, rollup.huge_pages));
        self.level(at);
    }

    pub(super) fn ended(&mut self, at: Nanos, process: u32) {
        if self.exact.remove(&process).is_some() {
            self.level(at);
        }
    }

    fn level(&mut self, at: Nanos) {
        self.extend(at);
        let sum = |part: fn(&(u64, u64)) -> u64| {
            let sum = self.exact.values().map(part).fold(0, u64::saturating_add);
            (!self.exact.is_empty()).then_some(Span::of(sum))
        };
        let (proportional, huge_pages) = (sum(|one| one.0), sum(|one| one.1));
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
            let pairs = self.slots.chunks(2);
            self.slots = pairs
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
        assert_eq!(curves.slots.last().unwrap().huge_pages, Some(Span::of(5)));
    }

    #[test]
    fn what_is_not_known_of_anybody_is_nothing() {
        let mut curves = Curves::default();
        curves.rollup(0, &rollup(0, 10));
        curves.rollup(0, &rollup(1, 5));
        curves.ended(SECOND, 0);
        curves.ended(2 * SECOND, 1);
        curves.extend(3 * SECOND);
        let at = |second: usize| curves.slots[second * 20 + 1].proportional;
        assert_eq!((at(0), at(1), at(2)), (Some(Span::of(15)), Some(Span::of(5)), None));
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
