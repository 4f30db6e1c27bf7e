//! Findings about samples that are missing, late or failed, swapped memory, and unsettled checkpoints.

use base::units;

use super::super::summary::{FailedReads, Summary};
use super::{Finding, Severity, finding};

/// Share of missed deadlines that is worth a warning.
const THIN: f64 = 0.01;

pub(super) fn add_doubts(summary: &Summary, list: &mut Vec<Finding>) {
    let sampling = &summary.sampling;
    let ticks = summary.duration / summary.header.settings.interval.max(1);
    if ticks > 0 && sampling.missed as f64 > THIN * ticks as f64 {
        let text = format!(
            "the sampler missed {} of about {} samples (late by up to {}), so the curve is thin there; checkpoints \
             and high-water marks are not affected: run fewer programs, or use a longer `--interval`",
            units::count(sampling.missed),
            units::count(ticks),
            units::nanoseconds(sampling.latest),
        );
        list.push(finding(Severity::Warning, text));
    }
    for (what, FailedReads { processes, error }) in &sampling.failures {
        list.push(finding(Severity::Warning, failure_sentence(what, *processes, error)));
    }
    let swapped = summary
        .phases
        .iter()
        .filter_map(|phase| phase.checkpoint.as_ref()?.swap)
        .max()
        .unwrap_or(0);
    if swapped > 0 {
        let text = format!(
            "up to {} of the server were swapped out, so resident figures are too low: free memory, or compare only \
             private memory",
            units::bytes(swapped)
        );
        list.push(finding(Severity::Warning, text));
    }
    let unsettled: Vec<String> = summary
        .phases
        .iter()
        .filter_map(|phase| {
            let checkpoint = phase.checkpoint.as_ref().filter(|checkpoint| !checkpoint.settled)?;
            Some(format!("`{}` ({})", phase.phase.name, checkpoint.unsettled))
        })
        .collect();
    if !unsettled.is_empty() {
        let names = shorten(&unsettled);
        // More time would only let a runaway grow.
        let mut taken = summary.phases.iter().filter_map(|phase| phase.checkpoint.as_ref());
        let advice = if taken.any(|checkpoint| checkpoint.growing.is_some()) {
            ""
        } else {
            ": give its `settle` more time"
        };
        let text = format!("the server was still busy at the checkpoint of {names}{advice}");
        list.push(finding(Severity::Warning, text));
    }
}

/// The sentence about a counter that could not be read or reset.
fn failure_sentence(what: &str, processes: u64, error: &str) -> String {
    let subject = match processes {
        1 => "1 process".to_owned(),
        processes => format!("{} processes", units::count(processes)),
    };
    let cure = "run as the user that owns the server";
    match what {
        "clear_refs" | "footprint interval" => format!(
            "the high-water mark of {subject} could not be reset (`{what}`: {error}), so peaks may belong to an earlier \
             phase: {cure}, or use `--no-peak-reset`"
        ),
        _ => format!("`{what}` of {subject} could not always be read ({error}); sums without it are n/a: {cure}"),
    }
}

fn shorten(names: &[String]) -> String {
    const SHOWN: usize = 5;
    match names.len().checked_sub(SHOWN) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {more} more", names[..SHOWN].join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::summarised;
    use record::golden::Session;
    use record::{Ending, Event};

    #[test]
    fn a_long_list_of_names_is_shortened() {
        let names: Vec<String> = (1..=8).map(|number| number.to_string()).collect();
        assert_eq!(shorten(&names), "1, 2, 3, 4, 5 and 3 more");
        assert_eq!(shorten(&names[..5]), "1, 2, 3, 4, 5");
    }

    /// The sentence about unsettled checkpoints of phases with these amounts in MiB at the end of the steps and at the
    /// checkpoint.
    fn unsettled(phases: &[(u64, u64)]) -> String {
        let mut session = Session::new("server");
        session.spawn(0, "server", None, 20, 4);
        for (driven, checkpoint) in phases {
            session.phase("open");
            session.move_memory(0, *driven, 2, 50);
            session.settle_growing(0, *checkpoint, false);
        }
        session.put(Event::Ended(Ending::Completed));
        let mut list = Vec::new();
        add_doubts(&summarised(&session), &mut list);
        let sentence = list.iter().find(|one| one.text.contains("still busy"));
        sentence.unwrap().text.clone()
    }

    #[test]
    fn more_time_is_no_cure_where_any_phase_grew() {
        const CURE: &str = "give its `settle` more time";
        assert!(unsettled(&[(100, 100), (100, 100)]).ends_with(CURE));
        for phases in [[(100, 900), (900, 900)], [(100, 100), (100, 900)]] {
            let text = unsettled(&phases);
            assert!(!text.contains(CURE), "{text}");
        }
    }

    #[test]
    fn what_failed_is_told_by_processes_and_a_reset_is_no_read() {
        let read = failure_sentence("status", 1, "Permission denied");
        assert!(
            read.starts_with("`status` of 1 process could not always be read"),
            "{read}"
        );
        let reset = failure_sentence("clear_refs", 3, "Permission denied");
        assert!(
            reset.starts_with("the high-water mark of 3 processes could not be reset") && !reset.contains("read"),
            "{reset}"
        );
    }
}
