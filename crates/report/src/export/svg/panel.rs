//! One chart: servers on a common time axis, phases and windows behind them, a legend above.

use maud::{Markup, html};

use crate::charts::axis::{mebibytes, sizes, times};
use crate::charts::labels::{self as places, Area, Names, room};
use crate::charts::path::path;
use crate::charts::tenth;
use crate::document::page::class;
use crate::pictures::Named;
use analysis::summary::lines::{self, Line, Quantity};
use analysis::summary::together::{self, Middle, Stretch, Together, median};
use analysis::summary::{PhaseSummary, PrivateMetric, Span, Summary, held_up};
use base::text::{clean, cut, wrap};
use base::units;
use record::{IdleKind, Nanos};

use super::{COLUMNS, SENTENCES, WIDTH};

const LEFT: f64 = 70.0;
const RIGHT: f64 = 940.0;
const HEIGHT: f64 = 300.0;

const PEAK: &str = "▲";

/// Limit of places in all lines together, so that browsers can show a picture of many runs.
const PLACES: usize = 12_000;

/// Fewest and most places of a line.
const RANGE: (usize, usize) = (48, 800);

pub struct Panel<'p> {
    /// Shown when there are several panels.
    pub heading: Option<String>,
    pub sentences: Vec<String>,
    /// Label and runs of each server, the baseline first.
    pub servers: Vec<(&'p str, Vec<Named<'p>>)>,
}

struct Drawn<'p> {
    label: &'p str,
    /// Place in tables; it determines the colour.
    place: usize,
    runs: Vec<Line>,
    line: Line,
    typical: &'p Summary,
    /// The phases of the typical run, each with medians of all runs.
    middles: Vec<Middle>,
}

impl Panel<'_> {
    /// All text above the chart.
    pub fn sentences(&self) -> Vec<String> {
        self.heading.iter().chain(&self.sentences).cloned().collect()
    }

    /// Draws the panel and returns its height. `number` makes its ids unique in the file.
    pub fn draw(&self, number: usize) -> (Markup, f64) {
        let runs: Vec<&Summary> = self
            .servers
            .iter()
            .flat_map(|(_, runs)| runs)
            .map(|run| run.1)
            .collect();
        let together = Together::of(&runs);
        let drawn = self.lines(&runs, &together);
        let mut top = 4.0;
        let heading = self.heading.as_ref().map(|heading| {
            top += 20.0;
            html! { text.heading x="20" y=(top - 4.0) { (cut(&clean(heading), COLUMNS)) } }
        });
        let sentences = self
            .sentences
            .iter()
            .take(SENTENCES)
            .flat_map(|one| wrap(&clean(one), COLUMNS));
        let sentences: Vec<(f64, String)> = sentences
            .enumerate()
            .map(|(row, line)| (top + 12.0 + 17.0 * row as f64, line))
            .collect();
        top += 17.0 * sentences.len() as f64 + 8.0;
        if !runs.is_empty() && runs.iter().all(|run| held_up(&run.header).is_some()) {
            let markup = html! {
                @if let Some(heading) = heading { (heading) }
                @for (down, line) in &sentences { text.note x="20" y=(down) { (line) } }
            };
            return (markup, top);
        }
        let (legend, rows) = legend(&drawn, top);
        let names = drawn
            .first()
            .map_or_else(Names::default, |first| named(first, &together));
        top += 20.0 * rows as f64 + if names.upper.is_empty() { 26.0 } else { 42.0 };
        let chart = chart(&drawn, &together, number, &names);
        let note = note(&drawn, &together, &names);
        let markup = html! {
            @if let Some(heading) = heading { (heading) }
            @for (down, line) in &sentences { text.note x="20" y=(down) { (line) } }
            (legend)
            g transform={ "translate(" (LEFT) " " (top) ")" } { (chart) }
            @for (row, line) in note.iter().enumerate() {
                text.note x="20" y=(top + HEIGHT + 40.0 + 16.0 * row as f64) { (line) }
            }
        };
        (markup, top + HEIGHT + 36.0 + 16.0 * note.len() as f64)
    }

    fn lines(&self, runs: &[&Summary], together: &Together) -> Vec<Drawn<'_>> {
        let Some(width) = lines::grid(runs.iter().copied()) else {
            return Vec::new();
        };
        let places = (PLACES / (runs.len() + self.servers.len()).max(1)).clamp(RANGE.0, RANGE.1);
        let servers = self.servers.iter().enumerate();
        let drawn = servers.filter_map(|(place, (label, runs))| {
            let laid = |run: &Named| together.lay(run.1, &lines::line(run.1, Quantity::Private, width), width, places);
            let mut lines: Vec<Line> = runs.iter().map(laid).collect();
            let line = median(&lines);
            if lines.len() < 2 {
                lines.clear();
            }
            let typical = together::typical(runs, |run| run.1)?.1;
            let all: Vec<&Summary> = runs.iter().map(|run| run.1).collect();
            let phases = typical.phases.iter();
            Some(Drawn {
                label,
                place,
                runs: lines,
                line,
                typical,
                middles: phases.map(|phase| together::phase(&all, &phase.phase)).collect(),
            })
        });
        drawn.collect()
    }
}

/// The legend, and its number of rows.
fn legend(drawn: &[Drawn], top: f64) -> (Markup, usize) {
    let (mut right, mut row) = (20.0, 0);
    let mut places = Vec::new();
    for one in drawn {
        let runs = match one.runs.len() {
            0 => String::new(),
            runs => format!(", {}", units::counted(runs as u64, "run")),
        };
        let text = format!("{}{runs}", cut(&clean(one.label), 48));
        let wide = 56.0 + room(&text, 12.0);
        if right + wide > WIDTH && right > 20.0 {
            (right, row) = (20.0, row + 1);
        }
        places.push((right, top + 14.0 + 20.0 * f64::from(row), text, class(one.place)));
        right += wide;
    }
    let markup = html! {
        @for (right, down, text, class) in &places {
            g class=(class) {
                line.swatch x1=(right) x2=(right + 32.0) y1=(down - 4.0) y2=(down - 4.0) {}
                text x=(right + 40.0) y=(down) { (text) }
            }
        }
    };
    (markup, row as usize + 1)
}

/// The chart; its origin is the upper left corner of the plot.
fn chart(drawn: &[Drawn], together: &Together, number: usize, names: &Names) -> Markup {
    let width = RIGHT - LEFT;
    let lines = drawn.iter().flat_map(|one| one.runs.iter().chain([&one.line]));
    let highest = lines.flatten().flatten().map(|span| span.high()).max().unwrap_or(0);
    let phases = drawn.iter().flat_map(|one| &one.middles);
    let highest = phases.filter_map(|phase| phase.private).chain([highest]).max();
    let (step, steps) = sizes(highest.unwrap_or(0).max(1));
    let most = (step * steps) as f64 * 1.06;
    let up = |value: f64| tenth((1.0 - value / most) * HEIGHT);
    // In tenths of a unit.
    let drawn_path = |line: &Line| {
        let step = width * 10.0 / line.len().max(1) as f64;
        let point = |place: usize, (part, value): (f64, u64)| {
            let down = (1.0 - value as f64 / most) * HEIGHT * 10.0;
            (((place as f64 + part) * step).round() as i64, down.round() as i64)
        };
        path(line.iter().enumerate().flat_map(|(place, span)| match span {
            Some(span) => span.parts().map(|part| Some(point(place, part))),
            None => [None; 2],
        }))
    };
    let seconds = together.until / 1e9;
    html! {
        (ground(drawn.first(), together, number, names))
        @for tick in 0..=steps {
            @let down = up((tick * step) as f64);
            line class=(if tick == 0 { "axis" } else { "grid" }) x1="0" x2=(width) y1=(down) y2=(down) {}
            text.tick.end x="-8" y=(tenth(down + 4.0)) { (mebibytes(tick * step)) @if tick == steps { " MiB" } }
        }
        @for (at, text) in times(seconds) {
            @let right = tenth(at / seconds * width);
            line.axis x1=(right) x2=(right) y1=(HEIGHT) y2=(HEIGHT + 4.0) {}
            text.tick.mid x=(right) y=(HEIGHT + 18.0) { (text) }
        }
        g transform="scale(.1)" {
            @for one in drawn {
                g class=(class(one.place)) {
                    @for run in &one.runs { path.run d=(drawn_path(run)) {} }
                }
            }
            @for one in drawn {
                g class=(class(one.place)) { path.line d=(drawn_path(&one.line)) {} }
            }
        }
        (marks(drawn, together, &up))
    }
}

/// Phases and idle windows behind the lines, from the first server's typical run.
fn ground(first: Option<&Drawn>, together: &Together, number: usize, names: &Names) -> Markup {
    let Some(first) = first else {
        return html! {};
    };
    let across = |moment: Nanos| across(first, together, moment);
    let stretches = together::stretches(first.typical);
    let windows = first.typical.curves.windows.iter();
    let hatched = windows.clone().any(|window| window.kind == IdleKind::Simmer);
    html! {
        @if hatched {
            defs { pattern id={ "simmer" (number) } width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)" {
                rect width="8" height="8" class="phase" {} line.hatch x1="0" x2="0" y1="0" y2="8" {}
            } }
        }
        @for (place, phase) in stretches.iter().enumerate() {
            @let (left, right) = (across(phase.from), across(phase.to));
            @if place % 2 == 0 { rect.phase x=(left) width=(tenth(right - left)) height=(HEIGHT) {} }
        }
        @for window in windows {
            @let (left, right) = (across(window.from), across(window.to));
            @let (kind, fill) = match window.kind {
                IdleKind::Silent => ("silent", None),
                IdleKind::Simmer => ("hatched", Some(format!("url(#simmer{number})"))),
            };
            rect class=(kind) x=(left) width=(tenth(right - left)) height=(HEIGHT) fill=[fill] {}
        }
        @for phase in &stretches {
            @let left = across(phase.from);
            @let is_above = names.upper.iter().any(|(of, _)| *of == left);
            line.begin x1=(left) x2=(left) y1=(if is_above { "-34" } else { "-18" }) y2=(HEIGHT) {}
        }
        @for label in names.lower.iter().chain(names.upper.iter().map(|(_, label)| label)) {
            text x=(tenth(label.left)) y=(label.down) { (label.text) }
        }
    }
}

/// Horizontal position of a time of the typical run.
fn across(one: &Drawn, together: &Together, moment: Nanos) -> f64 {
    tenth((together.at(one.typical, moment) / together.until * (RIGHT - LEFT)).min(RIGHT - LEFT))
}

fn named(first: &Drawn, together: &Together) -> Names {
    let named = |phase: &Stretch| {
        let name = cut(&clean(&phase.name), 48);
        (
            across(first, together, phase.from),
            across(first, together, phase.to),
            name,
        )
    };
    let stretches: Vec<(f64, f64, String)> = together::stretches(first.typical).iter().map(named).collect();
    places::names(&stretches, RIGHT - LEFT)
}

/// Checkpoints at the median of the runs, and the highest point of each line with its value, placed without overlaps.
fn marks(drawn: &[Drawn], together: &Together, up: &dyn Fn(f64) -> f64) -> Markup {
    let width = RIGHT - LEFT;
    let around = |x: f64, top: f64, bottom: f64| Area {
        left: x - 5.0,
        right: x + 5.0,
        top,
        bottom,
    };
    let checkpoints = |one: &Drawn| -> Vec<(f64, f64, bool)> {
        let phases = one.typical.phases.iter().zip(&one.middles);
        let mark = |(phase, middle): (&PhaseSummary, &Middle)| {
            let at = phase.checkpoint.as_ref()?.at;
            Some((across(one, together, at), up(middle.private? as f64), middle.settled))
        };
        phases.filter_map(mark).collect()
    };
    let checkpoints: Vec<Vec<(f64, f64, bool)>> = drawn.iter().map(checkpoints).collect();
    let peaks: Vec<(usize, f64, f64, u64)> = drawn.iter().filter_map(|one| peak(one, width, up)).collect();
    let diamonds = checkpoints
        .iter()
        .flatten()
        .map(|(x, y, _)| around(*x, y - 5.0, y + 5.0));
    let triangles = peaks.iter().map(|(_, x, y, _)| around(*x, y - 9.0, y - 1.0));
    let areas: Vec<Area> = diamonds.chain(triangles).collect();
    let values: Vec<(f64, f64, String)> = peaks
        .iter()
        .map(|(_, x, y, value)| (*x, *y, format!("{PEAK} {}", units::mib(*value))))
        .collect();
    html! {
        @for (one, checkpoints) in drawn.iter().zip(&checkpoints) {
            g class=(class(one.place)) {
                @for (x, y, settled) in checkpoints {
                    path class=(if *settled { "taken" } else { "unsettled" }) d={ "M" (x) " " (tenth(y - 5.0)) "l5 5l-5 5l-5-5z" } {}
                }
            }
        }
        @for (place, x, y, _) in &peaks {
            g class=(class(*place)) { path.peak d={ "M" (x) " " (tenth(y - 9.0)) "l5 8h-10z" } {} }
        }
        @for ((place, ..), label) in peaks.iter().zip(places::place(&values, &areas, (width, HEIGHT))) {
            // Colour and order identify a value that had to move away.
            text class={ "value " (class(*place)) } x=(tenth(label.left)) y=(tenth(label.down)) {
                tspan.of { (PEAK) } (label.text.trim_start_matches(PEAK))
            }
        }
    }
}

/// The highest point of a server's line: place of the server, position and value.
fn peak(one: &Drawn, width: f64, up: &dyn Fn(f64) -> f64) -> Option<(usize, f64, f64, u64)> {
    let line = one.line.iter().enumerate();
    let points = line.flat_map(|(place, span)| {
        span.iter()
            .flat_map(Span::parts)
            .map(move |(part, value)| (place as f64 + part, value))
    });
    let (place, value) = points.rev().max_by_key(|(_, value)| *value)?;
    let x = tenth(place / one.line.len() as f64 * width);
    Some((one.place, x, up(value as f64), value))
}

/// The legend of signs, wrapped.
fn note(drawn: &[Drawn], together: &Together, names: &Names) -> Vec<String> {
    let exact = drawn
        .iter()
        .any(|one| one.typical.private_metric == PrivateMetric::Exact);
    let line = match exact {
        true => "Private memory: lines sampled, an upper bound of the exact ◆.",
        false => "Private memory, sampled.",
    };
    let mut sentences = vec![line.to_owned()];
    if drawn.iter().any(|one| !one.runs.is_empty()) {
        sentences.push("Strong: the median of the runs at each moment; faint: every run.".to_owned());
        let marks = "◆ the median of the runs' checkpoints (◇ not settled in every run), ▲ highest point of the strong line, MiB.";
        sentences.push(marks.to_owned());
    } else {
        sentences.push("◆ checkpoint (◇ not settled), ▲ highest point, MiB.".to_owned());
    }
    let windows = || drawn.first().into_iter().flat_map(|one| &one.typical.curves.windows);
    let any = |kind: IdleKind| windows().any(|window| window.kind == kind);
    match (any(IdleKind::Silent), any(IdleKind::Simmer)) {
        (true, true) => sentences.push("Shaded: idle; hatched: light traffic.".to_owned()),
        (true, false) => sentences.push("Shaded: idle.".to_owned()),
        (false, true) => sentences.push("Hatched: light traffic.".to_owned()),
        (false, false) => {}
    }
    if together.is_aligned() {
        sentences.push("Each phase is as long as at the median of all runs.".to_owned());
    }
    /// Most names that a sentence lists.
    const FEW: usize = 4;
    match names.left_out.as_slice() {
        [] => {}
        few if few.len() <= FEW => sentences.push(format!("No room for the name of {}.", few.join(", "))),
        many => sentences.push(format!("No room for the names of {} phases.", many.len())),
    }
    wrap(&sentences.join(" "), COLUMNS)
}
