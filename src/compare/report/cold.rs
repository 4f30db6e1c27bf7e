//! Commands that were run to their end, side by side: one table for each project, and one for each figure over all projects.

use crate::compare::{Cell, Comparison, Scenarios};
use crate::document::{Matrix, MatrixCell, MatrixRow, Section, Weight};
use crate::figures::{Figure, Measure, Place};
use crate::text::table::Table;
use crate::text::{Sentence, Tone};

use super::figures::{self, HOLE};

/// Figures of the joined tables.
const JOINED: [Figure; 4] = [Figure::Wall, Figure::User, Figure::System, Figure::Peak];

/// Whether these are commands.
pub fn are_commands(comparison: &Comparison) -> bool {
    comparison.rows.iter().any(|row| row.measure.figure == Figure::Wall)
}

fn cell(comparison: &Comparison, figure: Figure, side: usize) -> Option<&Cell> {
    let measure = Measure {
        place: Place::Run,
        figure,
    };
    comparison.row(&measure)?.cells.get(side)
}

/// How long each command took against the first one.
pub fn verdict(comparison: &Comparison) -> Vec<Sentence> {
    let Some(first) = comparison.sides.first() else {
        return Vec::new();
    };
    let others = comparison.sides.iter().enumerate().skip(1);
    let sentences = others.filter_map(|(place, side)| {
        let ratio = cell(comparison, Figure::Wall, place)?.ratio.as_ref()?;
        let text = match ratio.low <= 1.0 && ratio.high >= 1.0 {
            true => format!(
                "{}: no measurable difference in wall time from {} ({})",
                side.label,
                first.label,
                times(ratio.low, ratio.high)
            ),
            false => format!(
                "{}: {:.2} times the wall time of {} ({})",
                side.label,
                ratio.ratio,
                first.label,
                times(ratio.low, ratio.high)
            ),
        };
        Some(Sentence::answer("cold.time", Tone::Strong, text))
    });
    sentences.collect()
}

/// `1.04–1.06`
fn times(low: f64, high: f64) -> String {
    figures::span(&format!("{low:.2}"), &format!("{high:.2}"))
}

/// A line for each command: its times, its peak, and its time against the first.
pub fn table(comparison: &Comparison, id: &str, name: &str) -> Section {
    let sides: Vec<(usize, &str)> = comparison
        .sides
        .iter()
        .map(|side| side.label.as_str())
        .enumerate()
        .collect();
    let of = |figure: Figure| {
        move |(side, _): &(usize, &str)| {
            let cell = cell(comparison, figure, *side);
            cell.map_or_else(|| HOLE.to_owned(), |cell| figures::with_interval(cell, figure.unit()))
        }
    };
    let range = |(side, _): &(usize, &str)| {
        let values = cell(comparison, Figure::Wall, *side).map(|cell| cell.values.iter().flatten().copied());
        let values: Vec<f64> = values.into_iter().flatten().collect();
        let end = |pick: fn(f64, f64) -> f64| values.iter().copied().reduce(pick);
        match (end(f64::min), end(f64::max)) {
            (Some(low), Some(high)) => {
                let text = |value| figures::value_like(value, Figure::Wall.unit(), high);
                figures::span(&text(low), &text(high))
            }
            _ => HOLE.to_owned(),
        }
    };
    let ratio = |(side, _): &(usize, &str)| {
        let ratio = cell(comparison, Figure::Wall, *side).and_then(|cell| cell.ratio.as_ref());
        match ratio {
            None if *side == 0 => "1".to_owned(),
            None => HOLE.to_owned(),
            Some(ratio) => format!("{:.2} ({})", ratio.ratio, times(ratio.low, ratio.high)),
        }
    };
    let table = Table::new(&sides)
        .text("command", 0, |(_, label)| *label)
        .number("wall", 0, of(Figure::Wall))
        .number("times", 0, ratio)
        .number("peak, MiB", 1, of(Figure::Peak))
        .number("user", 2, of(Figure::User))
        .number("system", 2, of(Figure::System))
        .number("range", 3, range)
        .number("faults", 4, of(Figure::Faults))
        .number("switches", 5, of(Figure::Switches));
    let title = match name {
        "" => "Time and peak memory".to_owned(),
        name => format!("Time and peak memory, {name}"),
    };
    Section::new(format!("{id}cold"), title, Weight::Answer)
        .noted("medians with 95 % intervals")
        .with(table.columns())
        .with(Sentence::definition(
            "cold.legend",
            "times: ratio of geometric means of wall time to the first command, with its 95 % interval; peak: the \
             kernel's mark of the largest process, of a tree at least its sampled sum; user and system: their sum is \
             exact, the split goes by ticks; range: of all counted runs"
                .to_owned(),
        ))
}

/// Over several projects a table for each figure: a row for each project, a column for each command.
pub fn joined(scenarios: &Scenarios) -> Option<Section> {
    let all: Vec<&Comparison> = scenarios.values().flatten().map(|target| &target.comparison).collect();
    let first = all.first().filter(|_| all.len() > 1)?;
    let labels =
        |comparison: &Comparison| -> Vec<String> { comparison.sides.iter().map(|side| side.label.clone()).collect() };
    let heads = labels(first);
    if !all
        .iter()
        .all(|comparison| are_commands(comparison) && labels(comparison) == heads)
    {
        return None;
    }
    let matrix = |figure: Figure| {
        let measure = Measure {
            place: Place::Run,
            figure,
        };
        let rows = all.iter().filter_map(|comparison| {
            let row = comparison.row(&measure)?;
            Some(MatrixRow {
                place: comparison.scenario.clone(),
                cells: (0..heads.len()).map(|side| figures::cell(row, side)).collect(),
            })
        });
        let mut rows: Vec<MatrixRow> = rows.collect();
        rows.push(MatrixRow {
            place: "geometric mean".to_owned(),
            cells: (0..heads.len()).map(|side| mean(&all, figure, side)).collect(),
        });
        Matrix {
            caption: figure.caption().to_owned(),
            first: "project".to_owned(),
            heads: heads.clone(),
            colored: 0,
            rows,
        }
    };
    let section = Section::new("cold-all", "All projects", Weight::Answer).noted("medians with 95 % intervals");
    Some(section.with_all(JOINED.map(matrix)))
}

/// The geometric mean of a command's medians; a hole if one is unknown or zero.
fn mean(all: &[&Comparison], figure: Figure, side: usize) -> MatrixCell {
    let medians = all
        .iter()
        .map(|comparison| cell(comparison, figure, side)?.median.map(|median| median.median));
    let logs: Option<Vec<f64>> = medians
        .map(|median| median.filter(|value| *value > 0.0).map(f64::ln))
        .collect();
    let mean = logs.map(|logs| (logs.iter().sum::<f64>() / logs.len() as f64).exp());
    MatrixCell {
        median: mean.map_or_else(|| HOLE.to_owned(), |mean| figures::value(mean, figure.unit())),
        ..MatrixCell::default()
    }
}
