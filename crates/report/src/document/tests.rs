//! Every format shows every block of a document.

use base::text::Tone;
use base::text::table::Cell;

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
        section.blocks.iter().for_each(|block| self.block(block));
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
                    let (of, head, _) = column.head();
                    self.texts.extend([of.to_owned(), head.to_owned()]);
                    self.cells.extend(column.cells().iter().map(Cell::whole));
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
    let verdict = document.headline.iter().chain(&document.verdict);
    verdict.for_each(|sentence| texts.sentence(sentence));
    document.sections.iter().for_each(|section| texts.section(section));
    let look = Look {
        columns: 160,
        color: false,
        ascii: false,
        details: true,
    };
    let formats = [
        ("terminal", bare(&terminal::render(document, look))),
        ("markdown", bare(&markdown::render(document))),
        ("page", bare(&without_tags(&page::render(document)))),
    ];
    for (format, shown) in &formats {
        let cells = texts.cells.iter().filter(|_| *format != "terminal");
        for text in texts.texts.iter().chain(cells) {
            assert!(
                shown.contains(&bare(&base::text::clean_lines(text))),
                "{format} of {} lacks {text:?}",
                document.title
            );
        }
    }
}

fn figures() -> Matrix {
    let cell = |median: &str, difference: Option<&str>| MatrixCell {
        median: median.to_owned(),
        interval: "1.0–2.0".to_owned(),
        end: difference.map(|_| LEAST),
        difference: difference.map(|range| Difference {
            direction: Some(std::cmp::Ordering::Less),
            less_is_better: true,
            range: range.to_owned(),
            by_machine: None,
        }),
        values: vec![Some(1.0), None, Some(2.0)],
    };
    Matrix {
        crossed: false,
        caption: "Private memory, MiB".to_owned(),
        first: "after".to_owned(),
        heads: vec!["ty".to_owned(), "ty-jemalloc".to_owned()],
        colored: usize::MAX,
        rows: vec![MatrixRow {
            place: "start".to_owned(),
            cells: vec![cell("1.5", None), cell("1.2", Some("−20 to −10 %"))],
        }],
    }
}

fn sample() -> Document {
    let cells = |texts: [&str; 3]| texts.map(Cell::plain).to_vec();
    let columns = vec![
        Column::text("phase", 0, cells(["start", "goto|x", "decay"])),
        Column::text("curve", 1, cells(["▁▂", "▂▃", "▃▄"])).sketched(),
        Column::number("peak", 2, cells(["1.0", "20.0", "n/a"])).group("resident"),
    ];
    let warning = Sentence {
        details: vec!["panicked at `x`".to_owned()],
        ..Sentence::warning("sample.warning", "the server wrote `a|b` <here>")
    };
    let folded = Section::new("", "How that is known", Weight::Definition)
        .with(Block::facts("Evidence", [("map", "libc".to_owned())]));
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
                .with(columns)
                .with(Sentence::definition("sample.legend", "peak: the most")),
            Section::new("warnings", "Warnings", Weight::Answer).with(warning),
            Section::new("private", "Private memory", Weight::Evidence).with(figures()),
            Section::new("facts", "Server", Weight::Evidence)
                .with(Block::facts("The run", [("server", "ty 0.0.105".to_owned())]))
                .with(folded),
            Section::new("reproduce", "How to reproduce", Weight::Definition).with(Block::Code {
                language: "sh",
                title: Some("in a shell".to_owned()),
                text: "lsp-soak run a.toml\n".to_owned(),
            }),
        ],
    }
}

#[test]
fn a_document_in_a_terminal() {
    let look = |columns, details| Look {
        columns,
        color: false,
        ascii: false,
        details,
    };
    insta::assert_snapshot!("terminal", terminal::render(&sample(), look(80, true)));
    insta::assert_snapshot!("terminal-answers", terminal::render(&sample(), look(60, false)));
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
    let look = |color, ascii| Look {
        columns: 60,
        color,
        ascii,
        details: true,
    };
    let plain = terminal::render(&sample(), look(false, false));
    let colored = terminal::render(&sample(), look(true, false));
    assert!(colored.contains('\u{1b}'));
    assert_eq!(
        anstream::adapter::strip_str(&colored).to_string().replace(" \n", "\n"),
        plain
    );
    let ascii = terminal::render(&sample(), look(false, true));
    assert!(ascii.is_ascii(), "{ascii}");
    assert_eq!(ascii.chars().count(), plain.chars().count());
}
