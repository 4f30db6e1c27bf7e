//! A figure on one side of a bound.

use std::time::Duration;

use crate::figures::{GatedFigure, GatedPart, Unit};
use crate::gate::below_figure_of;
use crate::growth::{Asked, work_of};
use crate::summary::{PhaseSummary, Summary};
use base::units;
use stats::{Bounded, Budget, Known, LEAST_TO_DECIDE, Pooled, Seen, judge_budget};

use super::{Level, Measured, Rigour, Side, SideShown, Undecided, failure};

/// The chance that a bound leaves out the true value.
const ALPHA: f64 = 0.05;

/// The coefficient of variation between runs that a search assumes of memory where it has too few runs to see it: twice
/// what is common.
const ASSUMED_VARIATION: f64 = 0.10;

impl Level {
    pub(super) fn answer(&self, runs: &[&Summary], rigour: Rigour) -> SideShown {
        let mut values = Vec::new();
        for run in runs {
            let Some(value) = self.subject.value(run) else {
                let why = failure(runs).map_or(Undecided::NotMeasured, Undecided::Failed);
                return SideShown {
                    side: Side::Open(why),
                    measured: Measured::Unknown,
                };
            };
            values.push(value);
        }
        let Some(interval) = self.interval(&values, rigour) else {
            let need = match rigour {
                Rigour::Search => 2,
                Rigour::Verdict => LEAST_TO_DECIDE,
            };
            let have = values.len();
            let why = if have < need {
                Undecided::TooFewRuns { have, need }
            } else {
                Undecided::NotMeasured
            };
            return SideShown {
                side: Side::Open(why),
                measured: Measured::Unknown,
            };
        };
        let side = if rigour == Rigour::Verdict && values.len() < LEAST_TO_DECIDE {
            Side::Open(Undecided::TooFewRuns {
                have: values.len(),
                need: LEAST_TO_DECIDE,
            })
        } else if interval.low > self.bound {
            Side::More
        } else if interval.high < self.bound {
            self.doubt_of_less(runs).map_or(Side::Less, Side::Open)
        } else {
            Side::Open(Undecided::Close)
        };
        SideShown {
            side,
            measured: Measured::Value(interval),
        }
    }

    /// The mean with its bounds; `None` where the runs do not have one.
    fn interval(&self, values: &[f64], rigour: Rigour) -> Option<Bounded> {
        if rigour == Rigour::Search && self.subject.figure.unit() == Unit::Bytes {
            let (low, high) = Pooled::assumed(ASSUMED_VARIATION).bounds(values, ALPHA)?;
            let value = (low * high).sqrt();
            return Some(Bounded { value, low, high });
        }
        mean(&self.subject, values)
    }

    /// The reason that a figure below the bound proves nothing; `None` if it is proof.
    fn doubt_of_less(&self, runs: &[&Summary]) -> Option<Undecided> {
        if let Some(how) = failure(runs) {
            return Some(Undecided::Failed(how));
        }
        if let Some(growing) = runs.iter().find_map(|run| below_figure_of(&self.subject, run)) {
            return Some(Undecided::StillGrowing(growing));
        }
        for run in runs {
            let (asked, unasked) = work_of(self.phases_until(run), run);
            if matches!(asked, Asked::No | Asked::Unanswered) {
                return Some(Undecided::Unasked(unasked));
            }
        }
        None
    }

    /// The phases that make the figure: all, or those up to the named one.
    fn phases_until<'r>(&self, run: &'r Summary) -> &'r [PhaseSummary] {
        let GatedPart::Phase(name) = &self.subject.at else {
            return &run.phases;
        };
        let last = run.phases.iter().rposition(|phase| phase.phase.name == *name);
        last.map_or(&run.phases, |last| &run.phases[..=last])
    }
}

/// The mean of a figure with its 95 % interval; `None` where the values do not have one.
pub fn mean(subject: &GatedFigure, values: &[f64]) -> Option<Bounded> {
    let budget = Budget {
        name: subject.to_string(),
        limit: f64::INFINITY,
        noise: subject.figure.noise_of(values.iter().copied()),
        known: Known::Seen,
        values: values.iter().map(|value| Seen::on_only_machine(Some(*value))).collect(),
    };
    judge_budget(&budget, ALPHA).interval.ok()
}

/// A bound in the unit of its figure, as it is typed.
pub(super) fn amount(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Bytes => units::exact_bytes(value as u64),
        Unit::Nanos | Unit::CpuNanos => units::duration(Duration::from_nanos(value as u64)),
        Unit::Share => units::percent(value),
        Unit::Count | Unit::Number => units::number(value),
    }
}
