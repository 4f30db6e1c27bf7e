//! Memory over time: every run of every server on one grid, as the page's script reads it.

use std::collections::BTreeMap;

use maud::{Markup, PreEscaped, html};
use serde::Serialize;

use super::rows::Memory;

#[derive(Serialize)]
pub struct Timeline {
    /// Seconds between places of the grid.
    pub width: f64,
    /// True if checkpoints have exact private memory. The line, from cheap counters, is then an upper bound.
    pub exact: bool,
    pub servers: Vec<Server>,
    /// The data of a single run, which a terminal can draw.
    #[serde(skip)]
    pub only: Option<Memory>,
}

#[derive(Serialize)]
pub struct Server {
    pub label: String,
    /// Place in tables; it determines the colour. A server without runs has no lines.
    pub place: usize,
    /// True if it is drawn near grey, as one of many.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rest: bool,
    pub runs: Vec<Run>,
    /// The run of median length, whose phases, windows and requests are shown.
    pub typical: Typical,
}

#[derive(Serialize)]
pub struct Run {
    pub name: String,
    /// Starts of its phases, the end of the last one, and the end of the run. The script aligns phases by these.
    pub bounds: Vec<f64>,
    pub lines: Quantities,
}

/// By name of the quantity.
pub type Quantities = BTreeMap<&'static str, Coded>;

/// A line as differences, which are short. `first` is the difference from the last known place; `then` is the second
/// value minus the first, empty if always 0.
#[derive(Serialize)]
pub struct Coded {
    pub first: Vec<Option<i64>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub then: Vec<i64>,
}

#[derive(Serialize)]
pub struct Typical {
    pub run: String,
    pub phases: Vec<Phase>,
    /// The phases as they are named above the chart.
    pub stretches: Vec<Stretch>,
    pub windows: Vec<Window>,
    /// Places with the number of requests that ended there.
    pub requests: Vec<(usize, u64)>,
}

/// Times are seconds of the typical run; sizes are KiB, medians of all runs as in tables.
#[derive(Serialize)]
pub struct Phase {
    pub name: String,
    pub from: f64,
    pub to: f64,
    pub checkpoint: Option<f64>,
    /// True if the checkpoint settled in all runs.
    pub settled: bool,
    pub private: Option<u64>,
    pub resident: Option<u64>,
    pub peak: Option<u64>,
}

/// A phase or all its rounds that follow one another.
#[derive(Serialize)]
pub struct Stretch {
    pub name: String,
    pub from: f64,
    pub to: f64,
}

#[derive(Serialize)]
pub struct Window {
    pub from: f64,
    pub to: f64,
    pub kind: &'static str,
}

impl Timeline {
    /// The element with the numbers. Without a script the tables show them. `<` is escaped, because only `<` could
    /// end JSON in HTML.
    pub fn embed(&self) -> Markup {
        let json = serde_json::to_string(self).expect("all keys are strings and all numbers are finite");
        let json = json.replace('<', "\\u003c");
        html! {
            div.chart {
                noscript { p { "The timeline needs JavaScript, which is part of this file. Every figure is in the tables." } }
                script type="application/json" { (PreEscaped(json)) }
            }
        }
    }
}
