//! The numbers of a chart, as the script on the page reads them.

use std::collections::BTreeMap;
use std::time::Duration;

use maud::{Markup, PreEscaped, html};
use serde::Serialize;

use crate::record::{IdleKind, Nanos};
use crate::summary::lines;
use crate::summary::lines::{Line, Quantity};
use crate::summary::together;
use crate::summary::{PhaseSummary, PrivateMetric, Summary};
use crate::text::clean;

use crate::document::Picture;
use crate::document::page::Keys;
use crate::report::chart;
use crate::units;

/// A timeline: every run of every server on one grid of time.
#[derive(Debug, Serialize)]
struct Timeline {
    /// Seconds from one place of the grid to the next.
    width: f64,
    /// Whether private memory at checkpoints is of exact counters: the line, which is of cheap ones, is an upper bound of it.
    exact: bool,
    servers: Vec<Server>,
}

#[derive(Debug, Serialize)]
struct Server {
    label: String,
    /// Its place in tables, which is its colour; one without runs has no lines.
    place: usize,
    /// Whether it is one of many that are drawn near grey.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    rest: bool,
    runs: Vec<Run>,
    /// The run whose length is the median one: phases, windows and requests are shown as they were in it.
    typical: Typical,
}

#[derive(Debug, Serialize)]
struct Run {
    name: String,
    /// When its phases began, and when the last of them and the run itself ended: by these the script lays the phases of
    /// all runs under each other.
    bounds: Vec<f64>,
    lines: Quantities,
}

/// By the name of the quantity.
type Quantities = BTreeMap<&'static str, Coded>;

/// A line as differences, which are short: the first value from place to place, over places that are not known, and what
/// the second is above it; left out where it never differs.
#[derive(Debug, Serialize)]
struct Coded {
    first: Vec<Option<i64>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    then: Vec<i64>,
}

#[derive(Debug, Serialize)]
struct Typical {
    run: String,
    phases: Vec<Phase>,
    windows: Vec<Window>,
    /// Places of the grid with requests that ended in it, and how many.
    requests: Vec<(usize, u64)>,
}

/// Times in seconds, as in the typical run; sizes in KiB, the medians of all runs, as tables have them.
#[derive(Debug, Serialize)]
struct Phase {
    name: String,
    from: f64,
    to: f64,
    checkpoint: Option<f64>,
    /// Whether it was in all runs.
    settled: bool,
    private: Option<u64>,
    resident: Option<u64>,
    peak: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Window {
    from: f64,
    to: f64,
    kind: &'static str,
}

/// A run with the name of its record.
pub type Named<'s> = (&'s str, &'s Summary);

/// The lines of every run of some servers.
pub struct Lines<'s> {
    timeline: Timeline,
    /// The only run, which a terminal has room for.
    only: Option<&'s Summary>,
}

impl<'s> Lines<'s> {
    /// `None` where nothing was sampled.
    pub fn of_run(summary: &'s Summary, record: &'s str) -> Option<Lines<'s>> {
        let servers = [(summary.header.server.label.as_str(), vec![(record, summary)])];
        let only = Some(summary);
        timeline(&servers, Keys::ALIKE).map(|timeline| Lines { timeline, only })
    }

    /// These servers, each with its label and its runs.
    pub fn of_servers(servers: &[(&str, Vec<Named>)], keys: Keys) -> Option<Lines<'s>> {
        timeline(servers, keys).map(|timeline| Lines { timeline, only: None })
    }
}

impl Picture for Lines<'_> {
    fn rows(&self, columns: usize) -> Option<(Vec<String>, String)> {
        let summary = self.only?;
        let chart = chart::draw(&summary.timeline, &summary.phases, summary.duration, columns)?;
        let resident = match summary.most_processes > 1 {
            true => "· resident (a lower bound)",
            false => "· resident",
        };
        let blank = if chart.gaps { "; blank: not known" } else { "" };
        let legend = format!(
            "█ private (an upper bound); {resident}; ┬ a phase begins, right after the checkpoint of the one before; each column is \
             the highest of {}{blank}",
            units::duration(Duration::from_nanos(chart.column))
        );
        let rows = chart.rows.into_iter().chain([chart.ticks]).chain(chart.names);
        Some((rows.collect(), legend))
    }

    /// Without a script, the numbers are in the tables.
    fn markup(&self) -> Option<Markup> {
        Some(html! {
            div.chart {
                noscript { p { "The timeline needs JavaScript, which is part of this file. Every figure is in the tables." } }
                (embed(&self.timeline))
            }
        })
    }
}

/// All runs on one grid of time. `None` where nothing was sampled.
fn timeline(servers: &[(&str, Vec<Named>)], keys: Keys) -> Option<Timeline> {
    let all = || {
        servers
            .iter()
            .flat_map(|(_, runs)| runs.iter().map(|(_, summary)| *summary))
    };
    let width = lines::grid(all())?;
    let servers = servers.iter().enumerate();
    let servers = servers.filter_map(|(place, (label, runs))| server(label, place, keys.is_rest(place), runs, width));
    let servers: Vec<Server> = servers.collect();
    (!servers.is_empty()).then(|| Timeline {
        width: seconds(width),
        exact: all().any(|run| run.private_metric == PrivateMetric::Exact),
        servers,
    })
}

fn server(label: &str, place: usize, rest: bool, runs: &[Named], width: Nanos) -> Option<Server> {
    let (name, typical) = together::typical(runs, |(_, summary)| summary)?;
    let of = |quantity: Quantity| -> Vec<Line> {
        let lines = runs.iter().map(|(_, summary)| lines::line(summary, quantity, width));
        lines.collect()
    };
    let mut drawn: Vec<Run> = runs
        .iter()
        .map(|(name, summary)| Run {
            name: clean(name),
            bounds: together::bounds(summary)
                .into_iter()
                .skip(1)
                .map(|at| seconds(at as Nanos))
                .collect(),
            lines: Quantities::new(),
        })
        .collect();
    for quantity in Quantity::ALL {
        let lines = of(quantity);
        if lines.iter().flatten().all(Option::is_none) {
            continue;
        }
        let (key, unit) = key(quantity);
        for (run, line) in drawn.iter_mut().zip(&lines) {
            run.lines.insert(key, coded(line, unit));
        }
    }
    Some(Server {
        label: clean(label),
        place,
        rest,
        runs: drawn,
        typical: self::typical(name, typical, runs, width),
    })
}

/// The name of a quantity for the script, and what one of its values stands for.
fn key(quantity: Quantity) -> (&'static str, u64) {
    match quantity {
        Quantity::Private => ("private", 1 << 10),
        Quantity::Resident => ("resident", 1 << 10),
        Quantity::Proportional => ("proportional", 1 << 10),
        Quantity::HugePages => ("huge", 1 << 10),
        Quantity::Cpu => ("cpu", 1),
        Quantity::Faults => ("faults", 1),
    }
}

fn coded(line: &Line, unit: u64) -> Coded {
    let mut before = 0;
    let whole = |value: u64| (value / unit).cast_signed();
    let (mut first, mut then) = (Vec::with_capacity(line.len()), Vec::with_capacity(line.len()));
    for span in line {
        first.push(span.map(|span| {
            let more = whole(span.first) - before;
            before += more;
            more
        }));
        then.push(span.map_or(0, |span| whole(span.then) - whole(span.first)));
    }
    if then.iter().all(|more| *more == 0) {
        then.clear();
    }
    Coded { first, then }
}

fn typical(run: &str, summary: &Summary, runs: &[Named], width: Nanos) -> Typical {
    let all: Vec<&Summary> = runs.iter().map(|(_, summary)| *summary).collect();
    let repeats = summary.phases.iter().any(|phase| phase.phase.cycle > 0);
    let mut requests: BTreeMap<u64, u64> = BTreeMap::new();
    for (place, slot) in (0..).zip(&summary.curves.slots) {
        if slot.requests > 0 {
            *requests.entry(place * summary.curves.width / width).or_default() += slot.requests;
        }
    }
    let windows = summary.curves.windows.iter().map(|window| Window {
        from: seconds(window.from),
        to: seconds(window.to),
        kind: match window.kind {
            IdleKind::Silent => "silent",
            IdleKind::Simmer => "simmer",
        },
    });
    Typical {
        run: clean(run),
        phases: summary.phases.iter().map(|one| phase(one, &all, repeats)).collect(),
        windows: windows.collect(),
        requests: requests
            .into_iter()
            .filter_map(|(place, count)| Some((usize::try_from(place).ok()?, count)))
            .collect(),
    }
}

fn phase(phase: &PhaseSummary, runs: &[&Summary], repeats: bool) -> Phase {
    let middle = together::phase(runs, &phase.phase);
    let taken = phase.checkpoint.as_ref();
    let round = match repeats {
        true => format!(" #{}", u64::from(phase.phase.cycle) + 1),
        false => String::new(),
    };
    let kib = |value: u64| value / 1024;
    Phase {
        name: clean(&format!("{}{round}", phase.phase.name)),
        from: seconds(phase.started),
        to: seconds(phase.ended),
        checkpoint: taken.map(|taken| seconds(taken.at)),
        settled: middle.settled,
        private: middle.private.map(kib),
        resident: middle.resident.map(kib),
        peak: middle.peak.map(kib),
    }
}

fn seconds(time: Nanos) -> f64 {
    // To a millisecond, which is less than the distance of two samples.
    (time / 1_000_000) as f64 / 1_000.0
}

/// An element that holds the numbers. JSON inside of HTML can only be ended by `<`, so that is written in another way.
fn embed(timeline: &Timeline) -> Markup {
    let json = serde_json::to_string(timeline).expect("all keys are strings and all numbers are finite");
    let json = json.replace('<', "\\u003c");
    html! { script type="application/json" { (PreEscaped(json)) } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::Span;

    #[test]
    fn differences_go_over_what_is_not_known() {
        let at = |first: u64, then: u64| {
            Some(Span {
                first: first << 10,
                then: then << 10,
            })
        };
        let line = vec![at(10, 10), at(14, 20), None, at(12, 5)];
        let coded = coded(&line, 1 << 10);
        assert_eq!(coded.first, [Some(10), Some(4), None, Some(-2)]);
        assert_eq!(coded.then, [0, 6, 0, -7]);
        assert!(self::coded(&vec![at(1, 1)], 1).then.is_empty());
    }
}
