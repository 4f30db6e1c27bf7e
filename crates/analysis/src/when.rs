//! A condition on the runs of one server: figure, place, comparison, size. Pure, as everything here is.

mod level;
mod rising;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::compare::Played;
use crate::figures::GatedFigure;
use crate::findings::brief;
use crate::gate::StillGrowing;
use crate::growth::{Per, Unasked};
use crate::summary::{LostProcess, Summary, exit_of_run};
use base::exit::Exit;
use base::lens::Lens;
use base::units;
use record::Ending;
use stats::{Bounded, Open};

pub use level::mean;

/// A condition that runs can meet.
#[derive(Clone, Debug, PartialEq)]
pub enum When {
    /// The server or a process that it started crashes.
    Crash,
    Level(Level),
    Rising(Rising),
}

/// A figure on one side of a bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    pub subject: GatedFigure,
    pub comparison: Comparison,
    /// In the unit of the figure.
    pub bound: f64,
}

/// Growth from round to round on one side of a bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Rising {
    /// The repeated part; `None` for any of them.
    pub phase: Option<String>,
    /// `None` for the lens of the runs.
    pub lens: Option<Lens>,
    pub comparison: Comparison,
    /// In bytes.
    pub bound: f64,
    pub per: Per,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    Above,
    AtLeast,
    Below,
    AtMost,
}

impl Comparison {
    pub const ALL: [Comparison; 4] = [
        Comparison::Above,
        Comparison::AtLeast,
        Comparison::Below,
        Comparison::AtMost,
    ];

    pub fn sign(self) -> &'static str {
        match self {
            Comparison::Above => ">",
            Comparison::AtLeast => ">=",
            Comparison::Below => "<",
            Comparison::AtMost => "<=",
        }
    }

    pub fn words(self) -> &'static str {
        match self {
            Comparison::Above => "more than",
            Comparison::AtLeast => "at least",
            Comparison::Below => "less than",
            Comparison::AtMost => "at most",
        }
    }

    fn is_upward(self) -> bool {
        matches!(self, Comparison::Above | Comparison::AtLeast)
    }
}

/// The certainty that an answer needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rigour {
    /// One run answers where it is far from the bound. A search asks often, and confirms what it has found.
    Search,
    /// As a gate decides: five runs for a level or a crash, three for growth.
    Verdict,
}

/// The answer of runs to a condition.
#[derive(Clone, Debug, PartialEq)]
pub enum Holds {
    Yes,
    No,
    Undecided(Undecided),
}

/// The reason that a condition neither holds nor does not.
#[derive(Clone, Debug, PartialEq)]
pub enum Undecided {
    TooFewRuns {
        have: usize,
        need: usize,
    },
    /// The interval contains the bound.
    Close,
    /// Some runs crashed, and not most.
    SomeCrash,
    /// The runs do not have the figure, or repeat nothing.
    NotMeasured,
    /// The number of requests or notifications in a round is unknown or 0.
    NotCounted(Per),
    /// The server was not asked, or did not answer: less memory is no merit then.
    Unasked(Vec<Unasked>),
    /// A run failed before its end, in these words: it could have come higher.
    Failed(String),
    StillGrowing(StillGrowing),
    /// Growth that is neither shown nor ruled out.
    Growth(Open),
}

impl Undecided {
    /// True if more runs may decide it.
    pub fn needs_runs(&self) -> bool {
        match self {
            Undecided::TooFewRuns { .. }
            | Undecided::Close
            | Undecided::SomeCrash
            | Undecided::Growth(Open::Runs | Open::Noise) => true,
            Undecided::NotMeasured
            | Undecided::NotCounted(_)
            | Undecided::Unasked(_)
            | Undecided::Failed(_)
            | Undecided::StillGrowing(_)
            | Undecided::Growth(Open::Rounds | Open::Unasked | Open::Slowing | Open::Falling) => false,
        }
    }
}

impl fmt::Display for Undecided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Undecided::TooFewRuns { have, need } => {
                write!(f, "{} of the {need} that decide", units::count_of(*have as u64, "run"))
            }
            Undecided::Close => f.write_str("the runs are too close to the bound"),
            Undecided::SomeCrash => f.write_str("some runs crash, and not most"),
            Undecided::NotMeasured => f.write_str("no run has the figure"),
            Undecided::NotCounted(per) => write!(f, "it is not known how many {}s a round sends", per.name()),
            Undecided::Unasked(steps) if steps.is_empty() => f.write_str("the server was not asked, or did not answer"),
            Undecided::Unasked(steps) => {
                let steps: Vec<String> = steps
                    .iter()
                    .map(|unasked| format!("{} ({})", unasked.step, unasked.why.reason()))
                    .collect();
                write!(f, "{}", steps.join(", "))
            }
            Undecided::Failed(how) => f.write_str(how),
            Undecided::StillGrowing(growing) => f.write_str(&growing.reason()),
            Undecided::Growth(open) => f.write_str(match open {
                Open::Runs => "too few runs",
                Open::Rounds => "too few rounds whose memory is known",
                Open::Unasked => "the server was not asked, or did not answer",
                Open::Slowing => "the growth slows down, as when a cache fills",
                Open::Falling => "memory rises and falls by as much",
                Open::Noise => "the runs are too far apart",
            }),
        }
    }
}

/// The number that a condition is about, over the runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measured {
    Unknown,
    /// Runs that crashed.
    Crashes(usize),
    /// The mean of a figure, or the median of slopes, with its interval; in the unit of the bound.
    Value(Bounded),
}

/// The answer of runs to a condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    pub holds: Holds,
    pub measured: Measured,
    /// Runs that were asked.
    pub runs: usize,
}

impl When {
    pub fn lens(&self) -> Option<Lens> {
        match self {
            When::Crash => None,
            When::Level(level) => level.subject.lens,
            When::Rising(rising) => rising.lens,
        }
    }

    /// The answer of these runs of one server. Warm-ups, traced runs and runs that were cut short say nothing.
    pub fn evaluate(&self, runs: &[Played], rigour: Rigour) -> Evaluation {
        let runs: Vec<&Summary> = runs
            .iter()
            .map(|run| &*run.summary)
            .filter(|run| is_played(run) && self.lens().is_none_or(|lens| run.header.server.lens.name == lens))
            .collect();
        let (comparison, answer) = match self {
            _ if runs.is_empty() => {
                let why = Undecided::TooFewRuns { have: 0, need: 1 };
                return Evaluation {
                    holds: Holds::Undecided(why),
                    measured: Measured::Unknown,
                    runs: 0,
                };
            }
            When::Crash => (Comparison::Above, crashes(&runs, rigour)),
            When::Level(level) => (level.comparison, level.answer(&runs, rigour)),
            When::Rising(rising) => (rising.comparison, rising.answer(&runs, rigour)),
        };
        let holds = match answer.side {
            Side::More if comparison.is_upward() => Holds::Yes,
            Side::More => Holds::No,
            Side::Less if comparison.is_upward() => Holds::No,
            Side::Less => Holds::Yes,
            Side::Open(why) => Holds::Undecided(why),
        };
        Evaluation {
            holds,
            measured: answer.measured,
            runs: runs.len(),
        }
    }
}

/// A side of the bound that the runs show. A run that failed can show that there is more, and never that there is less.
#[derive(Clone, Debug, PartialEq)]
enum Side {
    More,
    Less,
    Open(Undecided),
}

/// A side, and the number that shows it.
struct SideShown {
    side: Side,
    measured: Measured,
}

fn is_played(run: &Summary) -> bool {
    let plan = &run.header.plan;
    !plan.warm_up && plan.traced.is_none() && !matches!(exit_of_run(run), Exit::Interrupted | Exit::OwnFailure)
}

/// The end of the first run that failed, in a few words.
fn failure(runs: &[&Summary]) -> Option<String> {
    let failed = runs.iter().find(|run| exit_of_run(run) == Exit::ServerFailed)?;
    Some(brief(failed))
}

/// A crash is a fact in one run; most runs must have it to call it the server's.
fn crashes(runs: &[&Summary], rigour: Rigour) -> SideShown {
    let crashed = runs.iter().filter(|run| is_crash(run)).count();
    let need = match rigour {
        Rigour::Search => 1,
        Rigour::Verdict => stats::LEAST_TO_DECIDE,
    };
    let side = if runs.len() < need {
        Side::Open(Undecided::TooFewRuns { have: runs.len(), need })
    } else if crashed * 2 > runs.len() {
        Side::More
    } else if crashed > 0 {
        Side::Open(Undecided::SomeCrash)
    } else {
        // A run that ended in another failure may have crashed later.
        failure(runs).map_or(Side::Less, |how| Side::Open(Undecided::Failed(how)))
    };
    SideShown {
        side,
        measured: Measured::Crashes(crashed),
    }
}

fn is_crash(run: &Summary) -> bool {
    matches!(run.ending, Some(Ending::Crashed { .. } | Ending::ProcessCrashed { .. }))
        || run.processes.lost.iter().any(LostProcess::crashed)
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            When::Crash => f.write_str("crash"),
            When::Level(level) => {
                let bound = level::amount(level.bound, level.subject.figure.unit());
                write!(f, "{} {} {bound}", level.subject, level.comparison.sign())
            }
            When::Rising(rising) => {
                if let Some(lens) = rising.lens {
                    write!(f, "{lens} ")?;
                }
                f.write_str("growth")?;
                if let Some(phase) = &rising.phase {
                    write!(f, " in {phase}")?;
                }
                let bound = units::exact_bytes(rising.bound as u64);
                write!(f, " {} {bound} per {}", rising.comparison.sign(), rising.per.name())
            }
        }
    }
}
