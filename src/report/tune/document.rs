//! What a sweep says: its answer, the lines to paste, and its front, above the comparison of all settings.

use maud::{Markup, html};

use crate::compare::{Played, Scenarios, by_target};
use crate::document::{Block, Document, Picture, Section, Weight};
use crate::record::CellFacts;
use crate::report::comparison;
use crate::report::html::{Front, front};
use crate::text::table::{Cell, Column};
use crate::text::{Sentence, Tone, quoted};
use crate::tune::{Choice, Keep, Sweep, Swept, Tuned};
use crate::units;

use super::columns::{columns, order};
use super::ship;
use super::why::why_not;
use super::words::{chosen, headline, legend, sentences, stop};

/// The runs of the sweep in the order of its page, and what comes of comparing them: what its document borrows from.
pub struct Compared {
    front: Front,
    runs: Vec<Played>,
    scenarios: Scenarios,
}

impl Compared {
    pub fn new(sweep: &Sweep, runs: &[Played]) -> Compared {
        let default = sweep.cells.first().map(|cell| cell.label.clone());
        let front = Front::new(sweep, chosen(sweep));
        let of_cells = runs.iter().filter(|run| run.summary.header.plan.cell.is_some());
        let mut runs: Vec<Played> = of_cells.cloned().collect();
        // The order of servers is that in which they are first met.
        runs.sort_by_key(|run| {
            let label = &run.summary.header.server.label;
            front.order.iter().position(|cell| sweep.cells[*cell].label == *label)
        });
        let scenarios = by_target(runs.clone(), default.as_deref());
        Compared { front, runs, scenarios }
    }
}

/// The whole document; `notes` are told after what was found.
pub fn document<'a>(sweep: &'a Sweep, compared: &'a Compared, notes: &[String]) -> Document<'a> {
    let mut sections = vec![settings(sweep, &compared.front)];
    sections.extend(shipped(sweep));
    sections.push(fronts(sweep, &compared.front));
    sections.push(what_is_set(sweep));
    let figures = comparison::sections(&compared.scenarios, &compared.runs, compared.front.keys, false);
    sections.extend(figures.into_iter().map(|section| Section {
        weight: section.weight.max(Weight::Evidence),
        ..section
    }));
    let mut verdict = sentences(sweep);
    verdict.extend(
        notes
            .iter()
            .map(|note| Sentence::answer("tune.note", Tone::Warning, note.clone()).marked("note")),
    );
    Document {
        title: title(sweep),
        origin: comparison::origin(&compared.runs),
        headline: Some(Sentence::answer("tune.verdict", tone(sweep), headline(sweep))),
        verdict,
        sections,
    }
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
    title.push_str(&format!(", {}", units::counted(sweep.cells.len() as u64, "setting")));
    title
}

fn tone(sweep: &Sweep) -> Tone {
    match sweep.choice {
        Choice::Ship(_) => Tone::Good,
        Choice::Default(Keep::TooFew) => Tone::Warning,
        Choice::Default(_) => Tone::Strong,
        Choice::None(_) | Choice::Unknown => Tone::Bad,
    }
}

fn settings<'a>(sweep: &Sweep, front: &Front) -> Section<'a> {
    let numbers = order(sweep)
        .into_iter()
        .map(|cell| Cell::plain(front.numbers[cell].to_string()));
    let mut columns = columns(sweep);
    columns.insert(1, Column::number("no.", 10, numbers.collect()));
    Section::new("settings", "Settings", Weight::Answer)
        .noted("medians, sizes in MiB")
        .with(columns)
        .with(Sentence::definition("tune.legend", legend(sweep)))
        .with_all(not_chosen(sweep))
}

/// Of each setting that is not recommended why, those that stopped first.
fn not_chosen(sweep: &Sweep) -> Vec<Sentence> {
    let quiet =
        |id: &'static str, mark: &'static str, text: String| Sentence::answer(id, Tone::Quiet, text).marked(mark);
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
fn shipped(sweep: &Sweep) -> Option<Section<'_>> {
    let cell = chosen(sweep)?;
    let usual = ship::usual(&sweep.server, &cell.sets);
    let block = |form: &ship::Form| {
        let text = ship::text(*form, &sweep.server, &cell.sets).ok()?;
        Some(Block::Code {
            language: form.language(),
            title: Some(format!("{} (`--print {}`)", form.title(), form.name())),
            text,
        })
    };
    let others: Vec<ship::Form> = ship::ALL.into_iter().filter(|form| !usual.contains(form)).collect();
    let others =
        Section::new("", "For editors and services", Weight::Definition).with_all(others.iter().filter_map(block));
    Some(
        Section::new("ship", format!("Ship {}", cell.label), Weight::Answer)
            .with_all(usual.iter().filter_map(block))
            .with_all(others.filled()),
    )
}

/// One picture for each thing that memory is bought with.
fn fronts<'a>(sweep: &'a Sweep, front: &'a Front) -> Section<'a> {
    Section::new("front", "Memory against latency and CPU", Weight::Evidence)
        .with(Block::picture(Fronts { sweep, front }))
}

struct Fronts<'a> {
    sweep: &'a Sweep,
    front: &'a Front,
}

impl Picture for Fronts<'_> {
    fn rows(&self, _: usize) -> Option<(Vec<String>, String)> {
        None
    }

    fn markup(&self) -> Option<Markup> {
        Some(html! {
            p.quiet {
                "Down and to the left is better. Each point is the median of a setting, with its number in the table above; its lines are \
                 the intervals of the medians, and where one is much longer than the others, an arrow at the edge says that it goes on. \
                 Filled points are on the front: no other setting is as good in memory, latency and CPU and clearly better in one. \
                 Rings are not; a square is the default. Scales do not begin at 0. The default, what is chosen and the front, \
                 seven at most, have colours of their own; the others are near grey."
            }
            div.fronts {
                @for against in [Tuned::P95, Tuned::Cpu] { (front(self.sweep, self.front, against)) }
            }
        })
    }
}

fn what_is_set<'a>(sweep: &Sweep) -> Section<'a> {
    let cells = |text: &dyn Fn(&Swept) -> String| {
        let cells = order(sweep)
            .into_iter()
            .map(|place| Cell::plain(text(&sweep.cells[place])));
        cells.collect::<Vec<Cell>>()
    };
    let table = vec![
        Column::text("setting", 0, cells(&|cell| cell.label.clone())),
        Column::text("sets", 1, cells(&|cell| set(&cell.sets))),
    ];
    Section::new("sets", "What each setting is", Weight::Evidence).with(table)
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
        true => "nothing: the server as it is".to_owned(),
        false => words.join(" "),
    }
}
