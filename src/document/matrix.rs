//! A figure of several servers in several places: what a comparison, a gate and a sweep consist of.

use std::cmp::Ordering;

use crate::text::Tone;

/// What stands where nothing is known.
pub const HOLE: &str = "–";

/// Signs of the least and of the most of a place.
pub const LEAST: &str = "▾";
pub const MOST: &str = "▴";

/// A row for each place, a column for each server, of which the first is the baseline.
pub struct Matrix {
    pub caption: String,
    /// What the rows are: `after`.
    pub first: String,
    /// The servers.
    pub heads: Vec<String>,
    /// How many of them have a colour; the rest are near grey.
    pub colored: usize,
    pub rows: Vec<MatrixRow>,
}

pub struct MatrixRow {
    pub place: String,
    pub cells: Vec<MatrixCell>,
}

/// A median with its interval, and how it differs from the baseline.
#[derive(Clone, Debug, Default)]
pub struct MatrixCell {
    pub median: String,
    pub interval: String,
    /// The sign of the least or the most of a row.
    pub end: Option<&'static str>,
    /// `None` of the baseline, and where it is not known.
    pub difference: Option<Difference>,
    /// The figure in each run.
    pub values: Vec<Option<f64>>,
}

#[derive(Clone, Debug)]
pub struct Difference {
    /// Whether it is shown to be more or less; `None` where it is neither.
    pub direction: Option<Ordering>,
    /// `+2.3 to +3.4 %`.
    pub range: String,
    /// How far machines are apart.
    pub by_machine: Option<String>,
}

impl Difference {
    /// More is told apart from less, and both from what is not shown.
    pub fn tone(&self) -> Tone {
        match self.direction {
            Some(Ordering::Greater) => Tone::Warning,
            Some(Ordering::Less) => Tone::Good,
            Some(Ordering::Equal) | None => Tone::Quiet,
        }
    }
}
