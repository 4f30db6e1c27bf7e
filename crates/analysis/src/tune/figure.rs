//! The figures of a sweep: one of a run, and how two cells differ in it.

use crate::compare::cell::{Values, cell};
use crate::compare::{Cell, Played, counts};
use crate::figures::{Figure, Measure, Place};
use crate::summary::decay;
use crate::summary::decay::WindowKind;
use stats::{Arm, Contrast, Pooled};

use super::CONFIDENCE;

/// What cells are weighed by: memory against latency and processor time.
pub(super) const WEIGHED: [Figure; 3] = [Figure::Private, Figure::P95, Figure::Cpu];

/// The coefficient of variation between runs that is assumed where there is only one of each, which has no spread of its
/// own: twice what private memory commonly has at most as shipped. `None` of what a busy machine moves by any amount.
pub(super) fn assumed(figure: Figure) -> Option<f64> {
    (figure == Figure::Private).then_some(0.10)
}

fn values(figure: Figure, runs: &[&Played], places: &Places) -> Values {
    let measure = places.measure(figure);
    let value = |run: &&Played| {
        (
            run.machine(),
            measure.as_ref().and_then(|measure| measure.value(&run.summary)),
        )
    };
    runs.iter().map(value).collect()
}

/// The figure in all runs of a cell, and how it compares with that of the default.
pub(super) fn figure_of(figure: Figure, runs: &[&Played], default: Option<&[&Played]>, places: &Places) -> Cell {
    let base = default.map(|runs| values(figure, runs, places));
    let own = values(figure, runs, places);
    let all = own.iter().chain(base.iter().flatten());
    let floor = figure.noise_of(all.filter_map(|(_, value)| *value));
    cell(&own, base.as_ref(), floor)
}

/// What the figures of a sweep are of, as the runs of its default say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The phase whose checkpoint is the settled value: place in the scenario, and name.
    pub phase: Option<(u32, String)>,
    /// The window whose t90 is reported.
    pub window: Option<WindowKind>,
    /// The method with most requests.
    pub method: Option<String>,
    /// What is weighed of commands: their peak as the memory, and this time as the latency. `None` of servers.
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
            return of_command(figure, timed);
        }
        let place = match figure {
            Figure::Private | Figure::Resident | Figure::Returned => {
                let (number, name) = self.phase.clone()?;
                Place::Phase { number, name }
            }
            Figure::T90 => Place::Window(self.window?),
            Figure::P50 | Figure::P95 => Place::Method(self.method.clone()?),
            _ => Place::Run,
        };
        Some(Measure { place, figure })
    }

    /// The name of a figure of the table.
    pub fn name(&self, figure: Figure) -> &str {
        match (figure, &self.command) {
            (Figure::Cpu, _) => "CPU",
            (Figure::P95, Some(Timed::Printed(name))) => name,
            (figure, Some(timed)) => of_command(figure, timed)
                .map_or(figure, |measure| measure.figure)
                .name(),
            (figure, None) => figure.name(),
        }
    }

    /// What settings are chosen by.
    pub fn memory(&self) -> &'static str {
        match self.command {
            Some(_) => "peak memory",
            None => "private memory",
        }
    }
}

/// Where a figure of a table is read of a command.
fn of_command(figure: Figure, timed: &Timed) -> Option<Measure> {
    let (place, figure) = match (figure, timed) {
        (Figure::Private, _) => (Place::Run, Figure::Peak),
        (Figure::Peak, _) => (Place::Run, Figure::PrivatePeak),
        (Figure::P95, Timed::Wall) => (Place::Run, Figure::Wall),
        (Figure::P95, Timed::Printed(name)) => (Place::Printed(name.clone()), Figure::Printed),
        (Figure::Cpu | Figure::Faults, _) => (Place::Run, figure),
        _ => return None,
    };
    Some(Measure { place, figure })
}

pub(super) fn places(runs: &[Played], default: &str) -> Places {
    let mine = |run: &&Played| run.summary.header.server.label == default;
    let counting = runs.iter().filter(mine).find(|run| counts(&run.summary));
    let Some(run) = counting.or_else(|| runs.iter().find(mine)) else {
        return Places::default();
    };
    let summary = &run.summary;
    if summary.command.is_some() {
        let cost = super::planned(runs).and_then(|planned| planned.cost.clone());
        return Places {
            command: Some(cost.map_or(Timed::Wall, Timed::Printed)),
            ..Places::default()
        };
    }
    // A silent window shows an idle user's memory; light traffic is the fallback.
    let kinds = [WindowKind::Silent, WindowKind::Simmer];
    let has = |kind: &WindowKind| decay::own(&summary.windows).any(|window| window.kind == *kind);
    let phase = match Place::result(summary) {
        Some(Place::Phase { number, name }) => Some((number, name)),
        _ => None,
    };
    let busiest = summary.methods.iter().filter(|method| method.p95.is_some());
    Places {
        phase,
        window: kinds.into_iter().find(has),
        // Of several that are as busy the first by name.
        method: busiest
            .min_by_key(|method| (std::cmp::Reverse(method.count), method.method.clone()))
            .map(|method| method.method.clone()),
        command: None,
    }
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
    pub fn new(against: &[f64], of: &[f64], figure: Figure) -> Option<Versus> {
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
        let low = assumed(figure).map(Pooled::assumed);
        let low = low.and_then(|spread| spread.lower_ratio(against, of, (1.0 - CONFIDENCE) / 2.0));
        let low = low.unwrap_or(0.0);
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
