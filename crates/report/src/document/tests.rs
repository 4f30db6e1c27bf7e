//! Every format shows every block of a document.

use base::text::Tone;
use base::text::table::{Table, TableCell};

use super::*;

/// The texts of a document that every format must show.
#[derive(Default)]
struct Texts {
    texts: Vec<String>,
    /// Cells of tables: a narrow terminal hides some and names their columns.
    cells: Vec<String>,
}

impl Texts {
    fn section(&mut self, section: &Section) {
        self.texts.push(section.title.clone());
        for block in &section.blocks {
            self.block(block);
        }
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Sentence(sentence) => self.sentence(sentence),
            Block::Facts { facts, .. } => {
                let facts = facts.iter().flat_map(|(name, text)| [name.clone(), text.clone()]);
                self.texts.extend(facts);
            }
            Block::Table { columns, .. } => {
                let (short, _) = shortened(columns);
                for column in short.iter().filter(|column| !column.is_sketch()) {
                    // A terminal stacks the group name above the column name.
                    let (group, head, _) = column.head();
                    self.texts.extend([group.to_owned(), head.to_owned()]);
                    self.cells.extend(column.cells().iter().map(TableCell::full_text));
                }
            }
            Block::Matrix(matrix) => {
                self.texts.extend(matrix.heads.iter().cloned());
                self.texts.extend(matrix.rows.iter().map(|row| row.place.clone()));
                let cells = matrix.rows.iter().flat_map(|row| &row.cells);
                self.texts.extend(cells.map(|cell| cell.median.clone()));
            }
            // Not every format has pictures, and tables have their numbers.
            Block::Timeline(_) | Block::Charts { .. } => {}
            Block::Code { text, .. } => self.texts.push(text.clone()),
            Block::Folded(section) => self.section(section),
        }
    }

    fn sentence(&mut self, sentence: &Sentence) {
        self.texts.push(sentence.text.clone());
        self.texts.extend(sentence.details.iter().take(3).cloned());
    }
}

/// Only the letters, digits and signs that all formats write alike.
fn bare(text: &str) -> String {
    let text = text
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
        .replace("&quot;", "\"");
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

fn without_tags(page: &str) -> String {
    let body = &page[page.find("<body>").expect("it has one")..page.find("<footer>").expect("it has one")];
    let parts = body
        .split('<')
        .map(|part| part.split_once('>').map_or(part, |(_, text)| text));
    parts.collect()
}

/// Fails if a format lacks a text.
pub fn is_whole(document: &Document) {
    let mut texts = Texts::default();
    texts.texts.push(document.title.clone());
    for sentence in document.headline.iter().chain(&document.verdict) {
        texts.sentence(sentence);
    }
    for section in &document.sections {
        texts.section(section);
    }
    let formats = [
        ("terminal", bare(&terminal::render(document, look(160)))),
        ("markdown", bare(&markdown::render(document))),
        ("page", bare(&without_tags(&page::render(document)))),
    ];
    for (format, shown) in &formats {
        let mut expected: Vec<&String> = texts.texts.iter().collect();
        if *format != "terminal" {
            expected.extend(&texts.cells);
        }
        for text in expected {
            assert!(
                shown.contains(&bare(&base::text::clean_lines(text))),
                "{format} of {} lacks {text:?}",
                document.title
            );
        }
    }
}

pub fn look(columns: usize) -> Look {
    Look {
        columns,
        color: false,
        ascii: false,
        details: true,
    }
}

fn figures() -> Matrix {
    let baseline = MatrixCell {
        median: "1.5".to_owned(),
        interval: "1.0–2.0".to_owned(),
        end: None,
        difference: None,
        values: vec![Some(1.0), None, Some(2.0)],
    };
    let lower = MatrixCell {
        median: "1.2".to_owned(),
        end: Some(LEAST),
        difference: Some(Difference {
            direction: Some(std::cmp::Ordering::Less),
            less_is_better: true,
            range: "−20 to −10 %".to_owned(),
            by_machine: None,
        }),
        ..baseline.clone()
    };
    Matrix {
        crossed: false,
        caption: "Private memory, MiB".to_owned(),
        first: "after".to_owned(),
        heads: vec!["ty".to_owned(), "ty-jemalloc".to_owned()],
        colored: usize::MAX,
        rows: vec![MatrixRow {
            place: "start".to_owned(),
            cells: vec![baseline, lower],
        }],
    }
}

fn sample() -> Document {
    let rows = [("start", "▁▂", "1.0"), ("goto|x", "▂▃", "20.0"), ("decay", "▃▄", "n/a")];
    let columns = Table::new(&rows)
        .text("phase", 0, |row| row.0)
        .sketch("curve", 1, |row| row.1.to_owned())
        .number("peak", 2, |row| row.2)
        .with_group_head("resident")
        .columns();
    let warning = Sentence {
        details: vec!["panicked at `x`".to_owned()],
        ..Sentence::warning("sample.warning", "the server wrote `a|b` <here>")
    };
    let folded = Section::new("", "How that is known", Weight::Definition)
        .with_block(Block::facts("Evidence", [("map", "libc".to_owned())]));
    Document {
        title: "session on ty".to_owned(),
        origin: "run.jsonl.".to_owned(),
        headline: Some(Sentence::answer("sample.headline", Tone::Good, "session passes")),
        verdict: vec![
            Sentence::answer("sample.ending", Tone::Good, "✓ completed after 3 s"),
            Sentence::answer(
                "sample.kept",
                Tone::Plain,
                "ty keeps 20.0 MiB private after goto, which is more than it had before",
            ),
        ],
        sections: vec![
            Section::new("phases", "Phases", Weight::Answer)
                .noted("sizes in MiB")
                .with_block(columns)
                .with_block(Sentence::definition("sample.legend", "peak: the most")),
            Section::new("warnings", "Warnings", Weight::Answer).with_block(warning),
            Section::new("private", "Private memory", Weight::Evidence).with_block(figures()),
            Section::new("facts", "Server", Weight::Evidence)
                .with_block(Block::facts("The run", [("server", "ty 0.0.105".to_owned())]))
                .with_block(folded),
            Section::new("reproduce", "How to reproduce", Weight::Definition).with_block(Block::Code {
                language: "sh",
                title: Some("in a shell".to_owned()),
                text: "lsp-soak run a.toml\n".to_owned(),
            }),
        ],
    }
}

#[test]
fn a_document_in_a_terminal() {
    insta::assert_snapshot!("terminal", terminal::render(&sample(), look(80)));
    let answers = Look {
        details: false,
        ..look(60)
    };
    insta::assert_snapshot!("terminal-answers", terminal::render(&sample(), answers));
}

#[test]
fn a_document_for_a_pull_request() {
    insta::assert_snapshot!("markdown", markdown::render(&sample()));
}

#[test]
fn a_document_on_a_page() {
    let page = page::render(&sample());
    let body = &page[page.find("<body>").unwrap()..page.find("<footer>").unwrap()];
    insta::assert_snapshot!("page", body.replace("><", ">\n<"));
}

#[test]
fn every_block_is_in_every_format() {
    is_whole(&sample());
}

#[test]
fn colour_adds_nothing_but_codes_and_ascii_is_as_wide() {
    let plain_look = look(60);
    let plain = terminal::render(&sample(), plain_look);
    let colored_look = Look {
        color: true,
        ..plain_look
    };
    let colored = terminal::render(&sample(), colored_look);
    assert!(colored.contains('\u{1b}'));
    assert_eq!(
        anstream::adapter::strip_str(&colored).to_string().replace(" \n", "\n"),
        plain
    );
    let ascii_look = Look {
        ascii: true,
        ..plain_look
    };
    let ascii = terminal::render(&sample(), ascii_look);
    assert!(ascii.is_ascii(), "{ascii}");
    assert_eq!(ascii.chars().count(), plain.chars().count());
}
