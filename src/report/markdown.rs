//! Pieces of Markdown as pull requests show it.

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
