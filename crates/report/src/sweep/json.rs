//! A sweep as JSON, for programs: versioned, with a schema in `docs/schemas/tune-report.json`.
//!
//! Sizes are bytes and times nanoseconds, ratios are of geometric means, 1.1 being ten per cent more. What is not known is
//! `null`, never 0.

use std::collections::BTreeMap;

use serde::Serialize;
use strum::VariantArray;

use crate::run::json;
use crate::sweep::ship::Form;
use analysis::figures::{Figure, Named};
use analysis::tune::{CellResult, KeepReason, NotChosen, Reason, Recommendation, Rules, Sweep};
use record::{AllocatorFacts, Version};

use super::ship;
use super::why::{elimination_clause, why_not};
use super::words::{headline, sentences};

/// The version of this format. The minor one rises when something is added, the major one when a reader would misread.
pub const FORMAT: Version = Version { major: 2, minor: 0 };

/// A sweep and what it comes to. Sizes are bytes, times nanoseconds. What is not known is `null`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Report<'s> {
    /// Version of this format.
    format: Version,
    /// The scenario's name.
    scenario: String,
    /// The server's profile, or else its program.
    server: String,
    /// Its version.
    version: Option<String>,
    /// Its allocator, as it is without any setting.
    allocator: Option<AllocatorFacts>,
    /// What it comes to.
    outcome: Outcome,
    /// The label of the setting to ship; `null` where none is recommended.
    chosen: Option<String>,
    /// Exit code: 0; 1 no setting stays under the limit; 3 too few runs; 4 the server failed with its default
    /// settings.
    exit_code: u8,
    /// The answer in sentences, the first of which is the answer itself.
    findings: Vec<String>,
    /// The setting to ship in every form that there is of it, by its name.
    ship: BTreeMap<String, String>,
    /// The rules of the sweep.
    rules: &'s Rules,
    /// The phase at whose checkpoint private memory is read.
    phase: Option<String>,
    /// The method of the latencies.
    method: Option<String>,
    /// What each figure of a setting is, by its name; `null` where the scenario has none.
    measures: BTreeMap<&'static str, Option<Named>>,
    /// Every setting, the default first.
    cells: Vec<Cell<'s>>,
}

/// What a sweep comes to.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
enum Outcome {
    /// A setting is recommended.
    Ship,
    /// Nothing is to be changed.
    Default,
    /// There are too few runs to choose by.
    TooFew,
    /// A setting needs less memory, and its cost is not shown.
    CostOpen,
    /// No setting stays under the limit.
    None,
    /// Nothing can be said.
    Unknown,
}

/// One setting.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Cell<'s> {
    #[serde(flatten)]
    cell: &'s CellResult,
    /// Why it was not run any more; `null` where it was run to the end.
    stopped: Option<Stopped>,
    /// Whether it did less work than the default, so that less memory is no merit of it.
    did_less: bool,
    /// Whether private memory had settled when it was read, in every run; `null` where the windows do not say.
    settled: Option<bool>,
    /// Why it is not recommended; `null` for the recommended setting, and for the default if none is.
    why_not: Option<WhyNot>,
}

/// Why a setting is not recommended.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct WhyNot {
    /// The reason that comes first.
    reason: NotChosen,
    /// In words.
    text: String,
}

/// Why a setting was not run any more.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Stopped {
    /// After how many runs of it.
    after: u32,
    /// The reason.
    reason: Reason,
    /// In words.
    text: String,
}

/// The sweep as indented JSON with a line end; `exit_code` is what the command ends with.
pub fn render(sweep: &Sweep, notes: &[String], exit_code: u8) -> Result<String, serde_json::Error> {
    json::lines(&report(sweep, notes, exit_code))
}

/// The sweep in the types of this format.
fn report<'s>(sweep: &'s Sweep, notes: &[String], exit_code: u8) -> Report<'s> {
    let chosen = super::chosen_cell(sweep);
    let mut findings = vec![headline(sweep)];
    findings.extend(sentences(sweep).into_iter().map(|sentence| sentence.text));
    findings.extend(notes.iter().cloned());
    let mut forms = BTreeMap::new();
    if let Some(cell) = chosen {
        for form in Form::VARIANTS {
            if let Ok(text) = ship::text(*form, &sweep.server, &cell.sets) {
                forms.insert(form.name().to_owned(), text);
            }
        }
    }
    Report {
        format: FORMAT,
        scenario: sweep.scenario.clone(),
        server: sweep.server.name.clone(),
        version: sweep.server.version.clone(),
        allocator: sweep.server.allocator.clone(),
        outcome: match sweep.choice {
            Recommendation::Use(_) => Outcome::Ship,
            Recommendation::Default(KeepReason::TooFew) => Outcome::TooFew,
            Recommendation::Default(KeepReason::CostOpen(_)) => Outcome::CostOpen,
            Recommendation::Default(_) => Outcome::Default,
            Recommendation::None(_) => Outcome::None,
            Recommendation::Unknown => Outcome::Unknown,
        },
        chosen: chosen.map(|cell| cell.label.clone()),
        exit_code,
        findings,
        ship: forms,
        rules: &sweep.rules,
        phase: sweep.places.phase.as_ref().map(|(_, name)| name.clone()),
        method: sweep.places.method.clone(),
        measures: Figure::SWEPT
            .into_iter()
            .map(|figure| (figure.name(), sweep.places.measure(figure).as_ref().map(Named::from)))
            .collect(),
        cells: sweep.cells.iter().map(|one| cell(sweep, one)).collect(),
    }
}

fn cell<'s>(sweep: &Sweep, cell: &'s CellResult) -> Cell<'s> {
    let why_not = cell.why_not.as_ref().zip(why_not(sweep, cell));
    Cell {
        cell,
        stopped: cell.stopped.as_ref().map(|stopped| Stopped {
            after: stopped.after,
            reason: (&stopped.why).into(),
            text: elimination_clause(stopped),
        }),
        did_less: cell.did_less(),
        settled: match (cell.rest.settled, cell.rest.moving) {
            (true, _) => Some(true),
            (false, 0) => None,
            (false, _) => Some(false),
        },
        why_not: why_not.map(|(why, text)| WhyNot {
            reason: why.into(),
            text,
        }),
    }
}

#[cfg(test)]
pub(crate) fn schema() -> serde_json::Value {
    crate::schemas::schema_of::<Report>()
}
