//! Renders a document for a terminal: the answer, and the evidence with `--details`.

use std::cmp::Ordering;

use crate::charts::axis::ends;
use crate::charts::rows::strip;
use base::text::table::{self, Column, Table, TableCell, WIDEST};
use base::text::{Paint, Tone, ascii, clean_styled, hanging, item, line_of, paragraph, width};
use base::units;

use super::matrix::{HOLE, LEAST, MOST};
use super::{
    Block, Difference, Document, Matrix, MatrixCell, MatrixRow, Section, Sentence, Weight, rows_left_out, shortened,
};

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
    /// True to write colour codes. `anstream` removes them where they are not wanted.
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
        hidden_columns: Vec::new(),
        hidden_sentences: 0,
    };
    match &document.headline {
        Some(headline) => {
            page.sentence("", headline);
            page.paragraph(Tone::Quiet, "  ", &document.title);
        }
        None => page.paragraph(Tone::Strong, "", &document.title),
    }
    for sentence in &document.verdict {
        if page.shows(sentence.weight) {
            page.sentence("  ", sentence);
        }
    }
    for section in sections(document) {
        if !page.shows(section.weight) {
            continue;
        }
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
    /// Names of the columns that only `--details` shows.
    hidden_columns: Vec<String>,
    /// Number of the sentences that only `--details` shows.
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

    /// Writes the line about the content that `--details` adds.
    fn hint(&mut self, document: &Document) {
        let mut hidden = Vec::new();
        let hidden_verdict = document.verdict.iter().filter(|sentence| !self.shows(sentence.weight));
        let sentences = hidden_verdict.count() + self.hidden_sentences;
        if sentences > 0 {
            hidden.push(units::count_of(sentences as u64, "sentence"));
        }
        if !self.hidden_columns.is_empty() {
            hidden.push(units::count_of(self.hidden_columns.len() as u64, "column"));
        }
        for section in sections(document) {
            if !self.shows(section.weight) {
                hidden.push(section.title.clone());
            }
        }
        if !hidden.is_empty() {
            let text = more_with_details(&hidden, self.columns - 2);
            self.paragraph(Tone::Quiet, "  ", &text);
        }
    }

    fn section(&mut self, section: &Section) {
        if !self.details && section.anchor.ends_with(WARNINGS) {
            return self.short_warnings(section);
        }
        self.heading(&section.title, &section.note);
        for block in &section.blocks {
            self.block(block);
        }
    }

    /// Failures, the first warning if it is short, and the number of the rest.
    fn short_warnings(&mut self, section: &Section) {
        let mut warnings: Vec<&Sentence> = Vec::new();
        for block in &section.blocks {
            match block {
                Block::Sentence(failure) if failure.tone == Tone::Bad => self.sentence("  ", failure),
                Block::Sentence(warning) => warnings.push(warning),
                _ => {}
            }
        }
        let mut more = warnings.len();
        let mut which = "";
        if let Some(first) = warnings.first()
            && first.details.is_empty()
            && width(&first.text) < SHORT_LINES * (self.columns - 14)
        {
            self.sentence("  ", first);
            more -= 1;
            which = "more ";
        }
        if more > 0 {
            let has_warning = warnings.iter().any(|sentence| sentence.mark == "warning");
            let noun = if has_warning { "warning" } else { "note" };
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
                self.table(&matrix.columns(median_with_sign));
                let text = format!(
                    "{LEAST} {MOST} shown to be lower or higher than the first; the tables below have intervals"
                );
                self.paragraph(Tone::Quiet, "  ", &text);
            }
            Block::Matrix(matrix) => {
                let columns = matrix_rows(matrix, self.columns);
                self.table(&columns);
            }
            Block::Timeline(timeline) => {
                if let Some((rows, legend)) = timeline.only.as_ref().and_then(|memory| memory.draw(self.columns)) {
                    for row in &rows {
                        line_of(&mut self.out, row);
                    }
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
        item(
            &mut self.out,
            self.paint,
            sentence.tone,
            &first,
            width(&first).max(width(indent) + 2),
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
        let (columns, rows_hidden) = shortened(columns);
        let (shown, hidden): (Vec<Column>, Vec<Column>) = columns
            .into_iter()
            .partition(|column| self.details || column.is_answer());
        for column in &hidden {
            let name = column.name();
            if !name.is_empty() && !self.hidden_columns.contains(&name) {
                self.hidden_columns.push(name);
            }
        }
        table::draw(&mut self.out, self.paint, shown, self.columns, JSON);
        if let Some(text) = rows_left_out(rows_hidden) {
            self.paragraph(Tone::Quiet, "  ", &text);
        }
    }
}

/// Names the hidden content in one line. Names without room are counted.
fn more_with_details(hidden: &[String], columns: usize) -> String {
    let mut text = String::new();
    for named in (1..=hidden.len()).rev() {
        text = format!("more with --details: {}", hidden[..named].join(", "));
        if named < hidden.len() {
            text.push_str(&format!(" and {} more", hidden.len() - named));
        }
        if width(&text) <= columns {
            break;
        }
    }
    text
}

/// Ends an interval that is the full range of too few runs.
const STAR: &str = " *";

/// A median with a sign if it is shown to be lower or higher than the first server's.
fn median_with_sign(server: usize, cell: &MatrixCell) -> TableCell {
    let difference = difference_from_first(server, cell);
    let sign = match difference.and_then(|difference| difference.direction) {
        Some(Ordering::Less) => LEAST,
        Some(Ordering::Greater) => MOST,
        Some(Ordering::Equal) | None => " ",
    };
    let tone = difference.map_or(Tone::Plain, Difference::tone);
    TableCell::toned(tone, format!("{} {sign}", cell.median))
}

/// A row of the terminal's table: one server at one place.
struct ServerRow<'m> {
    matrix_row: &'m MatrixRow,
    server: usize,
    cell: &'m MatrixCell,
}

/// A row per server and place. The strips of one place share their scale.
fn matrix_rows(matrix: &Matrix, columns: usize) -> Vec<Column> {
    let mut rows: Vec<ServerRow> = Vec::new();
    for matrix_row in &matrix.rows {
        for server in 0..matrix.heads.len() {
            let cell = &matrix_row.cells[server];
            rows.push(ServerRow {
                matrix_row,
                server,
                cell,
            });
        }
    }
    let mut intervals = rows
        .iter()
        .map(|row| row.cell.interval.as_str())
        .filter(|text| !text.is_empty())
        .peekable();
    // A star says that there are too few runs for 95 %. Where all have it, the head has it for them.
    let is_range = intervals.peek().is_some() && intervals.all(|text| text.ends_with(STAR));
    let head = if is_range { "full range *" } else { "95 % CI" };
    let mut table = Table::new(&rows)
        .text("", 0, |row| match row.server {
            0 => (Tone::Strong, row.matrix_row.place.as_str()),
            _ => (Tone::Plain, ""),
        })
        .text("server", 0, |row| &matrix.heads[row.server])
        .number("median", 0, |row| &row.cell.median)
        .text("", 0, |row| end(row.cell))
        .text(head, 2, |row| {
            let text = row.cell.interval.as_str();
            let without_star = if is_range { text.strip_suffix(STAR) } else { None };
            (Tone::Quiet, without_star.unwrap_or(text))
        })
        .text("vs baseline, 95 %", 1, |row| difference(row.server, row.cell))
        .text("on each machine", 4, |row| {
            let difference = row.cell.difference.as_ref();
            difference
                .and_then(|difference| difference.by_machine.clone())
                .unwrap_or_default()
        })
        .non_blank_columns(HOLE);
    let room = strip_columns(&table, columns);
    let strips = Table::new(&rows).text("runs", 5, |row| {
        let all = row.matrix_row.cells.iter().flat_map(known_values);
        let (low, high) = ends(all).unwrap_or_default();
        strip(known_values(row.cell), low, high, room)
    });
    table.extend(strips.columns());
    table
}

fn known_values(cell: &MatrixCell) -> impl Iterator<Item = f64> + Clone {
    cell.values.iter().flatten().copied()
}

fn end(cell: &MatrixCell) -> TableCell {
    match cell.end {
        Some(LEAST) => TableCell::toned(Tone::Good, LEAST),
        Some(most) => TableCell::toned(Tone::Warning, most),
        None => TableCell::plain(""),
    }
}

fn difference(server: usize, cell: &MatrixCell) -> TableCell {
    match difference_from_first(server, cell) {
        Some(difference) => TableCell::toned(difference.tone(), difference.range.clone()),
        None if server > 0 => TableCell::toned(Tone::Quiet, HOLE),
        None => TableCell::toned(Tone::Quiet, ""),
    }
}

/// The difference from the first server; `None` for that server itself.
fn difference_from_first(server: usize, cell: &MatrixCell) -> Option<&Difference> {
    if server > 0 { cell.difference.as_ref() } else { None }
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
