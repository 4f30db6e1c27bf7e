//! Servers on several targets in one table: a row for each step, a column for each server of each system.
//!
//! Sizes of different systems stand side by side and are never set in a ratio: they are different quantities.

use crate::analyse::compare::{Cell, Figure, Measure, Place, Target, Unit};

use super::figures::{self, HOLE};
use super::notes::{self, Note};
use super::{alone, words};

/// Private memory after each step, of every server on every target.
pub struct Steps {
    /// System and server of each column.
    pub heads: Vec<(String, String)>,
    pub rows: Vec<(String, Vec<String>)>,
}

/// The average peak of each server on each target.
pub struct Peaks {
    pub heads: Vec<String>,
    pub rows: Vec<(String, Vec<String>)>,
}

/// What to conclude on one target.
pub struct Conclusion {
    pub system: String,
    /// Work that was not done as the baseline did it.
    pub unequal: Vec<Note>,
    /// On the figure that a choice hangs on, of all servers, without a full stop.
    pub sentence: String,
}

/// What to conclude on each target.
pub fn conclusions(targets: &[Target]) -> Vec<Conclusion> {
    let conclusion = |(target, system): (&Target, String)| {
        let comparison = &target.comparison;
        let others = 1..comparison.sides.len();
        let baseline = comparison.sides.first().map_or("", |side| side.label.as_str());
        let unequal = comparison
            .sides
            .iter()
            .skip(1)
            .flat_map(|side| notes::work(side, baseline));
        let unequal = unequal.map(|(weight, text)| (weight, format!("{system}: {text}")));
        let said: Vec<String> = match words::no_run_counts(comparison).or_else(|| alone::kept(comparison)) {
            Some(said) => vec![said],
            None => others
                .filter_map(|place| words::verdict(comparison, place).into_iter().next())
                .collect(),
        };
        Conclusion {
            unequal: unequal.collect(),
            sentence: said.join("; "),
            system,
        }
    };
    targets.iter().zip(systems(targets)).map(conclusion).collect()
}

pub fn steps(targets: &[Target]) -> Steps {
    let systems = systems(targets);
    let mut steps: Vec<&Measure> = Vec::new();
    for row in targets.iter().flat_map(|target| &target.comparison.rows) {
        if row.measure.figure == Figure::Private && !steps.contains(&&row.measure) {
            steps.push(&row.measure);
        }
    }
    // A target may lack a step that others have, so that none has the whole order.
    steps.sort_unstable();
    let cells = |step: &Measure| {
        let cells = targets.iter().flat_map(|target| {
            let row = target.comparison.row(step);
            let sides = 0..target.comparison.sides.len();
            sides.map(move |side| row.map_or_else(|| HOLE.to_owned(), |row| in_bytes(&row.cells[side])))
        });
        cells.collect()
    };
    Steps {
        heads: targets
            .iter()
            .zip(&systems)
            .flat_map(|(target, system)| {
                let sides = target.comparison.sides.iter();
                sides.map(|side| (system.clone(), side.label.clone()))
            })
            .collect(),
        rows: steps
            .iter()
            .map(|step| (format!("after {}", figures::heading(&step.place)), cells(step)))
            .collect(),
    }
}

pub fn peaks(targets: &[Target]) -> Peaks {
    let mut heads: Vec<String> = Vec::new();
    for side in targets.iter().flat_map(|target| &target.comparison.sides) {
        if !heads.contains(&side.label) {
            heads.push(side.label.clone());
        }
    }
    let peak = Measure {
        place: Place::Run,
        figure: Figure::Peak,
    };
    let cells = |target: &Target| {
        let row = target.comparison.row(&peak);
        let cells = heads.iter().map(|label| {
            let side = target.comparison.sides.iter().position(|side| side.label == *label);
            let cell = side.zip(row).map(|(side, row)| &row.cells[side]);
            cell.map_or_else(|| HOLE.to_owned(), average)
        });
        cells.collect()
    };
    let rows = targets
        .iter()
        .zip(systems(targets))
        .map(|(target, system)| (system, cells(target)));
    Peaks {
        rows: rows.collect(),
        heads,
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

fn in_bytes(cell: &Cell) -> String {
    figures::with_interval(cell, Unit::Bytes)
}

/// `379.1 (+1.4 %, +0.2 to +2.6 %)`: the mean of the runs, with the difference of geometric means from the baseline.
fn average(cell: &Cell) -> String {
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
