//! The front of a sweep in pictures: memory against each thing that it is bought with.

use maud::{Markup, html};

use crate::compare::Unit;
use crate::report::comparison::figures;
use crate::report::svg::labels::{Area, Label, beside};
use crate::report::tune::{amount, order};
use crate::stats::MedianInterval;
use crate::text::clean;
use crate::tune::{Sweep, Swept, Tuned};

use super::strips::{Scale, tenth};
use crate::document::page::Keys;

/// The drawing in units of its own; the page scales it, to no less than four fifths on a phone.
const WIDTH: f64 = 440.0;
const HEIGHT: f64 = 330.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 424.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 282.0;

/// Half the side of a point.
const POINT: f64 = 5.0;

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
    pub fn new(sweep: &Sweep, chosen: Option<&Swept>) -> Front {
        let table = order(sweep);
        let rank = |cell: &Swept| match cell {
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

/// A cell that has both figures.
struct Point<'s> {
    cell: &'s Swept,
    number: usize,
    class: String,
    across: MedianInterval,
    up: MedianInterval,
}

/// The picture of private memory against this, with a number at each point.
pub fn draw(sweep: &Sweep, front: &Front, against: Tuned) -> Markup {
    let title = match (against, &sweep.places.method) {
        (Tuned::P95, Some(method)) => format!("private memory against p95 of {method}"),
        (Tuned::P95, None) => return html! {},
        _ => "private memory against CPU of the whole run".to_owned(),
    };
    let point = |(place, cell): (usize, &'_ Swept)| {
        Some((place, cell.figure(against).median?, cell.figure(Tuned::Private).median?))
    };
    let cells = sweep.cells.iter().enumerate();
    let points: Vec<Point<'_>> = cells
        .filter_map(|(place, cell)| {
            let (place, across, up) = point((place, cell))?;
            Some(Point {
                cell,
                number: front.numbers[place],
                class: front.keys.class(front.places[place]),
                across,
                up,
            })
        })
        .collect();
    let across = scale(points.iter().map(|point| point.across));
    let up = scale(points.iter().map(|point| point.up));
    let said: Vec<String> = points.iter().map(|point| words(point, against)).collect();
    let numbers = numbers(&points, &across, &up);
    html! {
        figure {
            figcaption { (clean(&title)) span.quiet { ", MiB" } }
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(clean(&format!("{title}: {}", said.join("; ")))) {
                line.axis x1=(LEFT) x2=(RIGHT) y1=(BOTTOM) y2=(BOTTOM) {}
                line.axis x1=(LEFT) x2=(LEFT) y1=(TOP) y2=(BOTTOM) {}
                text.tick x=(LEFT) y=(BOTTOM + 16.0) { (value(across.low, against)) }
                text.tick.end x=(RIGHT) y=(BOTTOM + 16.0) { (value(across.high, against)) }
                text.tick.mid x=((LEFT + RIGHT) / 2.0) y=(BOTTOM + 34.0) { (against.name()) }
                text.tick.end x=(LEFT - 6.0) y=(BOTTOM) { (value(up.low, Tuned::Private)) }
                text.tick.end x=(LEFT - 6.0) y=(TOP + 8.0) { (value(up.high, Tuned::Private)) }
                @for (point, number) in points.iter().zip(&numbers) {
                    (drawn(point, number, against, &across, &up))
                }
            }
        }
    }
}

/// Over all medians, and over their intervals as far as they go no farther beyond these than half of what they span: one
/// setting with an interval that is much longer would press all the others together.
fn scale(intervals: impl Iterator<Item = MedianInterval> + Clone) -> Scale {
    let medians = || intervals.clone().map(|interval| interval.median);
    let (low, high) = (medians().fold(f64::INFINITY, f64::min), medians().fold(0.0, f64::max));
    let beyond = (high - low).max(high * 0.02) / 2.0;
    let ends = intervals.flat_map(move |one| [one.low.max(low - beyond), one.high.min(high + beyond)]);
    Scale::of(ends.collect::<Vec<f64>>().into_iter())
}

/// Where the numbers of points stand, clear of points and of each other.
fn numbers(points: &[Point], across: &Scale, up: &Scale) -> Vec<Label> {
    let at = |point: &Point| {
        (
            across.between(point.across.median, 0.0, RIGHT - LEFT),
            up.between(point.up.median, BOTTOM, TOP),
        )
    };
    let texts: Vec<(f64, f64, String)> = points
        .iter()
        .map(|point| (at(point).0, at(point).1 + POINT, point.number.to_string()))
        .collect();
    let marks: Vec<Area> = points
        .iter()
        .map(|point| Area {
            left: at(point).0 - POINT - 1.0,
            right: at(point).0 + POINT + 1.0,
            top: at(point).1 - POINT - 1.0,
            bottom: at(point).1 + POINT + 1.0,
        })
        .collect();
    let placed = beside(&texts, &marks, WIDTH - LEFT);
    let moved = placed.into_iter().map(|label| Label {
        left: label.left + LEFT,
        ..label
    });
    moved.collect()
}

fn drawn(point: &Point<'_>, number: &Label, against: Tuned, across: &Scale, up: &Scale) -> Markup {
    let x = |value: f64| across.between(value.clamp(across.low, across.high), LEFT, RIGHT);
    let y = |value: f64| up.between(value.clamp(up.low, up.high), BOTTOM, TOP);
    let (cx, cy) = (x(point.across.median), y(point.up.median));
    let class = format!(
        "{} {}{}",
        point.class,
        if point.cell.front { "on" } else { "off" },
        if point.cell.stopped.is_some() { " gone" } else { "" }
    );
    // A number that had to go far says by a line whose it is.
    let middle = number.left + 3.5 * number.text.len() as f64;
    let is_far = (number.down - 4.0 - cy).abs() > 12.0;
    html! {
        g class=(class) {
            title { (clean(&words(point, against))) }
            line.whisker x1=(x(point.across.low)) x2=(x(point.across.high)) y1=(cy) y2=(cy) {}
            line.whisker x1=(cx) x2=(cx) y1=(y(point.up.low)) y2=(y(point.up.high)) {}
            @if point.across.low < across.low { path.beyond d={ "M" (LEFT) " " (cy) "l6-4v8z" } {} }
            @if point.across.high > across.high { path.beyond d={ "M" (RIGHT) " " (cy) "l-6-4v8z" } {} }
            @if point.up.low < up.low { path.beyond d={ "M" (cx) " " (BOTTOM) "l-4-6h8z" } {} }
            @if point.up.high > up.high { path.beyond d={ "M" (cx) " " (TOP) "l-4 6h8z" } {} }
            @if is_far { line.leader x1=(cx) y1=(cy) x2=(tenth(middle)) y2=(tenth(number.down - 4.0)) {} }
            @if point.cell.sets.default {
                rect.point x=(tenth(cx - POINT)) y=(tenth(cy - POINT)) width=(2.0 * POINT) height=(2.0 * POINT) {}
            } @else {
                circle.point cx=(cx) cy=(cy) r=(POINT) {}
            }
            text.name x=(tenth(number.left)) y=(tenth(number.down)) { (number.text) }
        }
    }
}

fn words(point: &Point<'_>, against: Tuned) -> String {
    format!(
        "{} {}: {} private, {} {}{}",
        point.number,
        point.cell.label,
        amount(point.up.median, Tuned::Private),
        against.name(),
        amount(point.across.median, against),
        if point.cell.front { ", on the front" } else { "" }
    )
}

fn value(value: f64, figure: Tuned) -> String {
    let unit = match figure {
        Tuned::Private => Unit::Bytes,
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
        let scale = scale(all.into_iter());
        assert!(scale.low > 90.0 && scale.high < 120.0, "{}–{}", scale.low, scale.high);
        assert!(scale.low < 99.0 && scale.high > 111.0);
    }
}
