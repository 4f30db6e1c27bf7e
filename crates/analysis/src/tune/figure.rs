//! The figures of a sweep: where each is read in a run, and how two cells compare in it.

use std::cmp::Reverse;

use crate::compare::cell::{Values, cell};
use crate::compare::{Cell, Played, is_counted};
use crate::figures::{Figure, Measure, MeasuredPart};
use crate::summary::decay;
use crate::summary::decay::WindowKind;
use stats::{Arm, Contrast, Pooled};

use super::CONFIDENCE;

/// The figures that cells are weighed by: memory against latency and processor time.
pub(super) const WEIGHED: [Figure; 3] = [Figure::Private, Figure::P95, Figure::Cpu];

/// The coefficient of variation between runs that is assumed where there is only one of each, which has no spread of its
/// own: twice what private memory commonly has at most as shipped. `None` of what a busy machine moves by any amount.
pub(super) fn assumed_variation(figure: Figure) -> Option<f64> {
    match figure {
        Figure::Private => Some(0.10),
        _ => None,
    }
}

fn values(figure: Figure, runs: &[&Played], places: &Places) -> Values {
    let measure = places.measure(figure);
    let mut values = Vec::new();
    for run in runs {
        let value = measure.as_ref().and_then(|measure| measure.value(&run.summary));
        values.push((run.machine(), value));
    }
    values
}

/// The figure in all runs of a cell, compared with that of the default.
pub(super) fn figure_of(figure: Figure, runs: &[&Played], default: Option<&[&Played]>, places: &Places) -> Cell {
    let base = default.map(|runs| values(figure, runs, places));
    let own = values(figure, runs, places);
    let all = own.iter().chain(base.iter().flatten());
    let floor = figure.noise_of(all.filter_map(|(_, value)| *value));
    cell(&own, base.as_ref(), floor)
}

/// Where the figures of a sweep are read, as the runs of its default say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The phase whose checkpoint is the settled value: place in the scenario, and name.
    pub phase: Option<(u32, String)>,
    /// The window whose t90 is reported.
    pub window: Option<WindowKind>,
    /// The method with most requests.
    pub method: Option<String>,
    /// Of commands, the time that is weighed as the latency; their peak is weighed as the memory. `None` of servers.
    pub command: Option<Timed>,
}

/// The time of a command that settings are weighed by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Timed {
    Wall,
    /// A figure of this name, in nanoseconds, that the command prints.
    Printed(String),
}

impl Places {
    /// Where a figure is read; `None` if the scenario lacks that place.
    pub fn measure(&self, figure: Figure) -> Option<Measure> {
        if let Some(timed) = &self.command {
            return command_measure(figure, timed);
        }
        let place = match figure {
            figure if figure == Figure::Returned || figure.is_of_checkpoints() => {
                let (number, name) = self.phase.clone()?;
                MeasuredPart::Phase { number, name }
            }
            Figure::T90 => MeasuredPart::Window(self.window?),
            Figure::P50 | Figure::P95 => MeasuredPart::Method(self.method.clone()?),
            _ => MeasuredPart::Run,
        };
        Some(Measure { place, figure })
    }

    /// The name of a figure of the table.
    pub fn name(&self, figure: Figure) -> &str {
        match (figure, &self.command) {
            (Figure::Cpu, _) => "CPU",
            (Figure::P95, Some(Timed::Printed(name))) => name,
            (figure, Some(timed)) => match command_measure(figure, timed) {
                Some(measure) => measure.figure.name(),
                None => figure.name(),
            },
            (figure, None) => figure.name(),
        }
    }

    /// The name of the memory that settings are chosen by.
    pub fn memory(&self) -> &'static str {
        match self.command {
            Some(_) => "peak memory",
            None => "private memory",
        }
    }
}

/// Where a figure of a table is read of a command.
fn command_measure(figure: Figure, timed: &Timed) -> Option<Measure> {
    let (place, figure) = match (figure, timed) {
        (Figure::Private, _) => (MeasuredPart::Run, Figure::Peak),
        (Figure::Peak, _) => (MeasuredPart::Run, Figure::PrivatePeak),
        (Figure::P95, Timed::Wall) => (MeasuredPart::Run, Figure::Wall),
        (Figure::P95, Timed::Printed(name)) => (MeasuredPart::Printed(name.clone()), Figure::Printed),
        (Figure::Cpu | Figure::Faults, _) => (MeasuredPart::Run, figure),
        _ => return None,
    };
    Some(Measure { place, figure })
}

pub(super) fn places(runs: &[Played], default: &str) -> Places {
    let default_runs = super::runs_of(runs, default);
    let counted = default_runs.iter().find(|run| is_counted(&run.summary));
    let Some(run) = counted.or(default_runs.first()) else {
        return Places::default();
    };
    let summary = &run.summary;
    if summary.lifecycle.command.is_some() {
        let cost = super::planned_sweep(runs).and_then(|planned| planned.cost.clone());
        return Places {
            command: Some(cost.map_or(Timed::Wall, Timed::Printed)),
            ..Places::default()
        };
    }
    let phase = match MeasuredPart::result(summary) {
        Some(MeasuredPart::Phase { number, name }) => Some((number, name)),
        _ => None,
    };
    // A silent window shows an idle user's memory; light traffic is the fallback.
    let mut kinds = [WindowKind::Silent, WindowKind::Simmer].into_iter();
    let window = kinds.find(|kind| decay::reported(&summary.windows).any(|window| window.kind == *kind));
    let timed_methods = summary.traffic.methods.iter().filter(|method| method.p95.is_some());
    // Of several that are as busy the first by name.
    let busiest = timed_methods.min_by_key(|method| (Reverse(method.count), method.method.clone()));
    Places {
        phase,
        window,
        method: busiest.map(|method| method.method.clone()),
        command: None,
    }
}

/// The ratio of one cell's values to another's, with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Versus {
    pub ratio: f64,
    pub low: f64,
    pub high: f64,
}

impl Versus {
    /// The ratio of `values` to `base`; `None` where one of them has no value.
    pub fn new(base: &[f64], values: &[f64], figure: Figure) -> Option<Versus> {
        let floor = figure.noise_of(base.iter().chain(values).copied());
        if let (Ok(base), Ok(values)) = (Arm::new(base), Arm::new(values)) {
            let contrast = Contrast::welch(&base, &values, floor);
            let (low, high) = contrast.interval(CONFIDENCE);
            return Some(Versus {
                ratio: contrast.ratio(),
                low,
                high,
            });
        }
        let ratio = geometric_mean(values)? / geometric_mean(base)?;
        let low = lower_ratio_by_assumption(base, values, figure).unwrap_or(0.0);
        Some(Versus {
            ratio,
            low,
            // As far above as below.
            high: ratio * ratio / low,
        })
    }

    /// Shown to be more, by more than the slack.
    pub fn is_more(self, figure: Figure) -> bool {
        self.low > 1.0 && self.ratio > 1.0 + figure.slack()
    }

    /// Shown to be less, by more than the slack.
    pub fn is_less(self, figure: Figure) -> bool {
        self.high < 1.0 && self.ratio < 1.0 / (1.0 + figure.slack())
    }
}

/// The lower bound of a ratio by the assumed variation; `None` of figures of which none is assumed.
fn lower_ratio_by_assumption(base: &[f64], values: &[f64], figure: Figure) -> Option<f64> {
    let spread = Pooled::assumed(assumed_variation(figure)?);
    spread.lower_ratio(base, values, (1.0 - CONFIDENCE) / 2.0)
}

/// `None` without values, and where one has no logarithm.
fn geometric_mean(values: &[f64]) -> Option<f64> {
    let logs: f64 = values.iter().map(|value| value.ln()).sum();
    let mean = (logs / values.len() as f64).exp();
    if mean.is_finite() && mean > 0.0 {
        Some(mean)
    } else {
        None
    }
}
