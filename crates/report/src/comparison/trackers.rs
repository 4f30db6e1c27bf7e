//! A comparison for services that follow figures over many commits: Bencher, and github-action-benchmark.

use serde_json::{Map, Value, json};

use analysis::compare::{Cell, Row, Scenarios, Side, Target};
use analysis::figures::{Figure, Place, Unit};
use base::units;

use super::{figures, words};

/// A figure that has a value, and all that names it.
struct Point<'t> {
    target: &'t Target,
    side: &'t Side,
    row: &'t Row,
    cell: &'t Cell,
    median: f64,
}

/// Bencher Metric Format: `{"completions/goto/ty": {"private": {"value": …, "lower_value": …, "upper_value": …}}}`, in
/// bytes, nanoseconds and plain numbers. What has no value is not there.
pub fn bencher(scenarios: &Scenarios) -> Result<String, serde_json::Error> {
    let mut benches: Map<String, Value> = Map::new();
    for point in points(scenarios) {
        let mut metric = json!({ "value": point.median });
        if let Some((low, high)) = bounds(&point) {
            metric["lower_value"] = json!(low);
            metric["upper_value"] = json!(high);
        }
        let name = format!(
            "{}/{}/{}",
            scenario(&point, scenarios),
            part(point.row),
            point.side.label
        );
        let bench = benches.entry(name).or_insert_with(|| json!({}));
        bench[point.row.measure.figure.name()] = metric;
    }
    pretty(&Value::Object(benches))
}

/// The array of `customSmallerIsBetter`, in MiB and milliseconds, which its charts show as they are.
pub fn benchmark_action(scenarios: &Scenarios) -> Result<String, serde_json::Error> {
    let benchmark = |point: Point<'_>| {
        let (unit, scale) = scale(point.row.measure.figure);
        let scaled = |value: f64| (value / scale * 1_000.0).round() / 1_000.0;
        let place = figures::place(point.row);
        let mut benchmark = json!({
            "name": format!("{} › {place} › {}", scenario(&point, scenarios), point.side.label),
            "unit": unit,
            "value": scaled(point.median),
            "extra": extra(&point),
        });
        if let Some((low, high)) = bounds(&point) {
            benchmark["range"] = json!(format!("{}–{}", scaled(low), scaled(high)));
        }
        benchmark
    };
    let has_direction = |point: &Point<'_>| point.row.measure.figure.has_direction();
    pretty(&points(scenarios).filter(has_direction).map(benchmark).collect())
}

/// The interval of the median, of several runs.
fn bounds(point: &Point<'_>) -> Option<(f64, f64)> {
    let median = point.cell.median.filter(|median| median.n > 1)?;
    Some((median.low, median.high))
}

fn points(scenarios: &Scenarios) -> impl Iterator<Item = Point<'_>> {
    let targets = scenarios.values().flatten();
    let rows = targets.flat_map(|target| target.comparison.rows.iter().map(move |row| (target, row)));
    rows.flat_map(|(target, row)| {
        let cells = target.comparison.sides.iter().zip(&row.cells);
        cells.filter_map(move |(side, cell)| {
            Some(Point {
                target,
                side,
                row,
                cell,
                median: cell.median?.median,
            })
        })
    })
}

/// The scenario, with the target where there are several: their figures may not share a name.
fn scenario(point: &Point<'_>, scenarios: &Scenarios) -> String {
    let name = &point.target.comparison.scenario;
    match scenarios.get(name).map_or(0, Vec::len) {
        0 | 1 => name.clone(),
        _ => format!("{name} on {}", point.target.name()),
    }
}

fn part(row: &Row) -> &str {
    match &row.measure.place {
        Place::Run => "run",
        place => place.name(),
    }
}

fn scale(figure: Figure) -> (&'static str, f64) {
    match figure.unit() {
        Unit::Bytes => ("MiB", 1_048_576.0),
        Unit::Nanos | Unit::CpuNanos => ("ms", 1_000_000.0),
        Unit::Count => ("faults", 1.0),
        Unit::Number => ("", 1.0),
        Unit::Share => ("%", 0.01),
    }
}

fn extra(point: &Point<'_>) -> String {
    let runs = point.cell.values.iter().flatten().count() as u64;
    let mut text = units::counted(runs, "run");
    if let Some(ratio) = &point.cell.ratio {
        let baseline = &point.target.comparison.sides[0].label;
        text.push_str(&format!(", {} than {baseline}", words::range(ratio.low, ratio.high)));
    }
    text
}

fn pretty(value: &Value) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    Ok(text)
}
