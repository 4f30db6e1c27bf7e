//! The parts of a comparison as text: numbers with their units, groups, outliers, unequal work.

use std::time::Duration;

use crate::analyse::compare::{Cell, Count, Inequality, Place, Row, Side, Task, Unit};
use crate::units;

/// Groups and outliers of memory below this share of the value are not worth a word.
const WORTH: f64 = 0.01;

/// A figure in its unit, sizes as MiB without one.
pub fn value(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Bytes => units::mib(value.round() as u64),
        Unit::Nanos => units::duration(Duration::from_nanos(value.round() as u64)),
        Unit::Count => units::count(value.round() as u64),
    }
}

/// The middle of a cell.
pub fn median(cell: &Cell, unit: Unit) -> String {
    units::or_unknown(cell.median, |median| value(median.median, unit))
}

/// The interval of the median, marked where so few runs do not reach the confidence that is asked for.
pub fn interval(cell: &Cell, unit: Unit) -> String {
    match cell.median {
        Some(median) if median.n > 1 => {
            let mark = if median.reached { "" } else { " *" };
            format!("{}–{}{mark}", value(median.low, unit), value(median.high, unit))
        }
        Some(_) | None => String::new(),
    }
}

/// Where a row stands.
pub fn place(row: &Row) -> String {
    let figure = row.measure.figure.name();
    match &row.measure.place {
        Place::Phase { name, .. } => format!("{figure} in {name}"),
        Place::Run => format!("{figure} of the whole run"),
        Place::Method(method) => format!("{figure} of {method}"),
    }
}

/// That the values fall into groups, where they do.
pub fn groups(label: &str, row: &Row, cell: &Cell) -> Option<String> {
    let unit = row.measure.figure.unit();
    let (first, last) = (cell.clusters.first()?, cell.clusters.last()?);
    if cell.clusters.len() < 2 || last.low / first.high - 1.0 < WORTH {
        return None;
    }
    let groups: Vec<String> = cell
        .clusters
        .iter()
        .map(|group| {
            format!(
                "{} × {}–{}",
                group.runs.len(),
                value(group.low, unit),
                value(group.high, unit)
            )
        })
        .collect();
    Some(format!(
        "{label}: {} falls into groups: {}",
        place(row),
        groups.join(", ")
    ))
}

/// The runs that are far from the others.
pub fn outliers<'c>(side: &'c Side, row: &'c Row, cell: &'c Cell) -> impl Iterator<Item = String> + 'c {
    let unit = row.measure.figure.unit();
    let middle = cell.median.map_or(0.0, |median| median.median);
    let far = cell
        .outliers
        .iter()
        .filter(move |outlier| (outlier.value / middle - 1.0).abs() >= WORTH);
    far.map(move |outlier| {
        format!(
            "{}: {} is {} in `{}`, far from the median of {}; it counts all the same",
            side.label,
            place(row),
            value(outlier.value, unit),
            record(side, cell, outlier.run),
            value(middle, unit)
        )
    })
}

/// The record of the n-th known value of a cell.
fn record<'s>(side: &'s Side, cell: &Cell, known: usize) -> &'s str {
    let mut places = cell.values.iter().enumerate().filter(|(_, value)| value.is_some());
    let run = places.nth(known).map(|(run, _)| run);
    run.and_then(|run| side.runs.get(run))
        .map_or(units::UNKNOWN, String::as_str)
}

/// A piece of work that was not done as the baseline did it.
pub fn work(label: &str, work: &Inequality) -> String {
    unequal(label, "baseline", work)
}

/// A piece of work that was not done as `other` did it.
pub fn unequal(label: &str, other: &str, work: &Inequality) -> String {
    let task = match &work.task {
        Task::Step { phase, name, .. } => format!("{phase} › {name}"),
        Task::Method(method) => method.clone(),
    };
    let what = match work.count {
        Count::Requests => "requests",
        Count::Hits => "hits",
        Count::Items => "elements per result",
        Count::Bytes => "bytes per result",
    };
    let number = |value: Option<f64>| {
        let text = units::or_unknown(value, |value| format!("{value:.1}"));
        text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned)
    };
    let verb = if work.is_less() {
        "does less work"
    } else {
        "does other work"
    };
    format!(
        "{label} {verb} than the {other}: {task}: {} {what} against {}",
        number(work.candidate),
        number(work.baseline)
    )
}
