//! Memory over time: every run of every server on one grid, as the script of the page draws it.

use std::collections::BTreeMap;

use maud::{Markup, PreEscaped, html};
use serde::Serialize;

use super::rows::Memory;

/// A timeline: every run of every server on one grid of time.
#[derive(Serialize)]
pub struct Timeline {
    /// Seconds from one place of the grid to the next.
    pub width: f64,
    /// Whether private memory at checkpoints is of exact counters: the line, which is of cheap ones, is an upper bound of it.
    pub exact: bool,
    pub servers: Vec<Server>,
    /// The only run, which a terminal has room for.
    #[serde(skip)]
    pub only: Option<Memory>,
}

#[derive(Serialize)]
pub struct Server {
    pub label: String,
    /// Its place in tables, which is its colour; one without runs has no lines.
    pub place: usize,
    /// Whether it is one of many that are drawn near grey.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rest: bool,
    pub runs: Vec<Run>,
    /// The run whose length is the median one: phases, windows and requests are shown as they were in it.
    pub typical: Typical,
}

#[derive(Serialize)]
pub struct Run {
    pub name: String,
    /// When its phases began, and when the last of them and the run itself ended: by these the script lays the phases of
    /// all runs under each other.
    pub bounds: Vec<f64>,
    pub lines: Quantities,
}

/// By the name of the quantity.
pub type Quantities = BTreeMap<&'static str, Coded>;

/// A line as differences, which are short: the first value from place to place, over places that are not known, and what
/// the second is above it; left out where it never differs.
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
    pub windows: Vec<Window>,
    /// Places of the grid with requests that ended in it, and how many.
    pub requests: Vec<(usize, u64)>,
}

/// Times in seconds, as in the typical run; sizes in KiB, the medians of all runs, as tables have them.
#[derive(Serialize)]
pub struct Phase {
    pub name: String,
    pub from: f64,
    pub to: f64,
    pub checkpoint: Option<f64>,
    /// Whether it was in all runs.
    pub settled: bool,
    pub private: Option<u64>,
    pub resident: Option<u64>,
    pub peak: Option<u64>,
}

#[derive(Serialize)]
pub struct Window {
    pub from: f64,
    pub to: f64,
    pub kind: &'static str,
}

impl Timeline {
    /// An element that holds the numbers. Without a script, they are in the tables. JSON inside of HTML can only be ended by
    /// `<`, so that is written in another way.
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
