//! Forced releases and self-reports of each server, over its runs.

use analysis::compare::{Accounted, Comparison, Forced};
use base::text::Tone;
use base::text::table::{Column, Table};
use base::units;
use stats::MedianInterval;

use super::figures::{HOLE, around};

/// A sentence for each server and phase.
pub fn verdict(comparison: &Comparison) -> Vec<String> {
    let sentences = comparison.sides.iter().flat_map(|side| {
        let releases = side.forced.iter().map(|one| (one.phase.as_str(), one.step));
        let reports = side.accounted.iter().map(|one| (one.phase.as_str(), Some(one.step)));
        let released = places(releases).zip(&side.forced).map(|(at, one)| forced(&at, one));
        let reported = places(reports).zip(&side.accounted);
        let reported = reported.map(|(at, one)| accounted(&at, one));
        let say = |sentence| format!("{}: {sentence}", side.label);
        released.chain(reported).map(say).collect::<Vec<String>>()
    });
    sentences.collect()
}

/// Where each is, in words: by its step too where the phase has several.
fn places<'s>(all: impl Iterator<Item = (&'s str, Option<u32>)> + Clone) -> impl Iterator<Item = String> {
    all.clone().map(move |(phase, step)| {
        let several = all.clone().filter(|(other, _)| *other == phase).count() > 1;
        match step.filter(|_| several) {
            Some(step) => format!("{phase} (step {})", u64::from(step) + 1),
            None => phase.to_owned(),
        }
    })
}

/// What the table of [`columns`] is of.
pub const SUBJECT: &str = "private, MiB, by force before checkpoints";

/// Releases before checkpoints, a row for each phase and server; `None` without the purged lens.
pub fn columns(comparison: &Comparison) -> Option<Vec<Column>> {
    let mut phases: Vec<&str> = Vec::new();
    let all = comparison.sides.iter().flat_map(|side| &side.forced_before_checkpoints);
    for one in all {
        if !phases.contains(&one.phase.as_str()) {
            phases.push(&one.phase);
        }
    }
    let mut rows: Vec<(&str, &str, &Forced)> = Vec::new();
    for phase in phases {
        for side in &comparison.sides {
            for one in side.forced_before_checkpoints.iter().filter(|one| one.phase == phase) {
                rows.push((phase, &side.label, one));
            }
        }
    }
    let size = |median: Option<MedianInterval>| {
        let text = |bytes: f64| units::mib(bytes.round() as u64);
        median.map_or_else(|| HOLE.to_owned(), |median| around(&median, text))
    };
    Table::new(&rows)
        .text("phase", 0, |(phase, ..)| (Tone::Strong, *phase))
        .text("server", 0, |(_, server, _)| *server)
        .text("before", 2, |(.., one)| size(one.before))
        .text("after", 1, |(.., one)| size(one.after))
        .text("released", 0, |(.., one)| {
            one.gave.as_ref().map_or_else(|| HOLE.to_owned(), given)
        })
        .text("by", 3, |(.., one)| one.by.join(" and "))
        .non_empty()
}

/// Released memory with its interval; negative if memory grew.
fn given(gave: &MedianInterval) -> String {
    around(gave, back)
}

fn back(bytes: f64) -> String {
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
    let size = |bytes: f64| units::mib(bytes.round() as u64);
    let came = match (forced.before, forced.after, forced.gave) {
        (Some(before), Some(after), Some(gave)) => format!(
            "private {} → {} MiB, {}",
            around(&before, size),
            around(&after, size),
            change(&gave)
        ),
        _ => format!("private memory {}", units::UNKNOWN),
    };
    let beside = if why.is_empty() { why } else { format!("; {why}") };
    format!(
        "forced release in {name} by {}: {came}{beside}",
        forced.by.join(" and ")
    )
}

fn change(gave: &MedianInterval) -> String {
    if gave.median < 0.0 {
        return format!("{} MiB more than before", back(-gave.median));
    }
    if back(gave.low.abs().max(gave.high.abs())) == "0.0" {
        return "nothing released".to_owned();
    }
    format!("{} MiB released", given(gave))
}

/// `$/memoryUsage` accounts for 0.5 of 4.1 GiB resident in goto, with the share.
fn accounted(name: &str, one: &Accounted) -> String {
    let asked = one
        .asked
        .as_ref()
        .map_or_else(|| "the server".to_owned(), |asked| format!("`{asked}`"));
    let size = |bytes: f64| units::bytes(bytes.round() as u64);
    match (one.accounted, one.of, one.ratio) {
        (Some(accounted), Some(of), Some(ratio)) => format!(
            "{asked} reports {} of {} {} in {name}, {}",
            size(accounted.median),
            size(of.median),
            if one.resident { "resident" } else { "private" },
            around(&ratio, units::percent),
        ),
        (Some(accounted), ..) => format!("{asked} reports {} in {name}", size(accounted.median)),
        (None, ..) => {
            let why = match one.missing.as_slice() {
                [] => "the answer has no total".to_owned(),
                missing => missing.join("; "),
            };
            format!("report of {asked} in {name}: {}, {why}", units::UNKNOWN)
        }
    }
}
