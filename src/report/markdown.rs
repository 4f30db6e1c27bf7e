//! Pieces of Markdown as pull requests show it.

use super::table::Column;
use super::text::line_of;

/// The head of a table: the first column reads as text, the others as numbers.
pub(super) fn heads_of(out: &mut String, first: &str, others: impl Iterator<Item = String> + Clone) {
    let columns = others.clone().count();
    line(out, first, others);
    line_of(out, format!("|---|{}", "--:|".repeat(columns)));
}

/// A row of it.
pub(super) fn line(out: &mut String, first: &str, others: impl Iterator<Item = String>) {
    let cells: Vec<String> = std::iter::once(first.to_owned()).chain(others).collect();
    line_of(out, format!("| {} |", cells.join(" | ")));
}

/// A table of the terminal with all its columns, as text.
pub(super) fn columns_of(out: &mut String, table: &[Column]) {
    let Some((first, others)) = table.split_first() else {
        return;
    };
    let head = |column: &Column| {
        let (of, head, _) = column.head();
        escape(format!("{of} {head}").trim())
    };
    heads_of(out, &head(first), others.iter().map(head));
    for (row, cell) in first.cells().iter().enumerate() {
        line(
            out,
            &escape(&cell.text),
            others.iter().map(|column| escape(&column.cells()[row].text)),
        );
    }
}

/// The text without what Markdown and HTML would read as theirs.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '#' => escaped.extend(['\\', c]),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '\n' | '\r' => escaped.push(' '),
            _ => escaped.push(c),
        }
    }
    escaped
}
