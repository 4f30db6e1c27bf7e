//! What came back while a server was left alone: the curves of each window from its beginning, every run faint behind the
//! median, with the times when half and nine tenths had come back.

use maud::{Markup, html};

use crate::analyse::Summary;
use crate::analyse::compare::{Comparison, Decay};
use crate::analyse::decay::{self, Course, Window};
use crate::analyse::together::middle;
use crate::record::Nanos;
use crate::report::comparison::decay::{self as compared, Named::Always};
use crate::report::comparison::release;
use crate::report::decay as words;
use crate::report::table::Column;
use crate::report::terminal::decay::{SUBJECT, columns_of_windows, told};
use crate::report::text::{clean, cut};
use crate::units;

use super::data::Named;
use super::parts::{self, COLORS};
use super::strips::tenth;
use super::tables;

const WIDTH: f64 = 480.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 468.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 190.0;

/// Moments of a median.
const MOMENTS: usize = 128;

const LEGEND: &str = "Private memory from the beginning of each window; every run is faint, the strong line is the median of \
                      those that were not over yet. ○ half and ● nine tenths of what fell to the floor had come back, each at \
                      the median of the runs. No axis of memory begins at 0.";

/// One server's runs of a window.
struct Decaying<'w> {
    label: &'w str,
    place: usize,
    windows: Vec<&'w Window>,
}

/// The section of one run: a plot and a row for each window.
pub fn of_run(summary: &Summary) -> Markup {
    let Some(table) = columns_of_windows(summary).map(plotted) else {
        return html! {};
    };
    let label = summary.header.server.label.as_str();
    let shown = told(&summary.windows);
    let plots = shown.iter().map(|window| {
        let one = Decaying {
            label,
            place: 0,
            windows: vec![window],
        };
        plot(&words::name(window), &[one])
    });
    let body = html! {
        p.quiet { (LEGEND) }
        div.plots.wide { @for plot in plots { (plot) } }
        (tables::of_columns(&format!("What came back, {SUBJECT}"), &table))
        p.quiet { (words::legend(&table)) }
    };
    parts::section("decay", "What came back", &body)
}

/// The section of several servers: a plot for each window, and a row for each server in it.
pub fn of_comparison(id: &str, comparison: &Comparison, servers: &[(&str, Vec<Named>)]) -> Markup {
    let said: Vec<String> = compared::verdict(comparison)
        .into_iter()
        .chain(release::verdict(comparison))
        .collect();
    let table = compared::columns(comparison, Always).map(plotted);
    if said.is_empty() && table.is_none() {
        return html! {};
    }
    let plots = comparison.decays.iter().enumerate().map(|(place, window)| {
        let alike = comparison.decays[..place]
            .iter()
            .filter(|other| is_alike(other, window));
        let number = alike.count();
        let of = servers.iter().enumerate().map(|(place, (label, runs))| Decaying {
            label,
            place,
            windows: runs
                .iter()
                .filter_map(|run| found(&run.1.windows, window, number))
                .collect(),
        });
        let title = words::label(&window.phase, window.kind, window.control);
        plot(&title, &of.collect::<Vec<Decaying>>())
    });
    let body = html! {
        (parts::sentences(said.into_iter().map(|text| ("plain", text))))
        @if let Some(table) = table {
            p.quiet { (LEGEND) }
            div.plots.wide { @for plot in plots { (plot) } }
            (tables::of_columns(&format!("What came back, {}", compared::SUBJECT), &table))
            p.quiet { (compared::legend(&table)) }
        }
    };
    parts::section(&format!("{id}decay"), "What came back", &body)
}

/// The table without its curves, which stand above it as plots.
fn plotted(mut table: Vec<Column>) -> Vec<Column> {
    table.retain(|column| column.name() != words::CURVE);
    table
}

fn is_alike(one: &Decay, other: &Decay) -> bool {
    (&one.phase, one.kind, one.control) == (&other.phase, other.kind, other.control)
}

/// The window of a run, the last round of its phase; a phase may have several of a kind.
fn found<'w>(windows: &'w [Window], of: &Decay, number: usize) -> Option<&'w Window> {
    let is_it = |one: &&Window| (&one.phase.name, one.kind, one.control) == (&of.phase, of.kind, of.control);
    let told = windows.iter().filter(|one| one.control || decay::counts(one, windows));
    told.filter(is_it).nth(number)
}

/// From time and size to places of the drawing.
struct Scale {
    longest: f64,
    low: f64,
    high: f64,
}

impl Scale {
    fn of(servers: &[Decaying]) -> Option<Scale> {
        let windows = || {
            servers
                .iter()
                .flat_map(|one| &one.windows)
                .filter(|window| !window.curve.is_empty())
        };
        let values = || windows().flat_map(|window| window.curve.iter().copied());
        let (low, high) = (values().min()? as f64, values().max()? as f64);
        // What moves less than a MiB is drawn flat.
        let more = ((high - low) * 0.08).max((f64::from(1 << 20) - (high - low)) / 2.0);
        Some(Scale {
            longest: windows().map(|window| window.took).max()?.max(1) as f64,
            low: (low - more).max(0.0),
            high: high + more,
        })
    }

    fn across(&self, moment: f64) -> f64 {
        tenth(LEFT + moment / self.longest * (RIGHT - LEFT))
    }

    fn down(&self, value: f64) -> f64 {
        tenth(BOTTOM - (value - self.low) / (self.high - self.low) * (BOTTOM - TOP))
    }
}

fn plot(title: &str, servers: &[Decaying]) -> Markup {
    let Some(scale) = Scale::of(servers) else {
        return html! {};
    };
    let said: Vec<String> = servers.iter().filter_map(said).collect();
    let ticks = [0.0, 0.25, 0.5, 0.75, 1.0];
    let several = servers.len() > 1;
    html! {
        figure {
            figcaption { (clean(title)) span.quiet { ", MiB" } }
            @if several {
                p.keys { @for one in servers { span class={ "s" (one.place % COLORS) } { span.key aria-hidden="true" {} (cut(&clean(one.label), 40)) } } }
            }
            svg viewBox={ "0 0 " (WIDTH) " " (BOTTOM + 24.0) } role="img" aria-label=(clean(&format!("{title}: {}", said.join("; ")))) {
                @for tick in ticks {
                    @let value = scale.low + (scale.high - scale.low) * tick;
                    line.grid x1=(LEFT) x2=(RIGHT) y1=(scale.down(value)) y2=(scale.down(value)) {}
                    text.tick.end x=(LEFT - 6.0) y=(tenth(scale.down(value) + 4.0)) { (units::mib(value as u64)) }
                    @let moment = scale.longest * tick;
                    text class=(if tick < 1.0 { "tick mid" } else { "tick end" }) x=(scale.across(moment) + if tick < 1.0 { 0.0 } else { 10.0 }) y=(BOTTOM + 16.0) { (words::time(moment as Nanos)) }
                }
                line.axis x1=(LEFT) x2=(RIGHT) y1=(BOTTOM) y2=(BOTTOM) {}
                @for one in servers { (curves(one, &scale)) }
            }
        }
    }
}

fn curves(one: &Decaying, scale: &Scale) -> Markup {
    let middle = middles(one, scale.longest);
    html! {
        g class={ "s" (one.place % COLORS) } {
            @if one.windows.len() > 1 {
                @for window in &one.windows { path.fell.faint d=(path(&own(window), scale)) {} }
            }
            path.fell d=(path(&middle, scale)) {}
            @for (part, name) in [(false, "half"), (true, "nine tenths")] {
                @if let Some((moment, value)) = reached(one, &middle, part) {
                    circle class=(if part { "reached full" } else { "reached" }) cx=(scale.across(moment)) cy=(scale.down(value)) r="4" {
                        title { (clean(one.label)) ": " (name) " after " (words::time(moment as Nanos)) }
                    }
                }
            }
        }
    }
}

/// The curve of a window: when, and how much.
fn own(window: &Window) -> Vec<(f64, f64)> {
    let step = window.took as f64 / window.curve.len().max(1) as f64;
    let points = window.curve.iter().enumerate();
    points
        .map(|(place, value)| (place as f64 * step, *value as f64))
        .collect()
}

/// The median of the runs that were not over yet, as long as that is at least half of them.
fn middles(one: &Decaying, longest: f64) -> Vec<(f64, f64)> {
    let known: Vec<&Window> = one
        .windows
        .iter()
        .copied()
        .filter(|window| !window.curve.is_empty())
        .collect();
    let moments = (0..=MOMENTS).map(|moment| longest * moment as f64 / MOMENTS as f64);
    let at = |moment: f64| {
        let under_way = known.iter().filter(|window| moment <= window.took as f64);
        let values: Vec<f64> = under_way.map(|window| value(window, moment)).collect();
        (values.len() * 2 >= known.len() && !values.is_empty()).then(|| (moment, middle(values)))
    };
    moments.map_while(at).collect()
}

fn value(window: &Window, moment: f64) -> f64 {
    let place = (moment / window.took.max(1) as f64 * window.curve.len() as f64) as usize;
    window.curve[place.min(window.curve.len() - 1)] as f64
}

/// When half, or nine tenths, had come back at the median of the runs, and where the median curve is then; `None` where less
/// than half of the runs gave enough back to say.
fn reached(one: &Decaying, curve: &[(f64, f64)], most: bool) -> Option<(f64, f64)> {
    let time = |course: &Course| if most { course.t90 } else { course.t50 };
    let times = one.windows.iter().filter_map(|window| time(window.private.as_ref()?));
    let times: Vec<f64> = times.map(|time| time as f64).collect();
    let enough = !times.is_empty() && times.len() * 2 >= one.windows.len();
    let moment = enough.then(|| middle(times))?;
    let value = curve.iter().rev().find(|(at, _)| *at <= moment)?.1;
    Some((moment, value))
}

fn path(points: &[(f64, f64)], scale: &Scale) -> String {
    let points = points.iter().enumerate();
    let parts = points.map(|(place, (moment, value))| {
        let letter = if place == 0 { 'M' } else { 'L' };
        format!("{letter}{} {}", scale.across(*moment), scale.down(*value))
    });
    parts.collect()
}

fn said(one: &Decaying) -> Option<String> {
    let curve = middles(one, one.windows.iter().map(|window| window.took).max()? as f64);
    let (first, last) = (curve.first()?.1, curve.last()?.1);
    let times = [("half", false), ("nine tenths", true)]
        .into_iter()
        .filter_map(|(name, most)| {
            let (moment, _) = reached(one, &curve, most)?;
            Some(format!(", {name} back after {}", words::time(moment as Nanos)))
        });
    let times: String = times.collect();
    Some(format!(
        "{} from {} to {} MiB{times}",
        one.label,
        units::mib(first as u64),
        units::mib(last as u64)
    ))
}
