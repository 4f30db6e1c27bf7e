//! Pieces of Markdown as pull requests show it.

mod one;

use std::fmt::Write;

use crate::text::table::Column;
use crate::text::{is_hidden, line_of};

pub use one::run;

/// The head of a table: the first column reads as text, the others as numbers.
pub(super) fn heads_of(out: &mut String, first: &str, others: impl Iterator<Item = String> + Clone) {
    let columns = others.clone().count();
    line(out, first, others);
    line_of(out, format!("|---|{}", "--:|".repeat(columns)));
}

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
    line(out, &head(first), others.iter().map(head));
    let sides = table.iter().map(|column| if column.head().2 { "---|" } else { "--:|" });
    line_of(out, format!("|{}", sides.collect::<String>()));
    for (row, cell) in first.cells().iter().enumerate() {
        line(
            out,
            &escape(cell.whole().trim()),
            others.iter().map(|column| escape(&column.cells()[row].whole())),
        );
    }
}

/// A part that is read by who opens it. Its title is a text of ours.
pub(super) fn folded(out: &mut String, title: &str, inside: impl FnOnce(&mut String)) {
    let _ = write!(out, "\n<details><summary>{title}</summary>\n\n");
    inside(out);
    out.push_str("\n</details>\n");
}

/// Sentences in small print, if there are any.
pub(super) fn small(out: &mut String, sentences: &[String]) {
    let sentences: Vec<String> = sentences.iter().map(|text| escape(text)).collect();
    if !sentences.is_empty() {
        line_of(out, format!("\n<sub>{}</sub>", sentences.join("<br>")));
    }
}

/// Names and what they say, one below the other.
pub(super) fn facts_of<'f>(out: &mut String, facts: impl Iterator<Item = (&'f str, String)>) {
    for (name, text) in facts {
        line_of(out, format!("- {}: {}", escape(name), prose(&text)));
    }
}

/// What a block of code begins and ends with: longer than whatever is in it.
pub(super) fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(3.max(longest + 1))
}

/// Lines as they are, between fences that none of them can end.
pub(super) fn fenced(out: &mut String, language: &str, lines: &[String]) {
    let fence = fence(&lines.join("\n"));
    line_of(out, format!("{fence}{language}"));
    for line in lines {
        line_of(out, line);
    }
    line_of(out, fence);
}

/// A sentence in which backticks set names apart, as they do everywhere in messages.
pub(super) fn prose(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    // An odd number of them sets nothing apart.
    if parts.len().is_multiple_of(2) {
        return escape(text);
    }
    let parts = parts.iter().enumerate().map(|(place, part)| match place % 2 {
        1 if part.trim().is_empty() => escape(&format!("`{part}`")),
        1 => format!("`{}`", part.replace(is_hidden, " ")),
        _ => escape(part),
    });
    parts.collect()
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
            c if is_hidden(c) => escaped.push(' '),
            _ => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_between_backticks_are_code_and_nothing_else_is_markup() {
        for (text, markdown) in [
            ("the server `a_b <c>` *ran*", "the server `a_b <c>` \\*ran\\*"),
            ("one ` of them", "one \\` of them"),
            ("nothing between `` them", "nothing between \\`\\` them"),
            ("`a\n\n# b`", "`a  # b`"),
        ] {
            assert_eq!(prose(text), markdown);
        }
    }

    #[test]
    fn what_turns_text_around_is_a_blank() {
        assert_eq!(escape("a\u{202e}b\u{2069}c"), "a b c");
    }
}
