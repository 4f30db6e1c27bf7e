//! A chart as an SVG figure of the page. CSS classes give colours and strokes; `maud` escapes every text.

use maud::{Markup, html};

use base::text::{clean, cut, width};

use super::axis::Axis;
use super::labels::{Area, Label, place, room};
use super::{Chart, Mark, Series, Shape, Up, tenth};

/// Width of a drawing with rows; the page scales it.
const WIDTH: f64 = 360.0;

/// Room for labels beside their rows, or above them if they are long.
const BESIDE: f64 = 112.0;
const ABOVE: f64 = 14.0;

/// Most characters of a label beside its row, and above it.
const LETTERS: usize = 16;
const LONGEST: usize = 56;

/// Width of a character of an axis.
const DIGIT: f64 = 7.0;

struct Frame {
    width: f64,
    height: f64,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    /// Additional height of each row for its label.
    above: f64,
}

impl Frame {
    fn new(chart: &Chart) -> Frame {
        match &chart.up {
            Up::Axis(_, (width, height)) => Frame {
                width: *width,
                height: *height,
                left: 54.0,
                right: width - 14.0,
                top: 12.0,
                bottom: height - if chart.across.name.is_empty() { 24.0 } else { 44.0 },
                above: 0.0,
            },
            Up::Rows(row) => {
                // One long label moves all labels above their rows: a cut could make two labels equal.
                let is_long = chart.series.iter().any(|series| width(&series.label) > LETTERS);
                let (left, above) = if is_long { (12.0, ABOVE) } else { (BESIDE, 0.0) };
                let height = 26.0 + (row + above) * chart.series.len() as f64;
                Frame {
                    width: WIDTH,
                    height,
                    left,
                    right: WIDTH - 12.0,
                    top: 6.0,
                    bottom: height - 18.0,
                    above,
                }
            }
        }
    }

    fn across(&self, axis: &Axis, value: f64) -> f64 {
        axis.between(value, self.left, self.right)
    }

    fn up(&self, axis: &Axis, value: f64) -> f64 {
        axis.between(value, self.bottom, self.top)
    }

    /// The position of a point in this row's series.
    fn position(&self, chart: &Chart, row: usize, (across, up): (f64, f64)) -> (f64, f64) {
        let down = match &chart.up {
            Up::Axis(axis, _) => self.up(axis, up),
            Up::Rows(height) => tenth(self.ground(*height, row) - up),
        };
        (self.across(&chart.across, across), down)
    }

    fn ground(&self, height: f64, row: usize) -> f64 {
        self.top + (height + self.above) * (row as f64 + 1.0) - 3.0
    }
}

pub fn figure(chart: &Chart) -> Markup {
    let frame = Frame::new(chart);
    let words: Vec<&str> = chart
        .series
        .iter()
        .map(|series| series.words.as_str())
        .filter(|words| !words.is_empty())
        .collect();
    let mut names = names(chart, &frame).into_iter();
    let up = match &chart.up {
        Up::Axis(axis, _) => Some(axis),
        Up::Rows(_) => None,
    };
    let mut keyed: Vec<&Series> = Vec::new();
    if up.is_some() && chart.series.len() > 1 {
        keyed.extend(chart.series.iter().filter(|series| !series.label.is_empty()));
    }
    html! {
        figure {
            figcaption { (clean(&chart.title)) @if !chart.unit.is_empty() { span.quiet { ", " (chart.unit) } } }
            @if !keyed.is_empty() { p.keys { @for series in keyed { span { (key(&series.class)) (cut(&clean(&series.label), 40)) } } } }
            svg viewBox={ "0 0 " (frame.width) " " (frame.height) } role="img" aria-label=(clean(&format!("{}: {}", chart.title, words.join("; ")))) {
                (scale(&frame, &chart.across))
                @if let Some(axis) = up { (heights(&frame, axis)) }
                @for (row, series) in chart.series.iter().enumerate() {
                    g class=(series.class) {
                        (label(chart, &frame, row))
                        @for mark in &series.marks { (draw_mark(mark, chart, &frame, row, &mut names)) }
                    }
                }
            }
        }
    }
}

fn key(class: &str) -> Markup {
    html! { svg viewBox="0 0 32 12" aria-hidden="true" { g class=(class) { path.stroke d="M0 6H32" {} } } }
}

/// The horizontal axis. Texts at its ends stay inside the picture.
fn scale(frame: &Frame, axis: &Axis) -> Markup {
    html! {
        @if !axis.has_grid { line.axis x1=(frame.left) x2=(frame.right) y1=(frame.bottom) y2=(frame.bottom) {} }
        @for (value, text) in &axis.ticks {
            @let x = frame.across(axis, *value);
            @if axis.has_grid { line.grid x1=(x) x2=(x) y1=(frame.top) y2=(frame.bottom) {} }
            text class=(anchor(frame, axis, x, text)) x=(x) y=(frame.bottom + 15.0) { (text) }
        }
        @if !axis.name.is_empty() {
            text.tick.mid x=((frame.left + frame.right) / 2.0) y=(frame.bottom + 34.0) { (axis.name) }
        }
    }
}

/// The class that keeps a text at this place inside the picture.
fn anchor(frame: &Frame, axis: &Axis, x: f64, text: &str) -> &'static str {
    let half = width(text) as f64 * DIGIT / 2.0;
    // Without a grid the texts stand at the ends of the axis.
    let (left, right) = if axis.has_grid {
        (half, frame.width - half)
    } else {
        (frame.left + 14.0, frame.right - 14.0)
    };
    if x > right {
        "tick end"
    } else if x < left {
        "tick"
    } else {
        "tick mid"
    }
}

fn heights(frame: &Frame, axis: &Axis) -> Markup {
    html! {
        @if !axis.has_grid { line.axis x1=(frame.left) x2=(frame.left) y1=(frame.top) y2=(frame.bottom) {} }
        @for (value, text) in &axis.ticks {
            @let y = frame.up(axis, *value);
            @if axis.has_grid { line.grid x1=(frame.left) x2=(frame.right) y1=(y) y2=(y) {} }
            text.tick.end x=(frame.left - 6.0) y=(tenth(y + 4.0)) { (text) }
        }
    }
}

fn label(chart: &Chart, frame: &Frame, row: usize) -> Markup {
    let Up::Rows(height) = chart.up else {
        return html! {};
    };
    let (ground, label) = (frame.ground(height, row), clean(&chart.series[row].label));
    html! {
        @if frame.above > 0.0 { text.name x=(frame.left) y=(tenth(ground - height + 4.0)) { (cut(&label, LONGEST)) } }
        @else { text.label x=(frame.left - 8.0) y=(tenth(ground - height / 3.0 + 2.0)) { (label) } }
    }
}

/// Draws a mark of this row's series. A name takes its place from `names`.
fn draw_mark(mark: &Mark, chart: &Chart, frame: &Frame, row: usize, names: &mut impl Iterator<Item = Label>) -> Markup {
    match mark {
        Mark::Line(class, points) => {
            let points = points.iter().map(|point| frame.position(chart, row, *point));
            html! { path class=(class) d=(path(points)) {} }
        }
        Mark::Band(class, from, to) => {
            let (left, bottom) = frame.position(chart, row, *from);
            let (right, top) = frame.position(chart, row, *to);
            html! { rect class=(class) x=(left) y=(top) width=(tenth((right - left).max(1.0))) height=(tenth(bottom - top)) {} }
        }
        Mark::Stroke(class, ends, text) => {
            let [from, to] = ends.map(|end| frame.position(chart, row, end));
            html! {
                line class=(class) x1=(from.0) x2=(to.0) y1=(from.1) y2=(to.1) { (tooltip(text)) }
                @for (end, position) in [(ends[0], from), (ends[1], to)] {
                    @if let Some(arrow) = arrow(chart, frame, end, position) { path.beyond d=(arrow) {} }
                }
            }
        }
        Mark::Dot(class, point, shape, text) => {
            let (x, y) = frame.position(chart, row, *point);
            match *shape {
                Shape::Circle(radius) => html! { circle class=(class) cx=(x) cy=(y) r=(radius) { (tooltip(text)) } },
                Shape::Square(half) => html! {
                    rect class=(class) x=(tenth(x - half)) y=(tenth(y - half)) width=(2.0 * half) height=(2.0 * half) { (tooltip(text)) }
                },
            }
        }
        Mark::Name(point, _) => {
            let (x, y) = frame.position(chart, row, *point);
            html! { @if let Some(name) = names.next() { (draw_name(x, y, &name)) } }
        }
    }
}

fn tooltip(text: &str) -> Markup {
    html! { @if !text.is_empty() { title { (clean(text)) } } }
}

/// An arrow for an end of a stroke that is outside an axis.
fn arrow(chart: &Chart, frame: &Frame, end: (f64, f64), (x, y): (f64, f64)) -> Option<String> {
    let Up::Axis(up, _) = &chart.up else { return None };
    let arrow = match end {
        (across, _) if across < chart.across.low => format!("M{} {y}l6-4v8z", frame.left),
        (across, _) if across > chart.across.high => format!("M{} {y}l-6-4v8z", frame.right),
        (_, height) if height < up.low => format!("M{x} {}l-4-6h8z", frame.bottom),
        (_, height) if height > up.high => format!("M{x} {}l-4 6h8z", frame.top),
        _ => return None,
    };
    Some(arrow)
}

/// A name, with a line to its point if it is far away.
fn draw_name(x: f64, y: f64, name: &Label) -> Markup {
    let end = name.left + if name.left > x { -2.0 } else { room(&name.text, 11.0) };
    let is_far = (name.down - 4.0 - y).abs() > 12.0;
    html! {
        @if is_far { line.leader x1=(x) y1=(y) x2=(tenth(end)) y2=(tenth(name.down - 4.0)) {} }
        text.name x=(tenth(name.left)) y=(tenth(name.down)) { (name.text) }
    }
}

/// Positions of the names, without overlaps, in the order of the marks.
fn names(chart: &Chart, frame: &Frame) -> Vec<Label> {
    let mut named: Vec<NamedPoint> = Vec::new();
    let mut dots: Vec<Area> = Vec::new();
    for (row, series) in chart.series.iter().enumerate() {
        for mark in &series.marks {
            match mark {
                Mark::Name(point, texts) => {
                    let (x, y) = frame.position(chart, row, *point);
                    named.push((x - frame.left, y + 5.0, texts));
                }
                Mark::Dot(_, point, Shape::Circle(half) | Shape::Square(half), _) => {
                    let (x, y) = frame.position(chart, row, *point);
                    let (x, half) = (x - frame.left, half + 1.0);
                    dots.push(Area {
                        left: x - half,
                        right: x + half,
                        top: y - half,
                        bottom: y + half,
                    });
                }
                Mark::Line(..) | Mark::Band(..) | Mark::Stroke(..) => {}
            }
        }
    }
    let size = (frame.width - frame.left, frame.bottom);
    // The first series matter most, so their names are the first to get the long form.
    let mut is_long = vec![false; named.len()];
    for place in 0..named.len() {
        let before = count_overlaps(&place_names(&named, &is_long, &dots, size), &dots);
        is_long[place] = true;
        is_long[place] = count_overlaps(&place_names(&named, &is_long, &dots, size), &dots) <= before;
    }
    let mut names = place_names(&named, &is_long, &dots, size);
    for name in &mut names {
        name.left += frame.left;
    }
    names
}

/// A point from the left end of the plot, and its name in the long and the short form.
type NamedPoint<'c> = (f64, f64, &'c [String; 2]);

fn place_names(named: &[NamedPoint], is_long: &[bool], dots: &[Area], size: (f64, f64)) -> Vec<Label> {
    let mut texts = Vec::new();
    for ((x, y, [long, short]), is_long) in named.iter().zip(is_long) {
        let text = if *is_long { long } else { short };
        texts.push((*x, *y, text.clone()));
    }
    place(&texts, dots, size)
}

/// The number of names that overlap a dot or an earlier name.
fn count_overlaps(names: &[Label], dots: &[Area]) -> usize {
    let areas: Vec<Area> = names.iter().map(Label::area).collect();
    let mut overlaps = 0;
    for (place, area) in areas.iter().enumerate() {
        let mut others = dots.iter().chain(&areas[..place]);
        overlaps += usize::from(others.any(|other| other.is_over(area)));
    }
    overlaps
}

fn path(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut path = String::new();
    for (x, y) in points {
        let command = if path.is_empty() { 'M' } else { 'L' };
        path.push_str(&format!("{command}{x} {y}"));
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_at_the_edge_of_a_grid_stays_inside_the_picture() {
        let axis = Axis::new(0.0, 10.0).with_grid([(0.0, "100 ms".to_owned()), (10.0, "100 ms".to_owned())]);
        let frame = Frame {
            width: 100.0,
            height: 50.0,
            left: 12.0,
            right: 88.0,
            top: 6.0,
            bottom: 32.0,
            above: 0.0,
        };
        let anchors = [0.0, 5.0, 10.0].map(|value| anchor(&frame, &axis, frame.across(&axis, value), "100 ms"));
        assert_eq!(anchors, ["tick", "tick mid", "tick end"]);
    }

    #[test]
    fn labels_that_begin_alike_are_not_cut_to_one() {
        let long = ["thread.dirty-1000", "thread.dirty-10000", "thread.dirty-1000.narenas-2"];
        let markup = figure_with_labels(&long);
        assert!(
            long.iter().all(|label| markup.contains(&format!(">{label}<"))),
            "{markup}"
        );
        assert!(figure_with_labels(&["ty", "ty-jemalloc"]).contains("class=\"label\""));
    }

    fn figure_with_labels(labels: &[&str]) -> String {
        let series = labels.iter().map(|label| Series {
            label: (*label).to_owned(),
            class: String::new(),
            words: String::new(),
            marks: Vec::new(),
        });
        let chart = Chart {
            title: "private".to_owned(),
            unit: "MiB",
            across: Axis::new(0.0, 1.0),
            up: Up::Rows(26.0),
            series: series.collect(),
        };
        figure(&chart).into_string()
    }
}
