//! Lines of a chart: one quantity of one run on a grid of time that several runs share.

use crate::summary::Summary;
use record::Nanos;

use super::curves::{Curves, Span};

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
    let widths = summaries.map(|summary| summary.timeline.width.max(summary.curves.width));
    widths.max()
}

/// A quantity of a run on a grid at least as wide as that of the run. The extremes of levels survive.
pub fn line(summary: &Summary, quantity: Quantity, width: Nanos) -> Line {
    let (timeline, curves) = (&summary.timeline, &summary.curves);
    let memory = |of: fn(&super::Bucket) -> Span| {
        let spans = timeline.buckets.iter().map(|bucket| bucket.as_ref().map(of));
        join(spans, width / timeline.width)
    };
    let exact = |of: fn(&super::Slot) -> Option<Span>| join(curves.slots.iter().map(of), width / curves.width);
    match quantity {
        Quantity::Private => memory(|bucket| bucket.private),
        Quantity::Resident => memory(|bucket| bucket.resident),
        Quantity::Proportional => exact(|slot| slot.proportional),
        Quantity::HugePages => exact(|slot| slot.huge_pages),
        Quantity::Cpu => rates(curves, width, |slot| slot.cpu, 1_000),
        Quantity::Faults => rates(curves, width, |slot| slot.faults, 1_000_000_000),
    }
}

fn join(spans: impl Iterator<Item = Option<Span>>, many: Nanos) -> Line {
    let spans: Vec<Option<Span>> = spans.collect();
    let together = spans.chunks(usize::try_from(many).map_or(1, |many| many.max(1)));
    together
        .map(|chunk| chunk.iter().copied().flatten().reduce(Span::join))
        .collect()
}

/// What a counter grew by in each place, per nanosecond, times `scale`. Before it was first read it was 0.
fn rates(curves: &Curves, width: Nanos, of: fn(&super::Slot) -> Option<u64>, scale: u128) -> Line {
    let many = usize::try_from(width / curves.width).map_or(1, |many| many.max(1));
    let mut before = 0;
    let rates = curves.slots.chunks(many).map(|chunk| {
        let now = chunk.iter().rev().find_map(of)?;
        let grown = now.saturating_sub(before);
        before = now.max(before);
        let rate = u128::from(grown) * scale / u128::from(width.max(1));
        Some(Span::of(u64::try_from(rate).unwrap_or(u64::MAX)))
    });
    rates.collect()
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
        let bucket = |size: fn(&super::super::Bucket) -> u64| summary.timeline.buckets.iter().flatten().map(size).max();
        for _ in 0..6 {
            let most = |quantity| highest(&line(&summary, quantity, widest));
            assert_eq!(most(Quantity::Private), bucket(|one| one.private.high()).unwrap());
            assert_eq!(most(Quantity::Resident), bucket(|one| one.resident.high()).unwrap());
            assert_eq!(Some(most(Quantity::Private)), summary.private_peak);
            let exact = summary.phases.iter().filter_map(|phase| phase.checkpoint.as_ref());
            let proportional = exact.filter_map(|taken| taken.proportional).max().unwrap();
            assert!(most(Quantity::Proportional) >= proportional);
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
