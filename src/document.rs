//! What a result says, in the order in which it is read. A document knows no format, and a format knows no result:
//! [`terminal`], [`markdown`] and [`page`] turn any document into text.

mod ascii;
pub mod markdown;
mod matrix;
pub mod page;
mod strip;
pub mod terminal;

#[cfg(test)]
pub(crate) mod tests;

use crate::text::table::Column;

pub use crate::text::{Sentence, Weight};
pub use matrix::{Difference, HOLE, LEAST, MOST, Matrix, MatrixCell, MatrixRow};
pub use terminal::Look;

/// Everything that one result says.
pub struct Document<'a> {
    pub title: String,
    /// Where it is from, in small print.
    pub origin: String,
    /// The answer in one sentence, of results that decide something.
    pub headline: Option<Sentence>,
    /// What is most often all that is read.
    pub verdict: Vec<Sentence>,
    pub sections: Vec<Section<'a>>,
}

/// Blocks under one heading.
pub struct Section<'a> {
    /// Its place on the page, one word.
    pub anchor: String,
    pub title: String,
    /// Units and the like, beside the title.
    pub note: String,
    /// Of its tables and pictures; sentences have their own.
    pub weight: Weight,
    pub blocks: Vec<Block<'a>>,
}

pub enum Block<'a> {
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
    Picture(Box<dyn Picture + 'a>),
    Code {
        language: &'static str,
        title: Option<String>,
        text: String,
    },
    /// What is read by who opens it.
    Folded(Section<'a>),
}

/// A drawing, in the formats that have room for it.
pub trait Picture {
    /// Its rows in at most so many columns, and what its signs mean.
    fn rows(&self, columns: usize) -> Option<(Vec<String>, String)>;

    /// Markup of the page, made by a template that escapes.
    fn markup(&self) -> Option<maud::Markup>;
}

impl<'a> Section<'a> {
    pub fn new(anchor: impl Into<String>, title: impl Into<String>, weight: Weight) -> Section<'a> {
        Section {
            anchor: anchor.into(),
            title: title.into(),
            note: String::new(),
            weight,
            blocks: Vec::new(),
        }
    }

    pub fn noted(self, note: impl Into<String>) -> Section<'a> {
        Section {
            note: note.into(),
            ..self
        }
    }

    pub fn with(mut self, block: impl Into<Block<'a>>) -> Section<'a> {
        self.blocks.push(block.into());
        self
    }

    pub fn with_all<B: Into<Block<'a>>>(mut self, blocks: impl IntoIterator<Item = B>) -> Section<'a> {
        self.blocks.extend(blocks.into_iter().map(Into::into));
        self
    }

    /// The section, if there is anything in it.
    pub fn filled(self) -> Option<Section<'a>> {
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

impl<'a> Block<'a> {
    pub fn facts<N: Into<String>>(
        caption: impl Into<String>,
        facts: impl IntoIterator<Item = (N, String)>,
    ) -> Block<'a> {
        Block::Facts {
            caption: caption.into(),
            facts: facts.into_iter().map(|(name, text)| (name.into(), text)).collect(),
        }
    }

    pub fn picture(picture: impl Picture + 'a) -> Block<'a> {
        Block::Picture(Box::new(picture))
    }
}

impl From<Sentence> for Block<'_> {
    fn from(sentence: Sentence) -> Self {
        Block::Sentence(sentence)
    }
}

impl From<Vec<Column>> for Block<'_> {
    fn from(columns: Vec<Column>) -> Self {
        Block::Table { caption: None, columns }
    }
}

impl From<(&str, Vec<Column>)> for Block<'_> {
    fn from((caption, columns): (&str, Vec<Column>)) -> Self {
        let caption = Some(caption.to_owned());
        Block::Table { caption, columns }
    }
}

impl From<Matrix> for Block<'_> {
    fn from(matrix: Matrix) -> Self {
        Block::Matrix(matrix)
    }
}

impl<'a> From<Section<'a>> for Block<'a> {
    fn from(section: Section<'a>) -> Self {
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
