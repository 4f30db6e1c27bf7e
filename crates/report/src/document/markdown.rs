//! Renders a document for a pull request: the answer first, everything else folded.

use base::text::table::Column;
use base::text::{Tone, clean, clean_lines, cut, is_hidden, line_of};

use super::{Block, Document, MatrixCell, Section, Sentence, Weight, rows_left_out, shortened};

/// Longest line of quoted server output, in columns.
const WIDEST: usize = 400;

pub fn render(document: &Document) -> String {
    let mut out = String::new();
    let title = prose(&clean(&document.title));
    match &document.headline {
        Some(headline) => line_of(&mut out, format!("### {}\n\n{title}\n", prose(&clean(&headline.text)))),
        None => line_of(&mut out, format!("### {title}\n")),
    }
    for sentence in &document.verdict {
        write_sentence(&mut out, sentence);
    }
    let (answers, others): (Vec<&Section>, Vec<&Section>) = document
        .sections
        .iter()
        .partition(|section| section.weight == Weight::Answer);
    for section in answers {
        line_of(&mut out, format!("\n#### {}", escape(&section.title)));
        write_blocks(&mut out, section);
    }
    for section in others {
        if !section.blocks.iter().all(is_chart) {
            write_folded(&mut out, section);
        }
    }
    let chart_titles = document.titles(is_chart);
    let charts = if chart_titles.is_empty() {
        String::new()
    } else {
        format!("<br>Charts with `--format html`: {}.", escape(&chart_titles))
    };
    let origin = escape(&document.origin);
    line_of(&mut out, format!("\n<sub>{origin} Made by lsp-soak.{charts}</sub>"));
    clean_lines(&out)
}

fn is_chart(block: &Block) -> bool {
    matches!(block, Block::Timeline(_) | Block::Charts { .. })
}

fn write_folded(out: &mut String, section: &Section) {
    line_of(
        out,
        format!("\n<details><summary>{}</summary>", escape(&section.caption())),
    );
    write_blocks(out, section);
    out.push_str("\n</details>\n");
}

/// The blocks of a section, then its definitions in small print.
fn write_blocks(out: &mut String, section: &Section) {
    let mut small: Vec<String> = Vec::new();
    let mut definitions: Vec<String> = Vec::new();
    if section.weight == Weight::Answer && !section.note.is_empty() {
        small.push(section.note.clone());
    }
    let mut follows_table = false;
    for block in &section.blocks {
        match block {
            Block::Sentence(sentence) if sentence.weight == Weight::Definition => {
                definitions.push(sentence.text.clone());
                continue;
            }
            Block::Sentence(sentence) => {
                // Some renderers take a list that follows a table at once for a row of it.
                if follows_table {
                    out.push('\n');
                }
                write_sentence(out, sentence);
            }
            Block::Facts { caption, facts } => {
                if *caption == section.title {
                    out.push('\n');
                } else {
                    line_of(out, format!("\n{}:\n", escape(caption)));
                }
                for (name, text) in facts {
                    line_of(out, format!("- {}: {}", escape(name), prose(text)));
                }
            }
            Block::Table { caption, columns } => {
                if let Some(caption) = caption {
                    line_of(out, format!("\n{}:", escape(caption)));
                }
                out.push('\n');
                let (short, more) = shortened(columns);
                write_table(out, &short);
                small.extend(rows_left_out(more));
            }
            Block::Matrix(matrix) => {
                out.push('\n');
                write_table(out, &matrix.columns(|_, cell| matrix_cell(cell)));
            }
            Block::Timeline(_) | Block::Charts { .. } => {}
            Block::Code { language, title, text } => {
                if let Some(title) = title {
                    line_of(out, format!("\n{}:", escape(title)));
                }
                out.push('\n');
                write_code(out, language, text);
            }
            Block::Folded(section) => write_folded(out, section),
        }
        follows_table = matches!(block, Block::Table { .. } | Block::Matrix(_));
    }
    small.append(&mut definitions);
    if !small.is_empty() {
        let small: Vec<String> = small.iter().map(|text| prose(text)).collect();
        line_of(out, format!("\n<sub>{}</sub>", small.join("<br>")));
    }
}

fn write_sentence(out: &mut String, sentence: &Sentence) {
    let text = prose(&clean(&sentence.text));
    let text = match sentence.mark {
        "" => text,
        mark => format!("{mark}: {text}"),
    };
    match sentence.tone {
        Tone::Bad => line_of(out, format!("- **{text}**")),
        Tone::Plain | Tone::Strong | Tone::Quiet | Tone::Good | Tone::Warning => line_of(out, format!("- {text}")),
    }
    if !sentence.details.is_empty() {
        let lines: Vec<String> = sentence.details.iter().map(|line| cut(&clean(line), WIDEST)).collect();
        out.push('\n');
        write_code(out, "text", &lines.join("\n"));
        out.push('\n');
    }
}

/// `361.1 (355.0–367.2) ▴, +4.1 to +5.9 %`.
fn matrix_cell(cell: &MatrixCell) -> String {
    let mut text = cell.median.clone();
    if !cell.interval.is_empty() {
        text.push_str(&format!(" ({})", cell.interval));
    }
    if let Some(end) = cell.end {
        text.push_str(&format!(" {end}"));
    }
    if let Some(difference) = &cell.difference {
        text.push_str(&format!(", {}", difference.range));
        if let Some(spread) = &difference.by_machine {
            text.push_str(&format!(", by machine {spread}"));
        }
    }
    text
}

/// A table with text columns aligned left.
fn write_table(out: &mut String, columns: &[Column]) {
    let names: Vec<String> = columns.iter().map(|column| escape(&column.name())).collect();
    write_row(out, &names);
    let sides: String = columns
        .iter()
        .map(|column| if column.head().2 { "---|" } else { "--:|" })
        .collect();
    line_of(out, format!("|{sides}"));
    for row in 0..columns.first().map_or(0, |first| first.cells().len()) {
        let mut cells = Vec::new();
        for column in columns {
            let text = escape(column.cells()[row].full_text().trim());
            // A column without a name holds the result of its row.
            let is_result = column.name().is_empty() && !text.is_empty();
            cells.push(if is_result { format!("**{text}**") } else { text });
        }
        write_row(out, &cells);
    }
}

fn write_row(out: &mut String, cells: &[String]) {
    line_of(out, format!("| {} |", cells.join(" | ")));
}

/// A code fence longer than any run of backticks in the text.
fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(3.max(longest + 1))
}

/// A code block that its text cannot close.
fn write_code(out: &mut String, language: &str, text: &str) {
    let fence = fence(text);
    line_of(out, format!("{fence}{language}"));
    out.push_str(text.trim_end_matches('\n'));
    line_of(out, format!("\n{fence}"));
}

/// A sentence with backticks as code.
fn prose(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    // An odd number of backticks marks no code.
    if parts.len().is_multiple_of(2) {
        return escape(text);
    }
    let mut prose = String::new();
    for (place, part) in parts.iter().enumerate() {
        let is_code = place % 2 == 1;
        prose.push_str(&if is_code && part.trim().is_empty() {
            escape(&format!("`{part}`"))
        } else if is_code {
            format!("`{}`", part.replace(is_hidden, " "))
        } else {
            escape(part)
        });
    }
    prose
}

fn escape(text: &str) -> String {
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
