//! What reports of one run and of several have in common.

use maud::{Markup, html};

use crate::record::Header;
use crate::report::reproduce;
use crate::text::clean;

use super::data::{self, Timeline};

/// Colours, and as many dashes, that tell servers apart.
const COLORS: usize = 7;

/// Which servers of a page are drawn strongly: the first ones, where there are too many to tell all apart at a glance.
#[derive(Clone, Copy, Debug)]
pub struct Keys {
    strong: usize,
}

impl Keys {
    pub const ALIKE: Keys = Keys { strong: usize::MAX };

    /// The first so many, each in a colour of its own, and the rest near grey.
    pub fn of_first(strong: usize) -> Keys {
        Keys {
            strong: strong.min(COLORS),
        }
    }

    /// Whether a server is one of the rest.
    pub fn is_rest(self, place: usize) -> bool {
        place >= self.strong
    }

    /// The classes of the server at a place.
    pub fn class(self, place: usize) -> String {
        let rest = if self.is_rest(place) { " rest" } else { "" };
        class(place) + rest
    }
}

/// The classes that give a server its colour and its dash. Where colours begin anew each has the next dash, so that of 49
/// servers no two are drawn alike.
pub fn class(place: usize) -> String {
    match place / COLORS {
        0 => format!("s{place}"),
        again => format!("s{} d{}", place % COLORS, (place + again) % COLORS),
    }
}

/// A section under a heading, which is named after its place in the page.
pub fn section(id: &str, title: &str, body: &Markup) -> Markup {
    html! {
        section id=(id) aria-labelledby={ (id) "-title" } {
            h2 id={ (id) "-title" } { (clean(title)) }
            (body)
        }
    }
}

/// What is too long to be read by everybody.
pub fn folded(title: &str, body: &Markup) -> Markup {
    html! { details { summary { (clean(title)) } (body) } }
}

pub fn top(title: &str, under: &str) -> Markup {
    html! {
        header {
            div.bar {
                p.brand { "lsp-soak" }
                button type="button" data-theme="" hidden { "Dark" }
            }
            h1 { (clean(title)) }
            p.quiet { (clean(under)) }
        }
    }
}

/// The chart with what belongs to it. Without a script, the numbers are in the tables.
pub fn timeline(id: &str, timeline: Option<&Timeline>) -> Markup {
    let Some(timeline) = timeline else {
        return html! {};
    };
    let body = html! {
        div.chart {
            noscript { p { "The timeline needs JavaScript, which is part of this file. Every figure is in the tables." } }
            (data::embed(timeline))
        }
    };
    section(&format!("{id}timeline"), "Timeline", &body)
}

/// Sentences, one below the other, each with how much it matters.
pub fn sentences<'t>(sentences: impl Iterator<Item = (&'t str, String)>) -> Markup {
    let sentences: Vec<(&str, String)> = sentences.collect();
    html! {
        @if !sentences.is_empty() {
            ul.sentences {
                @for (tone, text) in &sentences { li class=(tone) { (mark(tone)) (prose(text)) } }
            }
        }
    }
}

/// A sentence in which backticks set names apart, as they do everywhere in messages.
pub fn prose(text: &str) -> Markup {
    let text = clean(text);
    let parts: Vec<&str> = text.split('`').collect();
    // An odd number of them sets nothing apart.
    let even = parts.len() % 2 == 1;
    html! {
        @if even {
            @for (place, part) in parts.iter().enumerate() {
                @if place % 2 == 1 { code { (part) } } @else { (part) }
            }
        } @else { (text) }
    }
}

/// What stands before a sentence that matters, so that it is not told by colour alone.
fn mark(tone: &str) -> &'static str {
    match tone {
        "warning" => "Warning: ",
        "bad" => "Important: ",
        _ => "",
    }
}

/// The command that makes such a report again.
pub fn reproduce(headers: &[&Header]) -> Markup {
    let commands = reproduce::commands(headers);
    let body = html! {
        @if commands.is_empty() { p { "The records do not say by which command they were made." } }
        @for command in &commands {
            div.copyable { pre tabindex="0" { code { (clean(command)) } } }
        }
        @for note in reproduce::notes(headers) { p.quiet { (clean(&note)) } }
    };
    body
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_of_49_servers_have_one_colour_and_one_dash() {
        let drawn = |place: usize| {
            let class = class(place);
            let (color, dash) = class.split_once(' ').unwrap_or((&class, &class));
            (color.to_owned(), dash.replace('s', "d"))
        };
        let all: BTreeSet<(String, String)> = (0..49).map(drawn).collect();
        assert_eq!(all.len(), 49);
        assert_eq!([class(6), class(7), class(13)], ["s6", "s0 d1", "s6 d0"]);
        assert_eq!(Keys::of_first(2).class(2), "s2 rest");
        assert_eq!(Keys::ALIKE.class(12), class(12));
    }
}
