//! Which allocator each server has, and how that is known.

use maud::{Markup, html};

use crate::record::{AllocatorFacts, ServerFacts};
use crate::report::allocator::{self, headline};
use crate::units;

use super::{parts, tables};

/// A section with a row for each server, and what was seen of each folded beneath it.
pub fn draw(id: &str, servers: &[&ServerFacts]) -> Markup {
    let known: Vec<(&ServerFacts, &AllocatorFacts)> = servers
        .iter()
        .filter_map(|server| Some((*server, server.allocator.as_ref()?)))
        .collect();
    if known.is_empty() {
        return html! {};
    }
    let heads = ["server", "allocator", "version", "reads", "built with", "beside it"].map(str::to_owned);
    let rows = known.iter().map(|(server, facts)| {
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| units::UNKNOWN.to_owned());
        let cells = vec![
            headline(facts),
            units::or_unknown(allocator::version(server, facts), |version| version),
            text(&facts.variable),
            text(&facts.baked),
            facts.beside.clone().unwrap_or_default(),
        ];
        (server.label.clone(), cells)
    });
    let rows: Vec<(String, Vec<String>)> = rows.collect();
    let body = html! {
        (tables::of_texts("Allocators, and how sure that is", &heads, &rows))
        @for (server, facts) in &known { (evidence(server, facts)) }
    };
    parts::section(&format!("{id}allocators"), "Allocators", &body)
}

fn evidence(server: &ServerFacts, facts: &AllocatorFacts) -> Markup {
    let (told, options) = (allocator::evidence(server, facts), allocator::options(facts));
    if told.is_empty() && options.is_empty() {
        return html! {};
    }
    let title = format!("How that is known of {}", server.label);
    let body = html! {
        @if !told.is_empty() { (tables::of_facts(&format!("Settings and evidence of {}", server.label), told.into_iter())) }
        @if !options.is_empty() { (tables::of_facts(&format!("Options in force in {}", server.label), options.into_iter())) }
    };
    parts::folded(&title, &body)
}
