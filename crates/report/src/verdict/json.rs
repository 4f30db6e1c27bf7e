//! A gate as JSON: versioned, with a schema in `docs/schemas/gate-report.json`.
//!
//! Sizes are bytes, times nanoseconds, ratios are of geometric means (1.1 is ten per cent more). Unknown values are
//! `null`.

#[cfg(test)]
mod tests;

use serde::Serialize;

use crate::document::NextCommand;
use crate::run::json;
use analysis::gate::Judgement;
use record::Version;
use stats::Answer;

use super::findings::{Finding, findings};
use super::notes::{doubts, missed_groups, not_known, unjudged_rules_notes, unmeasured};

/// The version of this format. The minor one rises when something is added, the major one when a reader would misread.
pub const FORMAT: Version = Version { major: 2, minor: 3 };

/// A gate's verdict with its evidence. Sizes are bytes, times nanoseconds. Unknown values are `null`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Report<'j> {
    /// Version of this format.
    format: Version,
    /// The verdict.
    outcome: Outcome,
    /// Exit code: 0 passed, 1 failed, 3 inconclusive, 4 refused. Options can turn 3 into 0 or 1.
    exit_code: u8,
    /// The verdict in sentences with their numbers, what decides first.
    findings: Vec<Finding>,
    /// What must be known to read the verdict right.
    notes: Vec<String>,
    /// The command that follows, `null` if none helps.
    next: Option<&'j NextCommand>,
    #[serde(flatten)]
    judgement: &'j Judgement,
}

/// What a gate comes to.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
enum Outcome {
    /// Every rule holds.
    Pass,
    /// More than is tolerated is shown.
    Fail,
    /// Neither is shown.
    Inconclusive,
    /// Nothing is decided: a server failed the scenario, or the candidate did less work.
    Refused,
}

/// The verdict as indented JSON with a line end; `exit_code` is what the command ends with.
pub fn render(
    judgement: &Judgement,
    notes: &[String],
    next: Option<&NextCommand>,
    exit_code: u8,
) -> Result<String, serde_json::Error> {
    json::lines(&Report {
        format: FORMAT,
        outcome: match judgement.answer {
            _ if judgement.is_refused() => Outcome::Refused,
            Answer::Pass => Outcome::Pass,
            Answer::Fail => Outcome::Fail,
            Answer::Inconclusive => Outcome::Inconclusive,
        },
        exit_code,
        findings: findings(judgement),
        notes: unmeasured(judgement)
            .into_iter()
            .chain(not_known(judgement))
            .chain(unjudged_rules_notes(judgement))
            .chain(missed_groups(judgement))
            .chain(doubts(judgement))
            .chain(notes.iter().cloned())
            .collect(),
        next,
        judgement,
    })
}

#[cfg(test)]
pub(crate) fn schema() -> serde_json::Value {
    crate::schemas::schema_of::<Report>()
}
