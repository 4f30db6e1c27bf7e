//! Renders a document as one HTML file. It loads nothing, and its own policy forbids that.
//!
//! Foreign text (from a server, a path, a label or a scenario) reaches the page only escaped by `maud`, or as numbers
//! in a picture.

mod shell;

use maud::{Markup, html};

use crate::charts::figure::figure;
use base::text::table::Column;
use base::text::{Tone, clean, clean_lines, width};

use super::matrix::{HOLE, LEAST};
use super::{Block, Difference, Document, Matrix, MatrixCell, Section, Sentence, Weight};

pub use shell::PALETTE;

/// Colours, and dashes, that distinguish servers.
const COLORS: usize = 7;

/// Servers that fit side by side; more servers get a row each.
const BESIDE: usize = 6;

pub fn render(document: &Document) -> String {
    let mut answers: Vec<&Sentence> = document.headline.iter().collect();
    let mut others: Vec<Block> = Vec::new();
    for sentence in &document.verdict {
        if sentence.weight == Weight::Answer {
            answers.push(sentence);
        } else {
            others.push(Block::Sentence(sentence.clone()));
        }
    }
    // The order: answers, other observations, then their evidence.
    let answering = document
        .sections
        .iter()
        .take_while(|section| section.weight == Weight::Answer);
    let (first, then) = document.sections.split_at(answering.count());
    let body = html! {
        header {
            div.bar {
                p.brand { "lsp-soak" }
                button type="button" data-theme="" hidden { "Dark" }
            }
            h1 { (clean(&document.title)) }
            p.quiet { (clean(&document.origin)) }
        }
        main {
            @if !answers.is_empty() { div.verdict {
                @for (place, sentence) in answers.iter().enumerate() { (verdict_sentence(place, sentence)) }
            } }
            @for section in first { (section_with_heading(section)) }
            @if !others.is_empty() { section { (sentence_list(&others)) } }
            @for section in then { (section_with_heading(section)) }
        }
    };
    shell::document(&document.title, &body)
}

/// A sentence of the verdict; the first is the largest.
fn verdict_sentence(place: usize, sentence: &Sentence) -> Markup {
    let size = if place == 0 { "say ending" } else { "more" };
    html! {
        p class={ (size) " " (tone(sentence.tone)) } { (marked_text(sentence)) (details(sentence)) }
    }
}

fn section_with_heading(section: &Section) -> Markup {
    let id = &section.anchor;
    html! {
        section id=(id) aria-labelledby={ (id) "-title" } {
            h2 id={ (id) "-title" } { (clean(&section.title)) }
            @match section.weight {
                Weight::Answer | Weight::Evidence => (blocks(section)),
                Weight::Definition => details { summary { (clean(&section.caption())) } (blocks(section)) },
            }
        }
    }
}

fn blocks(section: &Section) -> Markup {
    let has_pictures = section
        .blocks
        .iter()
        .any(|block| matches!(block, Block::Timeline(_) | Block::Charts { .. }));
    // Adjacent sentences form one list.
    let groups = section.blocks.chunk_by(|a, b| is_listed(a) && is_listed(b));
    html! {
        @for group in groups {
            @if is_listed(&group[0]) { (sentence_list(group)) } @else {
                @for block in group { (block_markup(section, block, has_pictures)) }
            }
        }
    }
}

fn is_listed(block: &Block) -> bool {
    matches!(block, Block::Sentence(sentence) if sentence.weight < Weight::Definition)
}

fn sentence_list(sentences: &[Block]) -> Markup {
    html! {
        ul.sentences {
            @for block in sentences { @if let Block::Sentence(sentence) = block {
                li class=(tone(sentence.tone)) { (marked_text(sentence)) (details(sentence)) }
            } }
        }
    }
}

fn block_markup(section: &Section, block: &Block, has_pictures: bool) -> Markup {
    match block {
        Block::Sentence(sentence) => html! { p.quiet { (prose(&sentence.text)) } },
        Block::Facts { caption, facts } => fact_table(caption, facts),
        Block::Table { caption, columns } => {
            let caption = caption.clone().unwrap_or_else(|| section.caption());
            let kept: Vec<&Column> = columns
                .iter()
                .filter(|column| !(has_pictures && column.is_sketch()))
                .collect();
            table(&caption, &kept)
        }
        Block::Matrix(matrix) if section.note.is_empty() => matrix_table(matrix, &matrix.caption),
        // The note explains the signs.
        Block::Matrix(matrix) => matrix_table(matrix, &section.caption()),
        Block::Timeline(timeline) => timeline.embed(),
        Block::Charts { legend, class, charts } => html! {
            p.quiet { (legend) }
            div class=(class) { @for chart in charts { (figure(chart)) } }
        },
        Block::Code { title, text, .. } => html! {
            @if let Some(title) = title { p { (prose(title)) ":" } }
            div.copyable { pre tabindex="0" { code { (clean_lines(text.trim_end_matches('\n'))) } } }
        },
        Block::Folded(section) => html! { details { summary { (clean(&section.caption())) } (blocks(section)) } },
    }
}

/// A sentence after its mark.
fn marked_text(sentence: &Sentence) -> Markup {
    let mut letters = sentence.mark.chars();
    let mark = letters
        .next()
        .map(|first| format!("{}{}: ", first.to_uppercase(), letters.as_str()));
    html! { (mark.unwrap_or_default()) (prose(&sentence.text)) }
}

fn details(sentence: &Sentence) -> Markup {
    html! {
        @if !sentence.details.is_empty() {
            pre tabindex="0" { @for line in &sentence.details { (clean(line)) "\n" } }
        }
    }
}

/// A sentence with backticks as code.
pub fn prose(text: &str) -> Markup {
    let text = clean(text);
    let parts: Vec<&str> = text.split('`').collect();
    // An odd number of backticks marks no code.
    let even = parts.len() % 2 == 1;
    html! {
        @if even {
            @for (place, part) in parts.iter().enumerate() {
                @if place % 2 == 1 { code { (part) } } @else { (part) }
            }
        } @else { (text) }
    }
}

fn tone(tone: Tone) -> &'static str {
    tone.into()
}

/// A table that the script gives copy buttons.
fn copyable(caption: &str, table: &Markup) -> Markup {
    html! {
        div.copyable {
            // A scrolling region must be reachable by keyboard.
            div.scroll tabindex="0" role="region" aria-label=(clean(caption)) { (table) }
        }
    }
}

fn table(caption: &str, columns: &[&Column]) -> Markup {
    let rows = columns.first().map_or(0, |first| first.cells().len());
    // Columns that fit into 1280 pixels in small letters only.
    const DENSE: usize = 12;
    let density = if columns.len() >= DENSE { Some("dense") } else { None };
    let table = html! {
        table class=[density] {
            caption { (clean(caption)) }
            thead { tr { @for column in columns { th scope="col" class=(alignment(column)) { (column.name()) } } } }
            tbody {
                @for row in 0..rows { tr {
                    @for (place, column) in columns.iter().enumerate() {
                        @let cell = &column.cells()[row];
                        @let class = format!("{} {}", alignment(column), tone(cell.tone));
                        @if place == 0 { th scope="row" class=(class) { (cell.full_text()) } }
                        @else { td class=(class) { (unbroken_value(&cell.full_text())) } }
                    }
                } }
            }
        }
    };
    copyable(caption, &table)
}

/// The class that aligns a column.
fn alignment(column: &Column) -> &'static str {
    if column.head().2 { "text" } else { "number" }
}

fn fact_table(caption: &str, facts: &[(String, String)]) -> Markup {
    let table = html! {
        table.facts {
            caption { (clean(caption)) }
            tbody { @for (name, text) in facts { tr {
                th scope="row" class="text" { (clean(name)) }
                td class="text" { (clean(text)) }
            } } }
        }
    };
    copyable(caption, &table)
}

/// A value and its bracketed part; each breaks to the next line as a whole.
fn unbroken_value(text: &str) -> Markup {
    const LONGEST: usize = 32;
    let mut parts = text.split(" (");
    let first = parts.next().unwrap_or_default();
    let parts: Vec<&str> = parts.collect();
    let is_long = parts.iter().chain([&first]).any(|part| width(part) > LONGEST);
    if is_long || !text.contains(' ') {
        return html! { (text) };
    }
    html! {
        span class=(whole_part(first)) { (first) }
        @for part in parts { " " span class=(whole_part(part)) { "(" (part) } }
    }
}

/// The class of an unbroken part. A short part stays whole even on a narrow screen.
fn whole_part(part: &str) -> &'static str {
    const SHORT: usize = 9;
    if width(part) < SHORT { "whole short" } else { "whole" }
}

/// A row per place and a column per server, or the other way round for many servers.
fn matrix_table(matrix: &Matrix, caption: &str) -> Markup {
    let servers = 0..matrix.heads.len();
    let keys = Keys::of_first(matrix.colored);
    let is_turned = matrix.heads.len() > BESIDE.max(matrix.rows.len());
    let table = html! {
        table class=(if is_turned { "figures" } else { "figures beside" }) {
            caption { (clean(caption)) }
            @if is_turned {
                thead { tr {
                    th scope="col" class="text" { "server" }
                    @for row in &matrix.rows { th scope="col" class="number" { (clean(format!("{} {}", matrix.first, row.place).trim())) } }
                } }
                tbody { @for server in servers { tr {
                    th scope="row" class="text" { (server_head(matrix, server)) }
                    @for row in &matrix.rows { td class="number" { (matrix_value(&row.cells[server], server)) } }
                } } }
            } @else {
                thead { tr {
                    th scope="col" class="text" { (matrix.first) }
                    @for server in servers { th scope="col" class="number" { (server_head(matrix, server)) } }
                } }
                tbody { @for row in &matrix.rows { tr {
                    th scope="row" class="text" { (clean(&row.place)) }
                    // On a phone the servers are listed below each other, each with its name.
                    @for (server, cell) in row.cells.iter().enumerate() {
                        td class={ "number " (keys.class(server)) } data-head=(server_name(matrix, server)) { (matrix_value(cell, server)) }
                    }
                } } }
            }
        }
    };
    copyable(caption, &table)
}

fn server_name(matrix: &Matrix, server: usize) -> String {
    let mut name = clean(&matrix.heads[server]);
    if is_baseline(matrix, server) {
        name.push_str(" (baseline)");
    }
    name
}

/// True for the first of several servers.
fn is_baseline(matrix: &Matrix, server: usize) -> bool {
    server == 0 && matrix.heads.len() > 1
}

fn server_head(matrix: &Matrix, server: usize) -> Markup {
    let keys = Keys::of_first(matrix.colored);
    html! {
        span class={ "key " (keys.class(server)) } aria-hidden="true" {}
        (clean(&matrix.heads[server]))
        @if is_baseline(matrix, server) { " " span.quiet { "(baseline)" } }
    }
}

fn matrix_value(cell: &MatrixCell, server: usize) -> Markup {
    html! {
        strong { (cell.median) }
        @if !cell.interval.is_empty() { " " span.quiet.whole { "(" (cell.interval) ")" } }
        // In words, because arrows here mean differences.
        @match cell.end {
            Some(LEAST) => { " " span.mark.good { (LEAST) " lowest" } }
            Some(most) => { " " span.mark.warning { (most) " highest" } }
            None => {}
        }
        @if let Some(difference) = &cell.difference { @if server > 0 { " " (difference_markup(difference)) } }
    }
}

/// The difference with an arrow, so that colour is not its only sign.
fn difference_markup(difference: &Difference) -> Markup {
    use std::cmp::Ordering;
    let (class, mark) = match difference.direction {
        Some(Ordering::Greater) => ("more", "▲ "),
        Some(Ordering::Less) => ("less", "▼ "),
        Some(Ordering::Equal) | None => ("same", "≈ "),
    };
    let class = if difference.less_is_better { class } else { "same" };
    let mark = if difference.range == HOLE { "" } else { mark };
    html! {
        span class={ "ratio " (class) } {
            (mark) (difference.range)
            @if let Some(spread) = &difference.by_machine { ", by machine " (spread) }
        }
    }
}

/// The servers of a page that have strong colours: the first few of many.
#[derive(Clone, Copy, Debug)]
pub struct Keys {
    strong: usize,
}

impl Keys {
    pub const ALIKE: Keys = Keys { strong: usize::MAX };

    /// The first `strong` servers have their own colours, the rest are near grey.
    pub fn of_first(strong: usize) -> Keys {
        if strong == usize::MAX {
            return Keys::ALIKE;
        }
        Keys {
            strong: strong.min(COLORS),
        }
    }

    pub fn colored(self) -> usize {
        self.strong
    }

    pub fn is_rest(self, place: usize) -> bool {
        place >= self.strong
    }

    pub fn class(self, place: usize) -> String {
        let rest = if self.is_rest(place) { " rest" } else { "" };
        class(place) + rest
    }
}

/// The classes for colour and dash. After all colours the dash moves on, so 49 servers look different.
pub fn class(place: usize) -> String {
    match place / COLORS {
        0 => format!("s{place}"),
        again => format!("s{} d{}", place % COLORS, (place + again) % COLORS),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_of_49_servers_have_one_colour_and_one_dash() {
        let mut looks: BTreeSet<(String, String)> = BTreeSet::new();
        for place in 0..49 {
            let class = class(place);
            let (color, dash) = class.split_once(' ').unwrap_or((&class, &class));
            looks.insert((color.to_owned(), dash.replace('s', "d")));
        }
        assert_eq!(looks.len(), 49);
        assert_eq!([class(6), class(7), class(13)], ["s6", "s0 d1", "s6 d0"]);
        assert_eq!(Keys::of_first(2).class(2), "s2 rest");
        assert_eq!(Keys::ALIKE.class(12), class(12));
    }
}
