//! Tables of forced releases and self-reports.

use crate::run::release::released_size;

use analysis::summary::Summary;
use analysis::summary::release::{Released, Reported, Share};
use base::units;
use record::AllocatorFamily;

use base::text::table::{Column, Table};

/// Most rows of a table: the last ones.
const ROWS: usize = 24;

/// The caption of [`releases`].
pub(crate) const RELEASES: &str = "Forced releases, private memory in MiB";

/// The caption of [`reports`].
pub(crate) const REPORTS: &str = "Memory by the server's own report, MiB";

/// A row for each forced release, of steps and of checkpoints, if there were any.
pub(crate) fn releases(summary: &Summary) -> Option<Vec<Column>> {
    let family = summary.header.server.allocator.as_ref().map(|facts| facts.family);
    Table::new(last(&summary.released))
        .text("phase", 0, |released| &released.phase.name)
        .text("as", 3, |released| {
            if released.step.is_none() {
                "before the checkpoint"
            } else {
                "a step"
            }
        })
        .text("by", 2, |released| means(released, family))
        .number("before", 1, |released| {
            units::or_unknown(released.release.before, units::mib)
        })
        .number("after", 1, |released| {
            units::or_unknown(released.release.after, units::mib)
        })
        .number("released", 0, |released| {
            units::or_unknown(released.gave(), released_size)
        })
        .number("took", 4, |released| {
            let slowest = released.release.used.iter().map(|means| means.took).max();
            units::or_unknown(slowest, units::nanoseconds)
        })
        .non_empty()
}

/// The means of a release, and the reasons why others were not used.
fn means(released: &Released, family: Option<AllocatorFamily>) -> String {
    let used = &released.release.used;
    let mut means: Vec<String> = used.iter().map(|means| means.what.clone()).collect();
    means.dedup();
    means.extend(released.why(family).iter().map(|why| format!("not: {why}")));
    means.join("; ")
}

/// A row for each time that the server was asked, if it was.
pub(crate) fn reports(summary: &Summary) -> Option<Vec<Column>> {
    Table::new(last(&summary.reported))
        .text("phase", 0, |reported| &reported.phase.name)
        .text("asked", 2, request)
        .number("accounts for", 0, |reported| {
            units::or_unknown(reported.report.accounted, units::mib)
        })
        .number("of", 0, |reported| units::or_unknown(reported.share(), measured_size))
        .number("share", 1, |reported| {
            units::or_unknown(reported.share(), |share| units::percent(share.ratio()))
        })
        .number("took", 4, |reported| {
            units::or_unknown(reported.report.took, units::nanoseconds)
        })
        .non_empty()
}

/// The request that asked for the report, with the reason if there is none.
fn request(reported: &Reported) -> String {
    let report = &reported.report;
    let asked = report.asked.as_deref().unwrap_or(units::UNKNOWN);
    if report.missing.is_empty() {
        asked.to_owned()
    } else {
        format!("{asked}: {}", report.missing)
    }
}

/// The measured memory that a report is compared with.
fn measured_size(share: Share) -> String {
    let kind = if share.resident { "resident" } else { "private" };
    format!("{} {kind}", units::mib(share.of))
}

fn last<T>(all: &[T]) -> &[T] {
    &all[all.len().saturating_sub(ROWS)..]
}
