//! Tables of columns that line up, and that leave when the terminal is too narrow for all of them.

use std::borrow::Cow;

use crate::text::{Paint, Tone, clean, cut, line_of, paragraph, width};

/// Widest a report gets: longer lines are hard to follow.
pub const WIDEST: usize = 160;

const GAP: usize = 2;

/// The least that is left of the first column.
const LEAST: usize = 8;

/// Columns of this rank and below are in a short report too.
const ANSWER: u8 = 2;

/// Columns of this rank and above leave before the first column is cut.
const SPARE: u8 = 5;

#[derive(Clone, Debug)]
pub struct Cell {
    pub text: String,
    /// What follows it and stays when it is cut.
    tail: String,
    pub tone: Tone,
}

impl Cell {
    pub fn plain(text: impl Into<String>) -> Cell {
        Cell::toned(Tone::Plain, text)
    }

    pub fn toned(tone: Tone, text: impl Into<String>) -> Cell {
        Cell {
            text: clean(&text.into()),
            tail: String::new(),
            tone,
        }
    }

    /// The cell with an end that tells it from others, so that it stays when there is no room for all of the cell.
    pub fn ending(self, tail: impl Into<String>) -> Cell {
        Cell {
            tail: tail.into(),
            ..self
        }
    }

    pub fn whole(&self) -> String {
        format!("{}{}", self.text, self.tail)
    }

    fn width(&self) -> usize {
        width(&self.text) + width(&self.tail)
    }
}

/// Most heads are fixed, some are names of servers.
type Text = Cow<'static, str>;

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::plain(text)
    }
}

impl From<&String> for Cell {
    fn from(text: &String) -> Cell {
        Cell::plain(text)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::plain(text)
    }
}

impl<T: Into<String>> From<(Tone, T)> for Cell {
    fn from((tone, text): (Tone, T)) -> Cell {
        Cell::toned(tone, text)
    }
}

/// Columns of the same rows, as they are put together from left to right.
pub struct Table<'r, R> {
    rows: &'r [R],
    columns: Vec<Column>,
}

impl<'r, R> Table<'r, R> {
    pub fn new(rows: &'r [R]) -> Table<'r, R> {
        let columns = Vec::new();
        Table { rows, columns }
    }

    /// A column of words.
    pub fn text<C: Into<Cell>>(self, head: impl Into<Text>, rank: u8, cell: impl Fn(&'r R) -> C) -> Table<'r, R> {
        let cells = self.rows.iter().map(|row| cell(row).into()).collect();
        self.with(Column::text(head, rank, cells))
    }

    pub fn number<C: Into<Cell>>(self, head: impl Into<Text>, rank: u8, cell: impl Fn(&'r R) -> C) -> Table<'r, R> {
        let cells = self.rows.iter().map(|row| cell(row).into()).collect();
        self.with(Column::number(head, rank, cells))
    }

    /// A drawing of characters for each row, which a format with pictures has no use for.
    pub fn sketch(self, head: impl Into<Text>, rank: u8, cell: impl Fn(&'r R) -> String) -> Table<'r, R> {
        let cells = self.rows.iter().map(|row| cell(row).into()).collect();
        self.with(Column {
            sketch: true,
            ..Column::text(head, rank, cells)
        })
    }

    pub fn with(mut self, column: Column) -> Table<'r, R> {
        self.columns.push(column);
        self
    }

    /// What the last column is of, above its head.
    pub fn beneath(mut self, of: impl Into<Text>) -> Table<'r, R> {
        if let Some(last) = self.columns.last_mut() {
            last.of = of.into();
        }
        self
    }

    /// Its columns with anything in them but `nothing`.
    pub fn filled(self, nothing: &str) -> Vec<Column> {
        let columns = self.columns.into_iter();
        columns.filter(|column| column.is_filled(nothing)).collect()
    }

    pub fn columns(self) -> Vec<Column> {
        self.columns
    }

    /// Its columns, if there is a row.
    pub fn some(self) -> Option<Vec<Column>> {
        (!self.rows.is_empty()).then_some(self.columns)
    }
}

#[derive(Clone, Debug)]
pub struct Column {
    /// A first line of the head: what the column is of.
    of: Text,
    head: Text,
    /// Which columns leave first: the highest. The first column never leaves, it is cut; nor does any of rank 0.
    rank: u8,
    left: bool,
    sketch: bool,
    cells: Vec<Cell>,
}

impl Column {
    pub fn text(head: impl Into<Text>, rank: u8, cells: Vec<Cell>) -> Column {
        Column {
            of: Text::default(),
            head: head.into(),
            rank,
            left: true,
            sketch: false,
            cells,
        }
    }

    pub fn number(head: impl Into<Text>, rank: u8, cells: Vec<Cell>) -> Column {
        Column {
            of: Text::default(),
            head: head.into(),
            rank,
            left: false,
            sketch: false,
            cells,
        }
    }

    /// The column with what it is of above its head.
    pub fn of(self, of: impl Into<Text>) -> Column {
        Column { of: of.into(), ..self }
    }

    /// The column with a row that says that others were left out there.
    pub fn gap(mut self, row: usize) -> Column {
        self.cells.insert(row, Cell::toned(Tone::Quiet, "⋮"));
        self
    }

    /// The column with only so many rows of its beginning and of its end, and a gap between them.
    pub fn shortened(&self, kept: usize) -> Column {
        let mut short = self.clone();
        short.cells.drain(kept..self.cells.len() - kept);
        short.gap(kept)
    }

    /// A drawing of characters, which a format with pictures has no use for.
    pub fn sketched(self) -> Column {
        Column { sketch: true, ..self }
    }

    pub fn is_sketch(&self) -> bool {
        self.sketch
    }

    /// The first line of its head, the second, and whether it is set to the left, for a table that is no text.
    pub fn head(&self) -> (&str, &str, bool) {
        (&self.of, &self.head, self.left)
    }

    /// Both lines of its head in one.
    pub fn name(&self) -> String {
        format!("{} {}", self.of, self.head).trim().to_owned()
    }

    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Whether a short report has it: what leaves late when there is no room.
    pub fn is_answer(&self) -> bool {
        self.rank <= ANSWER
    }

    /// Whether there is anything in it but `nothing`.
    pub fn is_filled(&self, nothing: &str) -> bool {
        self.cells
            .iter()
            .any(|cell| cell.text != nothing && !cell.text.is_empty())
    }

    fn width(&self) -> usize {
        self.cells
            .iter()
            .map(Cell::width)
            .fold(width(&self.head).max(width(&self.of)), usize::max)
    }
}

/// Appends a table in at most `columns`, and below it which columns had no room and that they are `elsewhere`, if they are
/// anywhere.
pub fn draw(out: &mut String, paint: Paint, table: Vec<Column>, columns: usize, elsewhere: &str) {
    let needed = width_of(&table);
    let missed = fit(out, paint, table, columns);
    tell(out, paint, &missed, (needed, columns), elsewhere);
}

/// Says which columns had no room, each once, and in how many columns all would have had some.
fn tell(out: &mut String, paint: Paint, missed: &[String], (needed, columns): (usize, usize), elsewhere: &str) {
    let mut once: Vec<&str> = Vec::new();
    for name in missed {
        if !once.contains(&name.as_str()) {
            once.push(name);
        }
    }
    if once.is_empty() {
        return;
    }
    let once = once.join(", ");
    let text = match elsewhere {
        // No report is wider, however wide the terminal.
        elsewhere if needed > WIDEST && !elsewhere.is_empty() => format!("hidden: {once} (see {elsewhere})"),
        _ => format!("hidden: {once} (needs {needed} columns)"),
    };
    paragraph(out, paint, Tone::Quiet, "  ", &text, columns);
}

/// Appends a table in at most `columns`. Returns the names of the columns that had no room, in their order.
fn fit(out: &mut String, paint: Paint, mut table: Vec<Column>, columns: usize) -> Vec<String> {
    let spare = |table: &[Column]| table.first().map_or(0, |first| first.width().saturating_sub(LEAST));
    let all: Vec<String> = table.iter().map(Column::name).collect();
    while width_of(&table) > columns && drop_last(&mut table, SPARE).is_some() {}
    while width_of(&table) - spare(&table) > columns && drop_last(&mut table, 1).is_some() {}
    let kept: Vec<String> = table.iter().map(Column::name).collect();
    let missed = all
        .into_iter()
        .filter(|name| !name.is_empty() && !kept.contains(name))
        .collect();
    let excess = width_of(&table).saturating_sub(columns);
    let widths: Vec<usize> = table
        .iter()
        .enumerate()
        .map(|(place, column)| column.width() - if place == 0 { excess.min(spare(&table)) } else { 0 })
        .collect();
    let line = |cell: &dyn Fn(&Column) -> Cell| {
        let parts = table.iter().zip(&widths).map(|(column, wide)| {
            let Cell { text, tail, tone } = cell(column);
            let text = cut(&text, wide.saturating_sub(width(&tail))) + &cut(&tail, *wide);
            let fill = " ".repeat(wide - width(&text));
            let text = paint.paint(tone, &text);
            if column.left {
                format!("  {text}{fill}")
            } else {
                format!("  {fill}{text}")
            }
        });
        parts.collect::<String>()
    };
    if table.iter().any(|column| !column.of.is_empty()) {
        line_of(out, line(&|column| Cell::toned(Tone::Quiet, column.of.clone())));
    }
    line_of(out, line(&|column| Cell::toned(Tone::Quiet, column.head.clone())));
    for row in 0..table.first().map_or(0, |first| first.cells.len()) {
        line_of(out, line(&|column| column.cells[row].clone()));
    }
    missed
}

/// Columns that a table takes up when nothing of it has to leave.
pub fn width_of(table: &[Column]) -> usize {
    width_without(table, u8::MAX)
}

/// The same without the columns of a rank and above.
pub fn width_without(table: &[Column], rank: u8) -> usize {
    let kept = table.iter().filter(|column| column.rank < rank);
    kept.map(|column| GAP + column.width()).sum()
}

/// Drops the column of the highest rank, if that is `from` or more.
fn drop_last(table: &mut Vec<Column>, from: u8) -> Option<Column> {
    let last = (1..table.len())
        .max_by_key(|place| table[*place].rank)
        .filter(|place| table[*place].rank >= from);
    last.map(|place| table.remove(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Vec<Column> {
        let cells = |texts: [&str; 2]| texts.map(Cell::plain).to_vec();
        vec![
            Column::text("name", 0, cells(["start", "a-rather-long-name"])),
            Column::number("first", 1, cells(["1", "200"])),
            Column::number("second", 2, cells(["3", "4"])),
        ]
    }

    #[test]
    fn what_a_column_is_of_stands_above_its_head() {
        let cells = || vec![Cell::plain("日本"), Cell::plain("b")];
        let table = vec![
            Column::text("name", 0, cells()),
            Column::number("peak", 1, cells()).of("resident"),
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
        let said = |needed| {
            let mut out = String::new();
            let missed = ["second".to_owned(), "second".to_owned()];
            tell(&mut out, Paint(false), &missed, (needed, 80), "`--format json`");
            out
        };
        assert_eq!(said(100), "  hidden: second (needs 100 columns)\n");
        assert_eq!(said(WIDEST + 1), "  hidden: second (see `--format json`)\n");
    }

    #[test]
    fn what_leaves_first_is_told_too() {
        let mut table = table();
        table.push(Column::number("rare", 9, vec![Cell::plain("1"), Cell::plain("2")]).of("very"));
        let mut out = String::new();
        assert_eq!(fit(&mut out, Paint(false), table, 30), ["very rare"]);
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
        let cells = [1, 2, 90].map(|round| Cell::plain("a-rather-long-name").ending(format!(" #{round}")));
        let numbers = ["1", "22", "3"].map(Cell::plain);
        let table = vec![
            Column::text("name", 0, cells.to_vec()).gap(2),
            Column::number("first", 1, numbers.to_vec()).gap(2),
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
