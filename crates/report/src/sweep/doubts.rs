//! Doubts that limit the answer of a sweep, such as memory that was still moving and speed that is not shown.

use crate::comparison::{notes, released};
use analysis::figures::{Figure, Unit};
use analysis::tune::{CellResult, Moving, Sweep, Timed, Why, as_fast};
use base::units;

use super::columns::after_phase;

/// All doubts, each as a sentence.
pub(crate) fn doubts(sweep: &Sweep) -> Vec<String> {
    let mut doubts = Vec::new();
    doubts.extend(not_fastest(sweep));
    doubts.extend(unsettled(&sweep.cells));
    doubts.extend(window_too_short_for_collector(&sweep.cells));
    doubts.extend(in_groups(sweep));
    doubts.extend(stopped_by_failed(sweep));
    doubts.extend(cost_not_printed(sweep));
    doubts.extend(huge_pages(sweep));
    doubts.extend(sweep.differences.iter().map(notes::difference));
    doubts
}

fn huge_pages(sweep: &Sweep) -> Vec<String> {
    let mut sentences = Vec::new();
    for cell in sweep.cells.iter().filter(|cell| cell.stopped.is_none()) {
        if let Some(found) = &cell.huge_pages {
            sentences.push(notes::huge_pages(&cell.label, &sweep.cells[0].label, found));
        }
    }
    sentences
}

/// Says that the shortest idle window ended before the garbage collector releases by its clock.
fn window_too_short_for_collector(cells: &[CellResult]) -> Option<String> {
    let shortest = cells.iter().filter_map(|cell| cell.rest.short).min()?;
    Some(format!(
        "what is released later is not known: {}",
        released::needs(&[shortest.took], shortest)
    ))
}

/// Says that no run printed the figure that settings are weighed by.
fn cost_not_printed(sweep: &Sweep) -> Option<String> {
    let Some(Timed::Printed(name)) = &sweep.places.command else {
        return None;
    };
    // The figure that a command prints is kept as the 95th percentile.
    let has_printed = sweep.cells.iter().any(|cell| cell.median(Figure::P95).is_some());
    let has_runs = sweep.cells.iter().any(|cell| !cell.runs.is_empty());
    if has_printed || !has_runs {
        return None;
    }
    Some(format!(
        "no run printed `{name}`, so the cost of settings is not known: check --cost"
    ))
}

/// A sentence for each cell whose private memory falls into groups, so that its mean is that of no run. Stopped cells
/// are no answer, so theirs do not matter.
fn in_groups(sweep: &Sweep) -> Vec<String> {
    let name = format!("{}{}", sweep.places.name(Figure::Private), after_phase(sweep));
    let mut sentences = Vec::new();
    for (place, cell) in sweep.cells.iter().enumerate() {
        let figure = cell.figure(Figure::Private);
        if cell.stopped.is_some() || notes::gap(figure).is_none() {
            continue;
        }
        let mut sentence = notes::in_groups(&cell.label, &name, figure, Unit::Bytes);
        let is_default = place == 0;
        if is_default {
            sentence.push_str("; all others are compared with their mean");
        }
        sentences.push(sentence);
    }
    sentences
}

/// A sentence for each failed cell that others were stopped for before it failed.
fn stopped_by_failed(sweep: &Sweep) -> Vec<String> {
    let mut sentences = Vec::new();
    for failed in sweep.cells.iter().filter(|cell| cell.failed()) {
        let mut labels: Vec<&str> = Vec::new();
        for cell in &sweep.cells {
            if stopped_by(cell) == Some(&failed.label) {
                labels.push(&cell.label);
            }
        }
        if !labels.is_empty() {
            sentences.push(format!(
                "{} stopped because of {failed}, with which the server failed later: run the sweep without {failed} \
                 to judge it",
                labels.join(", "),
                failed = failed.label
            ));
        }
    }
    sentences
}

/// Label of the better cell because of which this one was stopped.
fn stopped_by(cell: &CellResult) -> Option<&String> {
    match &cell.stopped.as_ref()?.why {
        Why::Beaten(other) | Why::WorseHalf(other) | Why::Slower(other) => Some(other),
        Why::Failed(_) | Why::OverLimit => None,
    }
}

/// Says that the chosen cell may not be the fastest.
fn not_fastest(sweep: &Sweep) -> Option<String> {
    let others: Vec<&str> = as_fast(sweep).into_iter().map(|cell| cell.label.as_str()).collect();
    if others.is_empty() {
        return None;
    }
    Some(format!(
        "it may not be the fastest: the interval of its {} overlaps with those of {}, all under the limit",
        sweep.places.name(Figure::P95),
        others.join(", ")
    ))
}

/// The cells whose memory had not settled, in one sentence with the reason of the first.
pub(crate) fn unsettled<'s>(cells: impl IntoIterator<Item = &'s CellResult>) -> Option<String> {
    let unsettled_cells: Vec<&CellResult> = cells.into_iter().filter(|cell| cell.rest.why.is_some()).collect();
    let first = unsettled_cells.first()?;
    let labels: Vec<&str> = unsettled_cells.iter().map(|cell| cell.label.as_str()).collect();
    let (why, cure) = reason_and_cure(first.rest.why.as_ref()?);
    Some(format!(
        "memory was still changing with {}: in {} of {} of {} {why}; such settings are neither eliminated for their \
         memory nor predicted: {cure}",
        labels.join(", "),
        first.rest.moving,
        units::count_of(first.runs.len() as u64, "run"),
        first.label,
    ))
}

fn reason_and_cure(moving: &Moving) -> (String, &'static str) {
    match moving {
        Moving::TimedOut(what) => {
            let what = if what.is_empty() { "its memory" } else { what };
            let why = format!("{what} was still changing when the window ended");
            (why, "raise `at-most`")
        }
        Moving::TooShort { took, decay, capped } => {
            let why = format!(
                "it was idle for {}, and its allocator, which keeps freed memory for {}, may release until twice that",
                units::nanoseconds(*took),
                units::nanoseconds(*decay)
            );
            let cure = if *capped {
                "raise `at-most`"
            } else {
                "set `until = \"settled\"`"
            };
            (why, cure)
        }
    }
}
