//! What reports of one run and of several have in common.

use maud::{Markup, html};

use crate::record::Header;
use crate::report::reproduce;
use crate::report::text::clean;

use super::data::{self, Timeline};

/// Colours and dashes that tell servers apart; more servers than these begin anew.
pub const COLORS: usize = 7;

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

/// The head of a page.
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
