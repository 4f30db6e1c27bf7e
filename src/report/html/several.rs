//! Several runs: servers side by side, on one target or on many.

use std::collections::BTreeMap;

use maud::{Markup, html};

use crate::analyse::compare::{Comparison, Figure, Measure, Place, Played, Row, Scenarios, Target};
use crate::analyse::{Histogram, Summary};
use crate::report::comparison::figures::{self, ENDS};
use crate::report::comparison::markdown::FOLDED;
use crate::report::comparison::notes::{self, Weight};
use crate::report::comparison::{across, alone, calls, growth, headline, words};
use crate::report::growth as lines;
use crate::report::lens;
use crate::text::clean;

use super::parts::Keys;
use super::spread::{self, Latencies};
use super::{allocators, data, decays, parts, strips, tables};

/// The whole page: every scenario on every target, the servers of each against the first.
pub fn render(scenarios: &Scenarios, runs: &[Played]) -> String {
    let above = Above {
        title: title(scenarios),
        first: html! {},
        is_compared: true,
        keys: Keys::ALIKE,
    };
    page(scenarios, runs, &above)
}

pub(super) struct Above {
    pub title: String,
    /// What is said before all else.
    pub first: Markup,
    /// Whether it is also said what to conclude of each server against the baseline. Where many were tried to choose one,
    /// as in a sweep, such sentences would answer another question, and some of them by chance.
    pub is_compared: bool,
    /// Which of the servers are drawn strongly.
    pub keys: Keys,
}

/// The same under what stands above it.
pub(super) fn page(scenarios: &Scenarios, runs: &[Played], above: &Above) -> String {
    let by_record: BTreeMap<&str, &Summary> = runs.iter().map(|run| (run.record.as_str(), &run.summary)).collect();
    let headers: Vec<_> = runs.iter().map(|run| &run.summary.header).collect();
    let began = headers.iter().map(|header| header.started.as_str()).min().unwrap_or("");
    let under = format!("{}, from {began}", crate::units::counted(runs.len() as u64, "record"));
    let all: Vec<&Target> = scenarios.values().flatten().collect();
    let body = html! {
        (parts::top(&above.title, &under))
        main {
            (above.first)
            @for targets in scenarios.values().filter(|targets| targets.len() > 1) {
                @if above.is_compared { (conclusions(targets)) }
                (overview(targets))
            }
            @for (place, target) in all.iter().enumerate() {
                @let id = if all.len() > 1 { format!("t{place}-") } else { String::new() };
                @if all.len() > 1 { p.target { (clean(&format!("{} on {}", target.comparison.scenario, target.name()))) } }
                (one(&id, target, &by_record, above))
            }
            (parts::section("facts", "Servers and machines", &fingerprints(&all, &by_record)))
            (parts::section("reproduce", "How to reproduce", &parts::reproduce(&headers)))
        }
    };
    super::page::document(&above.title, &body)
}

pub fn title(scenarios: &Scenarios) -> String {
    let names: Vec<&str> = scenarios.keys().map(String::as_str).collect();
    let mut labels: Vec<&str> = Vec::new();
    for side in scenarios.values().flatten().flat_map(|target| &target.comparison.sides) {
        if !labels.contains(&side.label.as_str()) {
            labels.push(&side.label);
        }
    }
    let servers = match labels.as_slice() {
        [] => "nothing".to_owned(),
        [only] => (*only).to_owned(),
        [baseline, others @ ..] => format!("{} against {baseline}", others.join(", ")),
    };
    format!("{}: {servers}", names.join(", "))
}

/// One comparison: conclusion, short table, chart, everything else.
fn one(id: &str, target: &Target, by_record: &BTreeMap<&str, &Summary>, above: &Above) -> Markup {
    let (comparison, keys) = (&target.comparison, above.keys);
    let servers: Vec<(&str, Vec<data::Named>)> = comparison
        .sides
        .iter()
        .map(|side| (side.label.as_str(), played(&side.runs, by_record)))
        .collect();
    let chart = data::timeline(&servers, keys);
    let firsts: Vec<_> = servers
        .iter()
        .filter_map(|(_, runs)| Some(&runs.first()?.1.header.server))
        .collect();
    let caption = "Private memory at checkpoints, MiB";
    let table = tables::of_figures(caption, "after", comparison, &rows(comparison, Figure::Private), keys);
    html! {
        @if above.is_compared { (verdict(target)) }
        @else if let Some(lens) = lens::words(&target.lens) { p.quiet { (clean(&lens)) } }
        (parts::section(&format!("{id}private"), "Private memory", &html! { (table) p.quiet { (legend(target)) } }))
        (parts::timeline(id, chart.as_ref()))
        (parts::section(&format!("{id}runs"), "Every run", &strips::draw(comparison, keys)))
        (decays::of_comparison(id, comparison, &servers, keys))
        (latency(id, comparison, &servers, keys))
        (work(id, comparison))
        (figures(id, comparison, keys))
        (grown(id, comparison))
        (called(id, comparison))
        (allocators::draw(id, &firsts))
        (warnings(id, comparison))
    }
}

/// The file of a record, and what it says. Directories tell nothing to whom the page is sent.
pub fn played<'r>(runs: &'r [String], by_record: &BTreeMap<&str, &'r Summary>) -> Vec<data::Named<'r>> {
    let named = runs.iter().filter_map(|record| {
        let name = record.rsplit(['/', '\\']).next().unwrap_or(record);
        Some((name, *by_record.get(record.as_str())?))
    });
    named.collect()
}

/// Unequal work first, because it may take the worth from all the rest.
fn verdict(target: &Target) -> Markup {
    let comparison = &target.comparison;
    let baseline = comparison.sides.first().map_or("", |side| side.label.as_str());
    let others = comparison.sides.iter().skip(1);
    let unequal = others.flat_map(|side| notes::work(side, baseline));
    let said = alone::kept(comparison)
        .into_iter()
        .chain(headline::conclusions(comparison))
        .chain(growth::verdict(comparison))
        .chain(calls::verdict(comparison));
    html! {
        div.verdict {
            (parts::sentences(unequal.map(|(weight, text)| (tone(weight), text))))
            @for (place, sentence) in said.enumerate() {
                p class=(if place == 0 { "say" } else { "more" }) { (clean(&sentence)) "." }
            }
            @if let Some(lens) = lens::words(&target.lens) { p.quiet { (clean(&lens)) } }
        }
    }
}

fn tone(weight: Weight) -> &'static str {
    match weight {
        Weight::Warning => "warning",
        Weight::Bad => "bad",
    }
}

fn legend(target: &Target) -> String {
    let sides = &target.comparison.sides;
    let runs: Vec<String> = sides
        .iter()
        .map(|side| format!("{} {}", clean(&side.label), words::played(side)))
        .collect();
    let machines = match target.machines.len() {
        0 | 1 => String::new(),
        machines => format!(" on {machines} machines"),
    };
    let ends = figures::has_ends(&target.comparison.rows).then(|| format!("; least and most of a row, {ENDS}"));
    format!(
        "Medians with their 95 % intervals (* of all runs, which are too few for 95 %), and the 95 % interval of the ratio \
         against the baseline: ▲ more, ▼ less, ≈ not told apart{}. Runs{machines}: {}.",
        ends.unwrap_or_default(),
        runs.join(", ")
    )
}

fn rows(comparison: &Comparison, figure: Figure) -> Vec<&Row> {
    let rows = comparison.rows.iter();
    rows.filter(|row| row.measure.figure == figure).collect()
}

/// A plot for each method that somebody answered, with the medians of the runs' percentiles.
fn latency(id: &str, comparison: &Comparison, servers: &[(&str, Vec<data::Named>)], keys: Keys) -> Markup {
    let medians = |method: &str, figure: Figure, side: usize| {
        let place = Place::Method(method.to_owned());
        let row = comparison.row(&Measure { place, figure })?;
        row.cells.get(side)?.median.map(|median| median.median)
    };
    let plot = |method: &str| {
        let of = servers.iter().enumerate().map(|(place, (label, runs))| {
            let mut histogram = Histogram::default();
            let methods = runs.iter().flat_map(|(_, summary)| &summary.methods);
            for one in methods.filter(|one| one.method == method) {
                histogram.add(&one.distribution);
            }
            Latencies {
                label,
                class: keys.class(place),
                histogram,
                p50: medians(method, Figure::P50, place),
                p95: medians(method, Figure::P95, place),
            }
        });
        spread::plot(method, &of.collect::<Vec<Latencies>>())
    };
    let rows = rows(comparison, Figure::P50);
    let methods = rows.iter().filter_map(|row| match &row.measure.place {
        Place::Method(method) => Some(method.as_str()),
        Place::Phase { .. } | Place::Run => None,
    });
    if rows.is_empty() {
        return html! {};
    }
    let body = html! {
        p.quiet { "All answers of all runs, from sending until the last byte, over powers of ten. The marks are the medians of the runs' medians and, dashed, of their 95th percentiles." }
        div.plots { @for method in methods { (plot(method)) } }
    };
    parts::section(&format!("{id}latency"), "Latency", &body)
}

fn work(id: &str, comparison: &Comparison) -> Markup {
    let [baseline, others @ ..] = comparison.sides.as_slice() else {
        return html! {};
    };
    if others.is_empty() {
        return html! {};
    }
    let body = html! {
        @for side in others {
            @if let Some(unknown) = notes::unknown_work(side, baseline) {
                p { (clean(&format!("{}: {unknown}.", side.label))) }
            } @else if side.work.is_empty() {
                p { (clean(&format!("{} did the same work as {}: as many requests, hits and elements of results.", side.label, baseline.label))) }
            } @else {
                (parts::sentences(notes::work(side, &baseline.label).into_iter().map(|(weight, text)| (tone(weight), text))))
            }
        }
    };
    parts::section(&format!("{id}work"), "Equality of work", &body)
}

fn figures(id: &str, comparison: &Comparison, keys: Keys) -> Markup {
    let tables = FOLDED.iter().filter_map(|(figure, first, caption)| {
        let rows = rows(comparison, *figure);
        let table = (!rows.is_empty()).then(|| tables::of_figures(caption, first, comparison, &rows, keys))?;
        Some(parts::folded(caption, &table))
    });
    let body = html! { @for table in tables { (table) } };
    parts::section(&format!("{id}figures"), "Other figures", &body)
}

fn grown(id: &str, comparison: &Comparison) -> Markup {
    let Some(table) = growth::table(comparison) else {
        return html! {};
    };
    let caption = format!("Growth per round, {}", lines::note());
    parts::section(&format!("{id}growth"), "Growth", &tables::of_columns(&caption, &table))
}

fn called(id: &str, comparison: &Comparison) -> Markup {
    let Some((table, note)) = calls::table(comparison) else {
        return html! {};
    };
    let body = html! { (tables::of_columns("Memory calls and their bytes", &table)) p.quiet { (clean(&note)) } };
    parts::section(&format!("{id}calls"), "System calls", &body)
}

fn warnings(id: &str, comparison: &Comparison) -> Markup {
    let notes = notes::notes(comparison);
    if notes.is_empty() {
        return html! {};
    }
    let body = parts::sentences(notes.into_iter().map(|(weight, text)| (tone(weight), text)));
    parts::section(&format!("{id}warnings"), "Warnings", &body)
}

/// What to conclude on each target, in a sentence each; unequal work first, because it may take the worth from all the rest.
fn conclusions(targets: &[Target]) -> Markup {
    let said = across::conclusions(targets);
    html! {
        div.verdict {
            @for one in &said {
                (parts::sentences(one.unequal.iter().map(|(weight, text)| (tone(*weight), text.clone()))))
                p.say { strong { (clean(&one.system)) ": " } (clean(&one.sentence)) "." }
            }
        }
    }
}

fn overview(targets: &[Target]) -> Markup {
    let scenario = &targets[0].comparison.scenario;
    let steps = across::steps(targets);
    let heads = steps.heads.iter().map(|(system, server)| format!("{system} {server}"));
    let heads: Vec<String> = std::iter::once("step".to_owned()).chain(heads).collect();
    let peaks = across::peaks(targets);
    let servers: Vec<String> = std::iter::once("target".to_owned())
        .chain(peaks.heads.iter().cloned())
        .collect();
    let body = html! {
        (tables::of_texts("Private memory after each step, MiB", &heads, &steps.rows))
        (tables::of_texts("Average resident peak, MiB, against the baseline", &servers, &peaks.rows))
        p.quiet {
            "Medians with their 95 % intervals (* of all runs, which are too few for 95 %). Sizes of different systems are different quantities: only ratios are compared."
            @if let Some(legend) = across::legend(targets) { " " (clean(&legend)) "." }
        }
    };
    parts::section(
        &format!("all-{}", slug(scenario)),
        &format!("{scenario} on all targets"),
        &body,
    )
}

/// A name as part of an address within the page.
fn slug(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect()
}

/// The fingerprint of each server on each target, by its first run.
fn fingerprints(targets: &[&Target], by_record: &BTreeMap<&str, &Summary>) -> Markup {
    let firsts = targets.iter().flat_map(|target| {
        let sides = target.comparison.sides.iter();
        sides.filter_map(|side| Some((*target, side, *by_record.get(side.runs.first()?.as_str())?)))
    });
    html! {
        @for (target, side, first) in firsts {
            @let title = match targets.len() {
                1 => side.label.clone(),
                _ => format!("{} on {}", side.label, target.name()),
            };
            (parts::folded(&title, &tables::fingerprint(&first.header)))
        }
    }
}
