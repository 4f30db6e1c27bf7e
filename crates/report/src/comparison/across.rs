//! Servers on several targets in one table: a row for each step, a column for each server of each system.
//!
//! Sizes of different systems stand side by side and are never set in a ratio: they are different quantities.

use analysis::compare::{Cell as Figures, Target};
use analysis::figures::{Figure, Measure, Place, Unit};
use base::text::table::{Column, Table};
use base::text::{Sentence, Tone};

use super::figures::{self, HOLE};
use super::{alone, notes, words};

/// What to conclude on each target: work that was not done as the baseline did it, and of all servers the figure that a
/// choice hangs on.
pub fn conclusions(targets: &[Target]) -> Vec<Sentence> {
    let conclusion = |(target, system): (&Target, String)| {
        let comparison = &target.comparison;
        let others = 1..comparison.sides.len();
        let baseline = comparison.sides.first().map_or("", |side| side.label.as_str());
        let sides = comparison.sides.iter().skip(1);
        let unequal = sides.flat_map(|side| notes::work(side, baseline));
        let texts: Vec<String> = match words::no_run_counts(comparison).or_else(|| alone::kept(comparison)) {
            Some(text) => vec![text],
            None => others.filter_map(|place| words::verdict(comparison, place)).collect(),
        };
        let sentence = Sentence::answer("compare.target", Tone::Strong, texts.join("; "));
        let all = unequal.chain([sentence]).map(|one| Sentence {
            text: format!("{system}: {}", one.text),
            ..one
        });
        all.collect::<Vec<Sentence>>()
    };
    targets.iter().zip(systems(targets)).flat_map(conclusion).collect()
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
            let cell = |step: &&Measure| {
                let row = target.comparison.row(step);
                let text = row.map(|row| figures::with_interval(&row.cells[place], Unit::Bytes));
                text.unwrap_or_else(|| HOLE.to_owned())
            };
            table = table.text(side.label.clone(), 1, cell).grouped(system.clone());
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
    let peak = Measure {
        place: Place::Run,
        figure: Figure::Peak,
    };
    let cell = |target: &Target, label: &str| {
        let side = target.comparison.sides.iter().position(|side| side.label == label);
        let cell = side
            .zip(target.comparison.row(&peak))
            .map(|(side, row)| &row.cells[side]);
        cell.map_or_else(|| HOLE.to_owned(), average)
    };
    let rows: Vec<(&Target, String)> = targets.iter().zip(systems(targets)).collect();
    let table = Table::new(&rows).text("target", 0, |(_, system)| system);
    let servers = servers.into_iter();
    let table = servers.fold(table, |table, label| {
        table.text(label.to_owned(), 1, |(target, _)| cell(target, label))
    });
    table.columns()
}

/// The short names that are not those of their targets, each with its target.
pub fn legend(targets: &[Target]) -> Option<String> {
    let short: Vec<String> = targets
        .iter()
        .zip(systems(targets))
        .filter(|(target, system)| target.name() != *system)
        .map(|(target, system)| format!("{system} is {}", target.name()))
        .collect();
    (!short.is_empty()).then(|| short.join(", "))
}

/// The names of targets, with those of their systems as long as these tell them apart.
fn systems(targets: &[Target]) -> Vec<String> {
    let short: Vec<String> = targets
        .iter()
        .map(|target| target.name().replace(&target.triple, system(&target.triple)))
        .collect();
    let is_one = |name: &String| short.iter().filter(|other| *other == name).count() == 1;
    let names = targets.iter().zip(&short).map(|(target, short)| match is_one(short) {
        true => short.clone(),
        false => target.name(),
    });
    names.collect()
}

fn system(triple: &str) -> &str {
    let known = [("linux", "Linux"), ("apple-darwin", "macOS"), ("windows", "Windows")];
    known
        .into_iter()
        .find(|(part, _)| triple.contains(part))
        .map_or(triple, |(_, name)| name)
}

/// `379.1 (+1.4 %, +0.2 to +2.6 %)`: the mean of the runs, with the difference of geometric means from the baseline.
fn average(cell: &Figures) -> String {
    let known: Vec<f64> = cell.values.iter().copied().flatten().collect();
    if known.is_empty() {
        return HOLE.to_owned();
    }
    let mean = figures::value(known.iter().sum::<f64>() / known.len() as f64, Unit::Bytes);
    let difference = cell.ratio.as_ref().and_then(|ratio| {
        let middle = figures::signed((ratio.ratio - 1.0) * 100.0, 1);
        Some(format!(" ({middle} %, {})", figures::difference(ratio)?))
    });
    mean + &difference.unwrap_or_default()
}
