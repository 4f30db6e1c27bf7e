//! Growth from round to round, of all servers.

use crate::compare::{Comparison, Side};
use crate::lens::Lens;
use crate::report::growth::{Line, attribution, columns};
use crate::text::Tone;
use crate::text::table::{Column, Table};

/// A line for each thing that is repeated and each server, those of one thing together.
fn lines(comparison: &Comparison) -> Vec<Line> {
    let mut names: Vec<&str> = Vec::new();
    for grown in comparison.sides.iter().flat_map(|side| &side.growth) {
        if !names.contains(&grown.name.as_str()) {
            names.push(&grown.name);
        }
    }
    let of = |name: &str, side: &Side| {
        let grown = side.growth.iter().find(|grown| grown.name == name)?;
        Some(Line::of_runs(&side.label, grown))
    };
    names
        .iter()
        .flat_map(|name| comparison.sides.iter().filter_map(|side| of(name, side)))
        .collect()
}

/// The table of these lines; `None` where nothing was repeated.
pub fn table(comparison: &Comparison) -> Option<Vec<Column>> {
    let lines = lines(comparison);
    let names = Table::new(&lines)
        .text("repeated", 0, |line| (Tone::Strong, &line.name))
        .text("server", 0, |line| &line.server);
    columns(names)
        .text("answer", 1, |line| (line.tone(), line.answer()))
        .some()
}

/// What each server grows with, in sentences.
pub fn verdict(comparison: &Comparison) -> Vec<String> {
    let of_side = |side: &Side| {
        let lines: Vec<Line> = side
            .growth
            .iter()
            .map(|grown| Line::of_runs(&side.label, grown))
            .collect();
        let lens = side.growth.first().map_or(Lens::AsShipped, |grown| grown.lens);
        let sentences = attribution(&lines, lens, side.runs.len()).into_iter();
        let say = |sentence| format!("{}: {sentence}", side.label);
        sentences.map(say).collect::<Vec<String>>()
    };
    comparison.sides.iter().flat_map(of_side).collect()
}
