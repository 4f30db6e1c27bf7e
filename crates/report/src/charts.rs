//! Charts as data, independent of their content: [`figure`] draws SVG, for the page and for a picture alone, and [`rows`] draws
//! characters.

pub mod axis;
pub mod figure;
pub mod labels;
pub mod path;
pub mod rows;
pub mod timeline;

use base::curve::Columns;
use record::IdleKind;

use axis::Axis;

/// A plot of series over one horizontal axis.
pub struct Chart {
    pub title: String,
    /// Unit of the values, shown beside the title.
    pub unit: &'static str,
    pub across: Axis,
    pub up: Up,
    pub series: Vec<Series>,
    pub ground: Ground,
}

/// What stands behind the series over time.
#[derive(Default)]
pub struct Ground {
    /// Start, end and name of each phase.
    pub phases: Vec<(f64, f64, String)>,
    /// Start, end and kind of each idle window.
    pub windows: Vec<(f64, f64, IdleKind)>,
    /// Id of the pattern of light traffic; no other chart of a file has it.
    pub pattern: String,
}

pub enum Up {
    /// Values of an axis, on a drawing of this width and height.
    Axis(Axis, (f64, f64)),
    /// Drawing units above a row's base line. Each series has a labelled row of this height.
    Rows(f64),
}

/// Everything in one colour.
pub struct Series {
    pub label: String,
    /// CSS classes for colour and dash.
    pub class: String,
    /// The content in words, for screen readers.
    pub words: String,
    pub marks: Vec<Mark>,
}

/// A drawn element, with its CSS class.
pub enum Mark {
    Line(&'static str, Line),
    /// A rectangle between opposite corners.
    Band(&'static str, (f64, f64), (f64, f64)),
    /// A line between two points, with an arrow where it leaves an axis, and a tooltip.
    Stroke(&'static str, [(f64, f64); 2], String),
    /// A circle, a square or a diamond, with a tooltip.
    Dot(&'static str, (f64, f64), Shape, String),
    /// A name beside a point, placed without overlaps, and a shorter one for lack of room.
    Name((f64, f64), [String; 2]),
    /// A triangle above a point, and its value, placed without overlaps.
    Peak((f64, f64), String),
}

/// Points that straight lines join; `None` is a gap.
pub type Line = Vec<Option<(f64, f64)>>;

/// The line of a reduced curve, whose columns have this width.
pub fn line(columns: &Columns, width: f64) -> Line {
    let mut line = Line::new();
    for (place, span) in columns.iter().enumerate() {
        match span {
            Some(span) => {
                let points = span
                    .parts()
                    .map(|(part, value)| ((place as f64 + part) * width, value as f64));
                line.extend(points.map(Some));
            }
            None => line.push(None),
        }
    }
    line
}

#[derive(Clone, Copy)]
pub enum Shape {
    Circle(f64),
    Square(f64),
    Diamond(f64),
}

/// Rounds to a tenth of a unit, which is invisible and keeps files small.
pub fn tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}
