//! What servers gave back by force and what they account for, each over its runs.

use crate::analyse::compare::{Accounted, Comparison, Forced};
use crate::analyse::stats::MedianInterval;
use crate::units;

use super::figures::around;

/// What is said of each server, in a sentence for each phase.
pub fn verdict(comparison: &Comparison) -> Vec<String> {
    let said = comparison.sides.iter().flat_map(|side| {
        let releases = side.forced.iter().map(|one| (one.phase.as_str(), one.step));
        let reports = side.accounted.iter().map(|one| (one.phase.as_str(), one.step));
        let released = places(releases).zip(&side.forced).map(|(at, one)| forced(&at, one));
        let reported = places(reports).zip(&side.accounted);
        let reported = reported.map(|(at, one)| accounted(&at, one));
        let say = |sentence| format!("{}: {sentence}", side.label);
        released.chain(reported).map(say).collect::<Vec<String>>()
    });
    said.collect()
}

/// Where each is, in words: by its step too where the phase has several.
fn places<'s>(all: impl Iterator<Item = (&'s str, u32)> + Clone) -> impl Iterator<Item = String> {
    all.clone().map(move |(phase, step)| {
        let several = all.clone().filter(|(other, _)| *other == phase).count() > 1;
        match several {
            true => format!("{phase} (step {})", u64::from(step) + 1),
            false => phase.to_owned(),
        }
    })
}

/// `a forced release in decay, by malloc_trim: private 200.0 → 150.0 MiB, 50.0 (48.0–52.0 *) MiB given back`.
fn forced(name: &str, forced: &Forced) -> String {
    let why = forced.missing.join("; ");
    if forced.by.is_empty() {
        return format!("a forced release in {name}: {}, {why}", units::UNKNOWN);
    }
    let came = match (forced.before, forced.after, forced.gave) {
        (Some(before), Some(after), Some(gave)) => format!(
            "private {} → {} MiB, {}",
            units::mib(before.median.round() as u64),
            units::mib(after.median.round() as u64),
            change(&gave)
        ),
        _ => format!("private memory {}", units::UNKNOWN),
    };
    let beside = if why.is_empty() { why } else { format!("; {why}") };
    format!(
        "a forced release in {name}, by {}: {came}{beside}",
        forced.by.join(" and ")
    )
}

fn change(gave: &MedianInterval) -> String {
    let size = |bytes: f64| {
        let text = units::signed_mib(bytes.round() as i64);
        text.strip_prefix('+').map(str::to_owned).unwrap_or(text)
    };
    if gave.median < 0.0 {
        return format!("{} MiB more taken", size(-gave.median));
    }
    if size(gave.low.abs().max(gave.high.abs())) == "0.0" {
        return "nothing came back".to_owned();
    }
    format!("{} MiB given back", around(gave, size))
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
            "{asked} accounts for {} of {} {} in {name}, {}",
            size(accounted.median),
            size(of.median),
            if one.resident { "resident" } else { "private" },
            around(&ratio, units::percent),
        ),
        (Some(accounted), ..) => format!("{asked} accounts for {} in {name}", size(accounted.median)),
        (None, ..) => {
            let why = match one.missing.as_slice() {
                [] => "its answer has no total".to_owned(),
                missing => missing.join("; "),
            };
            format!("what {asked} accounts for in {name}: {}, {why}", units::UNKNOWN)
        }
    }
}
