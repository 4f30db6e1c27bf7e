//! Lines of a chart: one quantity of one run on a grid of time that several runs share.

use crate::summary::Summary;
use record::Nanos;

use super::curves::{Curves, Slot, Span};
use super::timeline::{Bucket, Timeline};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// Private memory as cheap counters know it, in bytes.
    Private,
    /// Resident memory, every page that may be shared counted once, in bytes.
    Resident,
    /// Proportional size, as last read, in bytes.
    Proportional,
    /// Anonymous huge pages, as last read, in bytes.
    HugePages,
    /// Thousandths of a processor in use, on average over a place of the grid.
    Cpu,
    /// Minor page faults per second, on average over a place of the grid.
    Faults,
}

impl Quantity {
    /// Every quantity, in the order in which a reader meets them.
    pub const ALL: [Quantity; 6] = [
        Quantity::Private,
        Quantity::Resident,
        Quantity::Proportional,
        Quantity::HugePages,
        Quantity::Cpu,
        Quantity::Faults,
    ];
}

/// A line: from time 0, one value for each place of the grid; `None` where nothing is known.
pub type Line = Vec<Option<Span>>;

/// The width of a grid that all these runs fit: the widest of theirs. Widths are doublings of one another, so places of a
/// narrower grid never lie across two of a wider one.
pub fn grid<'s>(summaries: impl Iterator<Item = &'s Summary>) -> Option<Nanos> {
    summaries
        .map(|summary| summary.timeline.width.max(summary.curves.width))
        .max()
}

/// A quantity of a run on a grid at least as wide as that of the run. The extremes of levels survive.
pub fn line(summary: &Summary, quantity: Quantity, width: Nanos) -> Line {
    let curves = &summary.curves;
    match quantity {
        Quantity::Private => memory_line(&summary.timeline, width, |bucket| bucket.private),
        Quantity::Resident => memory_line(&summary.timeline, width, |bucket| bucket.resident),
        Quantity::Proportional => level_line(curves, width, |slot| slot.proportional),
        Quantity::HugePages => level_line(curves, width, |slot| slot.huge_pages),
        Quantity::Cpu => rate_line(curves, width, |slot| slot.cpu, 1_000),
        Quantity::Faults => rate_line(curves, width, |slot| slot.faults, 1_000_000_000),
    }
}

fn memory_line(timeline: &Timeline, width: Nanos, value: fn(&Bucket) -> Span) -> Line {
    let spans: Line = timeline
        .buckets
        .iter()
        .map(|bucket| bucket.as_ref().map(value))
        .collect();
    widen(&spans, times_wider(width, timeline.width))
}

fn level_line(curves: &Curves, width: Nanos, value: fn(&Slot) -> Option<Span>) -> Line {
    let spans: Line = curves.slots.iter().map(value).collect();
    widen(&spans, times_wider(width, curves.width))
}

/// The growth of a counter in each place, per nanosecond, times `scale`. Before it was first read it was 0.
fn rate_line(curves: &Curves, width: Nanos, value: fn(&Slot) -> Option<u64>, scale: u128) -> Line {
    let mut line = Line::new();
    let mut before = 0;
    for slots in curves.slots.chunks(times_wider(width, curves.width)) {
        let Some(now) = slots.iter().rev().find_map(value) else {
            line.push(None);
            continue;
        };
        let growth = now.saturating_sub(before);
        before = now.max(before);
        let rate = u128::from(growth) * scale / u128::from(width.max(1));
        line.push(Some(Span::constant(u64::try_from(rate).unwrap_or(u64::MAX))));
    }
    line
}

/// Number of a run's places that lie in one place of the grid.
fn times_wider(grid: Nanos, own: Nanos) -> usize {
    usize::try_from(grid / own).map_or(1, |times| times.max(1))
}

/// Joins as many places into one.
fn widen(line: &[Option<Span>], times: usize) -> Line {
    line.chunks(times)
        .map(|spans| spans.iter().copied().flatten().reduce(Span::join))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::summarised;
    use record::WarningKind;
    use record::golden::{Session, completed};

    const SECOND: Nanos = 1_000_000_000;

    fn highest(line: &Line) -> u64 {
        line.iter().flatten().map(|span| span.high()).max().unwrap()
    }

    #[test]
    fn the_maximum_of_every_level_survives_any_grid() {
        let mut session = completed();
        session.at += 3 * 3_600 * SECOND;
        session.warn(WarningKind::Host, "three hours later");
        let summary = summarised(&session);
        let mut widest = grid(std::iter::once(&summary)).unwrap();
        let buckets = summary.timeline.buckets.iter().flatten();
        let most_private = buckets.clone().map(|bucket| bucket.private.high()).max().unwrap();
        let most_resident = buckets.map(|bucket| bucket.resident.high()).max().unwrap();
        assert_eq!(Some(most_private), summary.private_peak);
        let checkpoints = summary.phases.iter().filter_map(|phase| phase.checkpoint.as_ref());
        let most_proportional = checkpoints.filter_map(|taken| taken.proportional).max().unwrap();
        for _ in 0..6 {
            assert_eq!(highest(&line(&summary, Quantity::Private, widest)), most_private);
            assert_eq!(highest(&line(&summary, Quantity::Resident, widest)), most_resident);
            assert!(highest(&line(&summary, Quantity::Proportional, widest)) >= most_proportional);
            widest *= 2;
        }
    }

    #[test]
    fn a_rate_times_the_time_is_what_was_used() {
        let mut session = Session::new("server");
        session.spawn(0, "server", None, 20, 20);
        session.phase("work");
        session.go(0, 40, 20, 150);
        session.settle(true);
        let summary = summarised(&session);
        let width = 4 * grid(std::iter::once(&summary)).unwrap();
        let busy = line(&summary, Quantity::Cpu, width);
        let used: u64 = busy.iter().flatten().map(|span| span.high()).sum();
        // 20 seconds of one and a half processors, in thousandths per place.
        let expected = 30 * 1_000 * SECOND / width;
        assert!(used.abs_diff(expected) <= busy.len() as u64, "{used} {expected}");
    }
}
