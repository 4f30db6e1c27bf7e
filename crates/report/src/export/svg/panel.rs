//! One chart: servers on a common time axis, phases and windows behind them, a legend above.

use maud::{Markup, html};

use crate::charts::axis::{mebibytes, sizes, times};
use crate::charts::labels::{self, Area, Names, room};
use crate::charts::path::path;
use crate::charts::tenth;
use crate::document::page::class;
use crate::pictures::Named;
use analysis::summary::lines::{self, Line, Quantity};
use analysis::summary::together::{self, Middle, Together, median};
use analysis::summary::{PrivateMetric, Span, Summary, held_up};
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

/// One server of a chart.
struct Drawn<'p> {
    label: &'p str,
    /// Place in tables; it determines the colour.
    place: usize,
    /// The line of each run; empty if there is only one.
    runs: Vec<Line>,
    /// The median of the runs.
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
        let (heading, mut top) = self.heading_and_sentences();
        if !runs.is_empty() && runs.iter().all(|run| held_up(&run.header).is_some()) {
            return (heading, top);
        }
        let (legend, rows) = legend(&drawn, top);
        let names = match drawn.first() {
            Some(first) => phase_names(first, &together),
            None => Names::default(),
        };
        top += 20.0 * rows as f64 + if names.upper.is_empty() { 26.0 } else { 42.0 };
        let chart = chart(&drawn, &together, number, &names);
        let note = note(&drawn, &together, &names);
        let markup = html! {
            (heading)
            (legend)
            g transform={ "translate(" (LEFT) " " (top) ")" } { (chart) }
            @for (row, line) in note.iter().enumerate() {
                text.note x="20" y=(top + HEIGHT + 40.0 + 16.0 * row as f64) { (line) }
            }
        };
        (markup, top + HEIGHT + 36.0 + 16.0 * note.len() as f64)
    }

    /// The text above the chart, and the position of its lower end.
    fn heading_and_sentences(&self) -> (Markup, f64) {
        let heading = self.heading.as_ref().map(|heading| cut(&clean(heading), COLUMNS));
        let sentences = self.sentences.iter().take(SENTENCES);
        let lines: Vec<String> = sentences.flat_map(|sentence| wrap(&clean(sentence), COLUMNS)).collect();
        let top = if heading.is_some() { 24.0 } else { 4.0 };
        let markup = html! {
            @if let Some(heading) = heading { text.heading x="20" y=(top - 4.0) { (heading) } }
            @for (row, line) in lines.iter().enumerate() {
                text.note x="20" y=(top + 12.0 + 17.0 * row as f64) { (line) }
            }
        };
        (markup, top + 17.0 * lines.len() as f64 + 8.0)
    }

    /// The lines of each server that has runs.
    fn lines(&self, runs: &[&Summary], together: &Together) -> Vec<Drawn<'_>> {
        let Some(width) = lines::grid(runs.iter().copied()) else {
            return Vec::new();
        };
        let places = (PLACES / (runs.len() + self.servers.len()).max(1)).clamp(RANGE.0, RANGE.1);
        let mut drawn = Vec::new();
        for (place, (label, runs)) in self.servers.iter().enumerate() {
            let Some(&(_, typical)) = together::typical(runs, |run| run.1) else {
                continue;
            };
            let summaries: Vec<&Summary> = runs.iter().map(|run| run.1).collect();
            let mut lines: Vec<Line> = Vec::new();
            for run in &summaries {
                let line = lines::line(run, Quantity::Private, width);
                lines.push(together.lay(run, &line, width, places));
            }
            let line = median(&lines);
            if lines.len() < 2 {
                lines.clear();
            }
            let phases = typical.phases.iter();
            drawn.push(Drawn {
                label,
                place,
                runs: lines,
                line,
                typical,
                middles: phases.map(|phase| together::phase(&summaries, &phase.phase)).collect(),
            });
        }
        drawn
    }
}

/// The legend, and its number of rows.
fn legend(drawn: &[Drawn], top: f64) -> (Markup, usize) {
    let (mut right, mut row) = (20.0, 0);
    let mut places = Vec::new();
    for server in drawn {
        let runs = match server.runs.len() {
            0 => String::new(),
            runs => format!(", {}", units::counted(runs as u64, "run")),
        };
        let text = format!("{}{runs}", cut(&clean(server.label), 48));
        let wide = 56.0 + room(&text, 12.0);
        if right + wide > WIDTH && right > 20.0 {
            (right, row) = (20.0, row + 1);
        }
        places.push((right, top + 14.0 + 20.0 * f64::from(row), text, class(server.place)));
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
    let (step, steps) = sizes(highest(drawn).max(1));
    let most = (step * steps) as f64 * 1.06;
    let seconds = together.until / 1e9;
    html! {
        (ground(drawn.first(), together, number, names))
        @for tick in 0..=steps {
            @let down = vertical((tick * step) as f64, most);
            line class=(if tick == 0 { "axis" } else { "grid" }) x1="0" x2=(width) y1=(down) y2=(down) {}
            text.tick.end x="-8" y=(tenth(down + 4.0)) { (mebibytes(tick * step)) @if tick == steps { " MiB" } }
        }
        @for (at, text) in times(seconds) {
            @let right = tenth(at / seconds * width);
            line.axis x1=(right) x2=(right) y1=(HEIGHT) y2=(HEIGHT + 4.0) {}
            text.tick.mid x=(right) y=(HEIGHT + 18.0) { (text) }
        }
        g transform="scale(.1)" {
            @for server in drawn {
                g class=(class(server.place)) {
                    @for run in &server.runs { path.run d=(line_path(run, most)) {} }
                }
            }
            @for server in drawn {
                g class=(class(server.place)) { path.line d=(line_path(&server.line, most)) {} }
            }
        }
        (marks(drawn, together, most))
    }
}

/// The highest value of all lines and checkpoints.
fn highest(drawn: &[Drawn]) -> u64 {
    let mut highest = 0;
    for server in drawn {
        for line in server.runs.iter().chain([&server.line]) {
            for span in line.iter().flatten() {
                highest = highest.max(span.high());
            }
        }
        for phase in &server.middles {
            highest = highest.max(phase.private.unwrap_or(0));
        }
    }
    highest
}

/// Vertical position of a value; `most` is the value at the upper edge.
fn vertical(value: f64, most: f64) -> f64 {
    tenth((1.0 - value / most) * HEIGHT)
}

/// The path of a line, in tenths of a unit.
fn line_path(line: &Line, most: f64) -> String {
    let step = (RIGHT - LEFT) * 10.0 / line.len().max(1) as f64;
    let mut points: Vec<Option<(i64, i64)>> = Vec::new();
    for (place, span) in line.iter().enumerate() {
        match span {
            Some(span) => {
                for (part, value) in span.parts() {
                    let right = (place as f64 + part) * step;
                    let down = (1.0 - value as f64 / most) * HEIGHT * 10.0;
                    points.push(Some((right.round() as i64, down.round() as i64)));
                }
            }
            None => points.push(None),
        }
    }
    path(points.into_iter())
}

/// Phases and idle windows behind the lines, from the first server's typical run.
fn ground(first: Option<&Drawn>, together: &Together, number: usize, names: &Names) -> Markup {
    let Some(first) = first else {
        return html! {};
    };
    let stretches = together::stretches(first.typical);
    let windows = &first.typical.curves.windows;
    let has_hatches = windows.iter().any(|window| window.kind == IdleKind::Simmer);
    html! {
        @if has_hatches {
            defs { pattern id={ "simmer" (number) } width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)" {
                rect width="8" height="8" class="phase" {} line.hatch x1="0" x2="0" y1="0" y2="8" {}
            } }
        }
        @for (place, phase) in stretches.iter().enumerate() {
            @let (left, right) = (across(first, together, phase.from), across(first, together, phase.to));
            @if place % 2 == 0 { rect.phase x=(left) width=(tenth(right - left)) height=(HEIGHT) {} }
        }
        @for window in windows {
            @let (left, right) = (across(first, together, window.from), across(first, together, window.to));
            @let (kind, fill) = match window.kind {
                IdleKind::Silent => ("silent", None),
                IdleKind::Simmer => ("hatched", Some(format!("url(#simmer{number})"))),
            };
            rect class=(kind) x=(left) width=(tenth(right - left)) height=(HEIGHT) fill=[fill] {}
        }
        @for phase in &stretches {
            @let left = across(first, together, phase.from);
            @let is_above = names.upper.iter().any(|(stretch_left, _)| *stretch_left == left);
            line.begin x1=(left) x2=(left) y1=(if is_above { "-34" } else { "-18" }) y2=(HEIGHT) {}
        }
        @for label in names.lower.iter().chain(names.upper.iter().map(|(_, label)| label)) {
            text x=(tenth(label.left)) y=(label.down) { (label.text) }
        }
    }
}

/// Horizontal position of a time of the typical run.
fn across(server: &Drawn, together: &Together, moment: Nanos) -> f64 {
    tenth((together.at(server.typical, moment) / together.until * (RIGHT - LEFT)).min(RIGHT - LEFT))
}

/// Names of the phases above the chart.
fn phase_names(first: &Drawn, together: &Together) -> Names {
    let mut stretches: Vec<(f64, f64, String)> = Vec::new();
    for phase in together::stretches(first.typical) {
        let left = across(first, together, phase.from);
        let right = across(first, together, phase.to);
        stretches.push((left, right, cut(&clean(&phase.name), 48)));
    }
    labels::names(&stretches, RIGHT - LEFT)
}

/// Position of a checkpoint at the median of the runs.
struct CheckpointMark {
    x: f64,
    y: f64,
    is_settled: bool,
}

/// The highest point of a server's line.
struct PeakMark {
    /// Place of the server.
    place: usize,
    x: f64,
    y: f64,
    value: u64,
}

/// Checkpoints and peaks, with the values of the peaks placed without overlaps. `most` is the value at the upper edge.
fn marks(drawn: &[Drawn], together: &Together, most: f64) -> Markup {
    let mut checkpoints: Vec<Vec<CheckpointMark>> = Vec::new();
    let mut peaks: Vec<PeakMark> = Vec::new();
    for server in drawn {
        checkpoints.push(checkpoint_marks(server, together, most));
        peaks.extend(peak_mark(server, most));
    }
    let mut areas: Vec<Area> = Vec::new();
    for mark in checkpoints.iter().flatten() {
        areas.push(mark_area(mark.x, mark.y - 5.0, mark.y + 5.0));
    }
    let mut values: Vec<(f64, f64, String)> = Vec::new();
    for peak in &peaks {
        areas.push(mark_area(peak.x, peak.y - 9.0, peak.y - 1.0));
        values.push((peak.x, peak.y, format!("{PEAK} {}", units::mib(peak.value))));
    }
    let labels = labels::place(&values, &areas, (RIGHT - LEFT, HEIGHT));
    html! {
        @for (server, checkpoints) in drawn.iter().zip(&checkpoints) {
            g class=(class(server.place)) {
                @for mark in checkpoints {
                    path class=(if mark.is_settled { "taken" } else { "unsettled" }) d={ "M" (mark.x) " " (tenth(mark.y - 5.0)) "l5 5l-5 5l-5-5z" } {}
                }
            }
        }
        @for peak in &peaks {
            g class=(class(peak.place)) { path.peak d={ "M" (peak.x) " " (tenth(peak.y - 9.0)) "l5 8h-10z" } {} }
        }
        @for (peak, label) in peaks.iter().zip(labels) {
            // Colour and order identify a value that had to move away.
            text class={ "value " (class(peak.place)) } x=(tenth(label.left)) y=(tenth(label.down)) {
                tspan.of { (PEAK) } (label.text.trim_start_matches(PEAK))
            }
        }
    }
}

fn checkpoint_marks(server: &Drawn, together: &Together, most: f64) -> Vec<CheckpointMark> {
    let mut marks = Vec::new();
    for (phase, middle) in server.typical.phases.iter().zip(&server.middles) {
        if let (Some(checkpoint), Some(private)) = (&phase.checkpoint, middle.private) {
            marks.push(CheckpointMark {
                x: across(server, together, checkpoint.at),
                y: vertical(private as f64, most),
                is_settled: middle.settled,
            });
        }
    }
    marks
}

/// The first of the highest points of a server's line.
fn peak_mark(server: &Drawn, most: f64) -> Option<PeakMark> {
    let mut highest: Option<(f64, u64)> = None;
    for (place, span) in server.line.iter().enumerate() {
        for (part, value) in span.iter().flat_map(Span::parts) {
            if highest.is_none_or(|(_, highest)| value > highest) {
                highest = Some((place as f64 + part, value));
            }
        }
    }
    let (place, value) = highest?;
    Some(PeakMark {
        place: server.place,
        x: tenth(place / server.line.len() as f64 * (RIGHT - LEFT)),
        y: vertical(value as f64, most),
        value,
    })
}

/// The area around a mark that labels avoid.
fn mark_area(x: f64, top: f64, bottom: f64) -> Area {
    Area {
        left: x - 5.0,
        right: x + 5.0,
        top,
        bottom,
    }
}

/// The legend of signs, wrapped.
fn note(drawn: &[Drawn], together: &Together, names: &Names) -> Vec<String> {
    let has_exact = drawn
        .iter()
        .any(|server| server.typical.private_metric == PrivateMetric::Exact);
    let line = if has_exact {
        "Private memory: lines sampled, an upper bound of the exact ◆."
    } else {
        "Private memory, sampled."
    };
    let mut sentences = vec![line.to_owned()];
    if drawn.iter().any(|server| !server.runs.is_empty()) {
        sentences.push("Strong: the median of the runs at each moment; faint: every run.".to_owned());
        let marks = "◆ the median of the runs' checkpoints (◇ not settled in every run), ▲ highest point of the strong line, MiB.";
        sentences.push(marks.to_owned());
    } else {
        sentences.push("◆ checkpoint (◇ not settled), ▲ highest point, MiB.".to_owned());
    }
    let (mut has_silent, mut has_simmer) = (false, false);
    for window in drawn
        .first()
        .into_iter()
        .flat_map(|first| &first.typical.curves.windows)
    {
        match window.kind {
            IdleKind::Silent => has_silent = true,
            IdleKind::Simmer => has_simmer = true,
        }
    }
    match (has_silent, has_simmer) {
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
