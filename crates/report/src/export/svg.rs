//! The timeline as a standalone picture, for a README or a pull request: static, without external files, light or
//! dark by the reader's preference.
//!
//! As in HTML, foreign text enters only escaped by `maud`.

mod panel;
mod plain;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use maud::{Markup, PreEscaped, html};

use crate::comparison::document::{played, title};
use crate::comparison::{growth, one_server, released, words};
use crate::document::page::PALETTE;
use crate::export::svg::panel::Panel;
use crate::pictures::Named;
use crate::run::growth_sentences;
use crate::verdict::{findings, headline, relabelled_runs, side_by_side};
use analysis::compare::{Comparison, Played, Scenarios, Target};
use analysis::gate::{Judgement, Sides};
use analysis::summary::{Summary, why_unmeasured, without_invalid_figures};
use base::text::{clean, clean_lines, wrap};

/// Width of the picture; a unit is a pixel at full size.
const WIDTH: f64 = 960.0;

/// Text columns that fit the width.
const COLUMNS: usize = 140;

const SENTENCES: usize = 3;

const STYLE: &str = include_str!("svg/timeline.css");

/// The timeline of one run. `record` is its name.
pub fn run(summary: &Summary, record: &str) -> String {
    let header = &summary.header;
    let sentences = match why_unmeasured(header) {
        Some(why) => vec![why],
        None => {
            let grows = growth_sentences(summary).into_iter().map(|sentence| sentence.text);
            grows.chain(released::of_run(summary)).collect()
        }
    };
    let summary = &*without_invalid_figures(summary);
    let panel = Panel {
        heading: None,
        sentences,
        servers: vec![(&header.server.label, vec![(record, summary)])],
    };
    picture(
        &format!("{} on {}", header.scenario.name, header.server.label),
        &[panel],
    )
}

/// One chart per scenario and target, with the servers side by side.
pub fn comparison(scenarios: &Scenarios, runs: &[Played]) -> String {
    picture(&title(scenarios), &panels(scenarios, runs))
}

pub fn gate(judgement: &Judgement, sides: &Sides) -> String {
    let runs = relabelled_runs(sides);
    picture(
        &headline(judgement, &findings(judgement)),
        &panels(&side_by_side(&runs), &runs),
    )
}

fn panels<'p>(scenarios: &'p Scenarios, runs: &'p [Played]) -> Vec<Panel<'p>> {
    let by_record: BTreeMap<&str, &Summary> = runs.iter().map(|run| (run.record.as_str(), &*run.summary)).collect();
    let all: Vec<&Target> = scenarios.values().flatten().collect();
    let mut panels = Vec::new();
    for target in &all {
        let comparison = &target.comparison;
        let mut servers: Vec<(&str, Vec<Named>)> = Vec::new();
        for side in &comparison.sides {
            servers.push((&side.label, played(&side.runs, &by_record)));
        }
        let heading = if all.len() > 1 {
            Some(format!("{} on {}", comparison.scenario, target.name()))
        } else {
            None
        };
        panels.push(Panel {
            heading,
            sentences: conclusions(comparison),
            servers,
        });
    }
    panels
}

/// Sentences on growth; without any, how each server differs from the baseline, or the memory of the only server.
fn conclusions(comparison: &Comparison) -> Vec<String> {
    let grown = growth::verdict(comparison);
    if !grown.is_empty() {
        return grown;
    }
    let others = 1..comparison.sides.len();
    let sentences = others.filter_map(|place| words::verdict(comparison, place));
    one_server::memory_of_only_server(comparison)
        .into_iter()
        .chain(sentences)
        .collect()
}

fn picture(title: &str, panels: &[Panel]) -> String {
    let title = clean(title);
    let mut heading = wrap(&title, COLUMNS * 2 / 3);
    heading.truncate(2);
    let mut top = 16.0 + 24.0 * heading.len() as f64;
    let mut charts: Vec<Markup> = Vec::new();
    for (place, panel) in panels.iter().enumerate() {
        let (chart, height) = panel.draw(place);
        charts.push(html! { g transform={ "translate(0 " (top) ")" } { (chart) } });
        top += height;
    }
    let sentences: Vec<String> = panels.iter().flat_map(Panel::sentences).collect();
    let height = top + 24.0;
    let body = html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (WIDTH) " " (height) } width=(WIDTH) height=(height) font-family=(plain::TEXT.0) font-size=(plain::TEXT.1) fill=(plain::color("--text")) role="img" aria-labelledby="title desc" {
            title id="title" { (title) }
            desc id="desc" { (clean(&format!("Private memory over time. {}", sentences.join(". ")))) }
            style { (PreEscaped(PALETTE)) (PreEscaped(STYLE)) }
            rect.ground width=(WIDTH) height=(height) rx="8" {}
            @for (row, line) in heading.iter().enumerate() {
                text.title x="20" y=(30.0 + 24.0 * row as f64) { (line) }
            }
            @for chart in &charts { (chart) }
            text.tick.end x=(WIDTH - 20.0) y=(height - 10.0) { "lsp-soak " (env!("CARGO_PKG_VERSION")) }
        }
    };
    format!("{}\n", clean_lines(&plain::painted(&body.into_string())))
}
