//! Tables of forced releases and self-reports, of all servers or of one run.

use analysis::compare::{Accounted, Comparison, Forced, Side};
use base::group_values;
use base::text::Tone;
use base::text::table::{Column, Table};
use base::units;
use stats::MedianInterval;

use super::figures::{HOLE, around};
use super::released::{list, with_servers};

/// The caption of [`releases`].
pub(crate) const RELEASES: &str =
    "Forced releases until the answer, private memory in MiB; of a repeated phase the last round";

/// The caption of [`reports`].
pub(crate) const REPORTS: &str = "Memory by the server's own report, MiB; of a repeated phase the last round";

/// A row of a table: something at a step or a checkpoint of a phase, over the runs of a server.
struct StepRow<'c, T> {
    /// The phase, with the step's number if the phase has several here.
    place: String,
    server: &'c str,
    value: &'c T,
}

/// A phase, and a step of it from 0; `None` for its checkpoint.
type Place<'c> = (&'c str, Option<u32>);

/// A row for each forced release and server, of steps and of checkpoints; `None` if nothing was released by any means.
pub(crate) fn releases(comparison: &Comparison) -> Option<Vec<Column>> {
    let mut rows = release_rows(comparison);
    rows.retain(|row| !row.value.by.is_empty());
    table_of_places(&rows, comparison)
        .text("as", 3, |row| match row.value.step {
            None => "before the checkpoint",
            Some(_) => "a step",
        })
        .text("by", 2, |row| row.value.by.join(" and "))
        .number("before", 1, |row| in_mib(row.value.before))
        .number("after", 1, |row| in_mib(row.value.after))
        .number("released", 0, |row| around_or_hole(row.value.gave, released_size))
        .number("took", 4, |row| around_or_hole(row.value.took, time))
        .non_empty()
}

fn release_rows(comparison: &Comparison) -> Vec<StepRow<'_, Forced>> {
    rows(comparison, |side| {
        let releases = side.forced.iter().chain(&side.forced_before_checkpoints);
        releases.map(|one| ((one.phase.as_str(), one.step), one)).collect()
    })
}

/// A row for each question and server, if a server was asked for its memory.
pub(crate) fn reports(comparison: &Comparison) -> Option<Vec<Column>> {
    table_of_places(&report_rows(comparison), comparison)
        .text("asked", 2, |row| row.value.asked.as_deref().unwrap_or(HOLE))
        .number("accounts for", 0, |row| in_mib(row.value.accounted))
        .number("of", 0, |row| measured_size(row.value))
        .number("share", 1, |row| around_or_hole(row.value.ratio, units::percent))
        .number("took", 4, |row| around_or_hole(row.value.took, time))
        .non_empty()
}

fn report_rows(comparison: &Comparison) -> Vec<StepRow<'_, Accounted>> {
    rows(comparison, |side| {
        let reports = side.accounted.iter();
        reports.map(|one| ((one.phase.as_str(), Some(one.step)), one)).collect()
    })
}

/// The reasons why means or answers are missing in the tables, each once for a server.
pub(crate) fn reasons(comparison: &Comparison) -> Vec<String> {
    let mut missing = Vec::new();
    for row in release_rows(comparison) {
        if !row.value.missing.is_empty() {
            let reason = reason_with_na(row.value.by.is_empty(), &row.value.missing.join("; "));
            missing.push((("forced release", row.server, reason), row.place.clone()));
        }
    }
    for row in report_rows(comparison) {
        let is_unknown = row.value.accounted.is_none();
        let reason = match row.value.missing.as_slice() {
            [] if is_unknown => "the answer has no total".to_owned(),
            [] => continue,
            reasons => reasons.join("; "),
        };
        let reason = reason_with_na(is_unknown, &reason);
        missing.push((("self-report", row.server, reason), row.place.clone()));
    }
    let mut sentences = Vec::new();
    for ((what, server, reason), places) in group_values(missing) {
        sentences.push((server, format!("{what} in {}: {reason}", list(&places))));
    }
    if comparison.sides.len() > 1 {
        with_servers(sentences)
    } else {
        sentences.into_iter().map(|(_, sentence)| sentence).collect()
    }
}

/// `n/a, no library is preloaded` if nothing at all is known; another means or run may have a figure.
fn reason_with_na(is_unknown: bool, reason: &str) -> String {
    if is_unknown {
        return format!("{}, {reason}", units::UNKNOWN);
    }
    reason.to_owned()
}

/// The measured memory that a report is compared with.
fn measured_size(report: &Accounted) -> String {
    let kind = if report.resident { "resident" } else { "private" };
    match report.of {
        Some(_) => format!("{} {kind}", in_mib(report.of)),
        None => HOLE.to_owned(),
    }
}

/// The rows of all servers; those of one place follow one another.
fn rows<'c, T>(
    comparison: &'c Comparison,
    values: impl Fn(&'c Side) -> Vec<(Place<'c>, &'c T)>,
) -> Vec<StepRow<'c, T>> {
    let sides: Vec<Vec<(Place, &T)>> = comparison.sides.iter().map(values).collect();
    let mut places: Vec<Place> = Vec::new();
    for (place, _) in sides.iter().flatten() {
        if !places.contains(place) {
            places.push(*place);
        }
    }
    let mut rows = Vec::new();
    for place in &places {
        for (side, values) in comparison.sides.iter().zip(&sides) {
            for (_, value) in values.iter().filter(|(of, _)| of == place) {
                rows.push(StepRow {
                    place: place_name(*place, &places),
                    server: &side.label,
                    value: *value,
                });
            }
        }
    }
    rows
}

/// The phase, with the step's number if several steps of the phase are among `places`.
fn place_name((phase, step): Place, places: &[Place]) -> String {
    let steps_of_phase = places.iter().filter(|(other, step)| *other == phase && step.is_some());
    match step {
        Some(step) if steps_of_phase.count() > 1 => format!("{phase} (step {})", u64::from(step) + 1),
        _ => phase.to_owned(),
    }
}

/// The first columns: the place, and the server where there are several.
fn table_of_places<'r, T>(rows: &'r [StepRow<'r, T>], comparison: &Comparison) -> Table<'r, StepRow<'r, T>> {
    let table = Table::new(rows).text("phase", 0, |row| (Tone::Strong, &row.place));
    if comparison.sides.len() > 1 {
        table.text("server", 0, |row| row.server)
    } else {
        table
    }
}

fn around_or_hole(median: Option<MedianInterval>, text: impl Fn(f64) -> String) -> String {
    match median {
        Some(median) => around(&median, text),
        None => HOLE.to_owned(),
    }
}

fn in_mib(median: Option<MedianInterval>) -> String {
    around_or_hole(median, |bytes| units::mib(bytes.round() as u64))
}

fn time(nanos: f64) -> String {
    units::nanoseconds(nanos.round() as u64)
}

/// Released MiB; negative if memory grew.
fn released_size(bytes: f64) -> String {
    let text = units::signed_mib(bytes.round() as i64);
    text.strip_prefix('+').map(str::to_owned).unwrap_or(text)
}
