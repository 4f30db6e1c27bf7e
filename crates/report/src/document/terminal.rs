//! Renders a document for a terminal: the answer, and the evidence with `--details`.

use std::cmp::Ordering;

use crate::charts::axis::ends;
use crate::charts::rows::strip;
use base::text::table::{self, Cell, Column, Table, WIDEST};
use base::text::{Paint, Tone, ascii, clean_styled, hanging, item, line_of, paragraph, width};
use base::units;

use super::matrix::{HOLE, LEAST, MOST};
use super::{Block, Difference, Document, Matrix, MatrixCell, Section, Sentence, Weight, rows_left_out, shortened};

const NARROWEST: usize = 40;

/// Suffix of the anchors of warning sections.
const WARNINGS: &str = "warnings";

/// Lines of a warning that is short enough to show without `--details`.
const SHORT_LINES: usize = 2;

/// Where to find hidden columns.
const JSON: &str = "`--format json`";

/// Most and fewest columns of a strip of runs.
const STRIP: (usize, usize) = (24, 8);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Columns of the terminal, limited to 40–160.
    pub columns: usize,
    /// Whether to write colour codes. `anstream` removes them where they are not wanted.
    pub color: bool,
    pub details: bool,
    pub ascii: bool,
}

pub fn render(document: &Document, look: Look) -> String {
    let mut page = Page {
        out: String::new(),
        paint: Paint(look.color),
        columns: look.columns.clamp(NARROWEST, WIDEST),
        details: look.details,
        hidden: Vec::new(),
        hidden_sentences: 0,
    };
    let shows = |weight: Weight| look.details || weight == Weight::Answer;
    match &document.headline {
        Some(headline) => {
            page.sentence("", headline);
            page.paragraph(Tone::Quiet, "  ", &document.title);
        }
        None => page.paragraph(Tone::Strong, "", &document.title),
    }
    for sentence in document.verdict.iter().filter(|sentence| shows(sentence.weight)) {
        page.sentence("  ", sentence);
    }
    for section in sections(document).filter(|section| shows(section.weight)) {
        if look.details || !section.anchor.ends_with(WARNINGS) {
            page.gap();
        }
        page.section(section);
    }
    page.hint(document);
    let charts = document.titles(needs_a_page);
    if look.details && !charts.is_empty() {
        page.gap();
        page.paragraph(Tone::Quiet, "  ", &format!("charts with `--format html`: {charts}"));
    }
    look.finish(&page.out)
}

impl Look {
    pub fn finish(self, report: &str) -> String {
        let report = clean_styled(report);
        if self.ascii { ascii(&report) } else { report }
    }
}

fn sections(document: &Document) -> impl Iterator<Item = &Section> {
    document
        .sections
        .iter()
        .filter(|section| !section.blocks.iter().all(needs_a_page))
}

fn needs_a_page(block: &Block) -> bool {
    match block {
        Block::Timeline(timeline) => timeline.only.is_none(),
        block => matches!(block, Block::Charts { .. }),
    }
}

struct Page {
    out: String,
    paint: Paint,
    columns: usize,
    details: bool,
    /// Columns and sentences that only `--details` shows.
    hidden: Vec<String>,
    hidden_sentences: usize,
}

impl Page {
    fn paragraph(&mut self, tone: Tone, first: &str, text: &str) {
        paragraph(&mut self.out, self.paint, tone, first, text, self.columns);
    }

    fn heading(&mut self, title: &str, note: &str) {
        if width(title) > self.columns {
            self.paragraph(Tone::Strong, "", title);
            return self.out.push('\n');
        }
        let beside = width(title) + 2 + width(note) <= self.columns;
        let (strong, quiet) = (
            self.paint.paint(Tone::Strong, title),
            self.paint.paint(Tone::Quiet, note),
        );
        if beside {
            line_of(&mut self.out, format!("{strong}  {quiet}"));
        } else {
            line_of(&mut self.out, strong);
            self.paragraph(Tone::Quiet, "  ", note);
        }
        if self.details {
            self.out.push('\n');
        }
    }

    /// Ends the text with one empty line.
    fn gap(&mut self) {
        if !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    fn shows(&self, weight: Weight) -> bool {
        self.details || weight == Weight::Answer
    }

    /// The line about what `--details` adds.
    fn hint(&mut self, document: &Document) {
        let sentences = document.verdict.iter().filter(|sentence| !self.shows(sentence.weight));
        let sentences = match sentences.count() + self.hidden_sentences {
            0 => None,
            more => Some(units::counted(more as u64, "sentence")),
        };
        let hidden = sections(document).filter(|section| !self.shows(section.weight));
        let hidden: Vec<String> = hidden.map(|section| section.title.clone()).collect();
        let columns = match self.hidden.len() {
            0 => None,
            more => Some(units::counted(more as u64, "column")),
        };
        let more: Vec<String> = sentences.into_iter().chain(columns).chain(hidden).collect();
        if !more.is_empty() {
            let text = besides(&more, self.columns - 2);
            self.paragraph(Tone::Quiet, "  ", &text);
        }
    }

    fn section(&mut self, section: &Section) {
        if !self.details && section.anchor.ends_with(WARNINGS) {
            return self.few(section);
        }
        self.heading(&section.title, &section.note);
        section.blocks.iter().for_each(|block| self.block(block));
    }

    /// Failures, the first warning if it is short, and the number of the rest.
    fn few(&mut self, section: &Section) {
        let sentences = section.blocks.iter().filter_map(|block| match block {
            Block::Sentence(sentence) => Some(sentence),
            _ => None,
        });
        let (failures, rest): (Vec<&Sentence>, Vec<&Sentence>) =
            sentences.partition(|sentence| sentence.tone == Tone::Bad);
        let is_short = |sentence: &&&Sentence| {
            sentence.details.is_empty() && width(&sentence.text) < SHORT_LINES * (self.columns - 14)
        };
        let short = rest.first().filter(is_short);
        let more = rest.len() - usize::from(short.is_some());
        failures
            .into_iter()
            .chain(short.copied())
            .for_each(|sentence| self.sentence("  ", sentence));
        if more > 0 {
            let which = if short.is_some() { "more " } else { "" };
            let noun = if rest.iter().any(|one| one.mark == "warning") {
                "warning"
            } else {
                "note"
            };
            let plural = if more == 1 { "" } else { "s" };
            self.paragraph(Tone::Warning, "  ", &format!("{more} {which}{noun}{plural}: --details"));
        }
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Sentence(sentence) if !self.shows(sentence.weight) => {
                self.hidden_sentences += usize::from(sentence.weight == Weight::Evidence);
            }
            Block::Sentence(sentence) => self.sentence("  ", sentence),
            Block::Facts { facts, .. } => self.facts(facts),
            Block::Table { caption, columns } => {
                if let Some(caption) = caption {
                    self.gap();
                    self.paragraph(Tone::Quiet, "  ", caption);
                }
                self.table(columns);
            }
            Block::Matrix(matrix) if matrix.crossed => {
                self.table(&matrix.columns(signed));
                let text = format!(
                    "{LEAST} {MOST} shown to be lower or higher than the first; the tables below have intervals"
                );
                self.paragraph(Tone::Quiet, "  ", &text);
            }
            Block::Matrix(matrix) => {
                let columns = rows_of(matrix, self.columns);
                self.table(&columns);
            }
            Block::Timeline(timeline) => {
                if let Some((rows, legend)) = timeline.only.as_ref().and_then(|memory| memory.draw(self.columns)) {
                    rows.iter().for_each(|row| line_of(&mut self.out, row));
                    self.out.push('\n');
                    self.paragraph(Tone::Quiet, "  ", &legend);
                }
            }
            Block::Charts { .. } => {}
            Block::Code { title, text, .. } => {
                if let Some(title) = title {
                    self.paragraph(Tone::Quiet, "  ", title);
                    self.out.push('\n');
                }
                // Without an indent, so that it can be copied.
                self.out.push_str(text);
                self.out.push('\n');
            }
            Block::Folded(_) if !self.details => {}
            Block::Folded(section) => {
                self.gap();
                self.section(section);
            }
        }
    }

    fn sentence(&mut self, indent: &str, sentence: &Sentence) {
        let first = match sentence.mark {
            "" => indent.to_owned(),
            mark => format!("{indent}{mark}: "),
        };
        let (tone, hang) = (sentence.tone, width(indent) + 2);
        item(
            &mut self.out,
            self.paint,
            tone,
            &first,
            hang.max(width(&first)),
            &sentence.text,
            self.columns,
        );
        for detail in &sentence.details {
            hanging(&mut self.out, self.paint, Tone::Quiet, 4, detail, self.columns);
        }
    }

    fn facts(&mut self, facts: &[(String, String)]) {
        let widest = facts.iter().map(|(name, _)| width(name)).max().unwrap_or(0);
        let widest = widest.min(self.columns / 3);
        for (name, text) in facts {
            let fill = " ".repeat(widest.saturating_sub(width(name)));
            self.paragraph(Tone::Plain, &format!("  {name}{fill}  "), text);
        }
    }

    fn table(&mut self, columns: &[Column]) {
        let (short, more) = shortened(columns);
        let (short, hidden): (Vec<Column>, Vec<Column>) =
            short.into_iter().partition(|column| self.details || column.is_answer());
        for name in hidden.iter().map(Column::name).filter(|name| !name.is_empty()) {
            if !self.hidden.contains(&name) {
                self.hidden.push(name);
            }
        }
        table::draw(&mut self.out, self.paint, short, self.columns, JSON);
        if let Some(text) = rows_left_out(more) {
            self.paragraph(Tone::Quiet, "  ", &text);
        }
    }
}

/// What `--details` adds, in one line; names without room are counted.
fn besides(more: &[String], columns: usize) -> String {
    let line = |named: usize| {
        let names = more[..named].join(", ");
        match more.len() - named {
            0 => format!("more with --details: {names}"),
            rest => format!("more with --details: {names} and {rest} more"),
        }
    };
    let fits = (1..=more.len()).rev().find(|named| width(&line(*named)) <= columns);
    line(fits.unwrap_or(1))
}

/// Ends an interval that is the full range of too few runs.
const STAR: &str = " *";

/// A median with a sign of where it is shown to be from the first server's.
fn signed(server: usize, cell: &MatrixCell) -> Cell {
    let difference = cell.difference.as_ref().filter(|_| server > 0);
    let sign = match difference.and_then(|difference| difference.direction) {
        Some(Ordering::Less) => LEAST,
        Some(Ordering::Greater) => MOST,
        Some(Ordering::Equal) | None => " ",
    };
    let tone = difference.map_or(Tone::Plain, Difference::tone);
    Cell::toned(tone, format!("{} {sign}", cell.median))
}

/// A row per server and place. The strips of one place share their scale.
fn rows_of(matrix: &Matrix, columns: usize) -> Vec<Column> {
    let lines: Vec<(usize, usize)> = (0..matrix.rows.len())
        .flat_map(|row| (0..matrix.heads.len()).map(move |server| (row, server)))
        .collect();
    let at = |(row, server): &(usize, usize)| &matrix.rows[*row].cells[*server];
    let intervals = || {
        lines
            .iter()
            .map(|line| &at(line).interval)
            .filter(|text| !text.is_empty())
    };
    // A star says that there are too few runs for 95 %. Where all have it, the head has it for them.
    let is_range = intervals().count() > 0 && intervals().all(|text| text.ends_with(STAR));
    let head = if is_range { "full range *" } else { "95 % CI" };
    let interval = |line| {
        let text = at(line).interval.as_str();
        (
            Tone::Quiet,
            text.strip_suffix(STAR).filter(|_| is_range).unwrap_or(text),
        )
    };
    let mut table = Table::new(&lines)
        .text("", 0, |(row, server)| match server {
            0 => (Tone::Strong, matrix.rows[*row].place.as_str()),
            _ => (Tone::Plain, ""),
        })
        .text("server", 0, |(_, server)| &matrix.heads[*server])
        .number("median", 0, |line| &at(line).median)
        .text("", 0, |line| end(at(line)))
        .text(head, 2, interval)
        .text("vs baseline, 95 %", 1, |line| difference(line.1, at(line)))
        .text("on each machine", 4, |line| {
            let difference = at(line).difference.as_ref();
            difference.and_then(|one| one.by_machine.clone()).unwrap_or_default()
        })
        .filled(HOLE);
    let room = strip_columns(&table, columns);
    let strips = Table::new(&lines).text("runs", 5, |(row, server)| {
        let cells = &matrix.rows[*row].cells;
        let all = cells.iter().flat_map(|cell| cell.values.iter().flatten().copied());
        let (low, high) = ends(all).unwrap_or_default();
        strip(cells[*server].values.iter().flatten().copied(), low, high, room)
    });
    table.extend(strips.columns());
    table
}

fn end(cell: &MatrixCell) -> Cell {
    match cell.end {
        Some(LEAST) => Cell::toned(Tone::Good, LEAST),
        Some(most) => Cell::toned(Tone::Warning, most),
        None => Cell::plain(""),
    }
}

fn difference(server: usize, cell: &MatrixCell) -> Cell {
    let Some(difference) = cell.difference.as_ref().filter(|_| server > 0) else {
        return Cell::toned(Tone::Quiet, if server > 0 { HOLE } else { "" });
    };
    Cell::toned(difference.tone(), difference.range.clone())
}

/// Columns free for the strips, possibly after hiding wider columns.
fn strip_columns(table: &[Column], columns: usize) -> usize {
    const GAP: usize = 2;
    let free = columns.saturating_sub(table::width_of(table) + GAP);
    if free >= STRIP.1 {
        return free.min(STRIP.0);
    }
    let kept: usize = columns.saturating_sub(table::width_without(table, 3) + GAP);
    kept.clamp(STRIP.1, STRIP.0)
}
