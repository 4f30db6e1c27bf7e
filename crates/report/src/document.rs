//! A report as sections and blocks in reading order, independent of the output format: [`terminal`], [`markdown`] and
//! [`page`] render any document.

pub mod markdown;
mod matrix;
pub mod page;
pub mod terminal;

#[cfg(test)]
pub(crate) mod tests;

use crate::charts::Chart;
use crate::charts::timeline::Timeline;
use base::text::Tone;
use base::text::table::Column;
use serde::Serialize;

pub use base::text::{Sentence, Weight};
pub use matrix::{Difference, HOLE, LEAST, MOST, Matrix, MatrixCell, MatrixRow};
pub use terminal::Look;

pub struct Document {
    pub title: String,
    /// Source of the result, in small print.
    pub origin: String,
    /// The answer in one sentence, for results that decide something.
    pub headline: Option<Sentence>,
    /// The sentences that most readers stop after.
    pub verdict: Vec<Sentence>,
    pub sections: Vec<Section>,
}

pub struct Section {
    /// Its id on the page, one word.
    pub anchor: String,
    pub title: String,
    /// Units and the like, beside the title.
    pub note: String,
    /// Weight of its tables and pictures; sentences have their own.
    pub weight: Weight,
    pub blocks: Vec<Block>,
}

pub enum Block {
    Sentence(Sentence),
    Facts {
        caption: String,
        facts: Vec<(String, String)>,
    },
    Table {
        /// `None` where the section's title is enough.
        caption: Option<String>,
        columns: Vec<Column>,
    },
    Matrix(Matrix),
    Timeline(Timeline),
    /// Plots, drawn on the page only. Elsewhere tables show the same numbers.
    Charts {
        legend: &'static str,
        class: &'static str,
        charts: Vec<Chart>,
    },
    Code {
        language: &'static str,
        title: Option<String>,
        text: String,
    },
    /// Collapsed until the reader opens it.
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

    pub fn with_block(mut self, block: impl Into<Block>) -> Section {
        self.blocks.push(block.into());
        self
    }

    pub fn with_all<B: Into<Block>>(mut self, blocks: impl IntoIterator<Item = B>) -> Section {
        self.blocks.extend(blocks.into_iter().map(Into::into));
        self
    }

    /// The section, or `None` without blocks.
    pub fn unless_empty(self) -> Option<Section> {
        if self.blocks.is_empty() { None } else { Some(self) }
    }

    /// `Phases, sizes in MiB`.
    fn caption(&self) -> String {
        match self.note.as_str() {
            "" => self.title.clone(),
            note => format!("{}, {note}", self.title),
        }
    }
}

/// The command that follows an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NextCommand {
    /// What it is for.
    pub why: String,
    /// The command line, to paste into a shell.
    pub command: String,
}

impl NextCommand {
    /// The command on a line of its own, whatever the width.
    pub fn section(&self) -> Section {
        Section::new("next", "Next", Weight::Answer)
            .with_block(Sentence::answer("next.why", Tone::Plain, format!("{}:", self.why)))
            .with_block(Block::Code {
                language: "sh",
                title: None,
                text: format!("{}\n", self.command),
            })
    }
}

impl Document {
    /// Titles of the sections that have a block of this kind.
    fn titles(&self, is_kind: fn(&Block) -> bool) -> String {
        let mut titles: Vec<&str> = Vec::new();
        for section in &self.sections {
            if section.blocks.iter().any(is_kind) {
                titles.push(&section.title);
            }
        }
        titles.join(", ")
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

/// Longest table that is shown whole where the reader cannot scroll.
const MOST_ROWS: usize = 48;

/// Rows kept at the start and at the end of a longer table.
const KEPT_ROWS: usize = 16;

/// The table without its middle, and the number of hidden rows.
fn shortened(columns: &[Column]) -> (Vec<Column>, usize) {
    let rows = columns.first().map_or(0, |first| first.cells().len());
    if rows <= MOST_ROWS {
        return (columns.to_vec(), 0);
    }
    let short = columns.iter().map(|column| column.shortened(KEPT_ROWS)).collect();
    (short, rows - 2 * KEPT_ROWS)
}

/// A sentence on the hidden rows of a table; `None` without any.
fn rows_left_out(rows: usize) -> Option<String> {
    if rows == 0 {
        return None;
    }
    Some(format!(
        "{} between the first and the last {KEPT_ROWS} are left out; `--format json` has them all",
        base::units::count_of(rows as u64, "row")
    ))
}
