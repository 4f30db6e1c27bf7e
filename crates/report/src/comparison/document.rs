//! What several runs say: servers side by side, on one target or on many.

use std::collections::BTreeMap;

use crate::charts::Chart;
use crate::comparison::{calls, growth};
use crate::document::page::Keys;
use crate::document::{Block, Document, Matrix, MatrixRow, Section, Weight};
use crate::pictures::{self, Latencies, Named, decays, latencies, strips, timeline};
use crate::run::{self, lens};
use analysis::compare::{Comparison, Played, Row, Scenarios, Target};
use analysis::figures::{Figure, Measure, Place};
use analysis::summary::{Histogram, Summary};
use base::text::table::Table;
use base::text::{Sentence, Tone};
use base::units;

use super::figures::{self, HOLE};
use super::{across, alone, cold, decay, notes, release, words};

/// The runs by the names of their records.
type Records<'r> = BTreeMap<&'r str, &'r Summary>;

/// Every scenario on every target, the servers of each against the first.
pub fn document(scenarios: &Scenarios, runs: &[Played]) -> Document {
    let several = scenarios.values().flatten().count() > 1;
    let of_each = scenarios.values().flat_map(|targets| match targets.as_slice() {
        [target] => verdict(target, several),
        targets => across::conclusions(targets),
    });
    let over_all = cold::over_all(scenarios, runs);
    // The section of each project has these sentences.
    let is_repeated = |sentence: &Sentence| !over_all.is_empty() && cold::OF_ONE.contains(&sentence.id);
    let of_each: Vec<Sentence> = of_each.filter(|sentence| !is_repeated(sentence)).collect();
    Document {
        title: title(scenarios),
        origin: origin(runs),
        headline: None,
        verdict: over_all.into_iter().chain(of_each).collect(),
        sections: sections(scenarios, runs, Keys::ALIKE, true),
    }
}

pub fn origin(runs: &[Played]) -> String {
    let began = runs.iter().map(|run| run.summary.header.started.as_str()).min();
    format!(
        "{}, from {}.",
        units::counted(runs.len() as u64, "record"),
        began.unwrap_or("")
    )
}

pub fn title(scenarios: &Scenarios) -> String {
    let names: Vec<&str> = scenarios.keys().map(String::as_str).collect();
    let sides = scenarios.values().flatten().flat_map(|target| &target.comparison.sides);
    let mut servers: Vec<(&str, Option<&str>)> = Vec::new();
    for side in sides {
        if !servers.iter().any(|(label, _)| *label == side.label) {
            servers.push((&side.label, side.version.as_deref()));
        }
    }
    let one = servers.first().and_then(|(_, version)| *version);
    let one = one.filter(|one| servers.iter().all(|(_, version)| *version == Some(one)));
    let label = |(label, version): &(&str, Option<&str>)| match version {
        Some(version) if one.is_none() && version.starts_with(label) => (*version).to_owned(),
        Some(version) if one.is_none() => format!("{label} ({version})"),
        _ => (*label).to_owned(),
    };
    let labels: Vec<String> = servers.iter().map(label).collect();
    let is_a_list = scenarios
        .values()
        .flatten()
        .all(|target| target.comparison.sides.len() < 2);
    let labels = match labels.as_slice() {
        [] => "nothing".to_owned(),
        all if is_a_list => all.join(", "),
        [only] => only.clone(),
        [baseline, other] => format!("{other} against {baseline}"),
        // Each has a sentence of its own.
        [baseline, others @ ..] => {
            let targets = scenarios.values().flatten();
            let are_commands = targets.map(|target| &target.comparison).any(cold::are_commands);
            let kind = if are_commands { "commands" } else { "servers" };
            format!("{} {kind} against {baseline}", others.len())
        }
    };
    let version = match one {
        Some(one) if servers.len() > 1 => format!(" (all {one})"),
        Some(one) if one.starts_with(&labels) => one.strip_prefix(&labels).unwrap_or_default().to_owned(),
        Some(one) => format!(" ({one})"),
        None => String::new(),
    };
    format!("{}: {labels}{version}", names.join(", "))
}

/// All tables and charts. `is_compared` adds conclusions for each server against the baseline. A sweep has none: among
/// many settings some would hold by chance.
pub fn sections(scenarios: &Scenarios, runs: &[Played], keys: Keys, is_compared: bool) -> Vec<Section> {
    let by_record: Records = runs.iter().map(|run| (run.record.as_str(), &run.summary)).collect();
    let all: Vec<&Target> = scenarios.values().flatten().collect();
    let mut sections: Vec<Section> = cold::joined(scenarios, runs);
    let of_servers = |targets: &&Vec<Target>| targets.len() > 1 && !cold::are_commands(&targets[0].comparison);
    for targets in scenarios.values().filter(of_servers) {
        sections.push(overview(targets));
    }
    let is_only_one = all.iter().all(|target| target.name() == all[0].name());
    for (place, target) in all.iter().enumerate() {
        let scenario = &target.comparison.scenario;
        let name = match is_only_one {
            true => scenario.clone(),
            false => format!("{scenario} on {}", target.name()),
        };
        let on = (all.len() > 1).then(|| (format!("t{place}-"), name));
        sections.extend(of_target(target, on, &by_record, keys, is_compared));
    }
    sections.push(servers(&all));
    sections.extend(fingerprints(&all, &by_record));
    let headers: Vec<_> = runs.iter().map(|run| &run.summary.header).collect();
    sections.push(run::reproduced(&headers));
    sections
}

/// One comparison; `on` is its prefix and its name where there are several.
fn of_target(
    target: &Target,
    on: Option<(String, String)>,
    by_record: &Records,
    keys: Keys,
    is_compared: bool,
) -> Vec<Section> {
    let comparison = &target.comparison;
    let (id, name) = on.unwrap_or_default();
    let servers: Vec<(&str, Vec<Named>)> = comparison
        .sides
        .iter()
        .map(|side| (side.label.as_str(), played(&side.runs, by_record)))
        .collect();
    let firsts: Vec<_> = servers
        .iter()
        .filter_map(|(_, runs)| Some(&runs.first()?.1.header.server))
        .collect();
    let mut all = match cold::are_commands(comparison) {
        true => vec![Some(cold::table(comparison, &id, &name))],
        false => vec![private(target, &id, &name, keys)],
    };
    if is_compared && !name.is_empty() {
        let verdict_section = Section::new(format!("{id}verdict"), format!("Result: {name}"), Weight::Answer);
        all.push(verdict_section.with_all(verdict(target, false)).filled());
    }
    all.extend([
        grown(&id, comparison, &servers, keys),
        warnings(&id, comparison),
        timeline::from_servers(&servers, keys).map(|lines| {
            Section::new(format!("{id}timeline"), "Timeline", Weight::Evidence).with(Block::Timeline(lines))
        }),
        Some(every_run(&id, comparison, keys)),
        came_back(&id, comparison, &servers, keys),
        latency(&id, comparison, &servers, keys),
        work(&id, comparison),
        other_figures(&id, comparison, keys),
        called(&id, comparison),
        run::allocators(&id, &firsts),
    ]);
    all.into_iter().flatten().collect()
}

/// What to conclude on one target: failures of servers, the answer, and then what limits its worth.
fn verdict(target: &Target, is_named: bool) -> Vec<Sentence> {
    let comparison = &target.comparison;
    let baseline = comparison.sides.first().map_or("", |side| side.label.as_str());
    let unequal = comparison
        .sides
        .iter()
        .skip(1)
        .flat_map(|side| notes::work(side, baseline));
    let strong = |id: &'static str| move |text: String| Sentence::answer(id, Tone::Strong, text);
    let growth = growth::verdict(comparison);
    // Of what repeats, growth is the answer.
    let kept = alone::kept(comparison).map(|text| match growth.is_empty() {
        true => Sentence::answer("compare.kept", Tone::Strong, text),
        false => Sentence::evidence("compare.kept", text),
    });
    let headlines = comparison.sides.iter().flat_map(|side| &side.headlines);
    let conclusions = words::conclusions(comparison);
    let all = failures(comparison, &conclusions)
        .into_iter()
        .chain(headlines.cloned())
        .map(|text| Sentence::answer("compare.headline", Tone::Bad, text))
        .chain(cold::verdict(comparison))
        .chain(growth.into_iter().map(strong("compare.growth")))
        .chain(kept)
        .chain(conclusions.into_iter().map(strong("compare.difference")))
        .chain(unequal)
        .chain(decay::verdict(comparison).into_iter().map(strong("compare.came-back")))
        .chain(
            decay::details(comparison)
                .into_iter()
                .map(|text| Sentence::evidence("compare.released", text)),
        )
        .chain(
            decay::costs(comparison)
                .into_iter()
                .map(|text| Sentence::evidence("compare.traffic", text)),
        )
        .chain(
            release::verdict(comparison)
                .into_iter()
                .map(|text| Sentence::evidence("compare.released", text)),
        )
        .chain(calls::verdict(comparison).into_iter().map(strong("compare.calls")));
    let all = all.map(|one| match is_named {
        true => Sentence {
            text: format!("{}: {}", comparison.scenario, one.text),
            ..one
        },
        false => one,
    });
    all.chain(lens::words(&target.lens).map(|text| Sentence::answer("lens", Tone::Quiet, text)))
        .collect()
}

/// How servers failed, as far as no conclusion says it.
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
    let sides = || 0..comparison.sides.len();
    let row = |row: &&Row| MatrixRow {
        place: row.measure.place.name().to_owned(),
        cells: sides().map(|side| figures::cell(row, side)).collect(),
    };
    (!rows.is_empty()).then(|| Matrix {
        crossed: false,
        caption: figure.caption().to_owned(),
        first: figure.rows().to_owned(),
        heads: comparison.sides.iter().map(|side| side.label.clone()).collect(),
        colored: keys.colored(),
        rows: rows.iter().map(row).collect(),
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
        .with(table)
        .with_all(legend(comparison).map(|text| Sentence::definition("compare.legend", text)));
    Some(section)
}

/// What the signs of the table mean that is read first, in as few words as there are.
fn signs(comparison: &Comparison) -> String {
    let medians = || {
        comparison
            .rows
            .iter()
            .flat_map(|row| &row.cells)
            .filter_map(|cell| cell.median)
    };
    let few = medians().any(|median| median.n > 1 && !median.reached);
    let parts = [
        (figures::has_ends(&comparison.rows), " · ▾ lowest, ▴ highest"),
        (few, " · * full range, too few runs for 95 %"),
    ];
    parts
        .into_iter()
        .filter(|(is_there, _)| *is_there)
        .map(|(_, text)| text)
        .collect()
}

/// What the signs of the tables mean, as far as they are there.
fn legend(comparison: &Comparison) -> impl Iterator<Item = String> {
    let cells = || comparison.rows.iter().flat_map(|row| &row.cells);
    let others = || comparison.rows.iter().flat_map(|row| row.cells.iter().skip(1));
    let holes = cells().any(|cell| cell.median.is_none()) || others().any(|cell| cell.ratio.is_none());
    let intervals = figures::intervals(&comparison.rows);
    let medians = match comparison.sides.len() {
        1 => format!("medians with {intervals}"),
        _ => format!("medians with {intervals}, and the 95 % interval of the ratio to the baseline"),
    };
    let parts = [
        Some(medians),
        figures::rounds(comparison),
        figures::ends(&comparison.rows),
        holes.then(|| format!("{HOLE} not known, zero, or fewer than 2 runs")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    std::iter::once(parts.join("; "))
}

fn warnings(id: &str, comparison: &Comparison) -> Option<Section> {
    Section::new(format!("{id}warnings"), "Warnings", Weight::Answer)
        .with_all(notes::notes(comparison))
        .filled()
}

fn every_run(id: &str, comparison: &Comparison, keys: Keys) -> Section {
    let rows = rows(comparison, Figure::Private);
    let lines = rows.iter().flat_map(|row| {
        let cells = comparison.sides.iter().zip(&row.cells);
        cells.map(move |(side, cell)| (row, side, cell))
    });
    let lines: Vec<_> = lines.collect();
    let table = Table::new(&lines)
        .text("after", 0, |(row, ..)| row.measure.place.name())
        .text("server", 1, |(_, side, _)| &side.label)
        .text("in each run", 2, |(row, _, cell)| {
            let value = |value: f64| figures::value(value, row.measure.figure.unit());
            let values = cell.values.iter().map(|one| one.map_or_else(|| HOLE.to_owned(), value));
            values.collect::<Vec<String>>().join(" ")
        });
    let caption = "Private memory of every run, MiB";
    Section::new(format!("{id}runs"), "Every run", Weight::Evidence)
        .with(strips(comparison, keys))
        .with_all(table.non_empty().map(|table| (caption, table)))
}

/// Idle windows, and forced releases before checkpoints.
fn came_back(id: &str, comparison: &Comparison, servers: &[(&str, Vec<Named>)], keys: Keys) -> Option<Section> {
    let mut section = Section::new(format!("{id}decay"), "Released memory", Weight::Evidence);
    if let Some(table) = decay::columns(comparison) {
        let legend = Some(decay::legend(&table)).filter(|legend| !legend.is_empty());
        section = section
            .noted(decay::SUBJECT)
            .with(decays::all_runs(comparison, servers, keys))
            .with(table)
            .with_all(legend.map(|text| Sentence::definition("windows.legend", text)));
    }
    let forced = release::columns(comparison);
    let caption = format!("Given back, {}", release::SUBJECT);
    section.with_all(forced.map(|table| (caption.as_str(), table))).filled()
}

/// Growth from round to round, if anything was repeated. Of what repeats it is the answer.
fn grown(id: &str, comparison: &Comparison, servers: &[(&str, Vec<Named>)], keys: Keys) -> Option<Section> {
    let section = Section::new(format!("{id}growth"), "Growth per round", Weight::Answer);
    Some(
        section
            .noted(growth::note())
            .with(pictures::growth::all_runs(servers, keys))
            .with(growth::table(comparison)?)
            .with(Sentence::definition("growth.legend", growth::LEGEND)),
    )
}

/// A plot for each answered method, with the medians of the runs' percentiles.
fn latency(id: &str, comparison: &Comparison, servers: &[(&str, Vec<Named>)], keys: Keys) -> Option<Section> {
    let titles = ["Median of each method", "95th percentile of each method"];
    let tables = Figure::OF_METHODS.into_iter().zip(titles);
    let folded = tables.filter_map(|(figure, title)| {
        let section = Section::new(String::new(), title, Weight::Evidence);
        Some(section.with(table(comparison, figure, keys)?))
    });
    (!rows(comparison, Figure::P50).is_empty()).then(|| {
        Section::new(format!("{id}latency"), "Latency", Weight::Evidence)
            .with(distributions(comparison, servers, keys))
            .with_all(folded)
    })
}

fn distributions(comparison: &Comparison, servers: &[(&str, Vec<Named>)], keys: Keys) -> Block {
    let legend = "All answers of all runs, from request to last byte, on a logarithmic axis. Marks: the median of the \
                  runs' medians and, dashed, of their 95th percentiles.";
    let plots = rows(comparison, Figure::P50)
        .into_iter()
        .filter_map(|row| match &row.measure.place {
            Place::Method(method) => distribution(comparison, servers, keys, method),
            _ => None,
        });
    Block::charts(legend, "plots", plots)
}

fn distribution(comparison: &Comparison, servers: &[(&str, Vec<Named>)], keys: Keys, method: &str) -> Option<Chart> {
    let median = |figure: Figure, side: usize| {
        let place = Place::Method(method.to_owned());
        let row = comparison.row(&Measure { place, figure })?;
        row.cells.get(side)?.median.map(|median| median.median)
    };
    let all = servers.iter().enumerate().map(|(place, (label, runs))| {
        let mut histogram = Histogram::default();
        let methods = runs.iter().flat_map(|(_, summary)| &summary.methods);
        for one in methods.filter(|one| one.method == method) {
            histogram.add(&one.distribution);
        }
        Latencies {
            label,
            class: keys.class(place),
            histogram,
            p50: median(Figure::P50, place),
            p95: median(Figure::P95, place),
        }
    });
    latencies(method, &all.collect::<Vec<Latencies>>())
}

/// Nothing of commands, of which nobody asked anything.
fn work(id: &str, comparison: &Comparison) -> Option<Section> {
    let servers = Some(&comparison.sides).filter(|_| !cold::are_commands(comparison));
    let (baseline, others) = servers?.split_first()?;
    let alike = others
        .iter()
        .filter_map(|side| match notes::unknown_work(side, baseline) {
            Some(unknown) => Some(format!("{}: {unknown}", side.label)),
            None => side.work.is_empty().then(|| {
                format!(
                    "{} did the same work as {}: as many requests, hits and elements of results",
                    side.label, baseline.label
                )
            }),
        });
    let unequal = others.iter().flat_map(|side| notes::work(side, &baseline.label));
    Section::new(format!("{id}work"), "Same work done?", Weight::Evidence)
        .with_all(alike.map(|text| Sentence::evidence("compare.same-work", text)))
        .with_all(unequal)
        .filled()
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
            tables.push(Section::new(String::new(), figure.caption(), Weight::Evidence).with(table));
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
    let printed = table_of(&cold::printed(comparison), comparison, Figure::Printed, keys);
    let title = Figure::Printed.caption();
    let printed = printed.map(|table| Section::new(String::new(), title, Weight::Evidence).with(table));
    Section::new(format!("{id}figures"), "Other figures", Weight::Evidence)
        .with_all(printed)
        .with_all(tables)
        .with_all(unvaried.map(|text| Sentence::evidence("compare.unvaried", text)))
        .filled()
}

/// The value that a count has in all rows, of all runs; `None` if it varies or is not known everywhere.
fn unvaried_value(rows: &[&Row]) -> Option<u64> {
    let mut values = rows.iter().flat_map(|row| &row.cells).flat_map(|cell| &cell.values);
    let first = (*values.next()?)?;
    let is_same = values.all(|value| *value == Some(first));
    if is_same { Some(first as u64) } else { None }
}

/// Which memory calls the servers made, if that was traced.
fn called(id: &str, comparison: &Comparison) -> Option<Section> {
    let (table, note) = calls::table(comparison)?;
    Some(
        Section::new(format!("{id}calls"), calls::TITLE, Weight::Evidence)
            .noted("calls and their bytes")
            .with(table)
            .with(Sentence::definition("calls.note", note)),
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
    .with(("Private memory after each step, MiB", across::steps(targets)))
    .with((peaks, across::peaks(targets)))
    .with(Sentence::definition("targets.sizes", different))
    .with_all(across::legend(targets).map(|text| Sentence::definition("targets.names", text)))
}

/// Which runs of which servers these are.
fn servers(targets: &[&Target]) -> Section {
    let facts = targets.iter().map(|target| {
        let caption = match targets.len() {
            1 => "Servers".to_owned(),
            _ => target.name(),
        };
        let sides = target.comparison.sides.iter().enumerate();
        let facts = sides.map(|(place, side)| {
            let baseline = place == 0 && target.comparison.sides.len() > 1;
            let facts = [
                Some(words::runs(side)),
                baseline.then(|| "the baseline".to_owned()),
                side.version.clone(),
                side.preload.as_ref().map(record::PreloadFacts::words),
            ];
            let facts: Vec<String> = facts.into_iter().flatten().collect();
            (side.label.clone(), facts.join(", "))
        });
        let machines = target.machines.iter().filter(|_| target.machines.len() > 1);
        let machines = machines.map(|machine| ("machine".to_owned(), machine.clone()));
        Block::facts(caption, facts.chain(machines))
    });
    let facts: Vec<Block> = facts.collect();
    Section::new("servers", "Servers", Weight::Evidence).with_all(facts)
}

/// The fingerprint of each server on each target, by its first run.
fn fingerprints(targets: &[&Target], by_record: &Records<'_>) -> Option<Section> {
    let firsts = targets.iter().flat_map(|target| {
        let sides = target.comparison.sides.iter();
        sides.filter_map(|side| Some((*target, side, *by_record.get(side.runs.first()?.as_str())?)))
    });
    let mut first: Option<(String, &Summary)> = None;
    let mut fingerprints: Vec<Section> = Vec::new();
    for (target, side, summary) in firsts {
        let title = match targets.len() {
            1 => side.label.clone(),
            _ => format!("{} on {}", side.label, target.name()),
        };
        fingerprints.push(match &first {
            None => run::fingerprint(&title, &summary.header),
            Some((name, one)) => run::fingerprint_beside(&title, &summary.header, (name, &one.header)),
        });
        first = first.or(Some((title, summary)));
    }
    Section::new("facts", "Servers and machines", Weight::Evidence)
        .with_all(fingerprints)
        .filled()
}

/// A record's file name and facts. Directories mean nothing to other readers of the page.
pub fn played<'r>(runs: &'r [String], by_record: &Records<'r>) -> Vec<Named<'r>> {
    let named = runs.iter().filter_map(|record| {
        let name = record.rsplit(['/', '\\']).next().unwrap_or(record);
        Some((name, *by_record.get(record.as_str())?))
    });
    named.collect()
}
