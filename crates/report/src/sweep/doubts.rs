//! What limits the answer of a sweep: memory that was still moving, and speed that is not shown.

use std::time::Duration;

use crate::comparison::notes;
use crate::run::decay;
use analysis::figures::{Figure, Unit};
use analysis::tune::{CellResult, Moving, Sweep, Timed, Why, as_fast};
use base::units;

use super::columns::after;

/// All of them, a sentence each.
pub(crate) fn doubts(sweep: &Sweep) -> Vec<String> {
    let left = sweep.cells.iter().filter(|cell| cell.stopped.is_none());
    let huge_pages = left.filter_map(|cell| {
        let default = sweep.cells.first()?;
        Some(notes::huge_pages(
            &cell.label,
            &default.label,
            cell.huge_pages.as_ref()?,
        ))
    });
    let others = not_fastest(sweep)
        .into_iter()
        .chain(unsettled(&sweep.cells))
        .chain(collected_later(&sweep.cells));
    let others = others
        .chain(in_groups(sweep))
        .chain(beside_failed(sweep))
        .chain(unprinted(sweep));
    let differences = sweep.differences.iter().map(notes::difference);
    others.chain(huge_pages).chain(differences).collect()
}

/// That settings are compared before the clock of their garbage collector ends.
fn collected_later(cells: &[CellResult]) -> Option<String> {
    let short = cells.iter().filter_map(|cell| cell.rest.short).min()?;
    Some(format!(
        "what is released later is not known: {}",
        decay::needs(&[short.took], short)
    ))
}

/// That no run printed the figure that settings are weighed by.
fn unprinted(sweep: &Sweep) -> Option<String> {
    let Some(Timed::Printed(name)) = &sweep.places.command else {
        return None;
    };
    let is_known = sweep.cells.iter().any(|cell| cell.median(Figure::P95).is_some());
    let is_run = sweep.cells.iter().any(|cell| !cell.runs.is_empty());
    (is_run && !is_known)
        .then(|| format!("no run printed `{name}`, so the cost of settings is not known: check --cost"))
}

/// The cells whose private memory falls into groups, so that its mean is that of no run; the default, which all ratios
/// are against, among them. What was stopped is no answer.
fn in_groups(sweep: &Sweep) -> Vec<String> {
    let doubts = sweep.cells.iter().enumerate().filter_map(|(place, cell)| {
        let figure = cell.figure(Figure::Private);
        let apart = cell.stopped.is_none() && notes::gap(figure).is_some();
        let name = format!("{}{}", sweep.places.name(Figure::Private), after(sweep));
        let doubts = apart.then(|| notes::in_groups(&cell.label, &name, figure, Unit::Bytes))?;
        let all = "; all others are compared with their mean";
        Some(if place == 0 { format!("{doubts}{all}") } else { doubts })
    });
    doubts.collect()
}

/// The cells that stopped because of one that the server failed with later, in a sentence for each of those.
fn beside_failed(sweep: &Sweep) -> Vec<String> {
    let because = |cell: &CellResult| match &cell.stopped.as_ref()?.why {
        Why::Beaten(other) | Why::WorseHalf(other) | Why::Slower(other) => Some(other.clone()),
        Why::Failed(_) | Why::OverLimit => None,
    };
    let failed = sweep.cells.iter().filter(|cell| cell.failed());
    let doubts = failed.filter_map(|failed| {
        let stopped = sweep
            .cells
            .iter()
            .filter(|cell| because(cell).as_ref() == Some(&failed.label));
        let labels: Vec<&str> = stopped.map(|cell| cell.label.as_str()).collect();
        (!labels.is_empty()).then(|| {
            format!(
                "{} stopped because of {failed}, with which the server failed later: run the sweep without {failed} \
                 to judge it",
                labels.join(", "),
                failed = failed.label
            )
        })
    });
    doubts.collect()
}

/// That the one that was chosen as the fastest may not be it.
fn not_fastest(sweep: &Sweep) -> Option<String> {
    let others: Vec<&str> = as_fast(sweep).into_iter().map(|cell| cell.label.as_str()).collect();
    (!others.is_empty()).then(|| {
        format!(
            "it may not be the fastest: the interval of its {} overlaps with those of {}, all under the limit",
            sweep.places.name(Figure::P95),
            others.join(", ")
        )
    })
}

/// The cells whose memory had not settled, in one sentence with the reason of the first.
pub(crate) fn unsettled<'s>(cells: impl IntoIterator<Item = &'s CellResult>) -> Option<String> {
    let movers = cells
        .into_iter()
        .filter_map(|cell| Some((cell, cell.rest.why.as_ref()?)));
    let movers: Vec<(&CellResult, &Moving)> = movers.collect();
    let (first, why) = movers.first()?;
    let labels: Vec<&str> = movers.iter().map(|(cell, _)| cell.label.as_str()).collect();
    let (why, cure) = match why {
        Moving::TimedOut(what) => {
            let what = if what.is_empty() { "its memory" } else { what };
            let why = format!("{what} was still changing when the window ended");
            (why, "raise `at-most`")
        }
        Moving::TooShort { took, decay, capped } => {
            let time = |nanos: &u64| units::duration(Duration::from_nanos(*nanos));
            let why = format!(
                "it was idle for {}, and its allocator, which keeps freed memory for {}, may release until twice that",
                time(took),
                time(decay)
            );
            let cure = match capped {
                true => "raise `at-most`",
                false => "set `until = \"settled\"`",
            };
            (why, cure)
        }
    };
    Some(format!(
        "memory was still changing with {}: in {} of {} of {} {why}; such settings are neither eliminated for their \
         memory nor predicted: {cure}",
        labels.join(", "),
        first.rest.moving,
        units::counted(first.runs.len() as u64, "run"),
        first.label,
    ))
}
