//! The report of several runs: servers side by side, on one target or on many.

use std::collections::BTreeMap;

use crate::charts::Chart;
use crate::comparison::{calls, growth};
use crate::document::page::Keys;
use crate::document::{Block, Document, Matrix, MatrixRow, Section, Weight};
use crate::pictures::{Latencies, Named, decays, latencies, strips, timeline};
use crate::run::{self, lens};
use analysis::compare::{Cell, Comparison, Played, Row, Scenarios, Side, Target};
use analysis::figures::{Figure, Measure, MeasuredPart, Unit};
use analysis::summary::{Histogram, Summary};
use base::text::table::Table;
use base::text::{Sentence, Tone};
use base::units;

use super::figures::{self, HOLE};
pub use super::title::title;
use super::{cold, forced, idle_windows, notes, one_server, released, targets_table, words};

/// The runs by the names of their records.
type Records<'r> = BTreeMap<&'r str, &'r Summary>;

/// The report of all scenarios on all targets; each server is compared with the first of its target.
pub fn document(scenarios: &Scenarios, runs: &[Played]) -> Document {
    let has_several_targets = scenarios.values().flatten().count() > 1;
    let mut sentences = cold::over_all(scenarios, runs);
    let has_over_all = !sentences.is_empty();
    for targets in scenarios.values() {
        let of_scenario = match targets.as_slice() {
            [target] => verdict(target, has_several_targets),
            targets => targets_table::conclusions(targets),
        };
        // The section of each project has the sentences of one project.
        let shown = of_scenario
            .into_iter()
            .filter(|sentence| !(has_over_all && cold::OF_ONE.contains(&sentence.id)));
        sentences.extend(shown);
    }
    Document {
        title: title(scenarios),
        origin: origin(runs),
        headline: None,
        verdict: sentences,
        sections: sections(scenarios, runs, Keys::ALIKE, true),
    }
}

pub fn origin(runs: &[Played]) -> String {
    let began = runs.iter().map(|run| run.summary.header.started.as_str()).min();
    format!(
        "{}, from {}.",
        units::count_of(runs.len() as u64, "record"),
        began.unwrap_or("")
    )
}

/// All tables and charts. `is_compared` adds conclusions for each server against the baseline. A sweep has none: among
/// many settings some would hold by chance.
pub fn sections(scenarios: &Scenarios, runs: &[Played], keys: Keys, is_compared: bool) -> Vec<Section> {
    let by_record: Records = runs.iter().map(|run| (run.record.as_str(), &*run.summary)).collect();
    let all: Vec<&Target> = scenarios.values().flatten().collect();
    let mut sections: Vec<Section> = cold::joined(scenarios, runs);
    for targets in scenarios.values() {
        if targets.len() > 1 && !cold::are_commands(&targets[0].comparison) {
            sections.push(overview(targets));
        }
    }
    let is_one_target = all.iter().all(|target| target.name() == all[0].name());
    for (place, target) in all.iter().enumerate() {
        let scenario = &target.comparison.scenario;
        let heading = if all.len() == 1 {
            Heading::default()
        } else if is_one_target {
            Heading::new(place, scenario.clone())
        } else {
            Heading::new(place, format!("{scenario} on {}", target.name()))
        };
        sections.extend(sections_of_target(target, &heading, &by_record, keys, is_compared));
    }
    sections.push(servers(&all));
    sections.extend(fingerprints(&all, &by_record));
    let headers: Vec<_> = runs.iter().map(|run| &run.summary.header).collect();
    sections.push(run::how_to_reproduce(&headers));
    sections
}

/// Tells the sections of one comparison from those of others; empty if there are no others.
#[derive(Default)]
struct Heading {
    /// Prefix of the anchors.
    id: String,
    name: String,
}

impl Heading {
    fn new(place: usize, name: String) -> Heading {
        let id = format!("t{place}-");
        Heading { id, name }
    }
}

fn sections_of_target(
    target: &Target,
    heading: &Heading,
    by_record: &Records,
    keys: Keys,
    is_compared: bool,
) -> Vec<Section> {
    let comparison = &target.comparison;
    let Heading { id, name } = heading;
    let servers: Vec<(&str, Vec<Named>)> = comparison
        .sides
        .iter()
        .map(|side| (side.label.as_str(), played(&side.runs, by_record)))
        .collect();
    let firsts: Vec<_> = servers
        .iter()
        .filter_map(|(_, runs)| Some(&runs.first()?.1.header.server))
        .collect();
    let answer = if cold::are_commands(comparison) {
        Some(cold::table(comparison, id, name))
    } else {
        private(target, id, name, keys)
    };
    let mut all = vec![answer];
    if is_compared && !name.is_empty() {
        let verdict_section = Section::new(format!("{id}verdict"), format!("Result: {name}"), Weight::Answer);
        all.push(verdict_section.with_all(verdict(target, false)).unless_empty());
    }
    all.extend([
        growth::section(id, &growth::lines(comparison), &servers, keys),
        warnings(id, comparison),
        timeline::from_servers(&servers, keys).map(|lines| {
            Section::new(format!("{id}timeline"), "Timeline", Weight::Evidence).with_block(Block::Timeline(lines))
        }),
        Some(every_run(id, comparison, keys)),
        idle_windows_section(id, comparison, &servers, keys),
        forced_releases_section(id, comparison),
        latency(id, comparison, &servers, keys),
        work_section(id, comparison),
        other_figures(id, comparison, keys),
        calls_section(id, comparison, Weight::Evidence),
        run::allocators(id, &firsts),
    ]);
    all.into_iter().flatten().collect()
}

/// The conclusions on one target: failures of servers, the answer, and then what limits its worth.
fn verdict(target: &Target, is_named: bool) -> Vec<Sentence> {
    let comparison = &target.comparison;
    let conclusions = words::conclusions(comparison);
    let growth = growth::verdict(comparison);
    let is_growth_known = !growth.is_empty();
    let headlines = comparison.sides.iter().flat_map(|side| &side.headlines);
    let mut sentences: Vec<Sentence> = failures(comparison, &conclusions)
        .into_iter()
        .chain(headlines.cloned())
        .map(|text| Sentence::answer("compare.headline", Tone::Bad, text))
        .collect();
    sentences.extend(cold::verdict(comparison));
    sentences.extend(answers("compare.growth", growth));
    if let Some(kept) = one_server::memory_of_only_server(comparison) {
        // Of what repeats, growth is the answer.
        sentences.push(if is_growth_known {
            Sentence::evidence("compare.kept", kept)
        } else {
            Sentence::answer("compare.kept", Tone::Strong, kept)
        });
    }
    sentences.extend(answers("compare.difference", conclusions));
    if let Some((baseline, others)) = comparison.sides.split_first() {
        sentences.extend(others.iter().flat_map(|side| notes::work(side, &baseline.label)));
    }
    sentences.extend(answers("compare.came-back", released::of_servers(comparison)));
    let mut costs = Vec::new();
    for side in &comparison.sides {
        costs.extend(released::traffic_cost(side).map(|cost| (side.label.as_str(), cost)));
    }
    let costs = released::with_servers(costs).into_iter();
    sentences.extend(costs.map(|text| Sentence::evidence("compare.traffic", text)));
    sentences.extend(answers("compare.calls", calls::verdict(comparison)));
    if is_named {
        for sentence in &mut sentences {
            sentence.text = format!("{}: {}", comparison.scenario, sentence.text);
        }
    }
    let lens = lens::words(&target.lens);
    sentences.extend(lens.map(|text| Sentence::answer("lens", Tone::Quiet, text)));
    sentences
}

fn answers(id: &'static str, texts: Vec<String>) -> impl Iterator<Item = Sentence> {
    texts
        .into_iter()
        .map(move |text| Sentence::answer(id, Tone::Strong, text))
}

/// Failures of servers that no conclusion mentions.
fn failures(comparison: &Comparison, conclusions: &[String]) -> Vec<String> {
    let failed = comparison.sides.iter().filter(|side| words::has_failures(side));
    failed
        .map(words::failures)
        .filter(|text| conclusions.iter().all(|conclusion| !conclusion.contains(text.as_str())))
        .collect()
}

fn rows(comparison: &Comparison, figure: Figure) -> Vec<&Row> {
    let rows = comparison.rows.iter();
    rows.filter(|row| row.measure.figure == figure).collect()
}

/// The table of a figure; `None` where no run has it.
fn table(comparison: &Comparison, figure: Figure, keys: Keys) -> Option<Matrix> {
    table_of(&rows(comparison, figure), comparison, figure, keys)
}

fn table_of(rows: &[&Row], comparison: &Comparison, figure: Figure, keys: Keys) -> Option<Matrix> {
    if rows.is_empty() {
        return None;
    }
    let sides = &comparison.sides;
    let mut matrix_rows = Vec::new();
    for row in rows {
        matrix_rows.push(MatrixRow {
            place: row.measure.place.name().to_owned(),
            cells: (0..sides.len()).map(|side| figures::cell(row, side)).collect(),
        });
    }
    Some(Matrix {
        crossed: false,
        caption: figure.caption().to_owned(),
        first: figure.rows().to_owned(),
        heads: sides.iter().map(|side| side.label.clone()).collect(),
        colored: keys.colored(),
        rows: matrix_rows,
    })
}

fn private(target: &Target, id: &str, name: &str, keys: Keys) -> Option<Section> {
    let comparison = &target.comparison;
    let table = table(comparison, Figure::Private, keys)?;
    let title = match name {
        "" => "Private memory after each phase".to_owned(),
        name => format!("Private memory after each phase, {name}"),
    };
    let section = Section::new(format!("{id}private"), title, Weight::Answer)
        .noted(format!("MiB, medians{}", signs(comparison)))
        .with_block(table)
        .with_block(Sentence::definition("compare.legend", legend(comparison)));
    Some(section)
}

/// The meanings of the signs in the table that is read first, in few words.
fn signs(comparison: &Comparison) -> String {
    let mut signs = String::new();
    if figures::has_ends(&comparison.rows) {
        signs.push_str(" · ▾ lowest, ▴ highest");
    }
    let mut medians = cells(comparison).filter_map(|cell| cell.median);
    if medians.any(|median| median.n > 1 && !median.reached) {
        signs.push_str(" · * full range, too few runs for 95 %");
    }
    signs
}

fn cells(comparison: &Comparison) -> impl Iterator<Item = &Cell> {
    comparison.rows.iter().flat_map(|row| &row.cells)
}

/// The meanings of the signs that the tables use.
fn legend(comparison: &Comparison) -> String {
    let intervals = figures::intervals(&comparison.rows);
    let medians = match comparison.sides.len() {
        1 => format!("medians with {intervals}"),
        _ => format!("medians with {intervals}, and the 95 % interval of the ratio to the baseline"),
    };
    let mut parts = vec![medians];
    parts.extend(figures::rounds_note(comparison));
    parts.extend(figures::ends_note(&comparison.rows));
    let mut others = comparison.rows.iter().flat_map(|row| row.cells.iter().skip(1));
    if cells(comparison).any(|cell| cell.median.is_none()) || others.any(|cell| cell.ratio.is_none()) {
        parts.push(format!("{HOLE} not known, zero, or fewer than 2 runs"));
    }
    parts.join("; ")
}

fn warnings(id: &str, comparison: &Comparison) -> Option<Section> {
    Section::new(format!("{id}warnings"), "Warnings", Weight::Answer)
        .with_all(notes::notes(comparison))
        .unless_empty()
}

fn every_run(id: &str, comparison: &Comparison, keys: Keys) -> Section {
    let rows = rows(comparison, Figure::Private);
    let mut lines: Vec<(&Row, &Side, &Cell)> = Vec::new();
    for row in &rows {
        let cells = comparison.sides.iter().zip(&row.cells);
        lines.extend(cells.map(|(side, cell)| (*row, side, cell)));
    }
    let table = Table::new(&lines)
        .text("after", 0, |(row, ..)| row.measure.place.name())
        .text("server", 1, |(_, side, _)| &side.label)
        .text("in each run", 2, |(row, _, cell)| {
            values(cell, row.measure.figure.unit())
        });
    let caption = "Private memory of every run, MiB";
    Section::new(format!("{id}runs"), "Every run", Weight::Evidence)
        .with_block(strips(comparison, keys))
        .with_all(table.non_empty().map(|table| (caption, table)))
}

/// The values of all runs, separated by blanks.
fn values(cell: &Cell, unit: Unit) -> String {
    let mut texts = Vec::new();
    for value in &cell.values {
        texts.push(value.map_or_else(|| HOLE.to_owned(), |value| figures::value(value, unit)));
    }
    texts.join(" ")
}

/// Idle windows.
pub(crate) fn idle_windows_section(
    id: &str,
    comparison: &Comparison,
    servers: &[(&str, Vec<Named>)],
    keys: Keys,
) -> Option<Section> {
    let table = idle_windows::columns(comparison)?;
    let legend = idle_windows::legend(&table);
    let in_full = released::in_full(comparison).into_iter();
    Some(
        Section::new(format!("{id}decay"), "Released memory", Weight::Evidence)
            .noted(idle_windows::SUBJECT)
            .with_block(decays::all_runs(comparison, servers, keys))
            .with_block(table)
            .with_block(Sentence::definition("windows.legend", legend))
            .with_all(in_full.map(|text| Sentence::evidence("compare.released", text))),
    )
}

/// Forced releases and self-reports.
pub(crate) fn forced_releases_section(id: &str, comparison: &Comparison) -> Option<Section> {
    let releases = forced::releases(comparison).map(|table| (forced::RELEASES, table));
    let reports = forced::reports(comparison).map(|table| (forced::REPORTS, table));
    Section::new(format!("{id}given"), "Forced release and self-report", Weight::Evidence)
        .with_all(releases)
        .with_all(reports)
        .with_all(
            forced::reasons(comparison)
                .into_iter()
                .map(|text| Sentence::evidence("given.reason", text)),
        )
        .unless_empty()
}

/// A plot for each answered method, with the medians of the runs' percentiles.
fn latency(id: &str, comparison: &Comparison, servers: &[(&str, Vec<Named>)], keys: Keys) -> Option<Section> {
    if rows(comparison, Figure::P50).is_empty() {
        return None;
    }
    let mut section = Section::new(format!("{id}latency"), "Latency", Weight::Evidence)
        .with_block(distributions(comparison, servers, keys));
    let titles = ["Median of each method", "95th percentile of each method"];
    for (figure, title) in Figure::OF_METHODS.into_iter().zip(titles) {
        if let Some(table) = table(comparison, figure, keys) {
            section = section.with_block(Section::new(String::new(), title, Weight::Evidence).with_block(table));
        }
    }
    Some(section)
}

pub(crate) fn distributions(comparison: &Comparison, servers: &[(&str, Vec<Named>)], keys: Keys) -> Block {
    let has_several_runs = servers.iter().any(|(_, runs)| runs.len() > 1);
    let legend = if has_several_runs {
        "All answers, from request to last byte, retries included, on a logarithmic axis. Solid mark: median. Dashed \
         mark: 95th percentile. Of several runs the medians of theirs."
    } else {
        "All answers, from request to last byte, retries included, on a logarithmic axis. Solid mark: median. Dashed \
         mark: 95th percentile."
    };
    let mut plots = Vec::new();
    for row in rows(comparison, Figure::P50) {
        if let MeasuredPart::Method(method) = &row.measure.place {
            plots.extend(distribution(comparison, servers, keys, method));
        }
    }
    Block::charts(legend, "plots", plots.into_iter())
}

fn distribution(comparison: &Comparison, servers: &[(&str, Vec<Named>)], keys: Keys, method: &str) -> Option<Chart> {
    let mut latencies_of_servers = Vec::new();
    for (place, (label, runs)) in servers.iter().enumerate() {
        let mut histogram = Histogram::default();
        let methods = runs.iter().flat_map(|(_, summary)| &summary.traffic.methods);
        for answered in methods.filter(|other| other.method == method) {
            histogram.add(&answered.distribution);
        }
        latencies_of_servers.push(Latencies {
            label,
            class: keys.class(place),
            histogram,
            p50: median_of_method(comparison, method, Figure::P50, place),
            p95: median_of_method(comparison, method, Figure::P95, place),
        });
    }
    latencies(method, &latencies_of_servers)
}

fn median_of_method(comparison: &Comparison, method: &str, figure: Figure, side: usize) -> Option<f64> {
    let place = MeasuredPart::Method(method.to_owned());
    let row = comparison.row(&Measure { place, figure })?;
    row.cells.get(side)?.median.map(|median| median.median)
}

/// Requests and results against those of the baseline; `None` for commands, which are not asked anything.
fn work_section(id: &str, comparison: &Comparison) -> Option<Section> {
    if cold::are_commands(comparison) {
        return None;
    }
    let (baseline, others) = comparison.sides.split_first()?;
    let alike = others.iter().filter_map(|side| known_work(side, baseline));
    let unequal = others.iter().flat_map(|side| notes::work(side, &baseline.label));
    Section::new(format!("{id}work"), "Same work done?", Weight::Evidence)
        .with_all(alike.map(|text| Sentence::evidence("compare.same-work", text)))
        .with_all(unequal)
        .unless_empty()
}

/// A sentence about work that is unknown or equal to the baseline's; `None` if it is unequal.
fn known_work(side: &Side, baseline: &Side) -> Option<String> {
    if let Some(unknown) = notes::unknown_work(side, baseline) {
        return Some(format!("{}: {unknown}", side.label));
    }
    if !side.work.is_empty() {
        return None;
    }
    Some(format!(
        "{} did the same work as {}: as many requests, hits and elements of results",
        side.label, baseline.label
    ))
}

fn other_figures(id: &str, comparison: &Comparison, keys: Keys) -> Option<Section> {
    let mut tables = Vec::new();
    let mut unvaried = Vec::new();
    for figure in Figure::COMPARED.into_iter().skip(1).chain(Figure::HELD) {
        if Figure::OF_METHODS.contains(&figure) {
            continue;
        }
        let rows = rows(comparison, figure);
        if let Some(value) = unvaried_value(&rows)
            && Figure::HELD.contains(&figure)
        {
            unvaried.push(format!("{} {}", figure.words(), units::count(value)));
        } else if let Some(table) = table_of(&rows, comparison, figure, keys) {
            tables.push(Section::new(String::new(), figure.caption(), Weight::Evidence).with_block(table));
        }
    }
    let unvaried = if unvaried.is_empty() {
        None
    } else {
        Some(format!(
            "the same at every checkpoint of every run: {}",
            unvaried.join(", ")
        ))
    };
    let printed = table_of(&cold::printed_rows(comparison), comparison, Figure::Printed, keys);
    let title = Figure::Printed.caption();
    let printed = printed.map(|table| Section::new(String::new(), title, Weight::Evidence).with_block(table));
    Section::new(format!("{id}figures"), "Other figures", Weight::Evidence)
        .with_all(printed)
        .with_all(tables)
        .with_all(unvaried.map(|text| Sentence::evidence("compare.unvaried", text)))
        .unless_empty()
}

/// The value that a count has in all rows, of all runs; `None` if it varies or is not known everywhere.
fn unvaried_value(rows: &[&Row]) -> Option<u64> {
    let mut values = rows.iter().flat_map(|row| &row.cells).flat_map(|cell| &cell.values);
    let first = (*values.next()?)?;
    let is_same = values.all(|value| *value == Some(first));
    if is_same { Some(first as u64) } else { None }
}

/// Memory calls of the servers; `None` if they were not traced.
pub(crate) fn calls_section(id: &str, comparison: &Comparison, weight: Weight) -> Option<Section> {
    let (table, note) = calls::table(comparison)?;
    Some(
        Section::new(format!("{id}calls"), "System calls", weight)
            .noted("calls and their bytes")
            .with_block(table)
            .with_block(Sentence::definition("calls.note", note)),
    )
}

/// Servers on several targets: a row for each step, a column for each server of each system.
fn overview(targets: &[Target]) -> Section {
    let scenario = &targets[0].comparison.scenario;
    let slug: String = scenario
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let is_compared = targets.iter().any(|target| target.comparison.sides.len() > 1);
    let peaks = if is_compared {
        "Average resident peak, MiB, against the baseline"
    } else {
        "Average resident peak, MiB"
    };
    let different = "memory sizes of different systems are different quantities: only ratios are compared";
    Section::new(
        format!("all-{slug}"),
        format!("{scenario} on all targets"),
        Weight::Answer,
    )
    .with_block(("Private memory after each step, MiB", targets_table::steps(targets)))
    .with_block((peaks, targets_table::peaks(targets)))
    .with_block(Sentence::definition("targets.sizes", different))
    .with_all(targets_table::legend(targets).map(|text| Sentence::definition("targets.names", text)))
}

/// The runs of each server, by target.
fn servers(targets: &[&Target]) -> Section {
    let mut blocks = Vec::new();
    for target in targets {
        let caption = match targets.len() {
            1 => "Servers".to_owned(),
            _ => target.name(),
        };
        let sides = &target.comparison.sides;
        let mut facts = Vec::new();
        for (place, side) in sides.iter().enumerate() {
            let is_baseline = place == 0 && sides.len() > 1;
            facts.push((side.label.clone(), server_facts(side, is_baseline)));
        }
        if target.machines.len() > 1 {
            let machines = target.machines.iter();
            facts.extend(machines.map(|machine| ("machine".to_owned(), machine.clone())));
        }
        blocks.push(Block::facts(caption, facts));
    }
    Section::new("servers", "Servers", Weight::Evidence).with_all(blocks)
}

/// `8 runs + 1 warm-up, the baseline, 0.0.1-alpha.7`.
fn server_facts(side: &Side, is_baseline: bool) -> String {
    let mut facts = vec![words::runs(side)];
    if is_baseline {
        facts.push("the baseline".to_owned());
    }
    facts.extend(side.version.clone());
    facts.extend(side.preload.as_ref().map(record::PreloadFacts::words));
    facts.join(", ")
}

/// The fingerprint of each server on each target, by its first run.
fn fingerprints(targets: &[&Target], by_record: &Records<'_>) -> Option<Section> {
    let mut firsts: Vec<(&Target, &Side, &Summary)> = Vec::new();
    for target in targets {
        for side in &target.comparison.sides {
            let first_run = side.runs.first().and_then(|run| by_record.get(run.as_str()));
            firsts.extend(first_run.map(|summary| (*target, side, *summary)));
        }
    }
    let mut first: Option<(String, &Summary)> = None;
    let mut fingerprints: Vec<Section> = Vec::new();
    for (target, side, summary) in firsts {
        let title = match targets.len() {
            1 => side.label.clone(),
            _ => format!("{} on {}", side.label, target.name()),
        };
        fingerprints.push(match &first {
            None => run::fingerprint(&title, &summary.header),
            Some((name, known)) => run::fingerprint_beside(&title, &summary.header, (name, &known.header)),
        });
        first = first.or(Some((title, summary)));
    }
    Section::new("facts", "Servers and machines", Weight::Evidence)
        .with_all(fingerprints)
        .unless_empty()
}

/// Each record's file name and facts. Directories mean nothing to other readers of the page.
pub fn played<'r>(runs: &'r [String], by_record: &Records<'r>) -> Vec<Named<'r>> {
    runs.iter()
        .filter_map(|record| {
            let name = record.rsplit(['/', '\\']).next().unwrap_or(record);
            Some((name, *by_record.get(record.as_str())?))
        })
        .collect()
}
