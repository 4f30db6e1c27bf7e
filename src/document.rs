//! What a result says, in the order in which it is read. A document knows no format, and a format knows no result:
//! [`terminal`], [`markdown`] and [`page`] turn any document into text.

mod ascii;
pub mod markdown;
mod matrix;
pub mod page;
pub mod terminal;

#[cfg(test)]
pub(crate) mod tests;

use crate::charts::Chart;
use crate::charts::timeline::Timeline;
use crate::text::table::Column;

pub use crate::text::{Sentence, Weight};
pub use matrix::{Difference, HOLE, LEAST, MOST, Matrix, MatrixCell, MatrixRow};
pub use terminal::Look;

/// Everything that one result says.
pub struct Document {
    pub title: String,
    /// Where it is from, in small print.
    pub origin: String,
    /// The answer in one sentence, of results that decide something.
    pub headline: Option<Sentence>,
    /// What is most often all that is read.
    pub verdict: Vec<Sentence>,
    pub sections: Vec<Section>,
}

/// Blocks under one heading.
pub struct Section {
    /// Its place on the page, one word.
    pub anchor: String,
    pub title: String,
    /// Units and the like, beside the title.
    pub note: String,
    /// Of its tables and pictures; sentences have their own.
    pub weight: Weight,
    pub blocks: Vec<Block>,
}

pub enum Block {
    Sentence(Sentence),
    /// Names and what they say.
    Facts {
        caption: String,
        facts: Vec<(String, String)>,
    },
    Table {
        /// `None` where the section's title says it all.
        caption: Option<String>,
        columns: Vec<Column>,
    },
    Matrix(Matrix),
    Timeline(Timeline),
    /// Plots, in the formats that have room for them; elsewhere tables have their numbers.
    Charts {
        /// What their signs mean.
        legend: &'static str,
        /// How they are laid out.
        class: &'static str,
        charts: Vec<Chart>,
    },
    Code {
        language: &'static str,
        title: Option<String>,
        text: String,
    },
    /// What is read by who opens it.
    Folded(Section),
}

impl Section {
    pub fn new(anchor: impl Into<String>, title: impl Into<String>, weight: Weight) -> Section {
        Section {
            anchor: anchor.into(),
            title: title.into(),
            note: String::new(),
            weight,
            blocks: Vec::new(),
        }
    }

    pub fn noted(self, note: impl Into<String>) -> Section {
        Section {
            note: note.into(),
            ..self
        }
    }

    pub fn with(mut self, block: impl Into<Block>) -> Section {
        self.blocks.push(block.into());
        self
    }

    pub fn with_all<B: Into<Block>>(mut self, blocks: impl IntoIterator<Item = B>) -> Section {
        self.blocks.extend(blocks.into_iter().map(Into::into));
        self
    }

    /// The section, if there is anything in it.
    pub fn filled(self) -> Option<Section> {
        (!self.blocks.is_empty()).then_some(self)
    }

    /// `Phases, sizes in MiB`.
    fn caption(&self) -> String {
        match self.note.as_str() {
            "" => self.title.clone(),
            note => format!("{}, {note}", self.title),
        }
    }
}

impl Block {
    pub fn facts<N: Into<String>>(caption: impl Into<String>, facts: impl IntoIterator<Item = (N, String)>) -> Block {
        Block::Facts {
            caption: caption.into(),
            facts: facts.into_iter().map(|(name, text)| (name.into(), text)).collect(),
        }
    }

    pub fn charts(legend: &'static str, class: &'static str, charts: impl Iterator<Item = Chart>) -> Block {
        let charts = charts.collect();
        Block::Charts { legend, class, charts }
    }
}

impl From<Sentence> for Block {
    fn from(sentence: Sentence) -> Self {
        Block::Sentence(sentence)
    }
}

impl From<Vec<Column>> for Block {
    fn from(columns: Vec<Column>) -> Self {
        Block::Table { caption: None, columns }
    }
}

impl From<(&str, Vec<Column>)> for Block {
    fn from((caption, columns): (&str, Vec<Column>)) -> Self {
        let caption = Some(caption.to_owned());
        Block::Table { caption, columns }
    }
}

impl From<Matrix> for Block {
    fn from(matrix: Matrix) -> Self {
        Block::Matrix(matrix)
    }
}

impl From<Section> for Block {
    fn from(section: Section) -> Self {
        Block::Folded(section)
    }
}

/// Rows from which the middle of a table is left out where there is no room to scroll.
const MOST_ROWS: usize = 48;

/// Rows that are kept of its beginning and of its end.
const KEPT_ROWS: usize = 16;

/// A table short enough to be read, and how many of its rows are not in it.
fn shortened(columns: &[Column]) -> (Vec<Column>, usize) {
    let rows = columns.first().map_or(0, |first| first.cells().len());
    match rows {
        0..=MOST_ROWS => (columns.to_vec(), 0),
        _ => {
            let short = columns.iter().map(|column| column.shortened(KEPT_ROWS)).collect();
            (short, rows - 2 * KEPT_ROWS)
        }
    }
}

/// That so many rows are not shown.
fn rows_left_out(rows: usize) -> Option<String> {
    let rows = (rows > 0).then(|| crate::units::counted(rows as u64, "row"))?;
    Some(format!(
        "{rows} between the first and the last {KEPT_ROWS} are left out; `--format json` has them all"
    ))
}
