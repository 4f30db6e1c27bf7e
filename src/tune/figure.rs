//! The figures of a sweep: one of a run, and how two cells differ in it.

use crate::compare::cell::{Values, cell};
use crate::compare::{Cell, Figure, Measure, Place, Played, counts};
use crate::stats::{Arm, Contrast, NoiseFloor, Pooled};
use crate::summary::decay;
use crate::summary::decay::{Window, WindowKind};
use crate::summary::{PhaseSummary, ResidentMetric, Summary};

use super::CONFIDENCE;

/// A figure of a sweep. Less is better, but for what was returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tuned {
    /// Private memory at the checkpoint after the last window in which the server was left alone, in bytes.
    Private,
    /// Peak of the run, in bytes.
    Peak,
    /// Returned by then of what had been taken: a part of one.
    Returned,
    /// Until nine tenths of what fell in the window had come back, in nanoseconds.
    T90,
    /// Median latency of the busiest method, in nanoseconds.
    P50,
    /// Its 95th percentile.
    P95,
    /// Processor time of the run, in nanoseconds.
    Cpu,
    /// Minor page faults of the run.
    Faults,
}

impl Tuned {
    /// Every figure, in the order of tables.
    pub const ALL: [Tuned; 8] = [
        Tuned::Private,
        Tuned::Peak,
        Tuned::Returned,
        Tuned::T90,
        Tuned::P50,
        Tuned::P95,
        Tuned::Cpu,
        Tuned::Faults,
    ];

    /// What cells are weighed by: memory against latency and processor time.
    pub(super) const WEIGHED: [Tuned; 3] = [Tuned::Private, Tuned::P95, Tuned::Cpu];

    /// Its name in JSON and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Tuned::Private => "private",
            Tuned::Peak => "peak",
            Tuned::Returned => "returned",
            Tuned::T90 => "t90",
            Tuned::P50 => "p50",
            Tuned::P95 => "p95",
            Tuned::Cpu => "cpu",
            Tuned::Faults => "faults",
        }
    }

    /// The least noise that is believed of it.
    pub(super) fn noise(self) -> NoiseFloor {
        match self {
            Tuned::Private => Figure::Private.noise(),
            Tuned::Peak => Figure::Peak.noise(),
            Tuned::Returned | Tuned::T90 => NoiseFloor::RELATIVE,
            Tuned::P50 => Figure::P50.noise(),
            Tuned::P95 => Figure::P95.noise(),
            Tuned::Cpu => Figure::Cpu.noise(),
            Tuned::Faults => Figure::Faults.noise(),
        }
    }

    /// The same of these values, which may have been counted finer than in ticks.
    pub(super) fn noise_of(self, values: impl IntoIterator<Item = f64>) -> NoiseFloor {
        match self {
            Tuned::Cpu => Figure::Cpu.noise_of(values),
            other => other.noise(),
        }
    }

    /// As a share of a value, what is no difference that anybody would change a setting for.
    pub(super) fn slack(self) -> f64 {
        match self {
            Tuned::Private | Tuned::Peak | Tuned::Returned | Tuned::T90 | Tuned::Faults => 0.01,
            Tuned::Cpu => 0.02,
            Tuned::P50 | Tuned::P95 => 0.05,
        }
    }

    /// The coefficient of variation between runs that is assumed where there is only one of each, which has no spread of its
    /// own: twice what private memory commonly has at most as shipped. `None` of what a busy machine moves by any amount.
    pub(super) fn assumed(self) -> Option<f64> {
        match self {
            Tuned::Private => Some(0.10),
            Tuned::Peak | Tuned::Returned | Tuned::T90 | Tuned::P50 | Tuned::P95 | Tuned::Cpu | Tuned::Faults => None,
        }
    }

    /// The figure of a run; `None` where it does not have it.
    pub(super) fn of(self, summary: &Summary, places: &Places) -> Option<f64> {
        let measure = |place: Place, figure: Figure| Measure { place, figure }.of(summary);
        let method = |figure| measure(Place::Method(places.method.clone()?), figure);
        match self {
            Tuned::Private => {
                let number = places.phase.as_ref()?.0;
                let name = String::new();
                measure(Place::Phase { number, name }, Figure::Private)
            }
            Tuned::Peak => measure(Place::Run, Figure::Peak),
            Tuned::Returned => {
                let returned = phase(summary, places)?.returned;
                match summary.resident_metric {
                    ResidentMetric::Proportional => returned.private,
                    ResidentMetric::Resident => returned.resident,
                }
            }
            Tuned::T90 => {
                let window = told(summary).rfind(|window| Some(window.kind) == places.window)?;
                Some(window.private.as_ref()?.t90? as f64)
            }
            Tuned::P50 => method(Figure::P50),
            Tuned::P95 => method(Figure::P95),
            Tuned::Cpu => measure(Place::Run, Figure::Cpu),
            Tuned::Faults => {
                let faults = summary.phases.iter().map(|phase| phase.minor_faults);
                let faults: Option<Vec<u64>> = faults.collect();
                Some(faults.filter(|all| !all.is_empty())?.iter().sum::<u64>() as f64)
            }
        }
    }

    fn values(self, runs: &[&Played], places: &Places) -> Values {
        let of = |run: &&Played| (run.machine(), self.of(&run.summary, places));
        runs.iter().map(of).collect()
    }

    /// The figure in all runs of a cell, and how it compares with that of the default.
    pub(super) fn cell(self, runs: &[&Played], default: Option<&[&Played]>, places: &Places) -> Cell {
        let base = default.map(|runs| self.values(runs, places));
        let own = self.values(runs, places);
        let all = own.iter().chain(base.iter().flatten());
        let floor = self.noise_of(all.filter_map(|(_, value)| *value));
        cell(&own, base.as_ref(), floor)
    }
}

/// What the figures of a sweep are of, as the runs of its default say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The phase whose checkpoint is the settled value: its place in the scenario, and its name.
    pub phase: Option<(u32, String)>,
    /// The window whose t90 is told.
    pub window: Option<WindowKind>,
    /// The method with most requests.
    pub method: Option<String>,
}

pub(super) fn places(runs: &[Played], default: &str) -> Places {
    let mine = |run: &&Played| run.summary.header.server.label == default;
    let counting = runs.iter().filter(mine).find(|run| counts(&run.summary));
    let Some(run) = counting.or_else(|| runs.iter().find(mine)) else {
        return Places::default();
    };
    let summary = &run.summary;
    // Silence shows what a user gets who goes for a coffee; without a silent window light traffic has to do.
    let kinds = [WindowKind::Silent, WindowKind::Simmer];
    let has = |kind: &WindowKind| told(summary).any(|window| window.kind == *kind);
    let alone = |window: &&Window| kinds.contains(&window.kind);
    let settled = told(summary).rfind(alone).map(|window| &window.phase);
    let last = || summary.phases.iter().rev().find(|phase| phase.checkpoint.is_some());
    let settled = settled.or_else(|| last().map(|phase| &phase.phase));
    let busiest = summary.methods.iter().filter(|method| method.p95.is_some());
    Places {
        phase: settled.map(|phase| (phase.phase, phase.name.clone())),
        window: kinds.into_iter().find(has),
        // Of several that are as busy the first by name.
        method: busiest
            .min_by_key(|method| (std::cmp::Reverse(method.count), method.method.clone()))
            .map(|method| method.method.clone()),
    }
}

pub(super) fn told(summary: &Summary) -> impl DoubleEndedIterator<Item = &Window> {
    let all = &summary.windows;
    all.iter()
        .filter(move |window| !window.control && decay::counts(window, all))
}

fn phase<'s>(summary: &'s Summary, places: &Places) -> Option<&'s PhaseSummary> {
    let (number, _) = places.phase.as_ref()?;
    let mut rounds = summary.phases.iter().rev();
    rounds.find(|phase| phase.phase.phase == *number && phase.checkpoint.is_some())
}

/// How one cell's values are to another's: a ratio with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Versus {
    pub ratio: f64,
    pub low: f64,
    pub high: f64,
}

impl Versus {
    /// `of` against `against`; `None` where one of them has no value.
    pub fn new(against: &[f64], of: &[f64], figure: Tuned) -> Option<Versus> {
        let floor = figure.noise_of(against.iter().chain(of).copied());
        if let (Ok(against), Ok(of)) = (Arm::new(against), Arm::new(of)) {
            let contrast = Contrast::welch(&against, &of, floor);
            let (low, high) = contrast.interval(CONFIDENCE);
            return Some(Versus {
                ratio: contrast.ratio(),
                low,
                high,
            });
        }
        let mean = |values: &[f64]| {
            let logs: f64 = values.iter().map(|value| value.ln()).sum();
            Some((logs / values.len() as f64).exp()).filter(|mean| mean.is_finite() && *mean > 0.0)
        };
        let ratio = mean(of)? / mean(against)?;
        let low = figure.assumed().map(Pooled::assumed);
        let low = low.and_then(|spread| spread.lower_ratio(against, of, (1.0 - CONFIDENCE) / 2.0));
        let low = low.unwrap_or(0.0);
        Some(Versus {
            ratio,
            low,
            // As far above as below.
            high: ratio * ratio / low,
        })
    }

    /// Shown to be more, and by more than nobody cares for.
    pub fn is_more(self, figure: Tuned) -> bool {
        self.low > 1.0 && self.ratio > 1.0 + figure.slack()
    }

    /// Shown to be less, and by more than nobody cares for.
    pub fn is_less(self, figure: Tuned) -> bool {
        self.high < 1.0 && self.ratio < 1.0 / (1.0 + figure.slack())
    }
}
