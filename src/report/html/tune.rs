//! A sweep: its answer and its front, above the comparison of all settings.

use maud::{Markup, html};

use crate::analyse::compare::{Played, Unit, by_target};
use crate::analyse::stats::MedianInterval;
use crate::analyse::tune::{Choice, Sweep, Swept, Tuned};
use crate::report::comparison::figures;
use crate::report::text::{clean, cut};
use crate::report::tune::{amount, chosen, columns, headline, sentences, set, ship, stop};
use crate::units;

use super::several::{Above, page};
use super::strips::{Scale, tenth};
use super::{parts, tables};

/// The drawing in units of its own; the page scales it.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 560.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 312.0;

/// Most letters of a label that have room.
const LETTERS: usize = 24;

/// The whole page. `notes` are told after what was found.
pub fn render(sweep: &Sweep, runs: &[Played], notes: &[String]) -> String {
    let default = sweep.cells.first().map(|cell| cell.label.clone());
    let own: Vec<Played> = runs
        .iter()
        .filter(|run| run.summary.header.plan.cell.is_some())
        .cloned()
        .collect();
    let first = html! {
        (answer(sweep, notes))
        (parts::section("front", "Memory against latency and CPU", &fronts(sweep)))
        (parts::section("settings", "Settings", &settings(sweep)))
        (shipped(sweep))
    };
    let above = Above {
        title: title(sweep),
        first,
        is_compared: false,
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

fn settings(sweep: &Sweep) -> Markup {
    let sets: Vec<(String, Vec<String>)> = sweep
        .cells
        .iter()
        .map(|cell| {
            let why = cell.stopped.as_ref().map(stop).unwrap_or_default();
            (cell.label.clone(), vec![set(&cell.sets), why])
        })
        .collect();
    let heads = ["setting", "sets", "stopped"].map(str::to_owned);
    html! {
        (tables::of_columns("Medians of each setting, sizes in MiB", &columns(sweep)))
        (parts::folded("What each setting is", &tables::of_texts("What each setting is", &heads, &sets)))
    }
}

/// What to paste.
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
fn fronts(sweep: &Sweep) -> Markup {
    html! {
        p.quiet {
            "Down and to the left is better. Each point is the median of a setting, its lines the intervals of the medians. \
             Filled points are on the front: no other setting is as good in memory, latency and CPU and clearly better in one. \
             Rings are not; a square is the default. Scales do not begin at 0."
        }
        div.fronts {
            @for against in [Tuned::P95, Tuned::Cpu] { (front(sweep, against)) }
        }
    }
}

/// A cell that has both figures.
struct Point<'s> {
    cell: &'s Swept,
    across: MedianInterval,
    up: MedianInterval,
}

fn front(sweep: &Sweep, against: Tuned) -> Markup {
    let point = |cell: &'_ Swept| -> Option<(MedianInterval, MedianInterval)> {
        Some((cell.figure(against).median?, cell.figure(Tuned::Private).median?))
    };
    let points: Vec<Point<'_>> = sweep
        .cells
        .iter()
        .filter_map(|cell| {
            let (across, up) = point(cell)?;
            Some(Point { cell, across, up })
        })
        .collect();
    let title = match (against, &sweep.places.method) {
        (Tuned::P95, Some(method)) => format!("private memory against p95 of {method}"),
        (Tuned::P95, None) => return html! {},
        _ => "private memory against CPU of the whole run".to_owned(),
    };
    let ends = |of: fn(&Point<'_>) -> MedianInterval| {
        let all: Vec<f64> = points
            .iter()
            .flat_map(|point| [of(point).low, of(point).high])
            .collect();
        all
    };
    let across = Scale::of(ends(|point| point.across).into_iter());
    let up = Scale::of(ends(|point| point.up).into_iter());
    let said: Vec<String> = points.iter().map(|point| words(point, against)).collect();
    html! {
        figure {
            figcaption { (clean(&title)) span.quiet { ", MiB" } }
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(clean(&format!("{title}: {}", said.join("; ")))) {
                line.axis x1=(LEFT) x2=(RIGHT) y1=(BOTTOM) y2=(BOTTOM) {}
                line.axis x1=(LEFT) x2=(LEFT) y1=(TOP) y2=(BOTTOM) {}
                text.tick x=(LEFT) y=(BOTTOM + 16.0) { (value(across.low, against)) }
                text.tick.end x=(RIGHT) y=(BOTTOM + 16.0) { (value(across.high, against)) }
                text.tick.mid x=((LEFT + RIGHT) / 2.0) y=(BOTTOM + 34.0) { (against.name()) }
                text.tick.end x=(LEFT - 6.0) y=(BOTTOM) { (value(up.low, Tuned::Private)) }
                text.tick.end x=(LEFT - 6.0) y=(TOP + 8.0) { (value(up.high, Tuned::Private)) }
                @for (place, point) in points.iter().enumerate() {
                    (drawn(point, place, against, &across, &up))
                }
            }
        }
    }
}

fn drawn(point: &Point<'_>, place: usize, against: Tuned, across: &Scale, up: &Scale) -> Markup {
    let x = |value: f64| across.between(value, LEFT, RIGHT);
    let y = |value: f64| up.between(value, BOTTOM, TOP);
    let (cx, cy) = (x(point.across.median), y(point.up.median));
    let class = format!(
        "s{} {}{}",
        place % parts::COLORS,
        if point.cell.front { "on" } else { "off" },
        if point.cell.stopped.is_some() { " gone" } else { "" }
    );
    // Neighbours say their names on different heights.
    let lift = if place.is_multiple_of(2) { -6.0 } else { 12.0 };
    html! {
        g class=(class) {
            title { (clean(&words(point, against))) }
            line.whisker x1=(x(point.across.low)) x2=(x(point.across.high)) y1=(cy) y2=(cy) {}
            line.whisker x1=(cx) x2=(cx) y1=(y(point.up.low)) y2=(y(point.up.high)) {}
            @if point.cell.sets.default {
                rect.point x=(tenth(cx - 5.0)) y=(tenth(cy - 5.0)) width="10" height="10" {}
            } @else {
                circle.point cx=(cx) cy=(cy) r="5" {}
            }
            text.name x=(tenth(cx + 8.0)) y=(tenth(cy + lift)) { (cut(&clean(&point.cell.label), LETTERS)) }
        }
    }
}

fn words(point: &Point<'_>, against: Tuned) -> String {
    format!(
        "{}: {} private, {} {}{}",
        point.cell.label,
        amount(point.up.median, Tuned::Private),
        against.name(),
        amount(point.across.median, against),
        if point.cell.front { ", on the front" } else { "" }
    )
}

fn value(value: f64, figure: Tuned) -> String {
    let unit = match figure {
        Tuned::Private => Unit::Bytes,
        _ => Unit::Nanos,
    };
    figures::value(value, unit)
}
