//! Tables: those of the terminal with all their columns, and those of a comparison with a column for each server.

use maud::{Markup, html};

use crate::analyse::compare::{Cell as Figures, Comparison, Place, Ratio, Row};
use crate::record::Header;
use crate::report::comparison::figures::{self, HOLE};
use crate::report::fingerprint;
use crate::text::table::Column;
use crate::text::{Tone, clean, width};

use super::parts::Keys;

/// A table that a reader can take along: the script adds buttons that copy it.
fn taken_along(caption: &str, table: &Markup) -> Markup {
    html! {
        div.copyable {
            // What scrolls must be reachable by keys.
            div.scroll tabindex="0" role="region" aria-label=(clean(caption)) { (table) }
        }
    }
}

/// The columns of a terminal's table.
pub fn of_columns(caption: &str, columns: &[Column]) -> Markup {
    let rows = columns.first().map_or(0, |first| first.cells().len());
    let side = |left: bool| if left { "text" } else { "number" };
    taken_along(
        caption,
        &html! {
            table {
                caption { (clean(caption)) }
                thead { tr {
                    @for column in columns {
                        @let (of, head, left) = column.head();
                        th scope="col" class=(side(left)) { (joined(of, head)) }
                    }
                } }
                tbody {
                    @for row in 0..rows { tr {
                        @for (place, column) in columns.iter().enumerate() {
                            @let cell = &column.cells()[row];
                            @let class = format!("{} {}", side(column.head().2), tone(cell.tone));
                            @if place == 0 { th scope="row" class=(class) { (cell.whole()) } }
                            @else { td class=(class) { (unbroken(&cell.whole())) } }
                        }
                    } }
                }
            }
        },
    )
}

/// A value with its interval, which goes to the next line as a whole or not at all.
fn unbroken(text: &str) -> Markup {
    const INTERVAL: usize = 32;
    match text.split_once(" (") {
        Some((value, interval)) if width(interval) <= INTERVAL => html! { (value) " " span.whole { "(" (interval) } },
        _ => html! { (text) },
    }
}

/// `private checkpoint`: both lines of a head in one.
fn joined(of: &str, head: &str) -> String {
    [of, head]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<&str>>()
        .join(" ")
}

/// How a tone is called in the style.
pub fn tone(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "plain",
        Tone::Strong => "strong",
        Tone::Quiet => "quiet",
        Tone::Good => "good",
        Tone::Warning => "warning",
        Tone::Bad => "bad",
    }
}

/// Servers that have room side by side; of more each has a row.
const BESIDE: usize = 6;

/// A row for each place and a column for each server, or, where these are many, the other way round: its median with the
/// interval, and the difference beneath.
pub fn of_figures(caption: &str, first: &str, comparison: &Comparison, rows: &[&Row], keys: Keys) -> Markup {
    let sides = || 0..comparison.sides.len();
    let place = |row: &Row| html! { (clean(figures::heading(&row.measure.place))) };
    let is_turned = comparison.sides.len() > BESIDE.max(rows.len());
    let table = match is_turned {
        false => html! {
            thead { tr {
                th scope="col" class="text" { (first) }
                @for side in sides() { th scope="col" class="number" { (head(comparison, side, keys)) } }
            } }
            tbody {
                @for row in rows { tr {
                    th scope="row" class="text" { (place(row)) }
                    @for (side, cell) in row.cells.iter().enumerate() { td class="number" { (of_cell(row, side, cell)) } }
                } }
            }
        },
        true => html! {
            thead { tr {
                th scope="col" class="text" { "server" }
                @for row in rows { th scope="col" class="number" {
                    @if !matches!(row.measure.place, Place::Method(_)) { (first) " " }
                    (place(row))
                } }
            } }
            tbody {
                @for side in sides() { tr {
                    th scope="row" class="text" { (head(comparison, side, keys)) }
                    @for row in rows { td class="number" { (of_cell(row, side, &row.cells[side])) } }
                } }
            }
        },
    };
    taken_along(
        caption,
        &html! { table.figures { caption { (clean(caption)) } (table) } },
    )
}

/// A server's name in its colour.
fn head(comparison: &Comparison, side: usize, keys: Keys) -> Markup {
    html! {
        span class={ "key " (keys.class(side)) } aria-hidden="true" {}
        (clean(&comparison.sides[side].label))
        @if side == 0 && comparison.sides.len() > 1 { " " span.quiet { "(baseline)" } }
    }
}

fn of_cell(row: &Row, side: usize, cell: &Figures) -> Markup {
    let unit = row.measure.figure.unit();
    let interval = figures::interval(cell, unit);
    html! {
        strong { (figures::median(cell, unit)) }
        @if !interval.is_empty() { " " span.quiet { "(" (interval) ")" } }
        // In words: the arrows of differences would be taken for the signs of the terminal.
        @match figures::end_of(row, side) {
            Some(figures::LEAST) => { " " span.mark.good { "least" } }
            Some(_) => { " " span.mark.warning { "most" } }
            None => {}
        }
        @if let Some(ratio) = &cell.ratio {
            " "
            span class={ "ratio " (direction(ratio)) } { (difference(ratio)) }
        }
    }
}

/// The difference with an arrow where there is one, so that it is not told by colour alone.
fn difference(ratio: &Ratio) -> String {
    let mark = match ratio {
        ratio if ratio.low > 1.0 => "▲ ",
        ratio if ratio.high < 1.0 => "▼ ",
        _ => "≈ ",
    };
    let by_machine = figures::spread(ratio).map(|spread| format!(", by machine {spread}"));
    figures::difference(ratio).map_or_else(
        || HOLE.to_owned(),
        |difference| format!("{mark}{difference}{}", by_machine.unwrap_or_default()),
    )
}

fn direction(ratio: &Ratio) -> &'static str {
    match ratio {
        ratio if ratio.low > 1.0 => "more",
        ratio if ratio.high < 1.0 => "less",
        _ => "same",
    }
}

pub fn of_facts<'f>(caption: &str, facts: impl Iterator<Item = (&'f str, String)>) -> Markup {
    taken_along(
        caption,
        &html! {
            table.facts {
                caption { (clean(caption)) }
                tbody {
                    @for (name, text) in facts { tr {
                        th scope="row" class="text" { (clean(name)) }
                        td class="text" { (clean(&text)) }
                    } }
                }
            }
        },
    )
}

/// Everything by which a run can be told from another.
pub fn fingerprint(header: &Header) -> Markup {
    let caption = format!("Fingerprint of {}", header.server.label);
    of_facts(&caption, fingerprint::facts(header).into_iter())
}

pub fn of_texts(caption: &str, heads: &[String], rows: &[(String, Vec<String>)]) -> Markup {
    taken_along(
        caption,
        &html! {
            table {
                caption { (clean(caption)) }
                thead { tr { @for head in heads { th scope="col" class="text" { (clean(head)) } } } }
                tbody {
                    @for (first, cells) in rows { tr {
                        th scope="row" class="text" { (clean(first)) }
                        @for cell in cells { td class="text" { (clean(cell)) } }
                    } }
                }
            }
        },
    )
}
