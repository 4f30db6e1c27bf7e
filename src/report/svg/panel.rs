//! One chart: its servers on one time, phases and windows behind them, a legend above.

use maud::{Markup, html};

use crate::analyse::lines::{self, Line, Quantity};
use crate::analyse::together::{self, Together, median};
use crate::analyse::{PhaseSummary, Summary, held_up};
use crate::record::{IdleKind, Nanos};
use crate::report::chart::{mebibytes, scale};
use crate::report::html::{COLORS, Named, tenth};
use crate::report::text::{clean, cut, wrap};
use crate::units;

use super::path::Frame;
use super::scale::times;
use super::{COLUMNS, SENTENCES, WIDTH, room};

const LEFT: f64 = 70.0;
const RIGHT: f64 = 940.0;
const HEIGHT: f64 = 300.0;

/// Places of all lines together, so that a picture of many runs stays small enough to be looked at in a browser.
const PLACES: usize = 12_000;

/// Fewest and most places of a line.
const RANGE: (usize, usize) = (48, 800);

/// What one chart shows.
pub struct Panel<'p> {
    /// What it is of, where there are several.
    pub heading: Option<String>,
    /// What to conclude, in sentences.
    pub said: Vec<String>,
    /// The servers, each with its runs, the baseline first.
    pub servers: Vec<(&'p str, Vec<Named<'p>>)>,
}

/// A server as it is drawn.
struct Drawn<'p> {
    label: &'p str,
    /// Its place in tables, which is its colour.
    place: usize,
    runs: Vec<Line>,
    line: Line,
    typical: &'p Summary,
}

impl Panel<'_> {
    /// Everything that it says in words.
    pub fn said(&self) -> Vec<String> {
        self.heading.iter().chain(&self.said).cloned().collect()
    }

    /// Draws it from its top, and says how high it is. `number` tells it from others of the file.
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
        let said = self
            .said
            .iter()
            .take(SENTENCES)
            .flat_map(|one| wrap(&clean(one), COLUMNS));
        let said: Vec<(f64, String)> = said
            .enumerate()
            .map(|(row, line)| (top + 12.0 + 17.0 * row as f64, line))
            .collect();
        top += 17.0 * said.len() as f64 + 8.0;
        if !runs.is_empty() && runs.iter().all(|run| held_up(&run.header).is_some()) {
            let markup = html! {
                @if let Some(heading) = heading { (heading) }
                @for (down, line) in &said { text.note x="20" y=(down) { (line) } }
            };
            return (markup, top);
        }
        let (legend, rows) = legend(&drawn, top);
        top += 20.0 * rows as f64 + 26.0;
        let chart = chart(&drawn, &together, number);
        let markup = html! {
            @if let Some(heading) = heading { (heading) }
            @for (down, line) in &said { text.note x="20" y=(down) { (line) } }
            (legend)
            g transform={ "translate(" (LEFT) " " (top) ")" } { (chart) }
            @for (row, line) in note(&drawn, &together).iter().enumerate() {
                text.note x="20" y=(top + HEIGHT + 40.0 + 16.0 * row as f64) { (line) }
            }
        };
        let notes = note(&drawn, &together).len() as f64;
        (markup, top + HEIGHT + 36.0 + 16.0 * notes)
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
            Some(Drawn {
                label,
                place,
                runs: lines,
                line,
                typical: together::typical(runs, |run| run.1)?.1,
            })
        });
        drawn.collect()
    }
}

/// Which line is whose, in as many rows as that takes.
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
        places.push((right, top + 14.0 + 20.0 * f64::from(row), text, one.place % COLORS));
        right += wide;
    }
    let markup = html! {
        @for (right, down, text, color) in &places {
            g class={ "s" (color) } {
                line.swatch x1=(right) x2=(right + 32.0) y1=(down - 4.0) y2=(down - 4.0) {}
                text x=(right + 40.0) y=(down) { (text) }
            }
        }
    };
    (markup, row as usize + 1)
}

/// The chart from the upper left corner of its plot.
fn chart(drawn: &[Drawn], together: &Together, number: usize) -> Markup {
    let width = RIGHT - LEFT;
    let lines = drawn.iter().flat_map(|one| one.runs.iter().chain([&one.line]));
    let highest = lines.flatten().flatten().map(|span| span.high).max().unwrap_or(0);
    let phases = drawn.iter().flat_map(|one| &one.typical.phases);
    let highest = phases.filter_map(|phase| phase.private).chain([highest]).max();
    let (step, steps) = scale(highest.unwrap_or(0).max(1));
    let most = (step * steps) as f64 * 1.06;
    let up = |value: f64| tenth((1.0 - value / most) * HEIGHT);
    let frame = Frame {
        width: width * 10.0,
        height: HEIGHT * 10.0,
        most,
    };
    let seconds = together.until / 1e9;
    html! {
        (ground(drawn.first(), together, number))
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
                g class={ "s" (one.place % COLORS) } {
                    @for run in &one.runs { path.run d=(frame.path(run)) {} }
                }
            }
            @for one in drawn {
                g class={ "s" (one.place % COLORS) } { path.line d=(frame.path(&one.line)) {} }
            }
        }
        @for one in drawn { (marks(one, together, &up)) }
    }
}

/// Behind the lines: phases with their names, and the windows of idleness, as they were in the first server's middle run.
fn ground(first: Option<&Drawn>, together: &Together, number: usize) -> Markup {
    let Some(first) = first else {
        return html! {};
    };
    let across =
        |moment: Nanos| tenth((together.at(first.typical, moment) / together.until * (RIGHT - LEFT)).min(RIGHT - LEFT));
    let phases = first.typical.phases.iter().enumerate();
    let windows = first.typical.curves.windows.iter();
    let hatched = windows.clone().any(|window| window.kind == IdleKind::Simmer);
    html! {
        @if hatched {
            defs { pattern id={ "simmer" (number) } width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)" {
                rect width="8" height="8" class="phase" {} line.hatch x1="0" x2="0" y1="0" y2="8" {}
            } }
        }
        @for (place, phase) in phases {
            @let (left, right) = (across(phase.started), across(phase.ended));
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
        @for phase in &first.typical.phases {
            @let (left, right) = (across(phase.started), across(phase.ended));
            @let name = cut(&clean(&name(phase, first.typical)), ((right - left - 6.0).max(0.0) / 7.0) as usize);
            line.begin x1=(left) x2=(left) y1="-18" y2=(HEIGHT) {}
            @if name.chars().count() > 1 { text x=(left + 5.0) y="-6" { (name) } }
        }
    }
}

fn name(phase: &PhaseSummary, run: &Summary) -> String {
    match run.phases.iter().any(|phase| phase.phase.cycle > 0) {
        true => format!("{} #{}", phase.phase.name, u64::from(phase.phase.cycle) + 1),
        false => phase.phase.name.clone(),
    }
}

/// Checkpoints of the middle run, and the highest point of the line with its value.
fn marks(one: &Drawn, together: &Together, up: &dyn Fn(f64) -> f64) -> Markup {
    let width = RIGHT - LEFT;
    let phases = one.typical.phases.iter();
    let taken = phases.filter_map(|phase| Some((phase.checkpoint.as_ref()?, phase.private?)));
    let highest = one
        .line
        .iter()
        .enumerate()
        .filter_map(|(place, span)| Some((place, span.as_ref()?.high)));
    let highest = highest.rev().max_by_key(|(_, value)| *value);
    html! {
        g class={ "s" (one.place % COLORS) } {
            @for (checkpoint, value) in taken {
                @let (x, y) = (tenth(together.at(one.typical, checkpoint.at) / together.until * width), up(value as f64));
                path class=(if checkpoint.settled { "taken" } else { "unsettled" }) d={ "M" (x) " " (tenth(y - 5.0)) "l5 5l-5 5l-5-5z" } {}
            }
            @if let Some((place, value)) = highest {
                @let x = tenth((place as f64 + 0.5) / one.line.len() as f64 * width);
                @let y = up(value as f64);
                path.peak d={ "M" (x) " " (tenth(y - 9.0)) "l5 8h-10z" } {}
                @let left = x > width - 60.0;
                text class=(if left { "value end" } else { "value" }) x=(if left { x - 8.0 } else { x + 8.0 }) y=(tenth((y - 3.0).max(10.0))) { (units::mib(value)) }
            }
        }
    }
}

/// What the signs mean, in lines that have room.
fn note(drawn: &[Drawn], together: &Together) -> Vec<String> {
    let mut said = vec!["Private memory, sampled.".to_owned()];
    if drawn.iter().any(|one| !one.runs.is_empty()) {
        said.push("Strong: the median of the runs at each moment; faint: every run.".to_owned());
    }
    said.push("◆ checkpoint (◇ not settled), ▲ highest point, MiB.".to_owned());
    let windows = || drawn.first().into_iter().flat_map(|one| &one.typical.curves.windows);
    let any = |kind: IdleKind| windows().any(|window| window.kind == kind);
    match (any(IdleKind::Silent), any(IdleKind::Simmer)) {
        (true, true) => said.push("Shaded: silence; hatched: light traffic.".to_owned()),
        (true, false) => said.push("Shaded: silence.".to_owned()),
        (false, true) => said.push("Hatched: light traffic.".to_owned()),
        (false, false) => {}
    }
    if together.is_aligned() {
        said.push("Each phase is as long as at the median of all runs.".to_owned());
    }
    wrap(&said.join(" "), COLUMNS)
}
