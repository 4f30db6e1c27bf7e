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
    sentences(&mut out, document.verdict.iter());
    let is_answer = |section: &&Section| section.weight == Weight::Answer;
    let (answers, others): (Vec<&Section>, Vec<&Section>) = document.sections.iter().partition(is_answer);
    for section in answers {
        line_of(&mut out, format!("\n#### {}", escape(&section.title)));
        blocks(&mut out, section);
    }
    let has_text = |section: &&Section| !section.blocks.iter().all(is_chart);
    others
        .into_iter()
        .filter(has_text)
        .for_each(|section| folded(&mut out, section));
    let charts = match document.titles(is_chart) {
        none if none.is_empty() => none,
        titles => format!("<br>Charts with `--format html`: {}.", escape(&titles)),
    };
    let origin = escape(&document.origin);
    line_of(&mut out, format!("\n<sub>{origin} Made by lsp-soak.{charts}</sub>"));
    clean_lines(&out)
}

fn is_chart(block: &Block) -> bool {
    matches!(block, Block::Timeline(_) | Block::Charts { .. })
}

fn folded(out: &mut String, section: &Section) {
    line_of(
        out,
        format!("\n<details><summary>{}</summary>", escape(&section.caption())),
    );
    blocks(out, section);
    out.push_str("\n</details>\n");
}

/// The blocks of a section, then its definitions in small print.
fn blocks(out: &mut String, section: &Section) {
    let mut small: Vec<String> = Vec::new();
    if section.weight == Weight::Answer {
        small.extend((!section.note.is_empty()).then(|| section.note.clone()));
    }
    let is_small = |block: &&Block| matches!(block, Block::Sentence(one) if one.weight == Weight::Definition);
    let (definitions, others): (Vec<&Block>, Vec<&Block>) = section.blocks.iter().partition(is_small);
    for block in others {
        match block {
            Block::Sentence(sentence) => sentences(out, std::iter::once(sentence)),
            Block::Facts { caption, facts } => {
                match *caption == section.title {
                    true => out.push('\n'),
                    false => line_of(out, format!("\n{}:\n", escape(caption))),
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
                table(out, &short);
                small.extend(rows_left_out(more));
            }
            Block::Matrix(matrix) => {
                out.push('\n');
                table(out, &matrix.columns(|_, cell| text_of(cell)));
            }
            Block::Timeline(_) | Block::Charts { .. } => {}
            Block::Code { language, title, text } => {
                if let Some(title) = title {
                    line_of(out, format!("\n{}:", escape(title)));
                }
                out.push('\n');
                fenced(out, language, text);
            }
            Block::Folded(section) => folded(out, section),
        }
    }
    small.extend(definitions.into_iter().filter_map(|block| match block {
        Block::Sentence(sentence) => Some(sentence.text.clone()),
        _ => None,
    }));
    if !small.is_empty() {
        let small: Vec<String> = small.iter().map(|text| prose(text)).collect();
        line_of(out, format!("\n<sub>{}</sub>", small.join("<br>")));
    }
}

fn sentences<'s>(out: &mut String, sentences: impl Iterator<Item = &'s Sentence>) {
    for sentence in sentences {
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
            fenced(out, "text", &lines.join("\n"));
            out.push('\n');
        }
    }
}

/// `361.1 (355.0–367.2) ▴, +4.1 to +5.9 %`.
fn text_of(cell: &MatrixCell) -> String {
    let mut text = cell.median.clone();
    if !cell.interval.is_empty() {
        text.push_str(&format!(" ({})", cell.interval));
    }
    text.extend(cell.end.map(|end| format!(" {end}")));
    if let Some(difference) = &cell.difference {
        text.push_str(&format!(", {}", difference.range));
        text.extend(
            difference
                .by_machine
                .as_ref()
                .map(|spread| format!(", by machine {spread}")),
        );
    }
    text
}

/// A table with text columns aligned left.
fn table(out: &mut String, columns: &[Column]) {
    let row = |out: &mut String, cells: Vec<String>| line_of(out, format!("| {} |", cells.join(" | ")));
    row(out, columns.iter().map(|column| escape(&column.name())).collect());
    let sides: String = columns
        .iter()
        .map(|column| if column.head().2 { "---|" } else { "--:|" })
        .collect();
    line_of(out, format!("|{sides}"));
    for number in 0..columns.first().map_or(0, |first| first.cells().len()) {
        let cells = columns.iter().map(|column| {
            let text = escape(column.cells()[number].whole().trim());
            // A column without a name holds the result of its row.
            match column.name().is_empty() && !text.is_empty() {
                true => format!("**{text}**"),
                false => text,
            }
        });
        row(out, cells.collect());
    }
}

/// A code fence longer than any run of backticks in the text.
fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(3.max(longest + 1))
}

/// A code block that its text cannot close.
fn fenced(out: &mut String, language: &str, text: &str) {
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
    let parts = parts.iter().enumerate().map(|(place, part)| match place % 2 {
        1 if part.trim().is_empty() => escape(&format!("`{part}`")),
        1 => format!("`{}`", part.replace(is_hidden, " ")),
        _ => escape(part),
    });
    parts.collect()
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
