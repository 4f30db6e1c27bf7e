//! Servers on several targets in one table: a row for each step, a column for each server of each system.
//!
//! Sizes of different systems stand side by side and are never set in a ratio: they are different quantities.

use analysis::compare::{Cell, Target};
use analysis::figures::{Figure, Measure, MeasuredPart, Unit};
use base::text::table::{Column, Table};
use base::text::{Sentence, Tone};

use super::figures::{self, HOLE};
use super::{notes, one_server, words};

/// Conclusions for each target: work that was not done as the baseline did it, and of all servers the figure that a
/// choice hangs on.
pub fn conclusions(targets: &[Target]) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    for (target, system) in targets.iter().zip(systems(targets)) {
        for sentence in conclusions_on_target(target) {
            sentences.push(Sentence {
                text: format!("{system}: {}", sentence.text),
                ..sentence
            });
        }
    }
    sentences
}

fn conclusions_on_target(target: &Target) -> Vec<Sentence> {
    let comparison = &target.comparison;
    let mut sentences = Vec::new();
    if let Some((baseline, others)) = comparison.sides.split_first() {
        sentences.extend(others.iter().flat_map(|side| notes::work(side, &baseline.label)));
    }
    let conclusion = match words::no_run_counts(comparison).or_else(|| one_server::memory_of_only_server(comparison)) {
        Some(text) => text,
        None => {
            let others = 1..comparison.sides.len();
            let verdicts: Vec<String> = others.filter_map(|place| words::verdict(comparison, place)).collect();
            verdicts.join("; ")
        }
    };
    sentences.push(Sentence::answer("compare.target", Tone::Strong, conclusion));
    sentences
}

/// Private memory after each step, of every server on every target.
pub fn steps(targets: &[Target]) -> Vec<Column> {
    let mut steps: Vec<&Measure> = Vec::new();
    for row in targets.iter().flat_map(|target| &target.comparison.rows) {
        if row.measure.figure == Figure::Private && !steps.contains(&&row.measure) {
            steps.push(&row.measure);
        }
    }
    // A target may lack a step that others have, so that none has the whole order.
    steps.sort_unstable();
    let mut table = Table::new(&steps).text("step", 0, |step| format!("after {}", step.place.name()));
    for (target, system) in targets.iter().zip(systems(targets)) {
        for (place, side) in target.comparison.sides.iter().enumerate() {
            table = table
                .text(side.label.clone(), 1, |step| match target.comparison.row(step) {
                    Some(row) => figures::with_interval(&row.cells[place], Unit::Bytes),
                    None => HOLE.to_owned(),
                })
                .with_group_head(system.clone());
        }
    }
    table.columns()
}

/// The average peak of each server on each target.
pub fn peaks(targets: &[Target]) -> Vec<Column> {
    let mut servers: Vec<&str> = Vec::new();
    for side in targets.iter().flat_map(|target| &target.comparison.sides) {
        if !servers.contains(&side.label.as_str()) {
            servers.push(&side.label);
        }
    }
    let rows: Vec<(&Target, String)> = targets.iter().zip(systems(targets)).collect();
    let mut table = Table::new(&rows).text("target", 0, |(_, system)| system);
    for label in servers {
        table = table.text(label.to_owned(), 1, |(target, _)| average_peak(target, label));
    }
    table.columns()
}

fn average_peak(target: &Target, label: &str) -> String {
    let peak = Measure {
        place: MeasuredPart::Run,
        figure: Figure::Peak,
    };
    let side = target.comparison.sides.iter().position(|side| side.label == label);
    match (side, target.comparison.row(&peak)) {
        (Some(side), Some(row)) => average(&row.cells[side]),
        _ => HOLE.to_owned(),
    }
}

/// The short names that are not those of their targets, each with its target.
pub fn legend(targets: &[Target]) -> Option<String> {
    let short: Vec<String> = targets
        .iter()
        .zip(systems(targets))
        .filter(|(target, system)| target.name() != *system)
        .map(|(target, system)| format!("{system} is {}", target.name()))
        .collect();
    if short.is_empty() { None } else { Some(short.join(", ")) }
}

/// The names of targets, with those of their systems as long as these tell them apart.
fn systems(targets: &[Target]) -> Vec<String> {
    let short: Vec<String> = targets
        .iter()
        .map(|target| target.name().replace(&target.triple, system(&target.triple)))
        .collect();
    let mut names = Vec::new();
    for (target, name) in targets.iter().zip(&short) {
        let is_unique = short.iter().filter(|other| *other == name).count() == 1;
        names.push(if is_unique { name.clone() } else { target.name() });
    }
    names
}

fn system(triple: &str) -> &str {
    for (part, name) in [("linux", "Linux"), ("apple-darwin", "macOS"), ("windows", "Windows")] {
        if triple.contains(part) {
            return name;
        }
    }
    triple
}

/// `379.1 (+1.4 %, +0.2 to +2.6 %)`: the mean of the runs, with the difference of geometric means from the baseline.
fn average(cell: &Cell) -> String {
    let known: Vec<f64> = cell.values.iter().copied().flatten().collect();
    if known.is_empty() {
        return HOLE.to_owned();
    }
    let mean = figures::value(known.iter().sum::<f64>() / known.len() as f64, Unit::Bytes);
    let Some(ratio) = &cell.ratio else { return mean };
    let Some(difference) = figures::difference(ratio) else {
        return mean;
    };
    let middle = figures::signed((ratio.ratio - 1.0) * 100.0, 1);
    format!("{mean} ({middle} %, {difference})")
}
