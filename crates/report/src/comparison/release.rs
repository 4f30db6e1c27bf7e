//! Forced releases and self-reports of each server, over its runs.

use analysis::compare::{Accounted, Comparison, Forced};
use base::text::Tone;
use base::text::table::{Column, Table};
use base::units;
use stats::MedianInterval;

use super::figures::{HOLE, around};

/// A sentence for each server and phase.
pub fn verdict(comparison: &Comparison) -> Vec<String> {
    let mut sentences = Vec::new();
    for side in &comparison.sides {
        let releases: Vec<(&str, Option<u32>)> = side
            .forced
            .iter()
            .map(|released| (released.phase.as_str(), released.step))
            .collect();
        for (place, released) in places(&releases).iter().zip(&side.forced) {
            sentences.push(format!("{}: {}", side.label, forced(place, released)));
        }
        let reports: Vec<(&str, Option<u32>)> = side
            .accounted
            .iter()
            .map(|report| (report.phase.as_str(), Some(report.step)))
            .collect();
        for (place, report) in places(&reports).iter().zip(&side.accounted) {
            sentences.push(format!("{}: {}", side.label, accounted(place, report)));
        }
    }
    sentences
}

/// The phase of each step, with the step's number if the phase has several steps here.
fn places(steps: &[(&str, Option<u32>)]) -> Vec<String> {
    let mut places = Vec::new();
    for (phase, step) in steps {
        let steps_of_phase = steps.iter().filter(|(other, _)| other == phase).count();
        places.push(match step {
            Some(step) if steps_of_phase > 1 => format!("{phase} (step {})", u64::from(*step) + 1),
            _ => (*phase).to_owned(),
        });
    }
    places
}

/// The note of the table of [`columns`].
pub const SUBJECT: &str = "private, MiB, by force before checkpoints";

/// Releases before checkpoints, a row for each phase and server; `None` without the purged lens.
pub fn columns(comparison: &Comparison) -> Option<Vec<Column>> {
    let mut phases: Vec<&str> = Vec::new();
    let releases = comparison.sides.iter().flat_map(|side| &side.forced_before_checkpoints);
    for release in releases {
        if !phases.contains(&release.phase.as_str()) {
            phases.push(&release.phase);
        }
    }
    let mut rows: Vec<(&str, &str, &Forced)> = Vec::new();
    for phase in phases {
        for side in &comparison.sides {
            for release in side
                .forced_before_checkpoints
                .iter()
                .filter(|release| release.phase == phase)
            {
                rows.push((phase, &side.label, release));
            }
        }
    }
    Table::new(&rows)
        .text("phase", 0, |(phase, ..)| (Tone::Strong, *phase))
        .text("server", 0, |(_, server, _)| *server)
        .text("before", 2, |(.., release)| around_or_hole(release.before, size))
        .text("after", 1, |(.., release)| around_or_hole(release.after, size))
        .text("released", 0, |(.., release)| {
            around_or_hole(release.gave, released_size)
        })
        .text("by", 3, |(.., release)| release.by.join(" and "))
        .non_empty()
}

fn around_or_hole(median: Option<MedianInterval>, text: impl Fn(f64) -> String) -> String {
    match median {
        Some(median) => around(&median, text),
        None => HOLE.to_owned(),
    }
}

fn size(bytes: f64) -> String {
    units::mib(bytes.round() as u64)
}

/// Released MiB; negative if memory grew.
fn released_size(bytes: f64) -> String {
    let text = units::signed_mib(bytes.round() as i64);
    text.strip_prefix('+').map(str::to_owned).unwrap_or(text)
}

/// `forced release in decay by malloc_trim: private 200.0 (198.0–203.0 *) → 150.0 (149.0–151.0 *) MiB, 50.0 (48.0–52.0 *)
/// MiB released`.
fn forced(name: &str, forced: &Forced) -> String {
    let why = forced.missing.join("; ");
    if forced.by.is_empty() {
        return format!("forced release in {name}: {} ({why})", units::UNKNOWN);
    }
    let change = match (forced.before, forced.after, forced.gave) {
        (Some(before), Some(after), Some(gave)) => format!(
            "private {} → {} MiB, {}",
            around(&before, size),
            around(&after, size),
            change(&gave)
        ),
        _ => format!("private memory {}", units::UNKNOWN),
    };
    let but = if why.is_empty() { why } else { format!("; {why}") };
    format!("forced release in {name} by {}: {change}{but}", forced.by.join(" and "))
}

fn change(gave: &MedianInterval) -> String {
    if gave.median < 0.0 {
        return format!("{} MiB more than before", released_size(-gave.median));
    }
    if released_size(gave.low.abs().max(gave.high.abs())) == "0.0" {
        return "nothing released".to_owned();
    }
    format!("{} MiB released", around(gave, released_size))
}

/// `$/memoryUsage` accounts for 0.5 of 4.1 GiB resident in goto, with the share.
fn accounted(name: &str, report: &Accounted) -> String {
    let asked = match &report.asked {
        Some(asked) => format!("`{asked}`"),
        None => "the server".to_owned(),
    };
    match (report.accounted, report.of, report.ratio) {
        (Some(accounted), Some(of), Some(ratio)) => format!(
            "{asked} reports {} of {} {} in {name}, {}",
            bytes(accounted),
            bytes(of),
            if report.resident { "resident" } else { "private" },
            around(&ratio, units::percent),
        ),
        (Some(accounted), ..) => format!("{asked} reports {} in {name}", bytes(accounted)),
        (None, ..) => {
            let why = match report.missing.as_slice() {
                [] => "the answer has no total".to_owned(),
                missing => missing.join("; "),
            };
            format!("report of {asked} in {name}: {}, {why}", units::UNKNOWN)
        }
    }
}

fn bytes(median: MedianInterval) -> String {
    units::bytes(median.median.round() as u64)
}
