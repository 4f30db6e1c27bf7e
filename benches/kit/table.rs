//! Prints figures: tables that can be pasted into a document, and whether an aim was reached.

use comfy_table::{CellAlignment, ContentArrangement, presets};

/// A table under a headline; the first column names the rows, the others are right-aligned.
pub struct Table {
    headline: String,
    table: comfy_table::Table,
}

impl Table {
    /// An empty table.
    pub fn new(headline: &str, head: &[&str]) -> Table {
        let mut table = comfy_table::Table::new();
        table
            .load_style(presets::ASCII_MARKDOWN)
            .set_content_arrangement(ContentArrangement::Disabled)
            .set_header(head);
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        Table {
            headline: headline.to_owned(),
            table,
        }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.table.add_row(cells);
    }

    /// Prints it.
    pub fn print(&self) {
        say(&format!("\n{}\n\n{}", self.headline, self.table));
    }
}

/// Prints a line.
#[expect(clippy::print_stdout, reason = "a benchmark program is there to print figures")]
pub fn say(line: &str) {
    println!("{line}");
}

/// Prints an aim and whether it was reached. `figure` and `limit` are in the same unit, which `show` prints.
pub fn aim(what: &str, figure: Option<f64>, limit: f64, show: impl Fn(f64) -> String) {
    let verdict = match figure {
        Some(figure) if figure <= limit => format!("{} (reached)", show(figure)),
        Some(figure) => format!("{} (MISSED)", show(figure)),
        None => "n/a".to_owned(),
    };
    say(&format!("aim: {what} ≤ {}: {verdict}", show(limit)));
}

/// `1.23×`.
pub fn times(ratio: f64) -> String {
    format!("{ratio:.2}×")
}
