//! What came back while a server was left alone: the curves of each window from its beginning, every run faint behind the
//! median, with the times when half and nine tenths had come back.

use maud::{Markup, html};

use crate::compare::{Comparison, Decay};
use crate::record::Nanos;
use crate::report::decay as words;
use crate::summary::Summary;
use crate::summary::decay;
use crate::summary::decay::{Course, Window};
use crate::summary::together::middle;
use crate::text::{clean, cut};
use crate::units;

use super::data::Named;
use super::strips::tenth;
use crate::document::Picture;
use crate::document::page::{self, Keys};

const WIDTH: f64 = 480.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 468.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 190.0;

const MOMENTS: usize = 128;

const LEGEND: &str = "Private memory from the beginning of each window; every run is faint, the strong line is their median, \
                      in which one whose window is over keeps its last value. ○ half and ● nine tenths of what fell to the floor had come back, each at \
                      the median of the runs. No axis of memory begins at 0.";

/// One server's runs of a window.
struct Decaying<'w> {
    label: &'w str,
    /// Its classes, which are its colour and its dash.
    class: String,
    windows: Vec<&'w Window>,
}

/// A plot for each window.
pub struct Decays<'w> {
    plots: Vec<(String, Vec<Decaying<'w>>)>,
}

impl<'w> Decays<'w> {
    /// These windows of one run.
    pub fn of_run(summary: &'w Summary, windows: Vec<&'w Window>) -> Decays<'w> {
        let plot = |window: &'w Window| {
            let one = Decaying {
                label: &summary.header.server.label,
                class: page::class(0),
                windows: vec![window],
            };
            (words::name(window), vec![one])
        };
        Decays {
            plots: windows.into_iter().map(plot).collect(),
        }
    }

    /// The windows of all runs of several servers.
    pub fn of_comparison(comparison: &Comparison, servers: &[(&'w str, Vec<Named<'w>>)], keys: Keys) -> Decays<'w> {
        let plots = comparison.decays.iter().enumerate().map(|(place, window)| {
            let before = &comparison.decays[..place];
            let number = before.iter().filter(|other| is_alike(other, window)).count();
            let servers = servers.iter().enumerate().map(|(place, (label, runs))| Decaying {
                label,
                class: keys.class(place),
                windows: runs
                    .iter()
                    .filter_map(|run| found(&run.1.windows, window, number))
                    .collect(),
            });
            let title = words::label(&window.phase, window.kind, window.control);
            (title, servers.collect())
        });
        Decays { plots: plots.collect() }
    }
}

impl Picture for Decays<'_> {
    /// Its tables have curves of characters.
    fn rows(&self, _: usize) -> Option<(Vec<String>, String)> {
        None
    }

    fn markup(&self) -> Option<Markup> {
        Some(html! {
            p.quiet { (LEGEND) }
            div.plots.wide { @for (title, servers) in &self.plots { (plot(title, servers)) } }
        })
    }
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
    let several = servers.len() > 1;
    html! {
        figure {
            figcaption { (clean(title)) span.quiet { ", MiB" } }
            @if several {
                p.keys { @for one in servers { span { (key(&one.class)) (cut(&clean(one.label), 40)) } } }
            }
            svg viewBox={ "0 0 " (WIDTH) " " (BOTTOM + 24.0) } role="img" aria-label=(clean(&format!("{title}: {}", said.join("; ")))) {
                @for value in round(scale.low, scale.high, f64::from(1 << 20)) {
                    line.grid x1=(LEFT) x2=(RIGHT) y1=(scale.down(value)) y2=(scale.down(value)) {}
                    text.tick.end x=(LEFT - 6.0) y=(tenth(scale.down(value) + 4.0)) { (units::mib(value as u64)) }
                }
                @for moment in round(0.0, scale.longest, 1e9) {
                    @let x = scale.across(moment);
                    @let is_last = x > RIGHT - 14.0;
                    text class=(if is_last { "tick end" } else { "tick mid" }) x=(if is_last { RIGHT + 10.0 } else { x }) y=(BOTTOM + 16.0) { (words::time(moment as Nanos)) }
                }
                line.axis x1=(LEFT) x2=(RIGHT) y1=(BOTTOM) y2=(BOTTOM) {}
                @for one in servers { (curves(one, &scale)) }
            }
        }
    }
}

/// A server's line as it is drawn.
fn key(class: &str) -> Markup {
    html! {
        svg viewBox="0 0 32 12" aria-hidden="true" { g class=(class) { path.stroke d="M0 6H32" {} } }
    }
}

/// Multiples of 1, 2 or 5 in a power of ten of the unit, at most six, from the first to the second value.
fn round(low: f64, high: f64, unit: f64) -> Vec<f64> {
    const STEPS: f64 = 5.0;
    let powers = (-3..15).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(power) * unit));
    let Some(step) = powers.into_iter().find(|step| (high - low) / step <= STEPS) else {
        return Vec::new();
    };
    let (first, last) = ((low / step).ceil() as u64, (high / step).floor() as u64);
    (first..=last).map(|tick| tick as f64 * step).collect()
}

fn curves(one: &Decaying, scale: &Scale) -> Markup {
    let middle = middles(one, scale.longest);
    html! {
        g class=(one.class) {
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

/// The median of all runs as long as any lasts. One whose window is over keeps its last value: a median of those that are left
/// would fall or rise where a run leaves it, as no run did.
fn middles(one: &Decaying, longest: f64) -> Vec<(f64, f64)> {
    let known: Vec<&Window> = one
        .windows
        .iter()
        .copied()
        .filter(|window| !window.curve.is_empty())
        .collect();
    if known.is_empty() {
        return Vec::new();
    }
    let last = known.iter().map(|window| window.took as f64).fold(0.0, f64::max);
    let moments = (0..=MOMENTS).map(|moment| longest * moment as f64 / MOMENTS as f64);
    let at = |moment: f64| {
        (
            moment,
            middle(known.iter().map(|window| value(window, moment)).collect()),
        )
    };
    moments.take_while(|moment| *moment <= last).map(at).collect()
}

/// What its drawn line has at a moment: straight between its points, so that a median is never outside of the lines.
fn value(window: &Window, moment: f64) -> f64 {
    let place = moment / window.took.max(1) as f64 * window.curve.len() as f64;
    let at = |place: usize| window.curve[place.min(window.curve.len() - 1)] as f64;
    let (before, after) = (at(place as usize), at(place as usize + 1));
    before + (after - before) * place.fract()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::golden::Session;
    use crate::record::{IdleKind, Reader};

    /// A silence in which memory went from 140 MiB to so many, for so long.
    fn window(to: u64, seconds: u64) -> Window {
        let mut session = Session::new("server");
        session.spawn(0, "server", None, 140, 20);
        session.phase("decay");
        session.idle(IdleKind::Silent, 0, to, seconds);
        let bytes = session.bytes();
        crate::summary::read(Reader::new(bytes.as_slice()).unwrap())
            .unwrap()
            .windows
            .swap_remove(0)
    }

    #[test]
    fn a_median_does_not_move_where_a_run_leaves_it() {
        let windows = [window(60, 10), window(140, 20), window(90, 15)];
        let one = Decaying {
            label: "server",
            class: page::class(0),
            windows: windows.iter().collect(),
        };
        let longest = windows[1].took as f64;
        let line = middles(&one, longest);
        assert_eq!(line.last().map(|(moment, _)| *moment), Some(longest));
        assert!(line.windows(2).all(|pair| pair[1].1 <= pair[0].1), "{line:?}");
        assert_eq!(
            line.last().map(|(_, value)| *value as u64),
            windows[2].curve.last().copied()
        );
    }

    #[test]
    fn axes_have_round_values_and_few() {
        assert_eq!(round(0.0, 12.9, 1.0), [0.0, 5.0, 10.0]);
        assert_eq!(round(379.1, 412.5, 1.0), [380.0, 390.0, 400.0, 410.0]);
        for high in [0.01, 1.0, 59.0, 4_000.0, 1e9] {
            assert!((2..=6).contains(&round(0.0, high, 1.0).len()), "{high}");
        }
    }
}
