//! From numbers to text: each format is a function of records and nothing else.
//!
//! Nothing here opens files, asks the time or prints; `clippy.toml` says why and enforces it.

#![deny(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

use std::time::Duration;

use crate::lens::Lens;
use crate::summary::Summary;
use crate::summary::calls::Traced;
use crate::units;

pub mod allocator;
pub mod calibration;
mod calls;
pub mod comparison;
pub mod csv;
mod decay;
mod fingerprint;
pub mod gate;
mod given;
mod growth;
pub mod json;
mod lens;
mod pictures;
mod release;
mod reproduce;
pub mod run;
pub mod svg;
pub mod trace;
pub mod tune;

#[cfg(test)]
mod tests;

/// One run in one line, while others follow.
pub fn one_line(summary: &Summary) -> String {
    if let Some(traced) = Traced::of(summary) {
        return format!(
            "{} (traced): {}, {}",
            name(summary),
            units::counted(traced.advice(), "madvise call"),
            units::duration(Duration::from_nanos(summary.duration)),
        );
    }
    let end = summary.phases.iter().rev().find_map(|phase| phase.private);
    format!(
        "{}{}: private {}, peak {}, {}",
        name(summary),
        if summary.header.plan.warm_up {
            " (warming up)"
        } else {
            ""
        },
        units::or_unknown(end, units::bytes),
        units::or_unknown(summary.peak, |peak| units::bytes(peak.lower)),
        units::duration(Duration::from_nanos(summary.duration)),
    )
}

/// What a run is called, as its record is and the line that it begins with; the usual lens needs no word.
fn name(summary: &Summary) -> String {
    let server = &summary.header.server;
    match server.lens.name {
        Lens::AsShipped => server.label.clone(),
        Lens::Purged => format!("{}-purged", server.label),
    }
}
