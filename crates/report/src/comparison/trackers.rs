//! A comparison for services that follow figures over many commits: Bencher, and github-action-benchmark.

use serde_json::{Map, Value, json};

use crate::run::json::lines as json_lines;
use analysis::compare::{Cell, Row, Scenarios, Side, Target};
use analysis::figures::{Figure, MeasuredPart, Unit};
use base::units;

use super::figures;

/// A known figure of a server, and its place in the comparison.
struct Point<'t> {
    target: &'t Target,
    side: &'t Side,
    row: &'t Row,
    cell: &'t Cell,
    median: f64,
}

/// Bencher Metric Format: `{"completions/goto/ty": {"private": {"value": …, "lower_value": …, "upper_value": …}}}`, in
/// bytes, nanoseconds and plain numbers. Unknown figures are left out.
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
    json_lines(&Value::Object(benches))
}

/// The array of `customSmallerIsBetter`, in MiB and milliseconds, which its charts show as they are.
pub fn benchmark_action(scenarios: &Scenarios) -> Result<String, serde_json::Error> {
    let benchmarks: Vec<Value> = points(scenarios)
        .filter(|point| point.row.measure.figure.has_direction())
        .map(|point| benchmark(&point, scenarios))
        .collect();
    json_lines(&benchmarks)
}

fn benchmark(point: &Point<'_>, scenarios: &Scenarios) -> Value {
    let (unit, scale) = scale(point.row.measure.figure);
    let place = figures::place(point.row);
    let mut benchmark = json!({
        "name": format!("{} › {place} › {}", scenario(point, scenarios), point.side.label),
        "unit": unit,
        "value": scaled(point.median, scale),
        "extra": extra(point),
    });
    if let Some((low, high)) = bounds(point) {
        benchmark["range"] = json!(format!("{}–{}", scaled(low, scale), scaled(high, scale)));
    }
    benchmark
}

/// The value in its unit, with three decimals.
fn scaled(value: f64, scale: f64) -> f64 {
    (value / scale * 1_000.0).round() / 1_000.0
}

/// The interval of the median; `None` for one run.
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
        MeasuredPart::Run => "run",
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
    let mut text = units::count_of(runs, "run");
    if let Some(difference) = point.cell.ratio.as_ref().and_then(figures::difference) {
        let baseline = &point.target.comparison.sides[0].label;
        text.push_str(&format!(", {difference} against {baseline}"));
    }
    text
}
