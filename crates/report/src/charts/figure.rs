//! A chart as SVG: as a figure of the page, or as a plot in a picture. CSS classes give colours and strokes; `maud` escapes every
//! text.

use maud::{Markup, html};

use base::text::{clean, cut, width};
use record::IdleKind;

use super::axis::{Axis, Grid};
use super::labels::{self, Area, Label, Names, place, room};
use super::path::path;
use super::{Chart, Ground, Mark, Series, Shape, Up, tenth};

/// Width of a drawing with rows; the page scales it.
const WIDTH: f64 = 360.0;

/// Room for labels beside their rows, or above them if they are long.
const BESIDE: f64 = 112.0;
const ABOVE: f64 = 14.0;

/// Most characters of a label beside its row, and above it.
const LETTERS: usize = 16;
const LONGEST: usize = 56;

/// Most characters of the name of a phase.
const LONGEST_PHASE: usize = 48;

/// Half the width of the triangle of a peak, and the height of its top above its point.
const PEAK: (f64, f64) = (5.0, 9.0);

/// Width of a character of an axis.
const DIGIT: f64 = 7.0;

/// The place of a plot in its drawing.
pub struct Frame {
    pub width: f64,
    pub height: f64,
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
    /// Additional height of each row for its label.
    pub above: f64,
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

    /// The position of a value of the horizontal axis.
    pub fn x_of(&self, axis: &Axis, value: f64) -> f64 {
        axis.between(value, self.left, self.right)
    }

    /// The position of a value of the vertical axis.
    fn y_of(&self, axis: &Axis, value: f64) -> f64 {
        axis.between(value, self.bottom, self.top)
    }

    /// The position of a point in this row's series.
    fn position(&self, chart: &Chart, row: usize, (across, up): (f64, f64)) -> (f64, f64) {
        let down = match &chart.up {
            Up::Axis(axis, _) => self.y_of(axis, up),
            Up::Rows(height) => tenth(self.baseline(*height, row) - up),
        };
        (self.x_of(&chart.across, across), down)
    }

    /// Where this row has its zero.
    fn baseline(&self, height: f64, row: usize) -> f64 {
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
    let mut keyed: Vec<&Series> = Vec::new();
    if matches!(chart.up, Up::Axis(..)) && chart.series.len() > 1 {
        keyed.extend(chart.series.iter().filter(|series| !series.label.is_empty()));
    }
    html! {
        figure {
            figcaption { (clean(&chart.title)) @if !chart.unit.is_empty() { span.quiet { ", " (chart.unit) } } }
            @if !keyed.is_empty() { p.keys { @for series in keyed { span { (key(&series.class)) (cut(&clean(&series.label), 40)) } } } }
            svg viewBox={ "0 0 " (frame.width) " " (frame.height) } role="img" aria-label=(clean(&format!("{}: {}", chart.title, words.join("; ")))) {
                (plot(chart, &frame))
            }
        }
    }
}

/// The chart in its place, without title, keys and the drawing around it.
pub fn plot(chart: &Chart, frame: &Frame) -> Markup {
    let mut names = names(chart, frame).into_iter();
    html! {
        (draw_background(chart, frame))
        @if let Up::Axis(axis, _) = &chart.up { (vertical_axis(frame, axis)) }
        (horizontal_axis(frame, &chart.across))
        @for (row, series) in chart.series.iter().enumerate() {
            g class=(series.class) {
                (label(chart, frame, row))
                @for mark in &series.marks { (draw_mark(mark, chart, frame, row, &mut names)) }
            }
        }
    }
}

/// Phases and idle windows behind the series, and the names of the phases above.
fn draw_background(chart: &Chart, frame: &Frame) -> Markup {
    let Ground {
        phases,
        windows,
        pattern,
    } = &chart.ground;
    let names = phase_names(chart, frame);
    let has_hatches = windows.iter().any(|(.., kind)| *kind == IdleKind::Simmer);
    html! {
        @if has_hatches {
            defs { pattern id=(pattern) width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)" {
                rect width="8" height="8" class="phase" {} line.hatch x1="0" x2="0" y1="0" y2="8" {}
            } }
        }
        @for (from, to, _) in phases.iter().step_by(2) { (stretch("phase", None, chart, frame, (*from, *to))) }
        @for (from, to, kind) in windows {
            @match kind {
                IdleKind::Silent => (stretch("silent", None, chart, frame, (*from, *to))),
                IdleKind::Simmer => (stretch("hatched", Some(format!("url(#{pattern})")), chart, frame, (*from, *to))),
            }
        }
        @for (from, ..) in phases {
            @let x = frame.x_of(&chart.across, *from);
            @let is_above = names.upper.iter().any(|(left, _)| *left == x - frame.left);
            line.begin x1=(x) x2=(x) y1=(frame.top - if is_above { 34.0 } else { 18.0 }) y2=(frame.bottom) {}
        }
        @for label in names.lower.iter().chain(names.upper.iter().map(|(_, label)| label)) {
            text x=(tenth(frame.left + label.left)) y=(frame.top + label.down) { (label.text) }
        }
    }
}

/// A stretch of the horizontal axis, from top to bottom.
fn stretch(class: &str, fill: Option<String>, chart: &Chart, frame: &Frame, (from, to): (f64, f64)) -> Markup {
    let (left, right) = (frame.x_of(&chart.across, from), frame.x_of(&chart.across, to));
    html! { rect class=(class) x=(left) y=(frame.top) width=(tenth(right - left)) height=(frame.bottom - frame.top) fill=[fill] {} }
}

/// Names of the phases above the plot, counted from its upper left corner.
pub fn phase_names(chart: &Chart, frame: &Frame) -> Names {
    let mut stretches: Vec<(f64, f64, String)> = Vec::new();
    for (from, to, name) in &chart.ground.phases {
        let (left, right) = (frame.x_of(&chart.across, *from), frame.x_of(&chart.across, *to));
        stretches.push((left - frame.left, right - frame.left, cut(&clean(name), LONGEST_PHASE)));
    }
    labels::names(&stretches, frame.right - frame.left)
}

fn key(class: &str) -> Markup {
    html! { svg viewBox="0 0 32 12" aria-hidden="true" { g class=(class) { path.stroke d="M0 6H32" {} } } }
}

/// The horizontal axis. Texts at its ends stay inside the picture.
fn horizontal_axis(frame: &Frame, axis: &Axis) -> Markup {
    html! {
        @if axis.grid != Grid::Lines { line.axis x1=(frame.left) x2=(frame.right) y1=(frame.bottom) y2=(frame.bottom) {} }
        @for (value, text) in &axis.ticks {
            @let x = frame.x_of(axis, *value);
            @match axis.grid {
                Grid::Ends => {},
                Grid::Lines => line.grid x1=(x) x2=(x) y1=(frame.top) y2=(frame.bottom) {},
                Grid::Notches => line.axis x1=(x) x2=(x) y1=(frame.bottom) y2=(frame.bottom + 4.0) {},
            }
            text class=(anchor(frame, axis, x, text)) x=(x) y=(frame.bottom + if axis.grid == Grid::Notches { 18.0 } else { 15.0 }) { (text) }
        }
        @if !axis.name.is_empty() {
            text.tick.mid x=((frame.left + frame.right) / 2.0) y=(frame.bottom + 34.0) { (axis.name) }
        }
    }
}

/// The class that keeps a text at this place inside the picture.
fn anchor(frame: &Frame, axis: &Axis, x: f64, text: &str) -> &'static str {
    let half = width(text) as f64 * DIGIT / 2.0;
    let (left, right) = if axis.grid == Grid::Ends {
        (frame.left + 14.0, frame.right - 14.0)
    } else {
        (half, frame.width - half)
    };
    if x > right {
        "tick end"
    } else if x < left {
        "tick"
    } else {
        "tick mid"
    }
}

fn vertical_axis(frame: &Frame, axis: &Axis) -> Markup {
    html! {
        @if axis.grid == Grid::Ends { line.axis x1=(frame.left) x2=(frame.left) y1=(frame.top) y2=(frame.bottom) {} }
        @for (value, text) in &axis.ticks {
            @let y = frame.y_of(axis, *value);
            @if axis.grid != Grid::Ends && y < frame.bottom { line.grid x1=(frame.left) x2=(frame.right) y1=(y) y2=(y) {} }
            text.tick.end x=(frame.left - 6.0) y=(tenth(y + 4.0)) { (text) }
        }
    }
}

fn label(chart: &Chart, frame: &Frame, row: usize) -> Markup {
    let Up::Rows(height) = chart.up else {
        return html! {};
    };
    let (baseline, label) = (frame.baseline(height, row), clean(&chart.series[row].label));
    html! {
        @if frame.above > 0.0 { text.name x=(frame.left) y=(tenth(baseline - height + 4.0)) { (cut(&label, LONGEST)) } }
        @else { text.label x=(frame.left - 8.0) y=(tenth(baseline - height / 3.0 + 2.0)) { (label) } }
    }
}

/// Draws a mark of this row's series. A name takes its place from `names`.
fn draw_mark(mark: &Mark, chart: &Chart, frame: &Frame, row: usize, names: &mut impl Iterator<Item = Label>) -> Markup {
    match mark {
        Mark::Line(class, points) => {
            let points = points.iter().map(|point| Some(frame.position(chart, row, (*point)?)));
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
                Shape::Diamond(half) => {
                    let outline = format!("M{x} {}l{half} {half}l-{half} {half}l-{half}-{half}z", tenth(y - half));
                    html! { path class=(class) d=(outline) { (tooltip(text)) } }
                }
            }
        }
        Mark::Peak(point, _) => {
            let (x, y) = frame.position(chart, row, *point);
            html! {
                path.peak d={ "M" (x) " " (tenth(y - PEAK.1)) "l" (PEAK.0) " 8h-10z" } {}
                // Colour and order identify a value that had to move away.
                @if let Some(value) = names.next() {
                    text.value x=(tenth(value.left)) y=(tenth(value.down)) { tspan.of { "▲" } (value.text.trim_start_matches('▲')) }
                }
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
                Mark::Name(point, [long, short]) => {
                    let (x, y) = frame.position(chart, row, *point);
                    named.push((x - frame.left, y + 5.0, [long, short]));
                }
                Mark::Peak(point, value) => {
                    let (x, y) = frame.position(chart, row, *point);
                    named.push((x - frame.left, y, [value, value]));
                    dots.push(area_around((x - frame.left, y - PEAK.1 + 4.0), PEAK.0, 4.0));
                }
                Mark::Dot(_, point, Shape::Circle(half) | Shape::Square(half), _) => {
                    let (x, y) = frame.position(chart, row, *point);
                    dots.push(area_around((x - frame.left, y), half + 1.0, half + 1.0));
                }
                Mark::Dot(_, point, Shape::Diamond(half), _) => {
                    let (x, y) = frame.position(chart, row, *point);
                    dots.push(area_around((x - frame.left, y), *half, *half));
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

/// The area that names avoid.
fn area_around((x, y): (f64, f64), across: f64, up: f64) -> Area {
    Area {
        left: x - across,
        right: x + across,
        top: y - up,
        bottom: y + up,
    }
}

/// A point from the left end of the plot, and its name in the long and the short form.
type NamedPoint<'c> = (f64, f64, [&'c String; 2]);

fn place_names(named: &[NamedPoint], is_long: &[bool], dots: &[Area], size: (f64, f64)) -> Vec<Label> {
    let mut texts = Vec::new();
    for ((x, y, [long, short]), is_long) in named.iter().zip(is_long) {
        let text = if *is_long { *long } else { *short };
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
        let anchors = [0.0, 5.0, 10.0].map(|value| anchor(&frame, &axis, frame.x_of(&axis, value), "100 ms"));
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
            ground: Ground::default(),
        };
        figure(&chart).into_string()
    }
}
