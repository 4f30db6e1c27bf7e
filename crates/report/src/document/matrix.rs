//! A figure by place and server, for comparisons, gates and sweeps.

use std::cmp::Ordering;

use base::text::Tone;
use base::text::table::{Column, Table, TableCell};

/// Stands for an unknown value.
pub const HOLE: &str = "–";

/// Signs of a row's lowest and highest value.
pub const LEAST: &str = "▾";
pub const MOST: &str = "▴";

/// A row per place and a column per server; the first is the baseline.
pub struct Matrix {
    pub caption: String,
    /// Head of the first column: `after`.
    pub first: String,
    pub heads: Vec<String>,
    /// Number of servers with a colour; the rest are near grey.
    pub colored: usize,
    pub rows: Vec<MatrixRow>,
    /// True if a terminal too has one row per place, with medians alone: for many places, each with a table of its own.
    pub crossed: bool,
}

impl Matrix {
    /// A row per place and a column per server; `text` gets the server's number.
    pub fn columns<C: Into<TableCell>>(&self, text: impl Fn(usize, &MatrixCell) -> C) -> Vec<Column> {
        let mut table = Table::new(&self.rows).text(self.first.clone(), 0, |row| row.place.as_str());
        for (server, label) in self.heads.iter().enumerate() {
            let rank = u8::from(server > 0);
            table = table.number(label.clone(), rank, |row| text(server, &row.cells[server]));
        }
        table.columns()
    }
}

pub struct MatrixRow {
    pub place: String,
    pub cells: Vec<MatrixCell>,
}

/// A median with its interval and its difference from the baseline.
#[derive(Clone, Debug, Default)]
pub struct MatrixCell {
    pub median: String,
    pub interval: String,
    /// [`LEAST`] or [`MOST`], if it is one of them.
    pub end: Option<&'static str>,
    /// `None` for the baseline, and where it is unknown.
    pub difference: Option<Difference>,
    /// One value per run.
    pub values: Vec<Option<f64>>,
}

#[derive(Clone, Debug)]
pub struct Difference {
    /// The direction that the runs show; `None` if neither.
    pub direction: Option<Ordering>,
    /// False for a figure that a command prints, because its better direction is unknown.
    pub less_is_better: bool,
    /// `+2.3 to +3.4 %`.
    pub range: String,
    /// Range of the difference across machines.
    pub by_machine: Option<String>,
}

impl Difference {
    pub fn tone(&self) -> Tone {
        match self.direction {
            Some(Ordering::Equal) | None => Tone::Quiet,
            Some(_) if !self.less_is_better => Tone::Plain,
            Some(Ordering::Greater) => Tone::Warning,
            Some(Ordering::Less) => Tone::Good,
        }
    }
}
