//! The measures of comparisons, gates and sweeps: a figure of a part of a run, and its value in a summary.

pub mod gated;
mod named;
pub mod rules;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use crate::summary::decay::{self, WindowKind};
use crate::summary::{PhaseSummary, ResidentMetric, Summary};
use base::band::NoiseFloor;
use base::units::is_in_ticks;

pub use gated::{GatedFigure, GatedFigureError, GatedPart};
pub use named::Named;
pub use rules::{Leak, Limit, Rule, Rules, WorkLimits};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Measure {
    pub place: MeasuredPart,
    pub figure: Figure,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MeasuredPart {
    /// A phase; of a repeated phase the last round.
    Phase {
        /// From 0.
        number: u32,
        name: String,
    },
    /// The last window of the kind, excluding control windows.
    Window(WindowKind),
    Run,
    Method(String),
    /// The name of a figure that a command printed.
    Printed(String),
}

impl MeasuredPart {
    /// The phase whose checkpoint is the result of a run. In older records: the last phase with more than a forced
    /// release or a memory report, since a report takes memory itself.
    pub fn result(summary: &Summary) -> Option<MeasuredPart> {
        let scenario = &summary.header.scenario;
        let number = match &scenario.result {
            Some(name) => scenario.phases.iter().position(|phase| phase == name),
            None => (0..scenario.phases.len()).rfind(|number| !only_measures(summary, *number)),
        }?;
        Some(MeasuredPart::Phase {
            number: u32::try_from(number).ok()?,
            name: scenario.phases[number].clone(),
        })
    }

    /// The name of a table row.
    pub fn name(&self) -> &str {
        match self {
            MeasuredPart::Phase { name, .. } => name,
            MeasuredPart::Window(kind) => kind.name(),
            MeasuredPart::Run => "whole run",
            MeasuredPart::Method(name) | MeasuredPart::Printed(name) => name,
        }
    }

    /// The text after a figure's name in a sentence: ` after decay`.
    pub fn suffix(&self) -> String {
        match self {
            MeasuredPart::Phase { name, .. } => format!(" after {name}"),
            MeasuredPart::Window(kind) => format!(" in the {} window", kind.name()),
            MeasuredPart::Run => String::new(),
            MeasuredPart::Method(method) => format!(" of {method}"),
            MeasuredPart::Printed(name) => format!(" {name}"),
        }
    }
}

/// True if the phase of this number was played and had nothing but forced releases and memory reports.
fn only_measures(summary: &Summary, number: usize) -> bool {
    let played = summary
        .phases
        .iter()
        .filter(|phase| phase.phase.phase as usize == number);
    let mut steps = played.flat_map(|phase| &phase.steps).peekable();
    steps.peek().is_some() && steps.all(|step| matches!(step.name.as_str(), "release" | "self-report"))
}

/// A figure of a run. Lower is better, except for released memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// Private memory at the checkpoint, in bytes, in the private metric of the run.
    Private,
    /// Peak of resident memory, in bytes; for a tree the sampled maximum, which is a lower bound.
    Peak,
    /// Resident memory at the checkpoint, in bytes; for a tree the proportional size.
    Resident,
    /// Live memory at the checkpoint, in bytes: what the server reported after a forced collection of garbage.
    Live,
    /// Processor time of the tree, in nanoseconds.
    Cpu,
    /// Minor page faults of the tree.
    Faults,
    /// Median latency, in nanoseconds.
    P50,
    /// 95th percentile of the latency, in nanoseconds.
    P95,
    /// Share of the growth so far that is released by the checkpoint.
    Returned,
    /// Time until nine tenths of the memory released in a window were released, in nanoseconds.
    T90,
    /// Time of a command from its start to its end, in nanoseconds.
    Wall,
    /// Processor time of a command in user mode, in nanoseconds.
    User,
    /// Processor time of a command in the kernel, in nanoseconds.
    System,
    /// Highest sampled private memory, in bytes: a lower bound.
    PrivatePeak,
    /// Major page faults of a command.
    MajorFaults,
    /// Context switches of a command.
    Switches,
    /// Bytes that a command read from disks.
    Read,
    /// Bytes that a command wrote to disks.
    Written,
    /// A number that a command printed.
    Printed,
    /// Zombies of the tree at the checkpoint.
    Zombies,
    /// Processes of the tree at the checkpoint.
    Processes,
    /// Threads of the tree at the checkpoint.
    Threads,
    /// Open descriptors of the tree at the checkpoint.
    Descriptors,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    Bytes,
    /// Nanoseconds.
    #[serde(rename = "nanoseconds")]
    Nanos,
    /// Nanoseconds of processor time, which may be counted in ticks.
    #[serde(rename = "nanoseconds")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    CpuNanos,
    Count,
    /// Whatever the command means.
    Number,
    /// A fraction between 0 and 1.
    Share,
}

/// Constants of a figure.
struct Facts {
    /// Name in reports, JSON and gate files.
    name: &'static str,
    words: &'static str,
    caption: &'static str,
    unit: Unit,
    /// Lowest noise that is assumed.
    noise: NoiseFloor,
    /// Share of a value that is too small a difference to change a setting for.
    slack: f64,
}

const fn memory(name: &'static str, words: &'static str, caption: &'static str) -> Facts {
    Facts {
        unit: Unit::Bytes,
        noise: NoiseFloor::MEMORY,
        ..time(name, words, caption)
    }
}

const fn count(name: &'static str, words: &'static str, caption: &'static str) -> Facts {
    Facts {
        unit: Unit::Count,
        noise: NoiseFloor::FAULTS,
        ..time(name, words, caption)
    }
}

const fn held(name: &'static str, words: &'static str, caption: &'static str) -> Facts {
    Facts {
        unit: Unit::Count,
        ..time(name, words, caption)
    }
}

const fn latency(name: &'static str, words: &'static str, caption: &'static str) -> Facts {
    Facts {
        slack: 0.05,
        ..time(name, words, caption)
    }
}

const fn time(name: &'static str, words: &'static str, caption: &'static str) -> Facts {
    Facts {
        name,
        words,
        caption,
        unit: Unit::Nanos,
        noise: NoiseFloor::RELATIVE,
        slack: 0.01,
    }
}

impl Figure {
    /// Figures of comparisons and gates, in the order of tables.
    pub const COMPARED: [Figure; 16] = [
        Figure::Private,
        Figure::Peak,
        Figure::Resident,
        Figure::Live,
        Figure::Cpu,
        Figure::Faults,
        Figure::P50,
        Figure::P95,
        Figure::Wall,
        Figure::User,
        Figure::System,
        Figure::PrivatePeak,
        Figure::MajorFaults,
        Figure::Switches,
        Figure::Read,
        Figure::Written,
    ];

    /// Figures of a command that was run to its end, in the order of tables.
    const OF_COMMANDS: [Figure; 10] = [
        Figure::Wall,
        Figure::User,
        Figure::System,
        Figure::Peak,
        Figure::PrivatePeak,
        Figure::Faults,
        Figure::MajorFaults,
        Figure::Switches,
        Figure::Read,
        Figure::Written,
    ];

    /// Figures of phases, in the order of tables.
    pub const OF_PHASES: [Figure; 6] = [
        Figure::Private,
        Figure::Peak,
        Figure::Resident,
        Figure::Live,
        Figure::Cpu,
        Figure::Faults,
    ];

    /// Figures that are compared and never gated: such a count is often 0, and a gate decides by ratios.
    pub const HELD: [Figure; 4] = [Figure::Zombies, Figure::Processes, Figure::Threads, Figure::Descriptors];

    pub const OF_RUNS: [Figure; 2] = [Figure::Peak, Figure::Cpu];

    pub const OF_METHODS: [Figure; 2] = [Figure::P50, Figure::P95];

    /// Figures of sweeps, in the order of tables.
    pub const SWEPT: [Figure; 8] = [
        Figure::Private,
        Figure::Peak,
        Figure::Returned,
        Figure::T90,
        Figure::P50,
        Figure::P95,
        Figure::Cpu,
        Figure::Faults,
    ];

    const fn facts(self) -> Facts {
        match self {
            Figure::Private => memory("private", "private memory", "Private memory at checkpoints, MiB"),
            Figure::Peak => memory("peak", "resident peak", "Resident peak within phases, MiB"),
            Figure::Resident => memory("resident", "resident memory", "Resident memory at checkpoints, MiB"),
            Figure::Live => memory("live", "live memory", "Live memory at checkpoints, MiB"),
            Figure::Cpu => Facts {
                unit: Unit::CpuNanos,
                noise: NoiseFloor::TICK,
                slack: 0.02,
                ..time("cpu", "CPU time", "CPU time")
            },
            Figure::Faults => count("faults", "minor page faults", "Minor page faults"),
            Figure::P50 => latency("p50", "median latency", "Median latency"),
            Figure::P95 => latency("p95", "95th percentile of latency", "95th percentile of latency"),
            Figure::Returned => Facts {
                unit: Unit::Share,
                ..time("returned", "memory returned", "Memory returned")
            },
            Figure::Wall => time("wall", "wall time", "Wall time"),
            Figure::User => time("user", "user time", "User time"),
            Figure::System => time("system", "system time", "System time"),
            Figure::PrivatePeak => memory("private-peak", "sampled private peak", "Sampled private peak, MiB"),
            Figure::MajorFaults => count("major-faults", "major page faults", "Major page faults"),
            Figure::Switches => count("switches", "context switches", "Context switches"),
            Figure::Read => memory("read", "bytes read", "Bytes read from disks, MiB"),
            Figure::Written => memory("written", "bytes written", "Bytes written to disks, MiB"),
            Figure::Printed => Facts {
                unit: Unit::Number,
                ..time("printed", "printed figure", "Printed figures")
            },
            Figure::Zombies => held("zombies", "zombies", "Zombies at checkpoints"),
            Figure::Processes => held("processes", "processes", "Processes at checkpoints"),
            Figure::Threads => held("threads", "threads", "Threads at checkpoints"),
            Figure::Descriptors => held("descriptors", "open descriptors", "Open descriptors at checkpoints"),
            Figure::T90 => time("t90", "time to return nine tenths", "Time to return nine tenths"),
        }
    }

    /// The compared figure of this name.
    pub fn from_name(name: &str) -> Option<Figure> {
        Figure::COMPARED.into_iter().find(|figure| figure.name() == name)
    }

    pub const fn name(self) -> &'static str {
        self.facts().name
    }

    pub const fn words(self) -> &'static str {
        self.facts().words
    }

    pub const fn caption(self) -> &'static str {
        self.facts().caption
    }

    /// The head of the first column in its table.
    pub fn rows(self) -> &'static str {
        match self {
            Figure::P50 | Figure::P95 => "method",
            figure if figure.is_of_checkpoints() => "after",
            _ => "in",
        }
    }

    pub const fn unit(self) -> Unit {
        self.facts().unit
    }

    pub const fn noise(self) -> NoiseFloor {
        self.facts().noise
    }

    pub const fn slack(self) -> f64 {
        self.facts().slack
    }

    /// True if the figure is read at a checkpoint: its sentence says "after" a phase, not "in".
    pub fn is_of_checkpoints(self) -> bool {
        matches!(self, Figure::Private | Figure::Resident | Figure::Live) || Figure::HELD.contains(&self)
    }

    /// True if runs of a server have the figure.
    pub fn is_of_servers(self) -> bool {
        // No table of a server has these two, but a phase of a session does.
        matches!(self, Figure::PrivatePeak | Figure::MajorFaults)
            || Figure::OF_PHASES.contains(&self)
            || Figure::OF_RUNS.contains(&self)
            || Figure::OF_METHODS.contains(&self)
    }

    /// True if commands that were run to their end have the figure.
    pub fn is_of_commands(self) -> bool {
        self == Figure::Cpu || Figure::OF_COMMANDS.contains(&self)
    }

    /// True if it is known which direction is better. It is not for what a command prints.
    pub fn has_direction(self) -> bool {
        self != Figure::Printed
    }

    /// True if the figure counts time, which runs that are played at once take from each other.
    pub fn is_time(self) -> bool {
        matches!(self.unit(), Unit::Nanos | Unit::CpuNanos)
    }

    /// The lowest noise for these values. Processor time counted in nanoseconds has no tick noise.
    pub fn noise_of(self, values: impl IntoIterator<Item = f64>) -> NoiseFloor {
        let mut times = values.into_iter().map(|value| Duration::from_nanos(value as u64));
        if self == Figure::Cpu && !times.any(is_in_ticks) {
            NoiseFloor::RELATIVE
        } else {
            self.noise()
        }
    }
}

impl Measure {
    /// All measures of a run, in the order of its parts.
    pub fn all(summary: &Summary) -> Vec<Measure> {
        if summary.lifecycle.command.is_some() {
            let mut all = measures_of(&MeasuredPart::Run, &Figure::OF_COMMANDS);
            all.extend(printed(summary));
            return all;
        }
        let mut all: Vec<Measure> = Vec::new();
        for phase in &summary.phases {
            let place = MeasuredPart::Phase {
                number: phase.phase.phase,
                name: phase.phase.name.clone(),
            };
            if !all.iter().rev().any(|seen| seen.place == place) {
                all.extend(measures_of(&place, &Figure::OF_PHASES));
                all.extend(measures_of(&place, &Figure::HELD));
            }
        }
        all.extend(measures_of(&MeasuredPart::Run, &Figure::OF_RUNS));
        for method in &summary.traffic.methods {
            all.extend(measures_of(
                &MeasuredPart::Method(method.method.clone()),
                &Figure::OF_METHODS,
            ));
        }
        all
    }

    /// The measure's value; `None` where the run does not have it.
    pub fn value(&self, summary: &Summary) -> Option<f64> {
        match &self.place {
            MeasuredPart::Phase { number, .. } => {
                let last = summary.phases.iter().rev().find(|phase| phase.phase.phase == *number)?;
                // What is left of a tree is no figure of the server.
                if last.incomplete {
                    return None;
                }
                match self.figure {
                    Figure::Live => summary.live_memory(&last.phase).map(|bytes| bytes as f64),
                    figure => in_phase(figure, last, summary.memory.resident_metric),
                }
            }
            MeasuredPart::Window(kind) => match self.figure {
                Figure::T90 => {
                    let window = decay::reported(&summary.windows).rfind(|window| window.kind == *kind)?;
                    Some(window.private.as_ref()?.t90? as f64)
                }
                _ => None,
            },
            MeasuredPart::Run => match self.figure {
                figure if summary.lifecycle.command.is_some() => of_command(figure, summary),
                Figure::Peak => summary.memory.peak.map(|peak| peak.lower as f64),
                Figure::Cpu => sum(summary.processes.programs.iter().map(|program| program.cpu)),
                Figure::Faults => sum(summary.phases.iter().map(|phase| phase.minor_faults)),
                _ => None,
            },
            MeasuredPart::Method(name) => {
                let method = summary.traffic.methods.iter().find(|method| method.method == *name)?;
                let value = match self.figure {
                    Figure::P50 => method.p50,
                    Figure::P95 => method.p95,
                    _ => None,
                };
                value.map(|value| value as f64)
            }
            MeasuredPart::Printed(name) => summary
                .lifecycle
                .command
                .as_ref()?
                .printed
                .as_ref()?
                .get(name)?
                .as_f64(),
        }
    }
}

fn measures_of(place: &MeasuredPart, figures: &[Figure]) -> Vec<Measure> {
    let measures = figures.iter().map(|figure| Measure {
        place: place.clone(),
        figure: *figure,
    });
    measures.collect()
}

/// The figures that a command printed.
fn printed(summary: &Summary) -> Vec<Measure> {
    let printed = summary.lifecycle.command.as_ref().and_then(|end| end.printed.as_ref());
    let names = printed.into_iter().flat_map(BTreeMap::keys);
    names
        .map(|name| Measure {
            place: MeasuredPart::Printed(name.clone()),
            figure: Figure::Printed,
        })
        .collect()
}

fn in_phase(figure: Figure, phase: &PhaseSummary, resident: ResidentMetric) -> Option<f64> {
    // A phase without a checkpoint is not comparable.
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
        Figure::Returned => {
            return match resident {
                ResidentMetric::Proportional => phase.returned.private,
                ResidentMetric::Resident => phase.returned.resident,
            };
        }
        Figure::PrivatePeak => phase.private_peak,
        Figure::MajorFaults => phase.major_faults,
        Figure::Zombies => taken.zombies,
        Figure::Processes => Some(taken.processes),
        Figure::Threads => taken.threads,
        Figure::Descriptors => taken.descriptors,
        Figure::Live
        | Figure::P50
        | Figure::P95
        | Figure::T90
        | Figure::Wall
        | Figure::User
        | Figure::System
        | Figure::Switches
        | Figure::Read
        | Figure::Written
        | Figure::Printed => None,
    };
    value.map(|value| value as f64)
}

/// A figure of a command that was run to its end.
fn of_command(figure: Figure, summary: &Summary) -> Option<f64> {
    let end = summary.lifecycle.command.as_ref()?;
    let value = match figure {
        Figure::Wall => Some(end.wall),
        Figure::User => Some(end.user),
        Figure::System => Some(end.system),
        Figure::Cpu => end.user.checked_add(end.system),
        Figure::Peak => summary.memory.peak.map(|peak| peak.lower),
        Figure::PrivatePeak => summary.memory.private_peak,
        Figure::Faults => Some(end.minor_faults),
        Figure::MajorFaults => Some(end.major_faults),
        Figure::Switches => end.voluntary_switches.checked_add(end.involuntary_switches),
        Figure::Read => end.read,
        Figure::Written => end.written,
        _ => None,
    };
    value.map(|value| value as f64)
}

/// The sum; `None` without parts or with an unknown part.
fn sum(parts: impl Iterator<Item = Option<u64>>) -> Option<f64> {
    let parts: Vec<u64> = parts.collect::<Option<_>>()?;
    if parts.is_empty() {
        return None;
    }
    Some(parts.iter().map(|part| *part as f64).sum())
}
