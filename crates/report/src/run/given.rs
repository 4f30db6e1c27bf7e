//! Tables of forced releases and self-reports.

use std::time::Duration;

use analysis::summary::Summary;
use analysis::summary::release::{Released, Reported};
use base::units;
use record::Nanos;

use base::text::table::{Column, Table};

/// Most rows: of many the last.
const ROWS: usize = 24;

/// What the first table is of.
pub(crate) const RELEASES: &str = "Forced releases, private memory in MiB";

/// What the second one is of.
pub(crate) const REPORTS: &str = "Memory by the server's own report, MiB";

/// A row for each forced release, of steps and of checkpoints, if there were any.
pub(crate) fn releases(summary: &Summary) -> Option<Vec<Column>> {
    let all = last(&summary.released);
    let size = |value: Option<u64>| units::or_unknown(value, units::mib);
    let back = |one: &Released| {
        units::or_unknown(one.gave(), |gave| match gave {
            0.. => units::mib(gave.unsigned_abs()),
            _ => units::signed_mib(gave),
        })
    };
    let family = summary.header.server.allocator.as_ref().map(|facts| facts.family);
    let by = |one: &Released| {
        let mut by: Vec<String> = one.release.used.iter().map(|used| used.what.clone()).collect();
        by.dedup();
        by.extend(one.why(family).iter().map(|why| format!("not: {why}")));
        by.join("; ")
    };
    let slowest = |one: &Released| one.release.used.iter().map(|used| used.took).max();
    Table::new(all)
        .text("phase", 0, |one| &one.phase.name)
        .text("as", 3, |one| {
            if one.step.is_none() {
                "before the checkpoint"
            } else {
                "a step"
            }
        })
        .text("by", 2, by)
        .number("before", 1, |one| size(one.release.before))
        .number("after", 1, |one| size(one.release.after))
        .number("released", 0, back)
        .number("took", 4, |one| units::or_unknown(slowest(one), time))
        .non_empty()
}

/// A row for each time that the server was asked, if it was.
pub(crate) fn reports(summary: &Summary) -> Option<Vec<Column>> {
    let all = last(&summary.reported);
    let unknown = || units::UNKNOWN.to_owned();
    let asked = |one: &Reported| {
        let asked = one.report.asked.clone().unwrap_or_else(unknown);
        match one.report.missing.is_empty() {
            true => asked,
            false => format!("{asked}: {}", one.report.missing),
        }
    };
    let of = |one: &Reported| {
        one.share().map_or_else(unknown, |share| {
            let what = if share.resident { "resident" } else { "private" };
            format!("{} {what}", units::mib(share.of))
        })
    };
    Table::new(all)
        .text("phase", 0, |one| &one.phase.name)
        .text("asked", 2, asked)
        .number("accounts for", 0, |one| {
            units::or_unknown(one.report.accounted, units::mib)
        })
        .number("of", 0, of)
        .number("share", 1, |one| {
            one.share().map_or_else(unknown, |share| units::percent(share.ratio()))
        })
        .number("took", 4, |one| units::or_unknown(one.report.took, time))
        .non_empty()
}

fn last<T>(all: &[T]) -> &[T] {
    &all[all.len().saturating_sub(ROWS)..]
}

fn time(nanos: Nanos) -> String {
    units::duration(Duration::from_nanos(nanos))
}
