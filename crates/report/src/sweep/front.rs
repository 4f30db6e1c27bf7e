//! The front of a sweep in pictures: memory against each thing that it is bought with.

use crate::charts::axis::Axis;
use crate::charts::{Chart, Ground, Mark, Series, Shape, Up};
use crate::comparison::figures;
use crate::document::Block;
use crate::document::page::Keys;
use crate::sweep::{amount, order};
use analysis::figures::{Figure, Unit};
use analysis::tune::{CellResult, Places, Sweep};
use stats::MedianInterval;

/// Half the side of a point.
const POINT: f64 = 5.0;

const LEGEND: &str = "Down and left is better. Point: the median of a setting, with its number in the table above and, where there is room, its name. ★: the setting to use. \
                      Lines: the intervals of the medians; an arrow at the edge means that the line goes on. Filled points are on the front: no other setting is as good in what settings are weighed by and clearly better in one. \
                      Rings are not; a square is the default. Scales do not begin at 0. The default, what is chosen and the front, \
                      seven at most, have colours of their own; the others are near grey.";

/// Numbers, order and colours of the settings on the page of a sweep.
pub struct Front {
    /// Each cell's row in the table, from 1.
    pub numbers: Vec<usize>,
    /// Each cell's place on the page, which is its colour.
    pub places: Vec<usize>,
    /// The cells in the order of the page.
    pub order: Vec<usize>,
    /// The cells that are drawn strongly.
    pub keys: Keys,
}

impl Front {
    /// The default first, then the chosen cell, then the front, and then all others in the order of the table.
    pub fn new(sweep: &Sweep, chosen: Option<&CellResult>) -> Front {
        let table = order(sweep);
        let mut page = table.clone();
        page.sort_by_key(|cell| rank(&sweep.cells[*cell], chosen));
        let strong = sweep.cells.iter().filter(|cell| rank(cell, chosen) < REST).count();
        Front {
            numbers: places_of_cells(&table).into_iter().map(|place| place + 1).collect(),
            places: places_of_cells(&page),
            order: page,
            keys: Keys::of_first(strong),
        }
    }
}

/// Rank of the cells that are drawn near grey.
const REST: u8 = 3;

fn rank(cell: &CellResult, chosen: Option<&CellResult>) -> u8 {
    if cell.sets.default {
        0
    } else if chosen.is_some_and(|chosen| chosen.label == cell.label) {
        1
    } else if cell.front {
        2
    } else {
        REST
    }
}

/// The place of each cell in this order of cells.
fn places_of_cells(order: &[usize]) -> Vec<usize> {
    let mut places = vec![0; order.len()];
    for (place, cell) in order.iter().enumerate() {
        places[*cell] = place;
    }
    places
}

/// A picture for each thing that memory is bought with.
pub fn fronts(sweep: &Sweep, front: &Front) -> Block {
    let places = &sweep.places;
    let memory = places.memory();
    let mut charts = Vec::new();
    let p95_title = match (&places.command, &places.method) {
        (Some(_), _) => Some(format!("{memory} against {}", places.name(Figure::P95))),
        (None, Some(method)) => Some(format!("{memory} against p95 of {method}")),
        (None, None) => None,
    };
    if let Some(title) = p95_title {
        charts.push(chart(title, sweep, front, Figure::P95));
    }
    let cpu_title = format!("{memory} against CPU of the whole run");
    charts.push(chart(cpu_title, sweep, front, Figure::Cpu));
    Block::charts(LEGEND, "fronts", charts.into_iter())
}

/// A setting that has both figures of a chart.
struct Point<'s> {
    /// Place in the sweep.
    place: usize,
    /// Row in the table, from 1.
    number: usize,
    cell: &'s CellResult,
    across: MedianInterval,
    private: MedianInterval,
}

/// Private memory against another figure, with a number at each point.
fn chart(title: String, sweep: &Sweep, front: &Front, against: Figure) -> Chart {
    let mut points = Vec::new();
    for place in &front.order {
        let cell = &sweep.cells[*place];
        if let (Some(across), Some(private)) = (cell.figure(against).median, cell.figure(Figure::Private).median) {
            points.push(Point {
                place: *place,
                number: front.numbers[*place],
                cell,
                across,
                private,
            });
        }
    }
    let across = axis(points.iter().map(|point| point.across)).with_ends(|end| value(end, against));
    let up = axis(points.iter().map(|point| point.private)).with_ends(|end| value(end, Figure::Private));
    let series = points.iter().map(|point| {
        let is_chosen = sweep.choice.place() == Some(point.place);
        let words = words(&sweep.places, point, against);
        Series {
            label: String::new(),
            class: format!(
                "{} {}{}{}",
                front.keys.class(front.places[point.place]),
                if point.cell.front { "on" } else { "off" },
                if point.cell.stopped.is_some() { " gone" } else { "" },
                if is_chosen { " use" } else { "" }
            ),
            marks: marks(point, is_chosen, words.clone()),
            words,
        }
    });
    Chart {
        title,
        unit: "MiB",
        series: series.collect(),
        ground: Ground::default(),
        across: Axis {
            name: match sweep.places.command {
                Some(_) if against == Figure::P95 => "time",
                _ => against.name(),
            },
            ..across
        },
        up: Up::Axis(up, (440.0, 360.0)),
    }
}

/// Covers all medians. Intervals may extend it by half of the medians' span on each side: one very long interval would
/// press all the others together.
fn axis(intervals: impl Iterator<Item = MedianInterval>) -> Axis {
    let intervals: Vec<MedianInterval> = intervals.collect();
    let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
    for interval in &intervals {
        low = low.min(interval.median);
        high = high.max(interval.median);
    }
    let beyond = (high - low).max(high * 0.02) / 2.0;
    let ends = intervals
        .iter()
        .flat_map(|interval| [interval.low.max(low - beyond), interval.high.min(high + beyond)]);
    Axis::around(ends, |high| high * 0.02)
}

fn marks(point: &Point<'_>, is_chosen: bool, tooltip: String) -> Vec<Mark> {
    let (across, private) = (&point.across, &point.private);
    let middle = (across.median, private.median);
    let shape = if point.cell.sets.default {
        Shape::Square(POINT)
    } else {
        Shape::Circle(POINT)
    };
    let star = if is_chosen { "★ " } else { "" };
    let short_name = format!("{star}{}", point.number);
    let long_name = format!("{short_name} {}", point.cell.label);
    let mut marks = vec![
        whisker((across.low, middle.1), (across.high, middle.1)),
        whisker((middle.0, private.low), (middle.0, private.high)),
        Mark::Name(middle, [long_name, short_name]),
        Mark::Dot("point", middle, shape, tooltip),
    ];
    if is_chosen {
        marks.push(Mark::Dot("ring", middle, Shape::Circle(POINT + 4.0), String::new()));
    }
    marks
}

fn whisker(from: (f64, f64), to: (f64, f64)) -> Mark {
    Mark::Stroke("whisker", [from, to], String::new())
}

fn words(places: &Places, point: &Point<'_>, against: Figure) -> String {
    format!(
        "{} {}: {} {}, {} {}{}",
        point.number,
        point.cell.label,
        amount(point.private.median, Figure::Private),
        places.name(Figure::Private),
        places.name(against),
        amount(point.across.median, against),
        if point.cell.front { ", on the front" } else { "" }
    )
}

fn value(value: f64, figure: Figure) -> String {
    let unit = match figure {
        Figure::Private => Unit::Bytes,
        _ => Unit::Nanos,
    };
    figures::value(value, unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(low: f64, median: f64, high: f64) -> MedianInterval {
        MedianInterval {
            median,
            low,
            high,
            coverage: 0.95,
            reached: true,
            n: 6,
        }
    }

    #[test]
    fn one_long_interval_does_not_press_all_medians_together() {
        let all = [
            interval(99.0, 100.0, 101.0),
            interval(108.0, 110.0, 111.0),
            interval(60.0, 104.0, 400.0),
        ];
        let scale = axis(all.into_iter());
        assert!(scale.low > 90.0 && scale.high < 120.0, "{}–{}", scale.low, scale.high);
        assert!(scale.low < 99.0 && scale.high > 111.0);
    }
}
