//! A sweep as JSON, for programs: versioned, with a schema in `docs/schemas/tune-report.json`.
//!
//! Sizes are bytes and times nanoseconds, ratios are of geometric means, 1.1 being ten per cent more. What is not known is
//! `null`, never 0.

use crate::text::Form;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::compare;
use crate::figures;
use crate::record::{AllocatorFacts, CellFacts, Version};
use crate::tune;
use crate::tune::{Choice, Keep, Sweep, Why};

use super::ship;
use super::why::why_not;
use super::words::{headline, sentences, stop};

/// The version of this format. The minor one rises when something is added, the major one when a reader would misread.
pub const FORMAT: Version = Version { major: 1, minor: 3 };

/// A sweep and what it comes to. Sizes are bytes, times nanoseconds. What is not known is `null`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Report {
    /// Version of this format.
    pub format: Version,
    /// The scenario's name.
    pub scenario: String,
    /// The server's profile, or else its program.
    pub server: String,
    /// Its version.
    pub version: Option<String>,
    /// Its allocator, as it is without any setting.
    pub allocator: Option<AllocatorFacts>,
    /// What it comes to.
    pub outcome: Outcome,
    /// The label of the setting to ship; `null` where none is recommended.
    pub chosen: Option<String>,
    /// The exit code: 0, 1 where no setting stays under the limit, 3 where there are too few runs, 4 where the server failed as it is.
    pub exit_code: u8,
    /// The answer in sentences, the first of which is the answer itself.
    pub findings: Vec<String>,
    /// The setting to ship in every form that there is of it, by its name.
    pub ship: BTreeMap<String, String>,
    /// What was asked for.
    pub rules: Rules,
    /// The phase at whose checkpoint private memory is read.
    pub phase: Option<String>,
    /// The method of the latencies.
    pub method: Option<String>,
    /// Every setting, the default first.
    pub cells: Vec<Cell>,
}

/// What a sweep comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// A setting is recommended.
    Ship,
    /// Nothing is to be changed.
    Default,
    /// There are too few runs to choose by.
    TooFew,
    /// No setting stays under the limit.
    None,
    /// Nothing can be said.
    Unknown,
}

/// What the choice was held to.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Rules {
    /// After how many runs it was looked which settings are worth more.
    pub rungs: Vec<u32>,
    /// How much more latency is allowed, as a share.
    pub latency: f64,
    /// How much more processor time is allowed, as a share.
    pub cpu: f64,
    /// How much private memory there may be.
    pub max_private: Option<u64>,
}

/// One setting.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Cell {
    /// Its label.
    pub label: String,
    /// What it sets.
    pub sets: CellFacts,
    /// Names of the records that count.
    pub runs: Vec<String>,
    /// Whether no other is as good in private memory, p95 and CPU and clearly better in one.
    pub front: bool,
    /// One that is better, where it is on no front.
    pub beaten_by: Option<String>,
    /// Why it was not run any more; `null` where it was run to the end.
    pub stopped: Option<Stopped>,
    /// Whether it did less work than the default, so that less memory is no merit of it.
    pub did_less: bool,
    /// Its figures by name: `private`, `peak`, `returned`, `t90`, `p50`, `p95`, `cpu`, `faults`.
    pub figures: BTreeMap<String, Figure>,
    /// Whether private memory had settled when it was read, in every run; `null` where the windows do not say.
    pub settled: Option<bool>,
    /// Lower and upper end of where the private memory of one more run will probably lie; `null` where it had not settled.
    pub promise: Option<(f64, f64)>,
    /// Why it is not recommended; `null` of what is, and of the default where nothing is.
    pub why_not: Option<WhyNot>,
}

/// Why a setting is not recommended.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WhyNot {
    /// The reason that comes first.
    pub reason: NotChosen,
    /// In words.
    pub text: String,
}

/// What a setting is not recommended for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NotChosen {
    /// It was not run to the end: see `stopped`.
    Stopped,
    /// It did less work than the default.
    DidLess,
    /// A setting was seen not to be in force.
    Refused,
    /// It has too few runs.
    TooFew,
    /// The default has.
    NoDefault,
    /// Its private memory is not known.
    NotMeasured,
    /// It is not shown to need less private memory than the default.
    NotLess,
    /// It is shown to, but saves less than a setting is worth.
    NotWorth,
    /// It is shown to cost more than is allowed.
    Dearer,
    /// Its runs do not show whether it costs more than is allowed.
    CostOpen,
    /// What it costs is not known.
    CostUnknown,
    /// Its private memory may be over the limit.
    OverLimit,
    /// Another is as good in everything and clearly better in something.
    Beaten,
    /// What is recommended needs less private memory.
    NeedsMore,
    /// What is recommended is as good in what is chosen by, and needs no more CPU.
    MoreCpu,
    /// Under a limit, another has less p95.
    Slower,
}

impl From<&tune::WhyNot> for NotChosen {
    fn from(why: &tune::WhyNot) -> NotChosen {
        match why {
            tune::WhyNot::Stopped => NotChosen::Stopped,
            tune::WhyNot::DidLess => NotChosen::DidLess,
            tune::WhyNot::Refused => NotChosen::Refused,
            tune::WhyNot::TooFew => NotChosen::TooFew,
            tune::WhyNot::NoDefault => NotChosen::NoDefault,
            tune::WhyNot::NotMeasured => NotChosen::NotMeasured,
            tune::WhyNot::NotLess => NotChosen::NotLess,
            tune::WhyNot::NotWorth { .. } => NotChosen::NotWorth,
            tune::WhyNot::Dearer(_) => NotChosen::Dearer,
            tune::WhyNot::CostOpen(_) => NotChosen::CostOpen,
            tune::WhyNot::CostUnknown(_) => NotChosen::CostUnknown,
            tune::WhyNot::OverLimit => NotChosen::OverLimit,
            tune::WhyNot::Beaten(_) => NotChosen::Beaten,
            tune::WhyNot::NeedsMore(_) => NotChosen::NeedsMore,
            tune::WhyNot::MoreCpu(_) => NotChosen::MoreCpu,
            tune::WhyNot::Slower { .. } => NotChosen::Slower,
        }
    }
}

/// Why a setting was not run any more.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Stopped {
    /// After how many runs of it.
    pub after: u32,
    /// The reason.
    pub reason: Reason,
    /// In words.
    pub text: String,
}

/// What stopped a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The server failed the scenario.
    Failed,
    /// Another was as good in everything and clearly better in something.
    Beaten,
    /// It was in the half with more memory, and not shown to be better in anything.
    WorseHalf,
    /// It was shown to need more than the limit.
    OverLimit,
    /// Another under the limit was shown to be faster.
    Slower,
}

/// A figure of a setting.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Figure {
    /// In each run that counts.
    pub values: Vec<Option<f64>>,
    /// The median.
    pub median: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// The ratio against the default; `null` of the default, and of less than two runs.
    pub ratio: Option<f64>,
    /// Lower end of the ratio's interval.
    pub ratio_low: Option<f64>,
    /// Upper end of it; `null` where nothing bounds it.
    pub ratio_high: Option<f64>,
}

/// The sweep as indented JSON with a line end; `exit_code` is what the command ends with.
pub fn render(sweep: &Sweep, notes: &[String], exit_code: u8) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(&report(sweep, notes, exit_code))?;
    text.push('\n');
    Ok(text)
}

/// The sweep in the types of this format.
pub fn report(sweep: &Sweep, notes: &[String], exit_code: u8) -> Report {
    let chosen = super::chosen(sweep);
    let said = sentences(sweep).into_iter().map(|sentence| sentence.text);
    let forms = Form::ALL.into_iter().filter_map(|form| {
        let text = ship::text(form, &sweep.server, &chosen?.sets).ok()?;
        Some((form.name().to_owned(), text))
    });
    Report {
        format: FORMAT,
        scenario: sweep.scenario.clone(),
        server: sweep.server.name.clone(),
        version: sweep.server.version.clone(),
        allocator: sweep.server.allocator.clone(),
        outcome: match sweep.choice {
            Choice::Ship(_) => Outcome::Ship,
            Choice::Default(Keep::TooFew) => Outcome::TooFew,
            Choice::Default(_) => Outcome::Default,
            Choice::None(_) => Outcome::None,
            Choice::Unknown => Outcome::Unknown,
        },
        chosen: chosen.map(|cell| cell.label.clone()),
        exit_code,
        findings: std::iter::once(headline(sweep))
            .chain(said)
            .chain(notes.iter().cloned())
            .collect(),
        ship: forms.collect(),
        rules: Rules {
            rungs: sweep.rules.rungs.clone(),
            latency: sweep.rules.latency,
            cpu: sweep.rules.cpu,
            max_private: sweep.rules.max_private,
        },
        phase: sweep.places.phase.as_ref().map(|(_, name)| name.clone()),
        method: sweep.places.method.clone(),
        cells: sweep.cells.iter().map(|one| cell(sweep, one)).collect(),
    }
}

fn cell(sweep: &Sweep, cell: &tune::Swept) -> Cell {
    Cell {
        label: cell.label.clone(),
        sets: cell.sets.clone(),
        runs: cell.runs.clone(),
        front: cell.front,
        beaten_by: cell.beaten_by.clone(),
        stopped: cell.stopped.as_ref().map(|stopped| Stopped {
            after: stopped.after,
            reason: match stopped.why {
                Why::Failed(_) => Reason::Failed,
                Why::Beaten(_) => Reason::Beaten,
                Why::WorseHalf(_) => Reason::WorseHalf,
                Why::OverLimit => Reason::OverLimit,
                Why::Slower(_) => Reason::Slower,
            },
            text: stop(stopped),
        }),
        did_less: cell.did_less(),
        figures: figures::Figure::SWEPT
            .into_iter()
            .map(|one| (one.name().to_owned(), figure(cell.figure(one))))
            .collect(),
        settled: match (cell.rest.settled, cell.rest.moving) {
            (true, _) => Some(true),
            (false, 0) => None,
            (false, _) => Some(false),
        },
        promise: cell.promise,
        why_not: cell
            .why_not
            .as_ref()
            .zip(why_not(sweep, cell))
            .map(|(why, text)| WhyNot {
                reason: why.into(),
                text,
            }),
    }
}

fn figure(cell: &compare::Cell) -> Figure {
    let ratio = cell.ratio.as_ref();
    Figure {
        values: cell.values.clone(),
        median: cell.median.map(|median| median.median),
        low: cell.median.map(|median| median.low),
        high: cell.median.map(|median| median.high),
        ratio: ratio.map(|ratio| ratio.ratio),
        ratio_low: ratio.map(|ratio| ratio.low),
        ratio_high: ratio.map(|ratio| ratio.high).filter(|high| high.is_finite()),
    }
}

pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Report).to_value()
}
