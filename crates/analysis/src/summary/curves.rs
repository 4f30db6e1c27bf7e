//! What a chart shows of a run: memory, exact readings, counters that only grow, requests, and the windows in which nothing
//! was asked.

use std::collections::BTreeMap;

use base::curve::{Columns, Curve, Span};
use record::{IdleKind, Nanos, Rollup};

use super::Summary;
use super::totals::Totals;
use super::tree::Sums;

/// Columns before their width doubles. Twice what the widest terminal can show, in eighths of a character.
const COLUMNS: u64 = 1024;

/// Width of the narrowest columns: one tick at 20 Hz.
const NARROWEST: Nanos = 50_000_000;

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
    /// Thousandths of a processor in use, on average over a column.
    Cpu,
    /// Minor page faults per second, on average over a column.
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

/// An idle window as it was played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub from: Nanos,
    pub to: Nanos,
    pub kind: IdleKind,
}

/// The curves of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Curves {
    /// Sum over the tree; unknown where a process could not be read.
    pub private: Curve,
    pub resident: Curve,
    /// Σ `Pss` of the last exact reading of every process that has one.
    pub proportional: Curve,
    /// Σ `AnonHugePages` of the same readings.
    pub huge_pages: Curve,
    /// Processor time that the tree had used.
    pub cpu: Curve,
    /// Minor page faults of the tree so far.
    pub faults: Curve,
    /// Requests that had ended.
    requests: Curve,
    /// Idle windows in their order.
    pub windows: Vec<Window>,
    /// The last exact reading of each process.
    exact: BTreeMap<u32, Exact>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Exact {
    proportional: u64,
    huge_pages: u64,
}

impl Curves {
    /// Adds the memory and the totals of the tree at a moment.
    pub(super) fn tree(&mut self, at: Nanos, sums: &Sums, totals: Totals) {
        let (private, resident) = sums.private.zip(sums.resident_lower).unzip();
        self.private.add(at, private);
        self.resident.add(at, resident);
        self.cpu.add(at, totals.cpu());
        self.faults.add(at, totals.minor);
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
        let known = self.exact.values();
        let proportional = known.clone().map(|exact| exact.proportional);
        let huge_pages = known.map(|exact| exact.huge_pages);
        self.proportional.add(at, proportional.reduce(u64::saturating_add));
        self.huge_pages.add(at, huge_pages.reduce(u64::saturating_add));
    }

    pub(super) fn request(&mut self, at: Nanos) {
        let last = self.requests.points().last();
        let ended = last.and_then(|(_, count)| *count).unwrap_or(0);
        self.requests.add(at, Some(ended + 1));
    }

    pub(super) fn window(&mut self, to: Nanos, kind: IdleKind, took: Nanos) {
        self.windows.push(Window {
            from: to.saturating_sub(took),
            to,
            kind,
        });
    }

    /// Drops what no column of a page shows of a run of this duration.
    pub(super) fn thin(&mut self, duration: Nanos) {
        let width = width(duration);
        for curve in [
            &mut self.private, &mut self.resident, &mut self.proportional, &mut self.huge_pages, &mut self.cpu,
            &mut self.faults, &mut self.requests,
        ] {
            curve.thin(width);
        }
    }
}

/// The width of columns that all these runs fit: the widest of theirs. Widths are doublings of one another.
pub fn grid<'s>(summaries: impl Iterator<Item = &'s Summary>) -> Option<Nanos> {
    summaries.map(|summary| width(summary.duration)).max()
}

fn width(duration: Nanos) -> Nanos {
    let mut width = NARROWEST;
    while duration / width >= COLUMNS {
        width *= 2;
    }
    width
}

/// A quantity of a run in columns of a width.
pub fn columns(summary: &Summary, quantity: Quantity, width: Nanos) -> Columns {
    let (curves, until) = (&summary.memory.curves, summary.duration);
    match quantity {
        Quantity::Private => curves.private.columns(width, until),
        Quantity::Resident => curves.resident.columns(width, until),
        Quantity::Proportional => curves.proportional.columns(width, until),
        Quantity::HugePages => curves.huge_pages.columns(width, until),
        Quantity::Cpu => rates(&curves.cpu.columns(width, until), width, 1_000),
        Quantity::Faults => rates(&curves.faults.columns(width, until), width, 1_000_000_000),
    }
}

/// The requests that ended in each column of a width, where there were any, with the column's place.
pub fn requests(summary: &Summary, width: Nanos) -> Vec<(usize, u64)> {
    let totals = summary.memory.curves.requests.columns(width, summary.duration);
    let mut ended = Vec::new();
    for (place, count) in growth(&totals).into_iter().enumerate() {
        if let Some(count @ 1..) = count {
            ended.push((place, count));
        }
    }
    ended
}

/// The growth of a counter in each column, per nanosecond, times `scale`.
fn rates(totals: &Columns, width: Nanos, scale: u128) -> Columns {
    let mut rates = Columns::new();
    for growth in growth(totals) {
        rates.push(growth.map(|growth| {
            let rate = u128::from(growth) * scale / u128::from(width.max(1));
            Span::constant(u64::try_from(rate).unwrap_or(u64::MAX))
        }));
    }
    rates
}

/// The growth of a counter in each column. Before it was first read it was 0.
fn growth(totals: &Columns) -> Vec<Option<u64>> {
    let mut before = 0;
    let mut all = Vec::new();
    for total in totals {
        all.push(total.map(|total| total.high().saturating_sub(before)));
        before = total.map_or(before, |total| total.high().max(before));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::summarised;
    use record::WarningKind;
    use record::golden::{Session, completed};

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
    fn what_is_not_known_of_anybody_is_nothing() {
        let mut curves = Curves::default();
        curves.rollup(0, &rollup(0, 10));
        curves.rollup(0, &rollup(1, 5));
        curves.process_ended(SECOND, 0);
        curves.process_ended(2 * SECOND, 1);
        let seconds = [0, 1, 2].map(|second| curves.proportional.value_at(second * SECOND));
        assert_eq!(seconds, [Some(15), Some(5), None]);
        assert_eq!(curves.huge_pages.value_at(0), Some(7));
    }

    fn highest(columns: &Columns) -> u64 {
        columns.iter().flatten().map(|span| span.high()).max().unwrap()
    }

    #[test]
    fn the_maximum_of_every_level_survives_any_grid() {
        let mut session = completed();
        session.at += 3 * 3_600 * SECOND;
        session.warn(WarningKind::Host, "three hours later");
        let summary = summarised(&session);
        let mut widest = grid(std::iter::once(&summary)).unwrap();
        let most_resident = summary.memory.curves.resident.highest().unwrap();
        assert_eq!(summary.memory.curves.private.highest(), summary.memory.private_peak);
        let checkpoints = summary.phases.iter().filter_map(|phase| phase.checkpoint.as_ref());
        let most_proportional = checkpoints.filter_map(|taken| taken.proportional).max().unwrap();
        for _ in 0..6 {
            let private = columns(&summary, Quantity::Private, widest);
            assert_eq!(Some(highest(&private)), summary.memory.private_peak);
            assert_eq!(highest(&columns(&summary, Quantity::Resident, widest)), most_resident);
            assert!(highest(&columns(&summary, Quantity::Proportional, widest)) >= most_proportional);
            widest *= 2;
        }
    }

    #[test]
    fn a_rate_times_the_time_is_what_was_used() {
        let mut session = Session::new("server");
        session.spawn(0, "server", None, 20, 20);
        session.phase("work");
        session.move_memory(0, 40, 20, 150);
        session.settle(true);
        let summary = summarised(&session);
        let width = 4 * grid(std::iter::once(&summary)).unwrap();
        let busy = columns(&summary, Quantity::Cpu, width);
        let used: u64 = busy.iter().flatten().map(|span| span.high()).sum();
        // 20 seconds of one and a half processors, in thousandths per column.
        let expected = 30 * 1_000 * SECOND / width;
        assert!(used.abs_diff(expected) <= busy.len() as u64, "{used} {expected}");
    }

    #[test]
    fn every_request_is_in_one_column() {
        let mut summary = summarised(&completed());
        summary.memory.curves = Curves::default();
        for second in 0..600 {
            summary.memory.curves.request(second * SECOND);
        }
        summary.duration = 600 * SECOND;
        summary.memory.curves.thin(summary.duration);
        for width in [grid(std::iter::once(&summary)).unwrap(), 40 * SECOND] {
            assert_eq!(
                requests(&summary, width).iter().map(|(_, count)| count).sum::<u64>(),
                600
            );
        }
    }
}
