//! A sweep as a document: its answer, the lines to paste, and its front, above the comparison of all settings.

use strum::VariantArray;

use crate::comparison;
use crate::document::{Block, Document, Section, Weight};
use crate::sweep::ship::Form;
use analysis::compare::{Played, compare_by_target};
use analysis::figures::Figure;
use analysis::tune::{CellResult, KeepReason, Recommendation, Sweep, Why, WhyNot};
use base::text::{Sentence, Tone, quoted};
use base::units;
use record::CellFacts;

use super::columns::{columns, costs, order};
use super::front::{Front, fronts};
use super::ship;
use super::why::elimination_clause;
use super::words::{chosen_cell, headline, legend, sentences};

/// The whole document; `notes` follow the findings.
pub fn document(sweep: &Sweep, runs: &[Played], notes: &[String]) -> Document {
    let front = Front::new(sweep, chosen_cell(sweep));
    let runs = in_page_order(sweep, &front, runs);
    let default = sweep.cells.first().map(|cell| cell.label.as_str());
    let scenarios = compare_by_target(runs.clone(), default);
    let (mut warnings, mut verdict): (Vec<Sentence>, Vec<Sentence>) = sentences(sweep)
        .into_iter()
        .partition(|sentence| !sentence.mark.is_empty());
    for note in notes {
        warnings.push(Sentence::answer("tune.note", Tone::Warning, note.clone()).marked("note"));
    }
    let mut sections = Vec::new();
    if let Some(ship) = ship_section(sweep) {
        // The lines to paste come first, then the sentences on what they save and cost.
        sections.push(ship.with_all(std::mem::take(&mut verdict)));
    }
    sections.push(settings(sweep, &front));
    let warnings = Section::new("tune-warnings", "Notes", Weight::Answer).with_all(warnings);
    sections.extend(warnings.unless_empty());
    sections.push(Section::new("front", "Memory against time", Weight::Evidence).with_block(fronts(sweep, &front)));
    sections.extend(cost_section(sweep));
    sections.push(settings_in_full(sweep));
    let figures = comparison::sections(&scenarios, &runs, front.keys, false);
    sections.extend(figures.into_iter().map(|section| Section {
        weight: section.weight.max(Weight::Evidence),
        ..section
    }));
    Document {
        title: title(sweep),
        origin: comparison::origin(&runs),
        headline: Some(Sentence::answer("tune.verdict", tone(sweep), headline(sweep))),
        verdict,
        sections,
    }
}

/// The runs of cells in the order of the page, because a comparison keeps the order in which it first meets servers.
fn in_page_order(sweep: &Sweep, front: &Front, runs: &[Played]) -> Vec<Played> {
    let cell_runs = runs.iter().filter(|run| run.summary.header.plan.cell.is_some());
    let mut runs: Vec<Played> = cell_runs.cloned().collect();
    runs.sort_by_key(|run| {
        let label = &run.summary.header.server.label;
        front.order.iter().position(|cell| sweep.cells[*cell].label == *label)
    });
    runs
}

fn title(sweep: &Sweep) -> String {
    let server = &sweep.server;
    let mut title = format!("tune {} on {}", server.name, sweep.scenario);
    if let Some(version) = &server.version {
        title.push_str(&format!(", {version}"));
    }
    if let Some(allocator) = &server.allocator {
        title.push_str(&format!(", {allocator}"));
    }
    title.push_str(&format!(
        ", {}",
        units::count_of(sweep.cells.len() as u64 + u64::from(sweep.missing), "setting")
    ));
    title
}

fn tone(sweep: &Sweep) -> Tone {
    match sweep.choice {
        Recommendation::Use(_) => Tone::Good,
        Recommendation::Default(KeepReason::TooFew | KeepReason::CostOpen(_)) => Tone::Warning,
        Recommendation::Default(_) => Tone::Strong,
        Recommendation::None(_) | Recommendation::Unknown => Tone::Bad,
    }
}

fn is_open(cell: &CellResult) -> bool {
    matches!(cell.why_not, Some(WhyNot::CostOpen(_) | WhyNot::CostUnknown(_)))
}

fn settings(sweep: &Sweep, front: &Front) -> Section {
    let mut note = "medians, sizes in MiB".to_owned();
    if sweep.cells.iter().any(is_open) {
        note.push_str(&format!(
            " · cost open: not shown to stay within the limits of {} and CPU",
            sweep.places.name(Figure::P95)
        ));
    }
    Section::new("settings", "Settings", Weight::Answer)
        .noted(note)
        .with_block(columns(sweep, &front.numbers))
        .with_block(Sentence::definition("tune.legend", legend(sweep)))
        .with_all(failed(sweep))
}

/// The settings with which the server failed, and how.
fn failed(sweep: &Sweep) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    for cell in &sweep.cells {
        if let Some(stopped) = &cell.stopped
            && matches!(stopped.why, Why::Failed(_))
        {
            let text = format!("{} {}", cell.label, elimination_clause(stopped));
            sentences.push(Sentence::evidence("tune.stopped", text).marked("stopped"));
        }
    }
    sentences
}

/// The lines to paste: the most usual form at once, the others folded. `None` without a recommended setting.
fn ship_section(sweep: &Sweep) -> Option<Section> {
    let cell = chosen_cell(sweep)?;
    let usual = ship::usual_forms(&sweep.server, &cell.sets);
    let (first, rest) = usual.split_first()?;
    let unusual = Form::VARIANTS.iter().filter(|form| !usual.contains(form));
    let folded = Section::new("", "In programs and editors", Weight::Definition).with_all(
        rest.iter()
            .chain(unusual)
            .filter_map(|form| code_block(*form, sweep, cell)),
    );
    Some(
        Section::new("ship", format!("Use {}", cell.label), Weight::Answer)
            .with_all(code_block(*first, sweep, cell))
            .with_all(folded.unless_empty()),
    )
}

/// A cell's settings to paste; `None` if they cannot be written in this form.
fn code_block(form: Form, sweep: &Sweep, cell: &CellResult) -> Option<Block> {
    let text = ship::text(form, &sweep.server, &cell.sets).ok()?;
    let (title, language) = form.words();
    let title = Some(format!("{title}, --print {}", form.name()));
    Some(Block::Code { language, title, text })
}

fn cost_section(sweep: &Sweep) -> Option<Section> {
    let mut note = "95 % intervals of the ratio".to_owned();
    if sweep.rules.max_private.is_none() {
        note.push_str(&format!(
            " · allowed: {} +{}, CPU +{}",
            sweep.places.name(Figure::P95),
            units::percent(sweep.rules.latency),
            units::percent(sweep.rules.cpu)
        ));
    }
    note.push_str(" · beaten: another is as good in all figures and clearly better in one");
    let section = Section::new("costs", "Cost against the default", Weight::Evidence).noted(note);
    Some(section.with_block(costs(sweep)?))
}

fn settings_in_full(sweep: &Sweep) -> Section {
    let cells = order(sweep).into_iter().map(|place| &sweep.cells[place]);
    let facts = cells.map(|cell| (cell.label.clone(), settings_line(&cell.sets)));
    // Facts wrap. A narrow terminal would hide the column of a table.
    Section::new("sets", "Settings in full", Weight::Evidence).with_block(Block::facts("", facts))
}

/// All variables, arguments and other settings of a cell in one line.
pub fn settings_line(sets: &CellFacts) -> String {
    let mut words: Vec<String> = sets
        .env
        .iter()
        .map(|(name, value)| format!("{name}={}", quoted(value)))
        .collect();
    words.extend(sets.args.iter().map(|arg| quoted(arg)));
    if let Some(settings) = &sets.settings {
        words.push(format!("settings {settings}"));
    }
    if let Some(options) = &sets.init_options {
        words.push(format!("initialization options {options}"));
    }
    if let Some(cpus) = &sets.cpus {
        words.push(format!("processors {cpus}"));
    }
    if words.is_empty() {
        return "nothing (the defaults)".to_owned();
    }
    words.join(" ")
}
