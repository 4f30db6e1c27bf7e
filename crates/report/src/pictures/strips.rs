//! Strip plots: every run a dot, the median and its interval beside it, all servers of one place on one scale.

use crate::charts::axis::Axis;
use crate::charts::{Chart, Ground, Mark, Series, Shape, Up};
use crate::comparison::{cold, figures};
use crate::document::Block;
use crate::document::page::Keys;
use analysis::compare::{Cell, Comparison, Row};
use analysis::figures::{Figure, MeasuredPart, Unit};

const LEGEND: &str = "Dot: a run. Bar: the median. Band: its interval. Each plot has its own scale, which does not \
                      start at 0.";

/// A plot for the private memory of each phase, and for the figures of whole runs.
pub fn strips(comparison: &Comparison, keys: Keys) -> Block {
    let rows = comparison.rows.iter().filter(|row| match row.measure.place {
        MeasuredPart::Phase { .. } => row.measure.figure == Figure::Private,
        MeasuredPart::Run => true,
        MeasuredPart::Method(_) | MeasuredPart::Window(_) | MeasuredPart::Printed(_) => false,
    });
    let rows = rows.chain(cold::printed_rows(comparison));
    Block::charts(LEGEND, "plots", rows.map(|row| plot(comparison, row, keys)))
}

fn plot(comparison: &Comparison, row: &Row, keys: Keys) -> Chart {
    let unit = row.measure.figure.unit();
    let values = row.cells.iter().flat_map(|cell| cell.values.iter().flatten().copied());
    let across = Axis::around(values, |high| high * 0.02);
    let high = across.high;
    let sides = comparison.sides.iter().zip(&row.cells).enumerate();
    Chart {
        title: match &row.measure.place {
            MeasuredPart::Phase { name, .. } => format!("private after {name}"),
            _ => figures::place(row),
        },
        unit: if unit == Unit::Bytes { "MiB" } else { "" },
        across: across.with_ends(|end| figures::value_like(end, figures::as_set(unit), high)),
        up: Up::Rows(26.0),
        series: sides
            .map(|(place, (side, cell))| Series {
                label: side.label.clone(),
                class: keys.class(place),
                words: format!("{} {}", side.label, figures::with_interval(cell, unit)),
                marks: marks(&side.runs, cell, unit),
            })
            .collect(),
        ground: Ground::default(),
    }
}

fn marks(runs: &[String], cell: &Cell, unit: Unit) -> Vec<Mark> {
    /// Half the height of a row.
    const MIDDLE: f64 = 10.0;
    let mut marks = Vec::new();
    if let Some(interval) = cell.median {
        let bar = [(interval.median, 0.0), (interval.median, 2.0 * MIDDLE)];
        marks.push(Mark::Band(
            "band",
            (interval.low, 1.0),
            (interval.high, 2.0 * MIDDLE - 1.0),
        ));
        marks.push(Mark::Stroke("middle", bar, String::new()));
    }
    for (run, value) in cell.values.iter().enumerate() {
        let Some(value) = *value else { continue };
        // Points of equal value would overlap; the vertical position has no meaning.
        let shift = ((run * 7) % 5) as f64 * 2.4 - 4.8;
        let text = format!("{}: {}", name(runs, run), figures::value_with_unit(value, unit));
        marks.push(Mark::Dot("run", (value, MIDDLE - shift), Shape::Circle(3.2), text));
    }
    marks
}

/// The file of a record without its directory.
fn name(runs: &[String], run: usize) -> &str {
    let path = runs.get(run).map_or("", String::as_str);
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}
