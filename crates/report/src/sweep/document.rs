//! What a sweep says: its answer, the lines to paste, and its front, above the comparison of all settings.

use strum::VariantArray;

use crate::comparison;
use crate::document::{Block, Document, Section, Weight};
use crate::sweep::ship::Form;
use analysis::compare::{Played, by_target};
use analysis::figures::Figure;
use analysis::tune::{KeepReason, Recommendation, Sweep};
use base::text::{Sentence, Tone, quoted};
use base::units;
use record::CellFacts;

use super::columns::{columns, order, stop};
use super::front::{Front, fronts};
use super::ship;
use super::why::why_not;
use super::words::{chosen, headline, legend, sentences};
use analysis::tune::WhyNot;

/// The whole document; `notes` follow the findings.
pub fn document(sweep: &Sweep, runs: &[Played], notes: &[String]) -> Document {
    let front = Front::new(sweep, chosen(sweep));
    let runs = in_order(sweep, &front, runs);
    let default = sweep.cells.first().map(|cell| cell.label.as_str());
    let scenarios = by_target(runs.clone(), default);
    let notes = notes.iter();
    let notes = notes.map(|note| Sentence::answer("tune.note", Tone::Warning, note.clone()).marked("note"));
    let (warnings, verdict): (Vec<Sentence>, Vec<Sentence>) = sentences(sweep)
        .into_iter()
        .chain(notes)
        .partition(|one| !one.mark.is_empty());
    // What to paste comes first, then what that saves and costs.
    let (shipped, verdict) = match shipped(sweep) {
        Some(section) => (Some(section.with_all(verdict)), Vec::new()),
        None => (None, verdict),
    };
    let mut sections: Vec<Section> = shipped.into_iter().collect();
    sections.push(settings(sweep, &front));
    let warnings = Section::new("tune-warnings", "Notes", Weight::Answer).with_all(warnings);
    sections.extend(warnings.filled());
    sections.push(Section::new("front", "Memory against time", Weight::Evidence).with(fronts(sweep, &front)));
    sections.push(what_is_set(sweep));
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

/// The runs of cells in the order of the page: that of servers is the one in which they are first met.
fn in_order(sweep: &Sweep, front: &Front, runs: &[Played]) -> Vec<Played> {
    let of_cells = runs.iter().filter(|run| run.summary.header.plan.cell.is_some());
    let mut runs: Vec<Played> = of_cells.cloned().collect();
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
        units::counted(sweep.cells.len() as u64 + u64::from(sweep.missing), "setting")
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

fn is_open(why: &WhyNot) -> bool {
    matches!(why, WhyNot::CostOpen(_) | WhyNot::CostUnknown(_))
}

fn settings(sweep: &Sweep, front: &Front) -> Section {
    Section::new("settings", "Settings", Weight::Answer)
        .noted(
            match sweep
                .cells
                .iter()
                .any(|cell| cell.why_not.as_ref().is_some_and(is_open))
            {
                true => format!(
                    "medians, sizes in MiB · cost open: not shown to stay within the limits of {} and CPU",
                    sweep.places.name(Figure::P95)
                ),
                false => "medians, sizes in MiB".to_owned(),
            },
        )
        .with(columns(sweep, &front.numbers))
        .with(Sentence::definition("tune.legend", legend(sweep)))
        .with_all(not_chosen(sweep))
}

/// Of each setting that is not recommended why, those that stopped first.
fn not_chosen(sweep: &Sweep) -> Vec<Sentence> {
    let quiet = |id: &'static str, mark: &'static str, text: String| Sentence {
        tone: Tone::Quiet,
        ..Sentence::evidence(id, text).marked(mark)
    };
    let stopped = sweep.cells.iter().filter_map(|cell| {
        let text = format!("{} {}", cell.label, stop(cell.stopped.as_ref()?));
        Some(quiet("tune.stopped", "stopped", text))
    });
    let others = order(sweep).into_iter().filter_map(|place| {
        let cell = &sweep.cells[place];
        let why = why_not(sweep, cell).filter(|_| cell.stopped.is_none())?;
        Some(quiet("tune.not-chosen", "not chosen", format!("{}: {why}", cell.label)))
    });
    stopped.chain(others).collect()
}

/// What to paste: what is pasted most often at once, the rest by who looks for it.
fn shipped(sweep: &Sweep) -> Option<Section> {
    let cell = chosen(sweep)?;
    let usual = ship::usual(&sweep.server, &cell.sets);
    let block = |form: &Form| {
        let text = ship::text(*form, &sweep.server, &cell.sets).ok()?;
        let (title, language) = form.words();
        let title = Some(format!("{title}, --print {}", form.name()));
        Some(Block::Code { language, title, text })
    };
    let (first, rest) = usual.split_first()?;
    let others = Form::VARIANTS.iter().filter(|form| !usual.contains(form));
    let others = Section::new("", "In programs and editors", Weight::Definition)
        .with_all(rest.iter().chain(others).filter_map(block));
    Some(
        Section::new("ship", format!("Use {}", cell.label), Weight::Answer)
            .with_all(block(first))
            .with_all(others.filled()),
    )
}

fn what_is_set(sweep: &Sweep) -> Section {
    let cells = order(sweep).into_iter().map(|place| &sweep.cells[place]);
    let facts = cells.map(|cell| (cell.label.clone(), set(&cell.sets)));
    // Its text wraps, and the column of a table would leave.
    Section::new("sets", "Settings in full", Weight::Evidence).with(Block::facts("", facts))
}

/// What a cell sets, in a line.
pub fn set(sets: &CellFacts) -> String {
    let mut words: Vec<String> = sets
        .env
        .iter()
        .map(|(name, value)| format!("{name}={}", quoted(value)))
        .collect();
    words.extend(sets.args.iter().map(|arg| quoted(arg)));
    words.extend(sets.settings.as_ref().map(|text| format!("settings {text}")));
    let options = sets.init_options.as_ref();
    words.extend(options.map(|text| format!("initialization options {text}")));
    words.extend(sets.cpus.as_ref().map(|cpus| format!("processors {cpus}")));
    match words.is_empty() {
        true => "nothing (the defaults)".to_owned(),
        false => words.join(" "),
    }
}
