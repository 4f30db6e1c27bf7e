//! Tables with aligned columns. Columns are hidden when the terminal is too narrow.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::text::{Paint, Tone, clean, cut, line_of, paragraph, width};

/// Widest report: longer lines are hard to follow.
pub const WIDEST: usize = 160;

const GAP: usize = 2;

/// Least width of the first column.
const LEAST: usize = 8;

/// Highest rank of the columns in a short report.
const ANSWER: u8 = 2;

/// Lowest rank of the columns that are hidden before the first column is cut.
const SPARE: u8 = 5;

#[derive(Clone, Debug)]
pub struct TableCell {
    pub text: String,
    /// Follows `text` and stays when it is cut.
    tail: String,
    pub tone: Tone,
}

impl TableCell {
    pub fn plain(text: impl Into<String>) -> TableCell {
        TableCell::toned(Tone::Plain, text)
    }

    pub fn toned(tone: Tone, text: impl Into<String>) -> TableCell {
        TableCell {
            text: clean(&text.into()),
            tail: String::new(),
            tone,
        }
    }

    /// Adds an end that distinguishes the cell, so it stays when the cell is cut.
    pub fn with_tail(self, tail: impl Into<String>) -> TableCell {
        TableCell {
            tail: tail.into(),
            ..self
        }
    }

    pub fn full_text(&self) -> String {
        format!("{}{}", self.text, self.tail)
    }

    fn width(&self) -> usize {
        width(&self.text) + width(&self.tail)
    }
}

/// Most heads are constant; some are names of servers.
type Text = Cow<'static, str>;

impl From<String> for TableCell {
    fn from(text: String) -> TableCell {
        TableCell::plain(text)
    }
}

impl From<&String> for TableCell {
    fn from(text: &String) -> TableCell {
        TableCell::plain(text)
    }
}

impl From<&str> for TableCell {
    fn from(text: &str) -> TableCell {
        TableCell::plain(text)
    }
}

impl<T: Into<String>> From<(Tone, T)> for TableCell {
    fn from((tone, text): (Tone, T)) -> TableCell {
        TableCell::toned(tone, text)
    }
}

/// Builds columns of the same rows, from left to right.
pub struct Table<'r, R> {
    rows: &'r [R],
    columns: Vec<Column>,
}

impl<'r, R> Table<'r, R> {
    pub fn new(rows: &'r [R]) -> Table<'r, R> {
        let columns = Vec::new();
        Table { rows, columns }
    }

    /// A left-aligned column.
    pub fn text<C: Into<TableCell>>(self, head: impl Into<Text>, rank: u8, cell: impl Fn(&'r R) -> C) -> Table<'r, R> {
        let cells = self.rows.iter().map(|row| cell(row).into()).collect();
        self.push(Column::text(head, rank, cells))
    }

    pub fn number<C: Into<TableCell>>(
        self,
        head: impl Into<Text>,
        rank: u8,
        cell: impl Fn(&'r R) -> C,
    ) -> Table<'r, R> {
        let cells = self.rows.iter().map(|row| cell(row).into()).collect();
        self.push(Column::number(head, rank, cells))
    }

    /// A column of medians with intervals, which lines up on the left, or of single numbers.
    pub fn medians(
        self,
        head: impl Into<Text>,
        rank: u8,
        has_intervals: bool,
        cell: impl Fn(&'r R) -> String,
    ) -> Table<'r, R> {
        if has_intervals {
            self.text(head, rank, cell)
        } else {
            self.number(head, rank, cell)
        }
    }

    /// A column of character drawings, which formats with pictures omit.
    pub fn sketch(self, head: impl Into<Text>, rank: u8, cell: impl Fn(&'r R) -> String) -> Table<'r, R> {
        let cells = self.rows.iter().map(|row| cell(row).into()).collect();
        self.push(Column {
            sketch: true,
            ..Column::text(head, rank, cells)
        })
    }

    pub fn push(mut self, column: Column) -> Table<'r, R> {
        self.columns.push(column);
        self
    }

    /// Adds a first line to the head of the last column.
    pub fn with_group_head(mut self, group: impl Into<Text>) -> Table<'r, R> {
        if let Some(last) = self.columns.last_mut() {
            last.group = group.into();
        }
        self
    }

    /// The columns with a cell other than `nothing`.
    pub fn non_blank_columns(self, nothing: &str) -> Vec<Column> {
        let columns = self.columns.into_iter();
        columns.filter(|column| column.is_filled(nothing)).collect()
    }

    pub fn columns(self) -> Vec<Column> {
        self.columns
    }

    /// The columns, or `None` without rows.
    pub fn non_empty(self) -> Option<Vec<Column>> {
        if self.rows.is_empty() {
            return None;
        }
        Some(self.columns)
    }
}

#[derive(Clone, Debug)]
pub struct Column {
    /// First line of the head: a group of columns.
    group: Text,
    head: Text,
    /// The highest rank is hidden first. Rank 0 and the first column are never hidden.
    rank: u8,
    left_aligned: bool,
    sketch: bool,
    cells: Vec<TableCell>,
}

impl Column {
    pub fn text(head: impl Into<Text>, rank: u8, cells: Vec<TableCell>) -> Column {
        Column {
            group: Text::default(),
            head: head.into(),
            rank,
            left_aligned: true,
            sketch: false,
            cells,
        }
    }

    pub fn number(head: impl Into<Text>, rank: u8, cells: Vec<TableCell>) -> Column {
        Column {
            group: Text::default(),
            head: head.into(),
            rank,
            left_aligned: false,
            sketch: false,
            cells,
        }
    }

    /// Sets the first line of the head.
    pub fn group(self, group: impl Into<Text>) -> Column {
        Column {
            group: group.into(),
            ..self
        }
    }

    /// Inserts a row `⋮` for omitted rows.
    fn with_gap_row(mut self, row: usize) -> Column {
        self.cells.insert(row, TableCell::toned(Tone::Quiet, "⋮"));
        self
    }

    /// Keeps `kept` rows at the start and at the end, with a gap between them.
    pub fn shortened(&self, kept: usize) -> Column {
        let mut short = self.clone();
        short.cells.drain(kept..self.cells.len() - kept);
        short.with_gap_row(kept)
    }

    /// True for a column of character drawings, which formats with pictures omit.
    pub fn is_sketch(&self) -> bool {
        self.sketch
    }

    /// Both lines of the head, and whether the column is left-aligned.
    pub fn head(&self) -> (&str, &str, bool) {
        (&self.group, &self.head, self.left_aligned)
    }

    /// Both lines of the head, joined.
    pub fn name(&self) -> String {
        format!("{} {}", self.group, self.head).trim().to_owned()
    }

    pub fn cells(&self) -> &[TableCell] {
        &self.cells
    }

    /// True if a short report shows the column.
    pub fn is_answer(&self) -> bool {
        self.rank <= ANSWER
    }

    /// True if a cell has a text other than `nothing`.
    fn is_filled(&self, nothing: &str) -> bool {
        self.cells
            .iter()
            .any(|cell| cell.text != nothing && !cell.text.is_empty())
    }

    fn width(&self) -> usize {
        self.cells
            .iter()
            .map(TableCell::width)
            .fold(width(&self.head).max(width(&self.group)), usize::max)
    }

    /// The fewest columns in which no two cells that differ are cut to the same text.
    fn unique_width(&self) -> usize {
        let uncut = self.distinct_cells(usize::MAX);
        let full = self.width();
        (LEAST..full)
            .find(|columns| self.distinct_cells(*columns) == uncut)
            .unwrap_or(full)
    }

    /// Counts the cells that differ when they are cut to `columns`.
    fn distinct_cells(&self, columns: usize) -> usize {
        let mut texts = BTreeSet::new();
        for cell in &self.cells {
            let room = columns.saturating_sub(width(&cell.tail));
            texts.insert((cut(&cell.text, room), &cell.tail));
        }
        texts.len()
    }
}

/// Appends a table in at most `columns`, then the names of hidden columns and where to find them: `elsewhere`, or a
/// wider terminal.
pub fn draw(out: &mut String, paint: Paint, table: Vec<Column>, columns: usize, elsewhere: &str) {
    let needed = needed(&table, columns);
    let missed = fit(out, paint, table, columns);
    report_hidden(out, paint, &missed, (needed, columns), elsewhere);
}

/// The fewest columns, more than these, in which nothing is hidden.
fn needed(table: &[Column], columns: usize) -> usize {
    let whole = width_of(table);
    // These are hidden before the first column is cut.
    if table.iter().any(|column| column.rank >= SPARE) {
        return whole;
    }
    (columns.saturating_add(1)..whole)
        .find(|columns| whole - spare(table, *columns) <= *columns)
        .unwrap_or(whole)
}

/// The columns by which the first column can be cut without making two of its cells equal.
fn spare(table: &[Column], columns: usize) -> usize {
    let Some(first) = table.first() else { return 0 };
    let least = first.unique_width().min(columns / 3 * 2).max(LEAST);
    first.width().saturating_sub(least)
}

/// Appends the names of hidden columns, each once, and the width that all columns need.
fn report_hidden(
    out: &mut String,
    paint: Paint,
    missed: &[String],
    (needed, columns): (usize, usize),
    elsewhere: &str,
) {
    let mut once: Vec<&str> = Vec::new();
    for name in missed {
        if !once.contains(&name.as_str()) {
            once.push(name);
        }
    }
    if once.is_empty() {
        return;
    }
    let names = once.join(", ");
    // No report is wider than that, so a wider terminal does not help.
    let text = if needed > WIDEST && !elsewhere.is_empty() {
        format!("hidden: {names} (see {elsewhere})")
    } else {
        format!("hidden: {names} (needs {needed} columns)")
    };
    paragraph(out, paint, Tone::Quiet, "  ", &text, columns);
}

/// Appends a table in at most `columns`. Returns the names of hidden columns in order.
fn fit(out: &mut String, paint: Paint, mut table: Vec<Column>, columns: usize) -> Vec<String> {
    let all: Vec<String> = table.iter().map(Column::name).collect();
    while width_of(&table) > columns && drop_last(&mut table, SPARE).is_some() {}
    while width_of(&table) - spare(&table, columns) > columns && drop_last(&mut table, 1).is_some() {}
    let kept: Vec<String> = table.iter().map(Column::name).collect();
    let missed = all
        .into_iter()
        .filter(|name| !name.is_empty() && !kept.contains(name))
        .collect();
    let mut widths: Vec<usize> = table.iter().map(Column::width).collect();
    if let Some(first) = widths.first_mut() {
        let excess = width_of(&table).saturating_sub(columns);
        *first -= excess.min(spare(&table, columns));
    }
    if table.iter().any(|column| !column.group.is_empty()) {
        draw_line(out, paint, &table, &widths, |column| {
            TableCell::toned(Tone::Quiet, column.group.clone())
        });
    }
    draw_line(out, paint, &table, &widths, |column| {
        TableCell::toned(Tone::Quiet, column.head.clone())
    });
    for row in 0..table.first().map_or(0, |first| first.cells.len()) {
        draw_line(out, paint, &table, &widths, |column| column.cells[row].clone());
    }
    missed
}

/// Appends one line of a table: `cell_of` each column, in its width.
fn draw_line(
    out: &mut String,
    paint: Paint,
    table: &[Column],
    widths: &[usize],
    cell_of: impl Fn(&Column) -> TableCell,
) {
    let mut line = String::new();
    for (column, wide) in table.iter().zip(widths) {
        let TableCell { text, tail, tone } = cell_of(column);
        let text = cut(&text, wide.saturating_sub(width(&tail))) + &cut(&tail, *wide);
        let fill = " ".repeat(wide - width(&text));
        // Blanks at the end of a line are removed, but not within a style.
        let (text, blanks) = text.split_at(text.trim_end().len());
        let text = paint.paint(tone, text);
        line.push_str("  ");
        if column.left_aligned {
            line.extend([text.as_str(), blanks, fill.as_str()]);
        } else {
            line.extend([fill.as_str(), text.as_str(), blanks]);
        }
    }
    line_of(out, line);
}

/// Columns of the terminal that the whole table needs.
pub fn width_of(table: &[Column]) -> usize {
    width_without(table, u8::MAX)
}

/// Columns of the terminal that a table needs without its columns of this rank and above.
pub fn width_without(table: &[Column], rank: u8) -> usize {
    let kept = table.iter().filter(|column| column.rank < rank);
    kept.map(|column| GAP + column.width()).sum()
}

/// Removes the column of the highest rank, if that is at least `from`.
fn drop_last(table: &mut Vec<Column>, from: u8) -> Option<Column> {
    let last = (1..table.len()).max_by_key(|index| table[*index].rank)?;
    if table[last].rank < from {
        return None;
    }
    Some(table.remove(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Vec<Column> {
        let names = ["start", "a-rather-long-name"].map(TableCell::plain);
        vec![
            Column::text("name", 0, names.to_vec()),
            Column::number("first", 1, ["1", "200"].map(TableCell::plain).to_vec()),
            Column::number("second", 2, ["3", "4"].map(TableCell::plain).to_vec()),
        ]
    }

    #[test]
    fn what_a_column_is_of_stands_above_its_head() {
        let cells = vec![TableCell::plain("日本"), TableCell::plain("b")];
        let table = vec![
            Column::text("name", 0, cells.clone()),
            Column::number("peak", 1, cells).group("resident"),
        ];
        let mut out = String::new();
        fit(&mut out, Paint(false), table, 80);
        assert_eq!(
            out,
            "        resident\n  name      peak\n  日本      日本\n  b            b\n"
        );
    }

    #[test]
    fn a_column_that_matters_does_not_leave_in_silence() {
        let mut out = String::new();
        assert_eq!(fit(&mut out, Paint(false), table(), 20), ["second"]);
        assert!(fit(&mut out, Paint(false), table(), 30).is_empty());
        for (needed, note) in [
            (100, "  hidden: second (needs 100 columns)\n"),
            (WIDEST + 1, "  hidden: second (see `--format json`)\n"),
        ] {
            let mut out = String::new();
            let missed = ["second".to_owned(), "second".to_owned()];
            report_hidden(&mut out, Paint(false), &missed, (needed, 80), "`--format json`");
            assert_eq!(out, note);
        }
    }

    #[test]
    fn what_leaves_first_is_told_too() {
        let mut table = table();
        table.push(Column::number("rare", 9, vec![TableCell::plain("1"), TableCell::plain("2")]).group("very"));
        let mut out = String::new();
        assert_eq!(fit(&mut out, Paint(false), table, 30), ["very rare"]);
    }

    #[test]
    fn names_that_differ_are_not_cut_to_the_same_text() {
        let names = ["thread.dirty-1000", "thread.dirty-1000.narenas-2", "thread.dirty-5000"].map(TableCell::plain);
        let numbers = ["1", "22", "3"].map(TableCell::plain);
        let table = vec![
            Column::text("setting", 0, names.to_vec()),
            Column::number("first", 1, numbers.to_vec()),
            Column::number("second", 2, numbers.to_vec()),
        ];
        let mut out = String::new();
        assert_eq!(fit(&mut out, Paint(false), table, 33), ["second"]);
        assert!(out.contains("  thread.dirty-1000  "), "{out}");
    }

    fn drawn(columns: usize) -> String {
        let mut out = String::new();
        fit(&mut out, Paint(false), table(), columns);
        out
    }

    #[test]
    fn numbers_line_up_on_the_right() {
        assert_eq!(
            drawn(80),
            "  name                first  second\n  start                   1       3\n  a-rather-long-name    200       4\n"
        );
    }

    #[test]
    fn a_narrow_table_cuts_its_first_column_and_then_drops_the_last_ranks() {
        assert_eq!(
            drawn(30),
            "  name           first  second\n  start              1       3\n  a-rather-lon…    200       4\n"
        );
        assert_eq!(
            drawn(20),
            "  name         first\n  start            1\n  a-rather-l…    200\n"
        );
    }

    #[test]
    fn what_tells_a_row_from_others_is_not_cut_and_a_gap_is_seen() {
        let cells = [1, 2, 90].map(|round| TableCell::plain("a-rather-long-name").with_tail(format!(" #{round}")));
        let numbers = ["1", "22", "3"].map(TableCell::plain);
        let table = vec![
            Column::text("name", 0, cells.to_vec()).with_gap_row(2),
            Column::number("first", 1, numbers.to_vec()).with_gap_row(2),
        ];
        let mut out = String::new();
        fit(&mut out, Paint(false), table, 22);
        assert_eq!(
            out,
            "  name           first\n  a-rather-… #1      1\n  a-rather-… #2     22\n  ⋮                  ⋮\n  a-rather… #90      3\n"
        );
    }

    #[test]
    fn a_table_of_no_rows_is_its_head() {
        let mut out = String::new();
        fit(&mut out, Paint(false), vec![Column::text("name", 0, vec![])], 80);
        assert_eq!(out, "  name\n");
    }
}
