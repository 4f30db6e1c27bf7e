//! One chart: servers on a common time axis, phases and windows behind them, a legend above.

use maud::{Markup, html};

use crate::charts::axis::{Axis, Grid, mebibytes, sizes, times};
use crate::charts::figure::{Frame, phase_names, plot};
use crate::charts::labels::{Names, room};
use crate::charts::{Chart, Ground, Line, Mark, Series, Shape, Up, line};
use crate::document::page::class;
use crate::pictures::Named;
use analysis::summary::common_time::{self, CommonTime, Middle, median};
use analysis::summary::{PrivateMetric, Summary, why_unmeasured};
use base::curve::Columns;
use base::text::{clean, cut, wrap};
use base::units;
use record::IdleKind;

use super::{COLUMNS, SENTENCES, WIDTH};

const HEIGHT: f64 = 300.0;

const FRAME: Frame = Frame {
    width: WIDTH,
    height: HEIGHT,
    left: 70.0,
    right: 940.0,
    top: 0.0,
    bottom: HEIGHT,
    above: 0.0,
};

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
    runs: Vec<Columns>,
    /// The median of the runs.
    line: Columns,
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
        let together = CommonTime::new(&runs);
        let drawn = self.lines(&runs, &together);
        let (heading, mut top) = self.heading_and_sentences();
        if !runs.is_empty() && runs.iter().all(|run| why_unmeasured(&run.header).is_some()) {
            return (heading, top);
        }
        let (legend, rows) = legend(&drawn, top);
        let chart = chart(&drawn, &together, number);
        let names = phase_names(&chart, &FRAME);
        top += 20.0 * rows as f64 + if names.upper.is_empty() { 26.0 } else { 42.0 };
        let note = note(&drawn, &together, &names);
        let markup = html! {
            (heading)
            (legend)
            g transform={ "translate(0 " (top) ")" } { (plot(&chart, &FRAME)) }
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
    fn lines(&self, runs: &[&Summary], together: &CommonTime) -> Vec<Drawn<'_>> {
        let places = (PLACES / (runs.len() + self.servers.len()).max(1)).clamp(RANGE.0, RANGE.1);
        let mut drawn = Vec::new();
        for (place, (label, runs)) in self.servers.iter().enumerate() {
            let Some(&(_, typical)) = common_time::typical(runs, |run| run.1) else {
                continue;
            };
            let summaries: Vec<&Summary> = runs.iter().map(|run| run.1).collect();
            let mut lines: Vec<Columns> = Vec::new();
            for run in &summaries {
                lines.push(together.lay(run, &run.memory.curves.private, places));
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
                middles: phases
                    .map(|phase| common_time::phase(&summaries, &phase.phase))
                    .collect(),
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
            runs => format!(", {}", units::count_of(runs as u64, "run")),
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

/// The lines of all runs, in front of them the median of each server, then its checkpoints and its peak.
fn chart(drawn: &[Drawn], together: &CommonTime, number: usize) -> Chart {
    let (step, steps) = sizes(highest(drawn).max(1));
    let sizes = (0..=steps).map(|tick| {
        let unit = if tick == steps { " MiB" } else { "" };
        ((tick * step) as f64, format!("{}{unit}", mebibytes(tick * step)))
    });
    let times = times(together.until / 1e9).into_iter();
    let mut series = Vec::new();
    for server in drawn {
        let runs = server.runs.iter().map(|run| Mark::Line("run", curve(run, together)));
        series.push(marks_of(server, runs.collect()));
    }
    for server in drawn {
        series.push(marks_of(
            server,
            vec![Mark::Line("line", curve(&server.line, together))],
        ));
    }
    for server in drawn {
        series.push(marks_of(server, checkpoints(server, together)));
    }
    for server in drawn {
        series.push(marks_of(server, peak(server, together).into_iter().collect()));
    }
    Chart {
        title: String::new(),
        unit: "MiB",
        across: Axis {
            ticks: times.map(|(at, text)| (at * 1e9, text)).collect(),
            grid: Grid::Notches,
            ..Axis::new(0.0, together.until)
        },
        up: Up::Axis(
            Axis::new(0.0, (step * steps) as f64 * 1.06).with_grid(sizes),
            (WIDTH, HEIGHT),
        ),
        series,
        ground: drawn
            .first()
            .map_or_else(Ground::default, |first| ground(first, together, number)),
    }
}

fn marks_of(server: &Drawn, marks: Vec<Mark>) -> Series {
    Series {
        label: String::new(),
        class: class(server.place),
        words: String::new(),
        marks,
    }
}

fn curve(columns: &Columns, together: &CommonTime) -> Line {
    line(columns, together.until / columns.len().max(1) as f64)
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

/// Phases and idle windows of the server's typical run.
fn ground(server: &Drawn, together: &CommonTime, number: usize) -> Ground {
    let run = server.typical;
    let phases = common_time::stretches(run).into_iter();
    let windows = run.memory.curves.windows.iter();
    Ground {
        phases: phases
            .map(|phase| {
                (
                    together.common_time(run, phase.from),
                    together.common_time(run, phase.to),
                    phase.name,
                )
            })
            .collect(),
        windows: windows
            .map(|window| {
                (
                    together.common_time(run, window.from),
                    together.common_time(run, window.to),
                    window.kind,
                )
            })
            .collect(),
        pattern: format!("simmer{number}"),
    }
}

/// Each checkpoint at the median of the runs.
fn checkpoints(server: &Drawn, together: &CommonTime) -> Vec<Mark> {
    let mut marks = Vec::new();
    for (phase, middle) in server.typical.phases.iter().zip(&server.middles) {
        if let (Some(checkpoint), Some(private)) = (&phase.checkpoint, middle.private) {
            let class = if middle.settled { "taken" } else { "unsettled" };
            let point = (together.common_time(server.typical, checkpoint.at), private as f64);
            marks.push(Mark::Dot(class, point, Shape::Diamond(5.0), String::new()));
        }
    }
    marks
}

/// The first of the highest points of a server's line.
fn peak(server: &Drawn, together: &CommonTime) -> Option<Mark> {
    let points = curve(&server.line, together).into_iter().flatten();
    let (at, highest) = points.reduce(|highest, point| if point.1 > highest.1 { point } else { highest })?;
    Some(Mark::Peak((at, highest), format!("▲ {}", units::mib(highest as u64))))
}

/// The legend of signs, wrapped.
fn note(drawn: &[Drawn], together: &CommonTime, names: &Names) -> Vec<String> {
    let has_exact = drawn
        .iter()
        .any(|server| server.typical.memory.private_metric == PrivateMetric::Exact);
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
        .flat_map(|first| &first.typical.memory.curves.windows)
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
