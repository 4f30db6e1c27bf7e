//! What runs are compared by: one figure of one run, and how to find it in a summary.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use crate::stats::NoiseFloor;
use crate::summary::{MethodSummary, PhaseSummary, ResidentMetric, Summary};
use crate::units::{TICK, is_in_ticks};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Measure {
    pub place: Place,
    pub figure: Figure,
}

/// A measure as it is written.
#[derive(Serialize, JsonSchema)]
pub(super) struct Named {
    /// What part of the run.
    place: Part,
    /// The phase or the method; `null` of the whole run.
    name: Option<String>,
    /// Which figure.
    figure: Figure,
    /// What it counts.
    unit: Unit,
}

/// A part of a run.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Part {
    /// A phase; the last round of one that is repeated.
    Phase,
    /// The run as a whole.
    Run,
    /// All requests of a method.
    Method,
}

impl From<&Measure> for Named {
    fn from(measure: &Measure) -> Named {
        let (place, name) = match &measure.place {
            Place::Phase { name, .. } => (Part::Phase, Some(name.clone())),
            Place::Run => (Part::Run, None),
            Place::Method(method) => (Part::Method, Some(method.clone())),
        };
        let (figure, unit) = (measure.figure, measure.figure.unit());
        Named {
            place,
            name,
            figure,
            unit,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// A phase; the last round of one that is repeated.
    Phase {
        /// Place in the scenario, from 0.
        number: u32,
        name: String,
    },
    Run,
    Method(String),
}

/// A figure. Less of it is better, whatever it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// Private memory at the checkpoint, in bytes, in the private metric of the run.
    Private,
    /// Peak of resident memory, in bytes; of a tree the sampled maximum, which is a lower bound.
    Peak,
    /// Resident memory at the checkpoint, in bytes; of a tree the proportional size.
    Resident,
    /// Processor time of the tree, in nanoseconds.
    Cpu,
    /// Minor page faults of the tree.
    Faults,
    /// Median latency, in nanoseconds.
    P50,
    /// 95th percentile of the latency, in nanoseconds.
    P95,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    Bytes,
    /// Nanoseconds.
    #[serde(rename = "nanoseconds")]
    Nanos,
    /// Nanoseconds of processor time, which is counted in ticks.
    #[serde(rename = "nanoseconds")]
    #[schemars(skip)]
    CpuNanos,
    Count,
}

impl Figure {
    pub const ALL: [Figure; 7] = [
        Figure::Private,
        Figure::Peak,
        Figure::Resident,
        Figure::Cpu,
        Figure::Faults,
        Figure::P50,
        Figure::P95,
    ];

    /// Figures of a phase, in the order of tables.
    pub const OF_PHASES: [Figure; 5] = [
        Figure::Private,
        Figure::Peak,
        Figure::Resident,
        Figure::Cpu,
        Figure::Faults,
    ];

    pub const OF_RUNS: [Figure; 2] = [Figure::Peak, Figure::Cpu];

    pub const OF_METHODS: [Figure; 2] = [Figure::P50, Figure::P95];

    /// Its name in reports and in gate files.
    pub fn name(self) -> &'static str {
        match self {
            Figure::Private => "private",
            Figure::Peak => "peak",
            Figure::Resident => "resident",
            Figure::Cpu => "cpu",
            Figure::Faults => "faults",
            Figure::P50 => "p50",
            Figure::P95 => "p95",
        }
    }

    /// The least noise that is believed of it: 64 KiB of memory and as many faults, a tick of the kernel's CPU clock.
    pub fn noise(self) -> NoiseFloor {
        let absolute = match self {
            Figure::Private | Figure::Peak | Figure::Resident => return NoiseFloor::MEMORY,
            Figure::Cpu => TICK.as_nanos() as f64,
            Figure::Faults => 16.0,
            Figure::P50 | Figure::P95 => return NoiseFloor::RELATIVE,
        };
        NoiseFloor {
            absolute,
            ..NoiseFloor::RELATIVE
        }
    }

    /// The same of these values: processor time that was counted in nanoseconds in all of them has no ticks.
    pub fn noise_of(self, values: impl IntoIterator<Item = f64>) -> NoiseFloor {
        let in_ticks = |value: f64| is_in_ticks(Duration::from_nanos(value as u64));
        match self == Figure::Cpu && !values.into_iter().any(in_ticks) {
            true => NoiseFloor::RELATIVE,
            false => self.noise(),
        }
    }

    pub fn unit(self) -> Unit {
        match self {
            Figure::Private | Figure::Peak | Figure::Resident => Unit::Bytes,
            Figure::Cpu => Unit::CpuNanos,
            Figure::P50 | Figure::P95 => Unit::Nanos,
            Figure::Faults => Unit::Count,
        }
    }
}

impl Measure {
    /// Everything that a run can be compared by, in the order in which it was played.
    pub fn all(summary: &Summary) -> Vec<Measure> {
        let mut all: Vec<Measure> = Vec::new();
        for phase in &summary.phases {
            let place = Place::Phase {
                number: phase.phase.phase,
                name: phase.phase.name.clone(),
            };
            if all.last().is_none_or(|last| last.place != place) && !all.iter().any(|seen| seen.place == place) {
                all.extend(Figure::OF_PHASES.map(|figure| Measure {
                    place: place.clone(),
                    figure,
                }));
            }
        }
        all.extend(Figure::OF_RUNS.map(|figure| Measure {
            place: Place::Run,
            figure,
        }));
        for method in &summary.methods {
            all.extend(Figure::OF_METHODS.map(|figure| Measure {
                place: Place::Method(method.method.clone()),
                figure,
            }));
        }
        all
    }

    /// The figure in a run; `None` where the run does not have it.
    pub fn of(&self, summary: &Summary) -> Option<f64> {
        match &self.place {
            Place::Phase { number, .. } => {
                let last = summary.phases.iter().rev().find(|phase| phase.phase.phase == *number)?;
                in_phase(self.figure, last, summary.resident_metric)
            }
            Place::Run => match self.figure {
                Figure::Peak => summary.peak.map(|peak| peak.lower as f64),
                Figure::Cpu => sum(summary.programs.iter().map(|program| program.cpu)),
                Figure::Private | Figure::Resident | Figure::Faults | Figure::P50 | Figure::P95 => None,
            },
            Place::Method(name) => {
                let method = summary.methods.iter().find(|method| method.method == *name)?;
                of_method(self.figure, method)
            }
        }
    }
}

fn in_phase(figure: Figure, phase: &PhaseSummary, resident: ResidentMetric) -> Option<f64> {
    // A phase that was not played to its checkpoint has no figures that could be compared.
    let taken = phase.checkpoint.as_ref()?;
    let value = match figure {
        Figure::Private => phase.private,
        Figure::Peak => phase.peak.map(|peak| peak.lower),
        Figure::Resident => match resident {
            ResidentMetric::Proportional => taken.proportional,
            ResidentMetric::Resident => taken.resident,
        },
        Figure::Cpu => phase.cpu,
        Figure::Faults => phase.minor_faults,
        Figure::P50 | Figure::P95 => None,
    };
    value.map(|value| value as f64)
}

fn of_method(figure: Figure, method: &MethodSummary) -> Option<f64> {
    let value = match figure {
        Figure::P50 => method.p50,
        Figure::P95 => method.p95,
        Figure::Private | Figure::Peak | Figure::Resident | Figure::Cpu | Figure::Faults => None,
    };
    value.map(|value| value as f64)
}

/// The sum; `None` where there is nothing to add or a part is not known.
fn sum(parts: impl Iterator<Item = Option<u64>>) -> Option<f64> {
    let parts: Option<Vec<u64>> = parts.collect();
    let parts = parts.filter(|parts| !parts.is_empty())?;
    Some(parts.iter().map(|part| *part as f64).sum())
}
