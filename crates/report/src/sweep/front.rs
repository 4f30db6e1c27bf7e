//! The front of a sweep in pictures: memory against each thing that it is bought with.

use crate::charts::axis::Axis;
use crate::charts::{Chart, Mark, Series, Shape, Up};
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

/// How the settings of a sweep are told from each other on its page.
pub struct Front {
    /// Of each cell its row in the table, from 1.
    pub numbers: Vec<usize>,
    /// Of each cell its place on the page, which is its colour.
    pub places: Vec<usize>,
    /// The cells in the order of the page.
    pub order: Vec<usize>,
    /// Which of them are drawn strongly.
    pub keys: Keys,
}

impl Front {
    /// The default first, then what is chosen, then the front, and then all others; these in the order of the table.
    pub fn new(sweep: &Sweep, chosen: Option<&CellResult>) -> Front {
        let table = order(sweep);
        let rank = |cell: &CellResult| match cell {
            cell if cell.sets.default => 0,
            cell if chosen.is_some_and(|chosen| chosen.label == cell.label) => 1,
            cell if cell.front => 2,
            _ => 3,
        };
        let mut page = table.clone();
        page.sort_by_key(|place| rank(&sweep.cells[*place]));
        let strong = sweep.cells.iter().filter(|cell| rank(cell) < 3).count();
        let places_of = |order: &[usize]| {
            let mut places = vec![0; order.len()];
            for (place, cell) in order.iter().enumerate() {
                places[*cell] = place;
            }
            places
        };
        Front {
            numbers: places_of(&table).into_iter().map(|place| place + 1).collect(),
            places: places_of(&page),
            order: page,
            keys: Keys::of_first(strong),
        }
    }
}

/// A picture for each thing that memory is bought with.
pub fn fronts(sweep: &Sweep, front: &Front) -> Block {
    let charts = [Figure::P95, Figure::Cpu].into_iter().filter_map(|against| {
        let places = &sweep.places;
        let memory = places.memory();
        let title = match (against, &places.command) {
            (Figure::P95, None) => format!("{memory} against p95 of {}", places.method.as_ref()?),
            (Figure::P95, Some(_)) => format!("{memory} against {}", places.name(against)),
            _ => format!("{memory} against CPU of the whole run"),
        };
        Some(chart(title, sweep, front, against))
    });
    Block::charts(LEGEND, "fronts", charts)
}

/// Private memory against this, with a number at each point.
fn chart(title: String, sweep: &Sweep, front: &Front, against: Figure) -> Chart {
    let cells = front.order.iter().map(|place| (*place, &sweep.cells[*place]));
    let points = cells.filter_map(|(place, cell)| {
        let (across, up) = (cell.figure(against).median?, cell.figure(Figure::Private).median?);
        Some((place, cell, across, up))
    });
    let points: Vec<(usize, &CellResult, MedianInterval, MedianInterval)> = points.collect();
    let across = axis(points.iter().map(|(.., across, _)| *across)).with_ends(|end| value(end, against));
    let up = axis(points.iter().map(|(.., up)| *up)).with_ends(|end| value(end, Figure::Private));
    let series = points.iter().map(|(place, cell, across, up)| Series {
        label: String::new(),
        class: format!(
            "{} {}{}{}",
            front.keys.class(front.places[*place]),
            if cell.front { "on" } else { "off" },
            if cell.stopped.is_some() { " gone" } else { "" },
            if sweep.choice.place() == Some(*place) {
                " use"
            } else {
                ""
            }
        ),
        words: words(&sweep.places, (front.numbers[*place], cell), against, across, up),
        marks: marks(sweep, (*place, front.numbers[*place]), against, across, up),
    });
    Chart {
        title,
        unit: "MiB",
        series: series.collect(),
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

/// Over all medians, and over their intervals as far as they go no farther beyond these than half of what they span: one
/// setting with an interval that is much longer would press all the others together.
fn axis(intervals: impl Iterator<Item = MedianInterval> + Clone) -> Axis {
    let medians = || intervals.clone().map(|interval| interval.median);
    let (low, high) = (medians().fold(f64::INFINITY, f64::min), medians().fold(0.0, f64::max));
    let beyond = (high - low).max(high * 0.02) / 2.0;
    let ends = intervals.flat_map(move |one| [one.low.max(low - beyond), one.high.min(high + beyond)]);
    Axis::around(ends.collect::<Vec<f64>>().into_iter(), |high| high * 0.02)
}

fn marks(
    sweep: &Sweep,
    (place, number): (usize, usize),
    against: Figure,
    across: &MedianInterval,
    up: &MedianInterval,
) -> Vec<Mark> {
    let cell = &sweep.cells[place];
    let point = (across.median, up.median);
    let whisker = |ends| Mark::Stroke("whisker", ends, String::new());
    let shape = match cell.sets.default {
        true => Shape::Square(POINT),
        false => Shape::Circle(POINT),
    };
    let used = sweep.choice.place() == Some(place);
    let star = if used { "★ " } else { "" };
    let names = [format!("{star}{number} {}", cell.label), format!("{star}{number}")];
    let mut marks = vec![
        whisker([(across.low, point.1), (across.high, point.1)]),
        whisker([(point.0, up.low), (point.0, up.high)]),
        Mark::Name(point, names),
        Mark::Dot(
            "point",
            point,
            shape,
            words(&sweep.places, (number, cell), against, across, up),
        ),
    ];
    if used {
        marks.push(Mark::Dot("ring", point, Shape::Circle(POINT + 4.0), String::new()));
    }
    marks
}

fn words(
    places: &Places,
    (number, cell): (usize, &CellResult),
    against: Figure,
    across: &MedianInterval,
    up: &MedianInterval,
) -> String {
    format!(
        "{number} {}: {} {}, {} {}{}",
        cell.label,
        amount(up.median, Figure::Private),
        places.name(Figure::Private),
        places.name(against),
        amount(across.median, against),
        if cell.front { ", on the front" } else { "" }
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
