//! A comparison to be pasted into a pull request: the short table first, everything else folded.

use std::fmt::Write;

use crate::analyse::compare::{Cell, Comparison, Figure, Measure, Place, Row, Side, Target, Unit};
use crate::report::text::line_of;
use crate::units;

use super::{figures, growth, words};

/// What stands where nothing was measured.
const HOLE: &str = "–";

/// Tables that are folded, each with its heading.
const FOLDED: [(Figure, &str); 6] = [
    (Figure::Peak, "Resident peak within phases, MiB"),
    (Figure::Resident, "Resident memory at checkpoints, MiB"),
    (Figure::Cpu, "CPU time"),
    (Figure::Faults, "Minor page faults"),
    (Figure::P50, "Median latency"),
    (Figure::P95, "95th percentile of latency"),
];

/// The servers on each target: first the table of allocator × target × step, then each target.
pub fn render(targets: &[Target]) -> String {
    let mut out = String::new();
    if targets.len() > 1 {
        pivot(&mut out, targets);
        peaks(&mut out, targets);
    }
    for target in targets {
        if !out.is_empty() {
            out.push('\n');
        }
        one(&mut out, target, targets.len() > 1);
    }
    out
}

/// Private memory after each step, of every server on every target. Sizes are of one system each: only ratios may be
/// compared across columns.
fn pivot(out: &mut String, targets: &[Target]) {
    let name = |target: &Target, label: &str| escape(&format!("{} {label}", target.name()));
    let sides = || {
        targets
            .iter()
            .flat_map(|target| target.comparison.sides.iter().map(move |side| (target, side)))
    };
    let mut steps: Vec<&Measure> = Vec::new();
    for row in targets
        .iter()
        .flat_map(|target| rows(&target.comparison, Figure::Private))
    {
        if !steps.contains(&&row.measure) {
            steps.push(&row.measure);
        }
    }
    line_of(out, "### Private memory after each step, MiB");
    out.push('\n');
    heads(out, "after", sides().map(|(target, side)| name(target, &side.label)));
    for step in steps {
        let cells = targets.iter().flat_map(|target| {
            let row = target.comparison.row(step);
            (0..target.comparison.sides.len())
                .map(move |side| row.map_or_else(|| HOLE.to_owned(), |row| text(&row.cells[side], Unit::Bytes)))
        });
        line(out, &place_of(&step.place), cells);
    }
}

/// The average peak of each server on each target, against the baseline there.
fn peaks(out: &mut String, targets: &[Target]) {
    let mut labels: Vec<&str> = Vec::new();
    for side in targets.iter().flat_map(|target| &target.comparison.sides) {
        if !labels.contains(&side.label.as_str()) {
            labels.push(&side.label);
        }
    }
    let peak = Measure {
        place: Place::Run,
        figure: Figure::Peak,
    };
    out.push('\n');
    line_of(out, "### Average resident peak, MiB");
    out.push('\n');
    heads(out, "target", labels.iter().map(|label| escape(label)));
    for target in targets {
        let row = target.comparison.row(&peak);
        let cells = labels.iter().map(|label| {
            let side = target.comparison.sides.iter().position(|side| side.label == *label);
            let cell = side.zip(row).map(|(side, row)| &row.cells[side]);
            cell.map_or_else(|| HOLE.to_owned(), average)
        });
        line(out, &escape(&target.name()), cells);
    }
}

/// `5.22 (+3.8 %)`: the mean of the runs, with the difference of geometric means from the baseline.
fn average(cell: &Cell) -> String {
    let known: Vec<f64> = cell.values.iter().copied().flatten().collect();
    if known.is_empty() {
        return HOLE.to_owned();
    }
    let mean = figures::value(known.iter().sum::<f64>() / known.len() as f64, Unit::Bytes);
    match &cell.ratio {
        Some(ratio) => format!(
            "{mean} ({:+.1} %, {})",
            (ratio.ratio - 1.0) * 100.0,
            words::range(ratio.low, ratio.high)
        ),
        None => mean,
    }
}

/// One target.
fn one(out: &mut String, target: &Target, several: bool) {
    let comparison = &target.comparison;
    let place = if several {
        format!(" on {}", target.name())
    } else {
        String::new()
    };
    line_of(
        out,
        format!(
            "### {}: private memory{}, MiB",
            escape(&comparison.scenario),
            escape(&place)
        ),
    );
    out.push('\n');
    table(out, comparison, &rows(comparison, Figure::Private));
    out.push('\n');
    for sentence in words::verdict(comparison) {
        line_of(out, format!("- {}", escape(&sentence)));
    }
    for side in &comparison.sides {
        for work in &side.work {
            line_of(out, format!("- **{}**", escape(&figures::work(&side.label, work))));
        }
    }
    for difference in &comparison.differences {
        let text = format!(
            "the runs differ in {}: {}",
            difference.what,
            difference.values.join(", ")
        );
        line_of(out, format!("- {}", escape(&text)));
    }
    for (figure, title) in FOLDED {
        let rows = rows(comparison, figure);
        if !rows.is_empty() {
            let _ = write!(out, "\n<details><summary>{title}</summary>\n\n");
            table(out, comparison, &rows);
            out.push_str("\n</details>\n");
        }
    }
    growth_table(out, comparison);
    let _ = write!(out, "\n<details><summary>Every run</summary>\n\n");
    every_run(out, comparison);
    out.push_str("\n</details>\n");
    line_of(out, format!("\n<sub>{}</sub>", footnote(comparison)));
}

fn rows(comparison: &Comparison, figure: Figure) -> Vec<&Row> {
    comparison
        .rows
        .iter()
        .filter(|row| row.measure.figure == figure)
        .collect()
}

fn table(out: &mut String, comparison: &Comparison, rows: &[&Row]) {
    heads(out, "after", comparison.sides.iter().map(|side| escape(&side.label)));
    for row in rows {
        let unit = row.measure.figure.unit();
        let cells = row.cells.iter().map(|cell| text(cell, unit));
        line(out, &place(row), cells);
    }
}

/// `361.1 (355.0–367.2), 4.1–5.9 % more`; a hole is `–`.
fn text(cell: &Cell, unit: Unit) -> String {
    let Some(median) = cell.median else {
        return HOLE.to_owned();
    };
    let mut text = figures::value(median.median, unit);
    let interval = figures::interval(cell, unit);
    if !interval.is_empty() {
        let _ = write!(text, " ({interval})");
    }
    if let Some(ratio) = &cell.ratio {
        let _ = write!(text, ", {}", words::range(ratio.low, ratio.high));
    }
    text
}

/// What grows from round to round, if anything was repeated.
fn growth_table(out: &mut String, comparison: &Comparison) {
    let lines = growth::lines(comparison);
    if lines.is_empty() {
        return;
    }
    let _ = write!(out, "\n<details><summary>Growth per round, KiB</summary>\n\n");
    let names = ["server", "per round", "interval", "per message", "shape", ""];
    heads(out, "repeated", names.iter().map(|name| (*name).to_owned()));
    for one in &lines {
        let (slope, interval) = one.per_round();
        let cells = [
            escape(&one.server),
            slope,
            interval,
            one.per_message(),
            one.shapes(),
            one.answer().to_owned(),
        ];
        line(out, &escape(&one.name), cells.into_iter());
    }
    out.push_str("\n</details>\n");
}

fn every_run(out: &mut String, comparison: &Comparison) {
    heads(
        out,
        "private memory, MiB",
        comparison.sides.iter().map(|side| escape(&side.label)),
    );
    for row in rows(comparison, Figure::Private) {
        let cells = row.cells.iter().map(|cell| {
            let values = cell
                .values
                .iter()
                .map(|value| units::or_unknown(*value, |value| figures::value(value, Unit::Bytes)));
            values.collect::<Vec<String>>().join(" ")
        });
        line(out, &place(row), cells);
    }
}

fn footnote(comparison: &Comparison) -> String {
    let runs = comparison
        .sides
        .iter()
        .map(|side: &Side| format!("{} × {}", side.runs.len(), escape(&side.label)));
    format!(
        "Medians with their 95 % intervals (* of all runs, which are too few for 95 %), and the 95 % interval of the ratio against {}. Runs: {}. Made by lsp-soak.",
        comparison
            .sides
            .first()
            .map_or(units::UNKNOWN.to_owned(), |side| escape(&side.label)),
        runs.collect::<Vec<String>>().join(", ")
    )
}

fn place(row: &Row) -> String {
    place_of(&row.measure.place)
}

fn place_of(place: &Place) -> String {
    escape(match place {
        Place::Phase { name, .. } => name,
        Place::Run => "the whole run",
        Place::Method(method) => method,
    })
}

fn heads(out: &mut String, first: &str, others: impl Iterator<Item = String> + Clone) {
    let columns = others.clone().count();
    line(out, first, others);
    line_of(out, format!("|---|{}", "--:|".repeat(columns)));
}

fn line(out: &mut String, first: &str, others: impl Iterator<Item = String>) {
    let cells: Vec<String> = std::iter::once(first.to_owned()).chain(others).collect();
    line_of(out, format!("| {} |", cells.join(" | ")));
}

/// What Markdown and HTML would read as theirs.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '#' => escaped.extend(['\\', c]),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '\n' | '\r' => escaped.push(' '),
            _ => escaped.push(c),
        }
    }
    escaped
}
