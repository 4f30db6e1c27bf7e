//! Pictures as data: what is drawn, on which axes. [`figure`] makes SVG of it and [`rows`] characters; what is drawn and why
//! is known to neither.

pub mod axis;
pub mod figure;
pub mod labels;
pub mod path;
pub mod rows;
pub mod timeline;

use axis::Axis;

/// A plot of series over one horizontal axis.
pub struct Chart {
    pub title: String,
    /// What values are in, beside the title.
    pub unit: &'static str,
    pub across: Axis,
    pub up: Up,
    pub series: Vec<Series>,
}

/// What heights are.
pub enum Up {
    /// Values of one axis, on a drawing of this width and height.
    Axis(Axis, (f64, f64)),
    /// Units of the drawing over the ground of a row of this height, which each series has with its label.
    Rows(f64),
}

/// What is drawn in one colour.
pub struct Series {
    pub label: String,
    /// The classes that are its colour and its dash.
    pub class: String,
    /// What it shows, for who sees no picture.
    pub words: String,
    pub marks: Vec<Mark>,
}

/// Something that is drawn, with its class in the style.
pub enum Mark {
    /// Straight from point to point.
    Line(&'static str, Vec<(f64, f64)>),
    /// From a corner to the opposite one.
    Band(&'static str, (f64, f64), (f64, f64)),
    /// Between two points; an arrow says that it goes on beyond an axis. Its words are shown to who points at it.
    Stroke(&'static str, [(f64, f64); 2], String),
    /// A circle of this radius, or a square.
    Dot(&'static str, (f64, f64), Shape, String),
    /// A number beside a point, clear of all others.
    Name((f64, f64), String),
}

#[derive(Clone, Copy)]
pub enum Shape {
    Circle(f64),
    Square(f64),
}

/// Short enough for a file: a tenth of a unit is not seen.
pub fn tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}
