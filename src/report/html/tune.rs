//! A sweep: its answer and its front, above the comparison of all settings.

use maud::{Markup, html};

use crate::analyse::compare::{Played, by_target};
use crate::analyse::tune::{Choice, Sweep, Tuned};
use crate::report::tune::{chosen, columns, headline, order, sentences, set, ship, why_not};
use crate::text::clean;
use crate::text::table::{Cell, Column};
use crate::units;

use super::front::{self, Told};
use super::several::{Above, page};
use super::{parts, tables};

/// The whole page. `notes` are told after what was found.
pub fn render(sweep: &Sweep, runs: &[Played], notes: &[String]) -> String {
    let default = sweep.cells.first().map(|cell| cell.label.clone());
    let mut own: Vec<Played> = runs
        .iter()
        .filter(|run| run.summary.header.plan.cell.is_some())
        .cloned()
        .collect();
    let told = Told::of(sweep, chosen(sweep));
    // The order of servers is that in which they are first met.
    let place = |run: &Played| {
        let label = &run.summary.header.server.label;
        told.order.iter().position(|cell| sweep.cells[*cell].label == *label)
    };
    own.sort_by_key(place);
    let first = html! {
        (answer(sweep, notes))
        (parts::section("front", "Memory against latency and CPU", &fronts(sweep, &told)))
        (parts::section("settings", "Settings", &settings(sweep, &told)))
        (shipped(sweep))
    };
    let above = Above {
        title: title(sweep),
        first,
        is_compared: false,
        keys: told.keys,
    };
    page(&by_target(own.clone(), default.as_deref()), &own, &above)
}

/// `completions: tune of ty 0.0.60, 14 settings`.
fn title(sweep: &Sweep) -> String {
    let server = &sweep.server;
    let version = server.version.as_deref().unwrap_or_default();
    let name = match version.strip_prefix(&server.name) {
        Some(_) => version.to_owned(),
        None => format!("{} {version}", server.name).trim_end().to_owned(),
    };
    let settings = units::counted(sweep.cells.len() as u64, "setting");
    format!("{}: tune of {name}, {settings}", sweep.scenario)
}

fn answer(sweep: &Sweep, notes: &[String]) -> Markup {
    let tone = match sweep.choice {
        Choice::Ship(_) => "good",
        Choice::Default(_) => "plain",
        Choice::None(_) | Choice::Unknown => "bad",
    };
    let said = sentences(sweep)
        .into_iter()
        .map(|sentence| (tables::tone(sentence.tone), sentence.text));
    let noted = notes.iter().map(|note| ("quiet", note.clone()));
    html! {
        div.verdict {
            p class={ "ending " (tone) } { (clean(&headline(sweep))) }
            (parts::sentences(said.chain(noted)))
        }
    }
}

fn settings(sweep: &Sweep, told: &Told) -> Markup {
    let numbers = order(sweep)
        .into_iter()
        .map(|cell| Cell::plain(told.numbers[cell].to_string()));
    let mut columns = columns(sweep);
    columns.insert(1, Column::number("no.", 0, numbers.collect()));
    let sets: Vec<(String, Vec<String>)> = sweep
        .cells
        .iter()
        .map(|cell| {
            let why = why_not(sweep, cell).unwrap_or_default();
            (cell.label.clone(), vec![set(&cell.sets), why])
        })
        .collect();
    let heads = ["setting", "sets", "why it is not recommended"].map(str::to_owned);
    html! {
        (tables::of_columns("Medians of each setting, sizes in MiB", &columns))
        (parts::folded("What each setting is", &tables::of_texts("What each setting is", &heads, &sets)))
    }
}

fn shipped(sweep: &Sweep) -> Markup {
    let Some(cell) = chosen(sweep) else {
        return html! {};
    };
    let forms = ship::ALL.into_iter();
    let texts = forms.filter_map(|form| Some((form.title(), ship::text(form, &sweep.server, &cell.sets).ok()?)));
    let body = html! {
        @for (title, text) in texts {
            p { (title) }
            div.copyable { pre tabindex="0" { code { (text) } } }
        }
    };
    parts::section("ship", &format!("Ship {}", cell.label), &body)
}

/// One picture for each thing that memory is bought with.
fn fronts(sweep: &Sweep, told: &Told) -> Markup {
    html! {
        p.quiet {
            "Down and to the left is better. Each point is the median of a setting, with its number in the table below; its lines are \
             the intervals of the medians, and where one is much longer than the others, an arrow at the edge says that it goes on. \
             Filled points are on the front: no other setting is as good in memory, latency and CPU and clearly better in one. \
             Rings are not; a square is the default. Scales do not begin at 0. The default, what is chosen and the front, \
             seven at most, have colours of their own; the others are near grey."
        }
        div.fronts {
            @for against in [Tuned::P95, Tuned::Cpu] { (front::draw(sweep, told, against)) }
        }
    }
}
